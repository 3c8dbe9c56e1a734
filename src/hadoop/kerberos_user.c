#include "hadoop/kerberos_user.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "hadoop/auth_to_local.h"
#include "hadoop/gssapi.h"

int hadoop_kerberos_user(struct hadoop_site *site, char **user, struct err *err)
{
	const char *rules = hadoop_site_get(site, "hadoop.security.auth_to_local");
	char *principal cleanup_free = NULL, *realm cleanup_free = NULL;

	*user = NULL;
	if (!str_equal_nocase(hadoop_site_get(site, "hadoop.security.authentication"), "kerberos"))
		return 0;
	const struct gssapi *gssapi = gssapi_load(NULL);
	if (gssapi)
		principal = gssapi_user(gssapi, &realm);
	if (!principal)
		return 0;
	*user = auth_to_local(rules && *rules ? rules : "DEFAULT", realm, principal, err);
	return *user ? 0 : -1;
}
