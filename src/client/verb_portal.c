#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/user.h"
#include "client/prune.h"
#include "client/report.h"
#include "client/schedulers.h"
#include "client/verbs.h"
#include "net/http_client.h"
#include "portal/portal.h"
#include "scheduler/state_dir.h"

#define LISTEN	   "127.0.0.1:19886"
#define TIMEOUT_MS 10000

struct portal_verb {
	bool link;
	char *history, *listen, *token_file, *auth_header, *tensorboard;
	struct str_list auth_from;
};

static const struct opt options[] = {
	{.name = "history",
	 .kind = OPT_TEXT,
	 .offset = offsetof(struct portal_verb, history),
	 .argument = "PLACE",
	 .help = "this history alone: a directory, or hdfs://NAMESERVICE/PATH",
	 .completion = OPT_COMPLETE_DIRECTORY},
	{.name = "listen",
	 .kind = OPT_TEXT,
	 .offset = offsetof(struct portal_verb, listen),
	 .argument = "HOST:PORT",
	 .help = "where browsers find it (" LISTEN ")"},
	{.name = "link",
	 .kind = OPT_FLAG,
	 .offset = offsetof(struct portal_verb, link),
	 .help = "print another link that opens the portal which listens there"},
	{.name = "token-file",
	 .kind = OPT_TEXT,
	 .offset = offsetof(struct portal_verb, token_file),
	 .argument = "FILE",
	 .help = "the token of those who may see all; made where there is none (portal/token in "
		 "the state directory)",
	 .completion = OPT_COMPLETE_FILE},
	{.name = "auth-header",
	 .kind = OPT_TEXT,
	 .offset = offsetof(struct portal_verb, auth_header),
	 .argument = "NAME",
	 .help = "the header in which a proxy names its user, such as X-Forwarded-User"},
	{.name = "auth-from",
	 .kind = OPT_LIST,
	 .offset = offsetof(struct portal_verb, auth_from),
	 .argument = "ADDRESS",
	 .help = "the numeric address of that proxy: nobody else is believed"},
	{.name = "tensorboard",
	 .kind = OPT_TEXT,
	 .offset = offsetof(struct portal_verb, tensorboard),
	 .argument = "PROGRAM",
	 .help = "TensorBoard, for jobs that have ended (tensorboard)",
	 .completion = OPT_COMPLETE_FILE},
};

const struct opt_table verb_portal_options = {
	.verb = "portal",
	.usage = "tony portal [OPTIONS]",
	.summary = "serve all jobs, those that go on and those that have ended, to browsers",
	.options = options,
	.option_count = array_length(options),
};

/* ---- what it is given --------------------------------------------------------------------- */

/* <state>/portal/NAME; the caller frees. */
static char *state_file(const char *name, struct err *err)
{
	char *state cleanup_free = state_dir_find(err);

	return state ? mem_printf("%s/portal/%s", state, name) : NULL;
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
	char *mark cleanup_free = secret_derive("portal", place);
	char *name cleanup_free = mem_printf("index-%.16s.sqlite", mark);
	return state_file(name, err);
}

static int make_token(const char *path, struct err *err)
{
	char *directory cleanup_free = fs_dirname(path);
	char *token cleanup_free = secret_create(err);

	if (!token || fs_make_directories(directory, 0700, err) < 0)
		return -1;
	return fs_write_file(path, token, strlen(token), 0600, err);
}

static char *find_token(const struct portal_verb *chosen, bool makes, struct err *err)
{
	char *path cleanup_free =
		chosen->token_file ? mem_strdup(chosen->token_file) : state_file("token", err);

	if (!path || (makes && !fs_exists(path) && make_token(path, err) < 0))
		return NULL;
	return job_read_token(path, err);
}

static int check(const struct portal_verb *chosen, struct err *err)
{
	if (chosen->auth_header && chosen->auth_from.count == 0)
		return err_set(
			err, ERR_USAGE,
			"--auth-header: say with --auth-from ADDRESS which proxy is believed");
	if (!chosen->auth_header && chosen->auth_from.count > 0)
		return err_set(err, ERR_USAGE,
			       "--auth-from: say with --auth-header NAME where the proxy names "
			       "its user");
	return 0;
}

/* ------------------------------------------------------------------------------------------- */

static void on_ready(const char *url, const char *link)
{
	printf("The portal is at %s\n"
	       "This link opens it, once, within a minute; tony portal --link prints others:\n"
	       "  %s\n",
	       url, link);
	fflush(stdout);
}

static int serve(const struct portal_verb *chosen, struct err *err)
{
	char *token cleanup_free = find_token(chosen, true, err);
	char *index cleanup_free = token ? index_path(chosen->history, err) : NULL;
	char *user cleanup_free = user_name();
	struct portal_options portal = {
		.listen = chosen->listen ? chosen->listen : LISTEN,
		.token = token,
		.user = user,
		.auth_header = chosen->auth_header,
		.proxies = &chosen->auth_from,
		.indexer = {.index_path = index,
			    .location = chosen->history,
			    .list_jobs = schedulers_list},
		.reader = {.find_job = schedulers_find,
			   .tensorboard =
				   chosen->tensorboard ? chosen->tensorboard : "tensorboard"},
		.ready = on_ready,
	};

	if (!index || prune_read_site(&portal.indexer.retention, err) < 0)
		return -1;
	return portal_run(&portal, err);
}

static int print_link(const struct portal_verb *chosen, struct err *err)
{
	const char *address = chosen->listen ? chosen->listen : LISTEN;
	char *token cleanup_free = find_token(chosen, false, err);
	struct str answer cleanup_str = {0};
	int status;

	if (!token ||
	    http_call(address, token, "POST", "/v1/links", NULL, TIMEOUT_MS, &status, &answer,
		      err) < 0 ||
	    http_response_check(status, str_text(&answer), answer.length, err) < 0)
		return err_wrap(err, "the portal at %s", address);
	json_t *body cleanup_json = json_parse(answer.text, answer.length, err);
	const char *path = json_string_value(json_object_get(body, "path"));
	if (!path)
		return err_set(err, ERR_INPUT, "%s: is no portal", address);
	printf("http://%s/%s\n", address, path);
	return 0;
}

static int run(const struct portal_verb *chosen, const struct str_list *operands, struct err *err)
{
	if (report_no_operand(&verb_portal_options, operands, err) < 0 || check(chosen, err) < 0)
		return -1;
	return chosen->link ? print_link(chosen, err) : serve(chosen, err);
}

int verb_portal(int argc, char **argv)
{
	struct err err cleanup_err = {0};
	struct portal_verb chosen = {0};
	struct str_list operands cleanup_str_list = {0};
	int code = 0;

	if (report_parse(&verb_portal_options, argc, argv, &chosen, &operands, &code) &&
	    run(&chosen, &operands, &err) < 0)
		code = report_error(&err);
	opt_finish(&verb_portal_options, &chosen);
	return code;
}
