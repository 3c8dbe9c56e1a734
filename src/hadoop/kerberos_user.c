#include "hadoop/kerberos_user.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "hadoop/auth_to_local.h"
#include "hadoop/cluster_tokens.h"
#include "hadoop/gssapi.h"
#include "hadoop/token_file.h"

void kerberos_user_finish(struct kerberos_user *user)
{
	free(user->name);
	free(user->principal);
	*user = (struct kerberos_user){0};
}

/* *owner: of the token that the ResourceManager is shown; NULL: there is none. */
static int find_owner(struct hadoop_site *site, const struct str_list *rm, char **owner,
		      struct err *err)
{
	static const char *const kind = TOKEN_KIND_RM;
	struct hadoop_token token cleanup_token = {0};
	struct str_list services cleanup_str_list = {0};

	if (!token_file_is_named())
		return 0;
	hadoop_token_services(site, rm, &services);
	if (token_file_find(&kind, 1, &services, &token, err) < 0)
		return -1;
	*owner = token.kind ? token_owner(&token) : NULL;
	return 0;
}

static int find_ticket(char **principal, char **realm)
{
	const struct gssapi *gssapi = gssapi_load(NULL);
	struct gssapi_credential *credential =
		gssapi ? gssapi_credential_acquire(gssapi, NULL, NULL, NULL) : NULL;

	if (!credential)
		return 0;
	*principal = mem_strdup(gssapi_credential_principal(credential));
	*realm = gssapi_default_realm(gssapi);
	gssapi_credential_release(credential);
	return 0;
}

static char *name_of(struct hadoop_site *site, const char *realm, const char *principal,
		     struct err *err)
{
	const char *rules = hadoop_site_get(site, "hadoop.security.auth_to_local");

	return auth_to_local(rules && *rules ? rules : "DEFAULT", realm, principal, err);
}

/* The realm of a token's owner is local: there may be no krb5.conf, and the server took the name.
 * A proxy user's token has it short. */
static char *name_of_owner(struct hadoop_site *site, const char *owner, struct err *err)
{
	const char *at = strrchr(owner, '@');

	return at ? name_of(site, at + 1, owner, err) : mem_strdup(owner);
}

int hadoop_kerberos_user(struct hadoop_site *site, const struct str_list *rm,
			 struct kerberos_user *user, struct err *err)
{
	char *owner cleanup_free = NULL, *realm cleanup_free = NULL;

	*user = (struct kerberos_user){0};
	if (!str_equal_nocase(hadoop_site_get(site, "hadoop.security.authentication"), "kerberos"))
		return 0;
	if (getenv("HADOOP_PROXY_USER"))
		return err_set(
			err, ERR_CONFIG,
			"HADOOP_PROXY_USER: tony does not act for another user; unset it, or "
			"hand over tokens of that user's in HADOOP_TOKEN_FILE_LOCATION");
	if (find_owner(site, rm, &owner, err) < 0)
		return -1;
	if (!owner && find_ticket(&user->principal, &realm) < 0)
		return -1;
	if (owner)
		user->name = name_of_owner(site, owner, err);
	else if (user->principal)
		user->name = name_of(site, realm, user->principal, err);
	else
		return 0;
	return user->name ? 0 : -1;
}
