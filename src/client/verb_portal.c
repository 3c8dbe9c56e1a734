#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/user.h"
#include "client/opened.h"
#include "client/portal_site.h"
#include "client/report.h"
#include "client/schedulers.h"
#include "client/verbs.h"
#include "net/address.h"
#include "net/http_url.h"
#include "net/socket_owner.h"
#include "portal/link_socket.h"
#include "portal/portal.h"
#include "portal/session_key.h"
#include "scheduler/state_dir.h"

#define LISTEN "127.0.0.1:19886"

enum { TOKEN_CAP = 4096, TOKEN_LEAST = 32 };

struct portal_verb {
	bool link, sign_out;
	char *history, *listen, *token_file, *auth_header, *tensorboard, *ui_origin;
	char *certificate, *key, *password_file, *keytab;
	struct str_list auth_from, auth_users, names;
};

static const char *const ui_origins[] = {"own-origin", "shared-origin", NULL};

static const struct opt options[] = {
	OPT_ROW("history", struct portal_verb, history,
		"this history alone: a directory, hdfs://NAMESERVICE/PATH or s3://BUCKET/PATH",
		.argument = "PLACE", .completion = OPT_COMPLETE_DIRECTORY),
	OPT_ROW("listen", struct portal_verb, listen,
		"where browsers find it (" LISTEN ", or the port of tony.https.port or "
		"tony.http.port)",
		.argument = "HOST:PORT"),
	OPT_ROW("link", struct portal_verb, link,
		"print another link that opens the portal which listens there, at the page of "
		"JOB"),
	OPT_ROW("sign-out", struct portal_verb, sign_out,
		"end all sessions of browsers, of all portals with this state directory"),
	OPT_ROW("token-file", struct portal_verb, token_file,
		"the token of those who may see all; made where there is none (portal/token in the "
		"state directory)",
		.argument = "FILE", .completion = OPT_COMPLETE_FILE),
	OPT_ROW("certificate", struct portal_verb, certificate,
		"speak HTTPS with the certificate in this file: PEM, with those that lead to an "
		"authority behind it, or PKCS #12 (tony.https.keystore.path)",
		.argument = "FILE", .completion = OPT_COMPLETE_FILE),
	OPT_ROW("key", struct portal_verb, key,
		"its key, in PEM (it is in the file of --certificate)", .argument = "FILE",
		.completion = OPT_COMPLETE_FILE),
	OPT_ROW("key-password-file", struct portal_verb, password_file,
		"the password of the key, or of the PKCS #12 file, in this file's first line",
		.argument = "FILE", .completion = OPT_COMPLETE_FILE),
	OPT_ROW("kerberos-keytab", struct portal_verb, keytab,
		"let users of the cluster in by their Kerberos tickets (SPNEGO): the file with the "
		"keys of HTTP/HOST (tony.portal.kerberos.keytab)",
		.argument = "FILE", .completion = OPT_COMPLETE_FILE),
	OPT_ROW("auth-header", struct portal_verb, auth_header,
		"the header in which a proxy names its user, such as X-Forwarded-User "
		"(tony.portal.user-header, with tony.portal.trusted-proxies)",
		.argument = "NAME"),
	OPT_ROW("auth-from", struct portal_verb, auth_from,
		"the numeric address of that proxy: nobody else is believed",
		.argument = "ADDRESS"),
	OPT_ROW("auth-user", struct portal_verb, auth_users,
		"the user as which that proxy runs, where its address is one of this machine: no "
		"other user's programs are believed, but for root's (tony.portal.proxy-users)",
		.argument = "USER"),
	OPT_ROW("name", struct portal_verb, names,
		"a name or an address, without its port, by which browsers call the portal, beside "
		"that of its machine",
		.argument = "HOST"),
	OPT_ROW("tensorboard", struct portal_verb, tensorboard,
		"TensorBoard, for jobs that have ended (tensorboard)", .argument = "PROGRAM",
		.completion = OPT_COMPLETE_FILE),
	OPT_ROW("ui-origin", struct portal_verb, ui_origin,
		"show the pages of jobs' programs at ports of their own (own-origin), or at the "
		"portal's address, where their scripts can read what their viewer can "
		"(shared-origin)",
		.argument = "WHERE", .choices = ui_origins),
};

