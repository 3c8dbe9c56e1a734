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
	free(user->realm);
	*user = (struct kerberos_user){0};
}

/* *owner: of the token that the ResourceManager is shown; NULL: there is none. */
static int find_owner(struct hadoop_site *site, const struct str_list *rm, char **owner,
		      struct err *err)
{
	static const char *const kind = TOKEN_KIND_RM;
	struct hadoop_token token cleanup_token = {0};
	struct str_list services cleanup_str_list = {0};

	if (!token_file_path())
		return 0;
	hadoop_token_services(hadoop_token_uses_ip(site), rm, &services);
	if (token_file_find(&kind, 1, &services, &token, err) < 0)
		return -1;
	*owner = token.kind ? token_owner(&token) : NULL;
	return 0;
}

static int find_ticket(const struct kerberos_login *login, struct kerberos_user *user,
		       struct err *err)
{
	const struct gssapi *gssapi = gssapi_load(err);
	struct gssapi_credential *credential =
		gssapi ? gssapi_credential_acquire(gssapi, login->principal, login->keytab, err)
		       : NULL;

	if (!credential)
		return -1;
	user->principal = mem_strdup(gssapi_credential_principal(credential));
	user->realm = gssapi_default_realm(gssapi);
	gssapi_credential_release(credential);
	return 0;
}

/* Neither a token for the ResourceManager nor a ticket. */
static int say_neither(const struct str_list *rm, bool has_keytab, const struct err *why,
		       struct err *err)
{
	char *addresses cleanup_free = str_list_join(rm, ", ");
	const char *path = token_file_path();

	if (has_keytab)
		return err_set(err, why->kind, "the cluster uses Kerberos: %s", err_message(why));
	if (!path)
		return err_set(err, why->kind,
			       "the cluster uses Kerberos: %s; where there can be no ticket, "
			       "HADOOP_TOKEN_FILE_LOCATION names a file of delegation tokens",
			       err_message(why));
	return err_set(
		err, why->kind,
		"the cluster uses Kerberos: %s (HADOOP_TOKEN_FILE_LOCATION) has no " TOKEN_KIND_RM
		" for %s, and %s",
		path, addresses, err_message(why));
}

char *hadoop_user_of_principal(struct hadoop_site *site, const char *realm, const char *principal,
			       struct err *err)
{
	const char *rules = site ? hadoop_site_get(site, "hadoop.security.auth_to_local") : NULL;

	return auth_to_local(rules && *rules ? rules : "DEFAULT", realm, principal, err);
}

/* The realm of a token's owner is local: there may be no krb5.conf, and the server took the name.
 * A proxy user's token has it short. */
static void take_owner(struct hadoop_site *site, const char *owner, struct kerberos_user *user,
		       struct err *err)
{
	const char *at = strrchr(owner, '@');

	mem_replace(&user->realm, at ? mem_strdup(at + 1) : NULL);
	user->name = at ? hadoop_user_of_principal(site, at + 1, owner, err) : mem_strdup(owner);
}

const char *hadoop_proxy_user(void)
{
	const char *user = getenv("HADOOP_PROXY_USER");

	return user && *user ? user : NULL;
}

/* Tokens say by themselves for whom they are. */
static int take_proxy(struct hadoop_site *site, bool has_token, struct kerberos_user *user,
		      struct err *err)
{
	const char *proxy = hadoop_proxy_user();
	const char *realm = user->realm ? user->realm : "";

	if (!proxy)
		return 0;
	char *name cleanup_free = strchr(proxy, '@')
					  ? hadoop_user_of_principal(site, realm, proxy, err)
					  : mem_strdup(proxy);
	if (!name)
		return err_wrap(err, "HADOOP_PROXY_USER");
	if (has_token && !str_equal(name, user->name))
		return err_set(err, ERR_CONFIG,
			       "HADOOP_PROXY_USER is %s, and the token in "
			       "HADOOP_TOKEN_FILE_LOCATION is %s's; unset one of them",
			       proxy, user->name);
	mem_replace(&user->name, mem_steal(&name));
	return 0;
}

int hadoop_kerberos_user(struct hadoop_site *site, const struct str_list *rm,
			 const struct kerberos_login *login, struct kerberos_user *user,
			 struct err *err)
{
	char *owner cleanup_free = NULL;
	struct err why cleanup_err = {0};

	*user = (struct kerberos_user){0};
	if (!str_equal_nocase(hadoop_site_get(site, "hadoop.security.authentication"), "kerberos"))
		return 0;
	if (find_owner(site, rm, &owner, err) < 0)
		return -1;
	if (!owner && find_ticket(login, user, &why) < 0) {
		/* It has files of that name; the ResourceManager's first call says the rest. */
		if (token_file_owner(&owner, err) < 0)
			return -1;
		if (!owner)
			return say_neither(rm, login->keytab, &why, err);
	}
	if (owner)
		take_owner(site, owner, user, err);
	else
		user->name = hadoop_user_of_principal(site, user->realm, user->principal, err);
	return user->name ? take_proxy(site, owner, user, err) : -1;
}
