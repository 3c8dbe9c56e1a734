#include "client/portal_site.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "client/prune.h"
#include "conf/conf.h"
#include "net/address.h"

#define PORT_KEY       "tony.http.port"
#define HTTPS_PORT_KEY "tony.https.port"
#define KEYSTORE_KEY   "tony.https.keystore.path"
#define PROXIES_KEY    "tony.portal.trusted-proxies"

void portal_site_finish(struct portal_site *site)
{
	free(site->listen);
	free(site->keystore);
	mem_free_secret(site->password);
	free(site->user_header);
	free(site->administrators);
	free(site->keytab);
	free(site->login_keytab);
	str_list_finish(&site->proxies);
	str_list_finish(&site->proxy_users);
	*site = (struct portal_site){0};
}

/* Of a key that names a port or says "disabled": as 0. -1: it is bad, which is told. */
static int64_t read_port(const struct conf *conf, const char *key, struct problems *problems)
{
	const char *port = conf_text(conf, "%s", key);
	int64_t number = 0;

	if (!port || str_equal(port, "disabled") || str_parse_int(port, 1, 65535, &number) == 0)
		return number;
	char *label cleanup_free = conf_locate(conf, "%s", key);
	problems_error(problems, PROBLEM_FILE,
		       "%s: \"%s\" is not a port; write a number from 1 to 65535", label, port);
	return -1;
}

/* Said by the site, and not by default. */
static bool says_https_port(const struct conf *conf)
{
	const struct conf_entry *entry = conf_find(conf, HTTPS_PORT_KEY);
	const char *port = conf_text(conf, HTTPS_PORT_KEY);

	return entry && port && !str_equal(port, "disabled");
}

/* Where others reach it: HTTPS keeps what they say to it. NULL: said elsewhere, or bad. */
static char *read_https_listen(const struct conf *conf, struct problems *problems)
{
	int64_t port = read_port(conf, HTTPS_PORT_KEY, problems);
	int64_t plain = read_port(conf, PORT_KEY, problems);

	if (plain > 0) {
		char *label cleanup_free = conf_locate(conf, PORT_KEY);
		problems_error(problems, PROBLEM_FILE,
			       "%s: tony portal listens at one port, and speaks HTTPS there "
			       "(" KEYSTORE_KEY
			       ", or --certificate); write \"disabled\", or leave it out",
			       label);
	}
	return port > 0 ? mem_printf("0.0.0.0:%lld", (long long)port) : NULL;
}

/* Without a certificate it would speak plain HTTP, and nobody would notice. */
static void check_keystore(const struct conf *conf, struct problems *problems)
{
	static const char *const keys[] = {HTTPS_PORT_KEY, "tony.https.keystore.password"};

	if (str_equal(conf_text(conf, HTTPS_PORT_KEY), "disabled"))
		return;
	for (size_t i = 0; i < array_length(keys); i++) {
		if (!conf_text(conf, "%s", keys[i]) || (i == 0 && !says_https_port(conf)))
			continue;
		char *label cleanup_free = conf_locate(conf, "%s", keys[i]);
		problems_error(
			problems, PROBLEM_FILE,
			"%s: there is no " KEYSTORE_KEY
			", without which the portal speaks plain HTTP; add it, or leave this "
			"key out",
			label);
	}
}

static char *read_plain_listen(const struct conf *conf, const struct portal_site_question *asked,
			       struct problems *problems)
{
	const char *text = conf_text(conf, PORT_KEY);
	int64_t port = read_port(conf, PORT_KEY, problems);

	if (text && port == 0 && !asked->has_certificate && !asked->is_running) {
		char *label cleanup_free = conf_locate(conf, PORT_KEY);
		problems_error(problems, PROBLEM_FILE,
			       "%s: \"disabled\": without a certificate (" KEYSTORE_KEY
			       ") tony portal speaks plain HTTP alone; write a port, or --listen "
			       "HOST:PORT on the command line",
			       label);
	}
	return port > 0 ? mem_printf("127.0.0.1:%lld", (long long)port) : NULL;
}

/* A keystore without a port for it is of no use, as in TonY. */
static void read_https(const struct conf *conf, struct portal_site *site)
{
	const char *port = conf_text(conf, HTTPS_PORT_KEY);

	if (!conf_text(conf, KEYSTORE_KEY) || str_equal(port, "disabled"))
		return;
	site->keystore = mem_strdup(conf_text(conf, KEYSTORE_KEY));
	site->password = mem_strdup(conf_text(conf, "tony.https.keystore.password"));
	site->https = (struct tls_identity_files){.certificate = site->keystore,
						  .password = site->password};
}

/* As http_request_peer() writes them. */
static void read_proxies(const struct conf *conf, struct str_list *proxies,
			 struct problems *problems)
{
	struct str_list items cleanup_str_list = {0};
	struct net_address address;

	conf_list(conf, &items, PROXIES_KEY);
	for (size_t i = 0; i < items.count; i++) {
		if (net_address_from_host(items.items[i], 0, &address) == 0) {
			str_list_take(proxies, net_address_host(&address));
			continue;
		}
		char *label cleanup_free = conf_locate(conf, PROXIES_KEY);
		problems_error(problems, PROBLEM_FILE,
			       "%s: \"%s\" is not a numeric address; write one as 10.0.0.5 for "
			       "each proxy",
			       label, items.items[i]);
	}
}

static char *read_listen(const struct conf *conf, const struct portal_site_question *asked,
			 const struct portal_site *site, struct problems *problems)
{
	bool is_https = site->keystore ||
			((asked->has_certificate || asked->is_running) && says_https_port(conf));

	return is_https ? read_https_listen(conf, problems)
			: read_plain_listen(conf, asked, problems);
}

static int read_conf(const struct conf *conf, const struct portal_site_question *asked,
		     struct portal_site *site, struct err *err)
{
	struct problems problems = {0};

	conf_check_portal(conf, &problems);
	if (!asked->has_certificate)
		read_https(conf, site);
	if (!site->keystore && !asked->has_certificate && !asked->is_running)
		check_keystore(conf, &problems);
	if (!asked->has_listen)
		site->listen = read_listen(conf, asked, site, &problems);
	read_proxies(conf, &site->proxies, &problems);
	conf_list(conf, &site->proxy_users, "tony.portal.proxy-users");
	site->user_header = mem_strdup(conf_text(conf, "tony.portal.user-header"));
	site->login_keytab = mem_strdup(conf_text(conf, "tony.keytab.location"));
	site->keytab = mem_strdup(conf_text(conf, "tony.portal.kerberos.keytab"));
	site->administrators = mem_strdup(conf_text(conf, "tony.admin.acl"));
	for (size_t i = 0; i < problems.warnings.count; i++)
		log_warning("%s", problems.warnings.items[i]);
	int result = problems_to_err(&problems, err);
	problems_finish(&problems);
	return result;
}

int portal_site_read(const struct portal_site_question *asked, struct portal_site *site,
		     struct err *err)
{
	struct conf *conf cleanup_conf = conf_create();

	if (conf_load_site(conf, err) < 0)
		return -1;
	conf_resolve(conf, true);
	site->retain_interval_ms = conf_ms(conf, "tony.history.purger-interval-ms");
	return read_conf(conf, asked, site, err) < 0 || prune_read_site(&site->retention, err) < 0
		       ? -1
		       : 0;
}