/* ---- what it is given --------------------------------------------------------------------- */

/* <state>/portal; the caller frees. */
static char *portal_folder(struct err *err)
{
	char *state cleanup_free = state_dir_find(err);

	return state ? fs_join(state, "portal") : NULL;
}

/* NAME in it; the caller frees. */
static char *state_file(const char *name, struct err *err)
{
	char *folder cleanup_free = portal_folder(err);

	return folder ? fs_join(folder, name) : NULL;
}

/* One for each place, so that two portals do not take each other's. The caller frees. */
static char *index_path(const char *history, struct err *err)
{
	if (!history)
		return state_file("index.sqlite", err);
	char *place cleanup_free =
		strstr(history, "://") ? mem_strdup(history) : fs_absolute(history, err);
	if (!place)
		return NULL;
	char *mark cleanup_free = secret_hash(place);
	char *name cleanup_free = mem_printf("index-%.16s.sqlite", mark);
	return state_file(name, err);
}

static int make_token(const char *path, struct err *err)
{
	char *directory cleanup_free = fs_dirname(path);
	char *token cleanup_free = secret_create();

	if (state_dir_make(directory, err) < 0)
		return -1;
	return fs_write_file(path, token, strlen(token), 0600, err);
}

/* It opens all jobs: one that could be guessed is no token. */
static char *read_token(const char *path, struct err *err)
{
	char *token cleanup_secret = fs_read_secret(path, "the token", TOKEN_CAP, NULL, err);

	if (!token)
		return NULL;
	token[strcspn(token, " \t\r\n")] = '\0';
	if (strlen(token) >= TOKEN_LEAST)
		return mem_steal(&token);
	err_set(err, ERR_CONFIG,
		"%s: its token has %zu characters, and needs %d or more: remove the file, and tony "
		"portal makes one",
		path, strlen(token), TOKEN_LEAST);
	return NULL;
}

static char *find_token(const struct portal_verb *chosen, struct err *err)
{
	char *path cleanup_free =
		chosen->token_file ? mem_strdup(chosen->token_file) : state_file("token", err);

	if (!path || (!fs_exists(path) && make_token(path, err) < 0))
		return NULL;
	return read_token(path, err);
}

static int check(const struct portal_verb *chosen, struct err *err)
{
	struct net_address address;

	if (chosen->listen && net_address_parse(chosen->listen, &address, NULL) < 0)
		return err_set(
			err, ERR_USAGE,
			"--listen: \"%s\" is not HOST:PORT with a numeric host and a port up to "
			"65535; write one as " LISTEN " or [::1]:19886",
			chosen->listen);
	for (size_t i = 0; i < chosen->names.count; i++) {
		char *host cleanup_free = NULL;
		int port;
		const char *name = chosen->names.items[i];
		if (net_address_split_host(name, &host, &port, NULL) < 0 || port >= 0)
			return err_set(
				err, ERR_USAGE,
				"--name: \"%s\" is no HOST; write a name or an address, without "
				"a port",
				name);
	}
	if (chosen->link && chosen->sign_out)
		return err_set(
			err, ERR_USAGE,
			"--link and --sign-out: say one after the other; the link would end, "
			"too");
	if (!chosen->certificate && (chosen->key || chosen->password_file))
		return err_set(err, ERR_USAGE, "--%s: say with --certificate FILE whose it is",
			       chosen->key ? "key" : "key-password-file");
	if (chosen->auth_header && chosen->auth_from.count == 0)
		return err_set(
			err, ERR_USAGE,
			"--auth-header: say with --auth-from ADDRESS which proxy is believed");
	if (!chosen->auth_header && (chosen->auth_from.count > 0 || chosen->auth_users.count > 0))
		return err_set(err, ERR_USAGE,
			       "--auth-%s: say with --auth-header NAME where the proxy names its "
			       "user",
			       chosen->auth_from.count > 0 ? "from" : "user");
	return 0;
}

/* ------------------------------------------------------------------------------------------- */

