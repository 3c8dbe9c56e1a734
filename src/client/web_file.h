/* Small files from web servers, by http and https. */
#ifndef TONY_CLIENT_WEB_FILE_H
#define TONY_CLIENT_WEB_FILE_H

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

/* The URL as messages may show it: without user, password, query and fragment. NULL and `err`
 * (ERR_CONFIG) when it is none. The caller frees. */
char *web_file_name(const char *url, struct err *err);

/* A whole file of at most `cap` bytes, appended to `bytes`. Follows redirects, from https to https
 * only. Proxies are those of the environment; CURL_CA_BUNDLE or SSL_CERT_FILE name a file of
 * authorities other than the system's. Errors begin with `name`. The program
 * curl does it: ERR_FAILED when it is not there. */
int web_file_read(const char *url, const char *name, size_t cap, struct str *bytes,
		  struct err *err);

#endif
