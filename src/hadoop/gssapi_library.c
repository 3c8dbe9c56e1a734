/* Loading it. */
#include "base/library.h"
#include "base/mem.h"
#include "hadoop/gssapi.h"

#define SONAME "libgssapi_krb5.so.2"

static int load(struct gssapi *gssapi, struct err *err)
{
	static const char *const names[] = {
		"gss_import_name",
		"gss_canonicalize_name",
		"gss_display_name",
		"gss_release_name",
		"gss_release_buffer",
		"gss_display_status",
		"gss_acquire_cred_from",
		"gss_release_cred",
		"gss_inquire_cred",
		"gss_init_sec_context",
		"gss_accept_sec_context",
		"gss_inquire_context",
		"gss_delete_sec_context",
		"gss_wrap_size_limit",
		"gss_wrap",
		"gss_unwrap",
	};
	struct err why cleanup_err = {0};

	_Static_assert(sizeof(*gssapi) == sizeof(names), "a function for each name, in one order");
	if (library_load(SONAME, names, array_length(names), gssapi, &why) == 0)
		return 0;
	return err_set(err, ERR_FAILED,
		       "the cluster uses Kerberos, for which " SONAME
		       " cannot be loaded: %s; install "
		       "it (Debian: libgssapi-krb5-2 and krb5-user, Fedora: krb5-libs and "
		       "krb5-workstation)",
		       err_message(&why));
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
