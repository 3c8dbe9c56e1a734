/* Loading it. */
#include <dlfcn.h>
#include <string.h>

#include "base/mem.h"
#include "hadoop/gssapi.h"

#define SONAME "libgssapi_krb5.so.2"

static int fail(struct err *err)
{
	return err_set(err, ERR_FAILED,
		       "the cluster uses Kerberos, for which " SONAME
		       " cannot be loaded: %s; install "
		       "it (Debian: libgssapi-krb5-2 and krb5-user, Fedora: krb5-libs and "
		       "krb5-workstation)",
		       dlerror());
}

static int load(struct gssapi *gssapi, struct err *err)
{
	static const char *const names[] = {
		"gss_import_name",
		"gss_canonicalize_name",
		"gss_display_name",
		"gss_release_name",
		"gss_release_buffer",
		"gss_display_status",
		"gss_inquire_cred",
		"gss_init_sec_context",
		"gss_delete_sec_context",
		"gss_wrap_size_limit",
		"gss_wrap",
		"gss_unwrap",
	};
	void *library = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);

	_Static_assert(sizeof(*gssapi) == sizeof(names), "a function for each name, in one order");
	if (!library)
		return fail(err);
	for (size_t i = 0; i < array_length(names); i++) {
		void *function = dlsym(library, names[i]);
		if (!function)
			return fail(err);
		memcpy((char *)gssapi + i * sizeof(function), &function, sizeof(function));
	}
	return 0;
}

const struct gssapi *gssapi_load(struct err *err)
{
	static struct gssapi gssapi;
	static bool is_loaded;

	if (!is_loaded && load(&gssapi, err) < 0)
		return NULL;
	is_loaded = true;
	return &gssapi;
}
