/* A shared library that is loaded when it is needed: nothing that does without it has to wait for
 * it at its start, or has to have it. */
#ifndef TONY_BASE_LIBRARY_H
#define TONY_BASE_LIBRARY_H

#include <stddef.h>

#include "base/err.h"

/* `functions`: a struct of `count` pointers to functions, which become those of `names`, in this
 * order. It stays loaded. -1: `err` has the loader's words alone. */
int library_load(const char *soname, const char *const *names, size_t count, void *functions,
		 struct err *err);

#endif
