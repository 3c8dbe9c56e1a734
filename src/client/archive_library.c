#include "client/archive_library.h"

#include <stdbool.h>

#include "base/library.h"
#include "base/mem.h"

#define SONAME "libarchive.so.13"

struct archive_library libarchive;

int archive_library_load(struct err *err)
{
#define ARCHIVE_LIBRARY_NAME(name) #name,
	static const char *const names[] = {ARCHIVE_LIBRARY(ARCHIVE_LIBRARY_NAME)};
	static bool is_loaded;
	struct err why cleanup_err = {0};

	_Static_assert(sizeof(libarchive) == sizeof(names), "a function for each name");
	if (!is_loaded && library_load(SONAME, names, array_length(names), &libarchive, &why) < 0)
		return err_set(err, ERR_FAILED,
			       "archives are read and written by libarchive, which cannot be "
			       "loaded: %s; install it (Debian: libarchive13, Fedora: libarchive)",
			       err_message(&why));
	is_loaded = true;
	return 0;
}