static void on_ready(const char *listen, const char *url, const char *link)
{
	printf("The portal is at %s\n"
	       "This link opens it, once, within a minute; tony portal --link --listen %s prints "
	       "others:\n"
	       "  %s\n",
	       url, listen, link);
	fflush(stdout);
}

/* Of the user, of the site, or the default. */
static const char *choose_listen(const struct portal_verb *chosen, const struct portal_site *site)
{
	if (chosen->listen)
		return chosen->listen;
	return site->listen ? site->listen : LISTEN;
}

/* Without a certificate the portal speaks plain HTTP. */
static struct tls_identity_files choose_https(const struct portal_verb *chosen,
					      const struct portal_site *site)
{
	return chosen->certificate
		       ? (struct tls_identity_files){.certificate = chosen->certificate,
						     .key = chosen->key,
						     .password_file = chosen->password_file}
		       : site->https;
}

/* MIT Kerberos gets tickets by it, and new ones in time, in each of the portal's processes. */
static int use_login_keytab(const char *keytab, struct err *err)
{
	if (!keytab)
		return 0;
	if (fs_check_secret(keytab, "keys", err) < 0)
		return err_wrap(err, "tony.keytab.location");
	if (access(keytab, R_OK) < 0)
		return err_set_errno(err, "tony.keytab.location: cannot read %s", keytab);
	setenv("KRB5_CLIENT_KTNAME", keytab, 1);
	setenv("KRB5CCNAME", "MEMORY:tony-portal", 1);
	return 0;
}

/* A ticket that was shown is not taken again: MIT Kerberos keeps which ones were. */
static void keep_shown_tickets(const char *folder)
{
	char *file cleanup_free = mem_printf("file2:%s/shown-tickets", folder);

	setenv("KRB5RCACHENAME", file, 0);
}

/* NULL: `err`. */
static struct scheduler_negotiator *open_negotiator(const char *keytab, const char *folder,
						    struct err *err)
{
	const struct scheduler_client_ops *ops;

	if (fs_check_secret(keytab, "keys", err) < 0)
		return NULL;
	keep_shown_tickets(folder);
	for (size_t i = 0; (ops = scheduler_client_at(i)); i++)
		if (ops->open_negotiator)
			return ops->open_negotiator(keytab, err);
	err_set(err, ERR_CONFIG, "no scheduler of this tony knows users by tickets");
	return NULL;
}

/* Others could use a ticket in place of its user, before it comes here. */
static int check_way(const struct portal_options *portal, struct err *err)
{
	struct net_address address;

	if (portal->https || net_address_parse(portal->listen, &address, NULL) < 0 ||
	    net_address_is_loopback(&address))
		return 0;
	return err_set(
		err, ERR_CONFIG,
		"tickets would cross the network in the clear; say with --certificate FILE, or "
		"tony.https.keystore.path, by what the portal speaks HTTPS, or let it listen "
		"on 127.0.0.1");
}

static int choose_negotiator(const struct portal_verb *chosen, const struct portal_site *site,
			     struct portal_options *portal, struct err *err)
{
	const char *keytab = chosen->keytab ? chosen->keytab : site->keytab;

	if (!keytab)
		return 0;
	if (check_way(portal, err) == 0)
		portal->negotiator = open_negotiator(keytab, portal->folder, err);
	return portal->negotiator ? 0 : err_wrap(err, "the portal's keytab");
}

/* ---- proxies ------------------------------------------------------------------------------ */

/* Those of the command line, or of the site, and where they stand. */
struct proxies {
	const char *header; /* NULL: nobody's is believed */
	const struct str_list *hosts, *users;
	const char *hosts_word, *users_word;
	enum err_kind kind;
};

static struct proxies choose_proxies(const struct portal_verb *chosen,
				     const struct portal_site *site)
{
	return chosen->auth_header
		       ? (struct proxies){chosen->auth_header, &chosen->auth_from,
					  &chosen->auth_users, "--auth-from",
					  "--auth-user",       ERR_USAGE}
		       : (struct proxies){site->proxies.count > 0 ? site->user_header : NULL,
					  &site->proxies,
					  &site->proxy_users,
					  "tony.portal.trusted-proxies",
					  "tony.portal.proxy-users",
					  ERR_CONFIG};
}

