/* The browser of this machine. */
#ifndef TONY_CLIENT_BROWSER_H
#define TONY_CLIENT_BROWSER_H

#include "base/err.h"

int browser_open(const char *url, struct err *err);

#endif
