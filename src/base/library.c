#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

int library_load(const char *soname, const char *const *names, size_t count, void *functions,
		 struct err *err)
{
	void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return err_set(err, ERR_FAILED, "%s", dlerror());
	for (size_t i = 0; i < count; i++) {
		void *function = dlsym(library, names[i]);
		if (!function)
			return err_set(err, ERR_FAILED, "%s", dlerror());
		memcpy((char *)functions + i * sizeof(function), &function, sizeof(function));
	}
	return 0;
}