/* Numeric, and as http_request_peer() writes them. Every user of this machine has its addresses, so
 * one of those needs a user. */
static int read_proxy_hosts(const struct proxies *proxies, struct str_list *hosts, struct err *err)
{
	struct net_address address;

	for (size_t i = 0; i < proxies->hosts->count; i++) {
		const char *host = proxies->hosts->items[i];
		if (net_address_from_host(host, 0, &address) < 0)
			return err_set(err, proxies->kind,
				       "%s: \"%s\" is not a numeric address; write one as 10.0.0.5",
				       proxies->hosts_word, host);
		if (net_address_is_any(&address))
			return err_set(err, proxies->kind,
				       "%s: %s is no caller's address; write that of the proxy, "
				       "such as 10.0.0.5",
				       proxies->hosts_word, host);
		int is_here = proxies->users->count > 0 ? 0 : socket_owner_is_here(&address);
		if (is_here < 0)
			return err_set_errno(
				err, "%s: cannot tell whether %s is an address of this machine",
				proxies->hosts_word, host);
		if (is_here)
			return err_set(err, proxies->kind,
				       "%s: %s is an address of this machine, from which each of "
				       "its users could pass for the proxy; say with %s as which "
				       "user the proxy runs, such as www-data",
				       proxies->hosts_word, host, proxies->users_word);
		str_list_take(hosts, net_address_host(&address));
	}
	return 0;
}

/* As uids. */
static int read_proxy_users(const struct proxies *proxies, struct str_list *uids, struct err *err)
{
	uid_t uid;

	for (size_t i = 0; i < proxies->users->count; i++) {
		if (user_find(proxies->users->items[i], &uid) < 0)
			return err_set(err, proxies->kind,
				       "%s: this machine has no user \"%s\"; write the name or the "
				       "uid as which the proxy runs",
				       proxies->users_word, proxies->users->items[i]);
		if (!user_is_told_apart(uid))
			return err_set(
				err, proxies->kind,
				"%s: in this user namespace the kernel does not tell %s from "
				"other users; in a service of systemd's say "
				"PrivateUsers=no",
				proxies->users_word, proxies->users->items[i]);
		str_list_take(uids, mem_printf("%u", (unsigned)uid));
	}
	return 0;
}

static int serve(const struct portal_verb *chosen, const struct portal_site *site, struct err *err)
{
	const struct tls_identity_files https = choose_https(chosen, site);
	char *token cleanup_free = find_token(chosen, err);
	char *folder cleanup_free = token ? portal_folder(err) : NULL;
	char *index cleanup_free = folder ? index_path(chosen->history, err) : NULL;
	char *user cleanup_free = user_name();
	const struct proxies proxies = choose_proxies(chosen, site);
	struct str_list hosts cleanup_str_list = {0}, uids cleanup_str_list = {0};
	struct portal_options portal = {
		.listen = choose_listen(chosen, site),
		.token = token,
		.folder = folder,
		.user = user,
		.names = &chosen->names,
		.https = https.certificate ? &https : NULL,
		.shares_origin = str_equal(chosen->ui_origin, "shared-origin"),
		.auth_header = proxies.header,
		.proxies = &hosts,
		.proxy_users = &uids,
		.administrators = site->administrators,
		.indexer = {.index_path = index,
			    .location = chosen->history,
			    .list_jobs = schedulers_list,
			    .find_job = schedulers_find,
			    .retention = site->retention,
			    .retain_interval_ms = site->retain_interval_ms},
		.reader = {.find_job = schedulers_find},
		.tensorboard = chosen->tensorboard ? chosen->tensorboard : "tensorboard",
		.ready = on_ready,
	};

	if (!index || read_proxy_hosts(&proxies, &hosts, err) < 0 ||
	    read_proxy_users(&proxies, &uids, err) < 0 || state_dir_make(folder, err) < 0 ||
	    use_login_keytab(site->login_keytab, err) < 0 ||
	    choose_negotiator(chosen, site, &portal, err) < 0)
		return -1;
	int result = portal_run(&portal, err);
	if (portal.negotiator)
		portal.negotiator->close(portal.negotiator);
	return result;
}

