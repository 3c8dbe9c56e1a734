#include "hadoop/gssapi_remedy.h"

#include <string.h>

#include "base/mem.h"

#define CONF "krb5.conf (/etc/krb5.conf, or the file that KRB5_CONFIG names)"

/* The texts are those of MIT Kerberos 1.20, in lib/krb5 and lib/gssapi/krb5. */
struct remedy {
	const char *part, *text;
	enum err_kind kind; /* ERR_NONE: ERR_DENIED */
};

static const struct remedy remedies[] = {
	{"credentials have expired", "get a new ticket with kinit", ERR_EXPIRED},
	{"credential has expired", "get a new ticket with kinit", ERR_EXPIRED},
	{"Ticket expired", "get a new ticket with kinit", ERR_EXPIRED},
	{"Credentials cache permissions incorrect", "see whose file KRB5CCNAME names, then kinit"},
	{"No Kerberos credentials available",
	 "get a ticket with kinit; KRB5CCNAME names the ticket cache where it is another one",
	 ERR_EXPIRED},
	{"in cache collection", "get a ticket of that principal with kinit", ERR_EXPIRED},
	{"Matching credential not found", "get a ticket of this realm with kinit", ERR_EXPIRED},
	{"Bad format in credentials cache", "make a new ticket cache: kdestroy, then kinit"},
	{"Unknown credential cache type", "set KRB5CCNAME to FILE:PATH, then kinit"},
	{"Clock skew too great",
	 "this machine's clock and the key distribution centre's must agree within 5 minutes: see "
	 "timedatectl"},
	{"Ticket not yet valid", "set this machine's clock: see timedatectl"},
	{"Cannot find KDC for realm",
	 "the realm is unknown here: name its key distribution centres under [realms] of " CONF},
	{"Cannot resolve servers for KDC",
	 "the name server does not know them: see the kdc lines of this realm in " CONF
	 " and /etc/resolv.conf",
	 ERR_UNREACHABLE},
	{"Cannot contact any KDC",
	 "the key distribution centre is down, a firewall is between, or the name server does not "
	 "know it: see the kdc lines of this realm in " CONF,
	 ERR_UNREACHABLE},
	{"Server krbtgt/",
	 "the server's realm is wrong in yarn-site.xml, or the realms do not trust each other"},
	{"not found in Kerberos database",
	 "see the principal in the cluster's yarn-site.xml, and that its host is the server's full "
	 "name"},
	{"Configuration file does not specify default realm",
	 "set default_realm under [libdefaults] of " CONF},
	{"Included profile file could not be read", "see the include lines of " CONF},
	{"Improper format of Kerberos configuration file", "see " CONF},
	{"KDC policy rejects request",
	 "the key distribution centre does not let this user use the cluster: ask the realm's "
	 "administrator"},
	{"KDC has no support for encryption type",
	 "see permitted_enctypes in " CONF ": AES is needed"},
	{"no support for encryption type", "see permitted_enctypes in " CONF ": AES is needed"},
	{"credentials have been revoked",
	 "the account is locked: ask the realm's administrator to unlock it"},
	{"Decrypt integrity check failed", "the keys have changed: get a new ticket with kinit"},
};

#define NEW_KEYTAB                                                                                 \
	"the user's keys have changed since: have the keytab written anew (ktadd of kadmin)"

static const struct remedy remedies_of_keytabs[] = {
	{"No credentials cache found",
	 "the file has no key of this principal: see klist -k, and tony.kerberos.principal",
	 ERR_CONFIG},
	{"Decrypt integrity check failed", NEW_KEYTAB},
	{"Preauthentication failed", NEW_KEYTAB},
	{"not found in Kerberos database",
	 "the realm has no such user, or none any more: see tony.kerberos.principal"},
};

static const struct remedy *find(const struct remedy *rows, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(text, rows[i].part))
			return &rows[i];
	return NULL;
}

static int set(struct err *err, const struct remedy *remedy, const char *text)
{
	if (!remedy)
		return err_set(err, ERR_DENIED, "Kerberos: %s", text);
	return err_set(err, remedy->kind ? remedy->kind : ERR_DENIED, "Kerberos: %s; %s", text,
		       remedy->text);
}

int gssapi_err(struct err *err, const char *text)
{
	return set(err, find(remedies, array_length(remedies), text), text);
}

int gssapi_keytab_err(struct err *err, const char *keytab, const char *principal, const char *text)
{
	const struct remedy *remedy =
		find(remedies_of_keytabs, array_length(remedies_of_keytabs), text);

	set(err, remedy ? remedy : find(remedies, array_length(remedies), text), text);
	return principal ? err_wrap(err, "the keytab %s, for %s", keytab, principal)
			 : err_wrap(err, "the keytab %s", keytab);
}
