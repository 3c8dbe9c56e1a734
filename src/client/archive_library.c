#include "client/archive_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"

#define SONAME "libarchive.so.13"

struct archive_library libarchive;

static int fail(struct err *err)
{
	return err_set(err, ERR_FAILED,
		       "archives are read and written by libarchive, which cannot be loaded: %s; "
		       "install it (Debian: libarchive13, Fedora: libarchive)",
		       dlerror());
}

int archive_library_load(struct err *err)
{
#define ARCHIVE_LIBRARY_NAME(name) #name,
	static const char *const names[] = {ARCHIVE_LIBRARY(ARCHIVE_LIBRARY_NAME)};
	static bool is_loaded;

	_Static_assert(sizeof(libarchive) == sizeof(names), "a function for each name");
	if (is_loaded)
		return 0;
	void *library = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return fail(err);
	for (size_t i = 0; i < array_length(names); i++) {
		void *function = dlsym(library, names[i]);
		if (!function)
			return fail(err);
		memcpy((char *)&libarchive + i * sizeof(function), &function, sizeof(function));
	}
	is_loaded = true;
	return 0;
}
