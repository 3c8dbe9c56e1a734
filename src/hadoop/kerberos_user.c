#include "hadoop/kerberos_user.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "hadoop/auth_to_local.h"
#include "hadoop/gssapi.h"
#include "hadoop/token_file.h"

/* The realm of a token's owner is local: there may be no krb5.conf, and the server took the name.
 */
static int find_principal(char **principal, char **realm, struct err *err)
{
	if (token_file_owner(principal, err) < 0)
		return -1;
	if (*principal) {
		const char *at = strrchr(*principal, '@');
		*realm = mem_strdup(at ? at + 1 : "");
		return 0;
	}
	const struct gssapi *gssapi = gssapi_load(NULL);
	if (gssapi)
		*principal = gssapi_user(gssapi, realm);
	return 0;
}

int hadoop_kerberos_user(struct hadoop_site *site, char **user, struct err *err)
{
	const char *rules = hadoop_site_get(site, "hadoop.security.auth_to_local");
	char *principal cleanup_free = NULL, *realm cleanup_free = NULL;

	*user = NULL;
	if (!str_equal_nocase(hadoop_site_get(site, "hadoop.security.authentication"), "kerberos"))
		return 0;
	if (getenv("HADOOP_PROXY_USER"))
		return err_set(
			err, ERR_CONFIG,
			"HADOOP_PROXY_USER: tony does not act for another user; unset it, or "
			"hand over tokens of that user's in HADOOP_TOKEN_FILE_LOCATION");
	if (find_principal(&principal, &realm, err) < 0)
		return -1;
	if (!principal)
		return 0;
	if (!strchr(principal, '@')) { /* a proxy user's token has it short */
		*user = mem_steal(&principal);
		return 0;
	}
	*user = auth_to_local(rules && *rules ? rules : "DEFAULT", realm, principal, err);
	return *user ? 0 : -1;
}
