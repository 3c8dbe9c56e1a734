/* Of a client that is linked with it: gssapi_library.c loads it instead. */
#include "hadoop/gssapi.h"

/* The library's functions as struct gssapi declares them, under their own names. */
#define GSSAPI_FUNCTIONS(X)                                                                        \
	X(import_name)                                                                             \
	X(canonicalize_name)                                                                       \
	X(display_name)                                                                            \
	X(release_name)                                                                            \
	X(release_buffer)                                                                          \
	X(display_status)                                                                          \
	X(acquire_cred_from)                                                                       \
	X(release_cred)                                                                            \
	X(inquire_cred)                                                                            \
	X(init_sec_context)                                                                        \
	X(accept_sec_context)                                                                      \
	X(inquire_context)                                                                         \
	X(delete_sec_context)                                                                      \
	X(wrap_size_limit)                                                                         \
	X(wrap)                                                                                    \
	X(unwrap)

#define DECLARE(name) __typeof__(*((struct gssapi *)0)->name) gss_##name;
GSSAPI_FUNCTIONS(DECLARE)

const struct gssapi *gssapi_load(struct err *err)
{
#define MEMBER(name) .name = gss_##name,
#define COUNT(name)  +1
	static const struct gssapi gssapi = {GSSAPI_FUNCTIONS(MEMBER)};

	_Static_assert(sizeof(gssapi) == (0 GSSAPI_FUNCTIONS(COUNT)) * sizeof(gssapi.unwrap),
		       "a function for each member");
	return &gssapi;
}