/* Of the only portal that runs, where nobody has said where it listens; else NULL and `why`. */
static char *ask_only_portal(const char *folder, struct err *why)
{
	struct str_list links cleanup_str_list = {0}, places cleanup_str_list = {0};

	link_socket_ask_all(folder, &links);
	if (links.count == 1)
		return mem_strdup(links.items[0]);
	for (size_t i = 0; i < links.count; i++)
		str_list_take(&places, mem_strndup(links.items[i],
						   strcspn(links.items[i], "?") - strlen("login")));
	char *all cleanup_free = str_list_join(&places, ", ");
	if (links.count > 1) {
		err_finish(why);
		err_set(why, ERR_USAGE,
			"none of your portals listens there, but at %s: say with --listen which "
			"one",
			all);
	}
	return NULL;
}

static char *ask_link(const struct portal_verb *chosen, const struct portal_site *site,
		      struct err *err)
{
	char *folder cleanup_free = portal_folder(err);
	struct net_address address;
	struct err why cleanup_err = {0};

	if (!folder || net_address_parse(choose_listen(chosen, site), &address, err) < 0)
		return NULL;
	char *where cleanup_free = net_address_text(&address);
	char *link = link_socket_ask(folder, where, &why);
	if (!link && !chosen->listen && why.kind == ERR_UNREACHABLE)
		link = ask_only_portal(folder, &why);
	if (!link) {
		err_copy(err, &why);
		err_wrap(err, "no link from your portal at %s of this machine", where);
	}
	return link;
}

/* The page of a job; one that is not known here may be in the portal's history. */
static void add_page(struct str *link, const char *job)
{
	struct opened opened cleanup_opened = {0};
	bool is_found = opened_find(&opened, job, NULL) == 0;

	str_append(link, "&to=%23/jobs/");
	http_url_encode(link, is_found ? opened.id : job, "");
}

static int print_link(const struct portal_verb *chosen, const struct portal_site *site,
		      const char *job, struct err *err)
{
	char *link cleanup_free = ask_link(chosen, site, err);
	struct str page cleanup_str = {0};

	if (!link)
		return -1;
	str_append(&page, link);
	if (job)
		add_page(&page, job);
	puts(page.text);
	return 0;
}

/* A portal that runs looks at its key before it makes a link; another one when somebody asks it. */
static int sign_out(const struct portal_verb *chosen, const struct portal_site *site,
		    struct err *err)
{
	char *folder cleanup_free = portal_folder(err);
	struct net_address address;

	if (!folder || state_dir_make(folder, err) < 0 || session_key_renew(folder, err) < 0 ||
	    net_address_parse(choose_listen(chosen, site), &address, err) < 0)
		return -1;
	char *where cleanup_free = net_address_text(&address);
	mem_free_secret(link_socket_ask(folder, where, NULL));
	puts("All sessions of browsers have ended. tony portal --link prints a link for another "
	     "one.");
	return 0;
}

static int run(void *data, const struct verb_call *call, struct err *err)
{
	const struct portal_verb *chosen = data;
	const struct portal_site_question asked = {.has_listen = chosen->listen != NULL,
						   .has_certificate = chosen->certificate != NULL,
						   .is_running = chosen->link || chosen->sign_out};
	struct portal_site site cleanup_portal_site = {0};
	const char *job = NULL;

	if (report_one_operand(&verb_portal.options, call->operands, &job, err) < 0)
		return -1;
	if (job && !chosen->link)
		return err_set(err, ERR_USAGE,
			       "%s: say --link for a link to the page of a job; without it the "
			       "portal serves all",
			       job);
	if (check(chosen, err) < 0 || portal_site_read(&asked, &site, err) < 0)
		return -1;
	if (chosen->sign_out)
		return sign_out(chosen, &site, err);
	return chosen->link ? print_link(chosen, &site, job, err) : serve(chosen, &site, err);
}

const struct verb verb_portal = {
	.options =
		{
			.verb = "portal",
			.usage = "tony portal [OPTIONS] [JOB]",
			.summary = "serve all jobs, those that go on and those that have ended, to "
				   "browsers",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct portal_verb),
	.run = run,
};
