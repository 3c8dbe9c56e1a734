#include "hadoop/webhdfs_client.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hadoop/webhdfs_request.h"

struct webhdfs_client *webhdfs_client_create(const struct webhdfs_options *options, struct err *err)
{
	struct webhdfs_client *client = mem_alloc(sizeof(*client));

	webhdfs_options_copy(&client->options, options);
	if (webhdfs_options_check(&client->options, err) == 0)
		client->curl = webhdfs_curl_create(&client->options, err);
	if (client->curl)
		return client;
	webhdfs_client_destroy(client);
	return NULL;
}

void webhdfs_client_destroy(struct webhdfs_client *client)
{
	if (!client)
		return;
	webhdfs_curl_destroy(client->curl);
	webhdfs_options_finish(&client->options);
	free(client);
}

/* Metadata: one exchange, whose answer is kept. */
static enum webhdfs_verdict ask(struct webhdfs_request *request, struct err *err)
{
	char *url cleanup_free = webhdfs_request_url(request, "");
	struct webhdfs_exchange exchange cleanup_webhdfs_exchange = {
		.method = webhdfs_op_method(request->question.op),
		.url = url,
		.ask_once = !request->tries.is_harmless,
	};
	enum webhdfs_exchange_end end = webhdfs_curl_run(request->client->curl, &exchange, err);
	enum webhdfs_verdict verdict = webhdfs_request_verdict(request, end, &exchange, err);

	if (verdict == WEBHDFS_DONE) {
		str_finish(&request->answer);
		request->answer = exchange.answer;
		exchange.answer = (struct str){0};
	}
	return verdict;
}

static int ask_boolean(struct webhdfs_request *request, bool *value, struct err *err)
{
	if (webhdfs_request_run(request, ask, err) < 0)
		return -1;
	return webhdfs_answer_boolean(&request->question, str_text(&request->answer),
				      request->answer.length, value, err);
}

int webhdfs_make_directories(struct webhdfs_client *client, const char *path, unsigned permission,
			     struct err *err)
{
	struct webhdfs_request request cleanup_webhdfs_request = {0};
	bool made = false;

	if (webhdfs_request_begin(&request, client, WEBHDFS_MKDIRS, path, true, err) < 0)
		return -1;
	str_append_format(&request.parameters, "&permission=%o", permission);
	if (ask_boolean(&request, &made, err) < 0)
		return -1;
	return made ? 0
		    : err_set(err, ERR_FAILED, "%s: MKDIRS %s: could not be made",
			      request.question.server, path);
}

int webhdfs_stat(struct webhdfs_client *client, const char *path, struct webhdfs_file *file,
		 struct err *err)
{
	struct webhdfs_request request cleanup_webhdfs_request = {0};

	if (webhdfs_request_begin(&request, client, WEBHDFS_GETFILESTATUS, path, true, err) < 0 ||
	    webhdfs_request_run(&request, ask, err) < 0)
		return -1;
	return webhdfs_answer_file(&request.question, str_text(&request.answer),
				   request.answer.length, file, err);
}

int webhdfs_list(struct webhdfs_client *client, const char *path,
		 void (*visit)(void *data, const struct webhdfs_file *file), void *data,
		 struct err *err)
{
	struct webhdfs_request request cleanup_webhdfs_request = {0};

	if (webhdfs_request_begin(&request, client, WEBHDFS_LISTSTATUS, path, true, err) < 0 ||
	    webhdfs_request_run(&request, ask, err) < 0)
		return -1;
	return webhdfs_answer_list(&request.question, str_text(&request.answer),
				   request.answer.length, visit, data, err);
}

int webhdfs_attributes(struct webhdfs_client *client, const char *path,
		       void (*visit)(void *data, const char *name, const char *value), void *data,
		       struct err *err)
{
	struct webhdfs_request request cleanup_webhdfs_request = {0};

	if (webhdfs_request_begin(&request, client, WEBHDFS_GETXATTRS, path, true, err) < 0)
		return -1;
	str_append(&request.parameters, WEBHDFS_IN_HEX);
	if (webhdfs_request_run(&request, ask, err) < 0)
		return -1;
	return webhdfs_answer_attributes(&request.question, str_text(&request.answer),
					 request.answer.length, visit, data, err);
}

int webhdfs_remove(struct webhdfs_client *client, const char *path, struct err *err)
{
	struct webhdfs_request request cleanup_webhdfs_request = {0};
	struct err failure cleanup_err = {0};
	bool removed;

	if (webhdfs_request_begin(&request, client, WEBHDFS_DELETE, path, true, err) < 0)
		return -1;
	str_append(&request.parameters, "&recursive=true");
	if (ask_boolean(&request, &removed, &failure) == 0 || failure.kind == ERR_NOT_FOUND)
		return 0;
	return err_copy(err, &failure);
}

/* ---- renaming ----------------------------------------------------------------------------- */

static int rename_by_name_node(struct webhdfs_request *request, const char *to, bool overwrite,
			       struct err *err)
{
	webhdfs_target_add(&request->parameters, "destination", to);
	/* With options, even none, HDFS tells what was wrong, and moves nothing into a directory of
	 * that name. */
	webhdfs_target_add(&request->parameters, "renameoptions", overwrite ? "OVERWRITE" : "NONE");
	return webhdfs_request_run(request, ask, err);
}

/* An empty directory or a file; nothing there is fine. */
static int remove_one(struct webhdfs_client *client, const char *path, struct err *err)
{
	struct webhdfs_request request cleanup_webhdfs_request = {0};
	bool removed;

	if (webhdfs_request_begin(&request, client, WEBHDFS_DELETE, path, true, err) < 0)
		return -1;
	str_append(&request.parameters, "&recursive=false");
	return ask_boolean(&request, &removed, err);
}

/* HttpFS knows no options of renaming, and of its failures one word. */
static int rename_by_gateway(struct webhdfs_request *request, const char *to, bool overwrite,
			     struct err *err)
{
	struct webhdfs_file source cleanup_webhdfs_file = {0};
	struct webhdfs_file file cleanup_webhdfs_file = {0};
	struct err missing cleanup_err = {0};
	bool renamed = false;

	if (webhdfs_stat(request->client, request->question.path, &source, err) < 0)
		return -1;
	if (webhdfs_stat(request->client, to, &file, &missing) < 0) {
		if (missing.kind != ERR_NOT_FOUND)
			return err_copy(err, &missing);
	} else if (!overwrite) {
		return err_set(err, ERR_FAILED, "%s: RENAME %s: %s exists",
			       webhdfs_tries_server(&request->tries), request->question.path, to);
	} else if (remove_one(request->client, to, err) < 0) {
		return -1;
	}
	webhdfs_target_add(&request->parameters, "destination", to);
	if (ask_boolean(request, &renamed, err) < 0)
		return -1;
	return renamed ? 0
		       : err_set(err, ERR_FAILED,
				 "%s: RENAME %s: could not be renamed to %s; is the directory of "
				 "that there?",
				 request->question.server, request->question.path, to);
}

static int rename_once(struct webhdfs_client *client, const char *from, const char *to,
		       bool overwrite, bool *is_unsure, struct err *err)
{
	struct webhdfs_request request cleanup_webhdfs_request = {0};

	*is_unsure = false;
	if (webhdfs_path_check(to, err) < 0 ||
	    webhdfs_request_begin(&request, client, WEBHDFS_RENAME, from, false, err) < 0)
		return -1;
	int result = client->options.http_fs ? rename_by_gateway(&request, to, overwrite, err)
					     : rename_by_name_node(&request, to, overwrite, err);
	*is_unsure = request.tries.is_unsure;
	return result;
}

enum presence { UNKNOWN, ABSENT, PRESENT };

static enum presence look(struct webhdfs_client *client, const char *path)
{
	struct webhdfs_file file cleanup_webhdfs_file = {0};
	struct err err cleanup_err = {0};

	if (webhdfs_stat(client, path, &file, &err) == 0)
		return PRESENT;
	return err.kind == ERR_NOT_FOUND ? ABSENT : UNKNOWN;
}

/* What a broken try came to can be seen; only where it came to nothing there is a second one. */
int webhdfs_rename(struct webhdfs_client *client, const char *from, const char *to, bool overwrite,
		   struct err *err)
{
	enum { TRIES = 3 };

	for (int i = 1;; i++) {
		struct err failure cleanup_err = {0};
		bool is_unsure;
		if (rename_once(client, from, to, overwrite, &is_unsure, &failure) == 0)
			return 0;
		enum presence source = is_unsure ? look(client, from) : UNKNOWN;
		if (source == ABSENT && look(client, to) == PRESENT)
			return 0;
		if (source != PRESENT || i == TRIES)
			return err_copy(err, &failure);
	}
}

/* ---- attributes --------------------------------------------------------------------------- */

int webhdfs_set_permission(struct webhdfs_client *client, const char *path, unsigned permission,
			   struct err *err)
{
	struct webhdfs_request request cleanup_webhdfs_request = {0};

	if (webhdfs_request_begin(&request, client, WEBHDFS_SETPERMISSION, path, true, err) < 0)
		return -1;
	str_append_format(&request.parameters, "&permission=%o", permission);
	return webhdfs_request_run(&request, ask, err);
}

int webhdfs_set_times(struct webhdfs_client *client, const char *path, int64_t modified_ms,
		      int64_t accessed_ms, struct err *err)
{
	struct webhdfs_request request cleanup_webhdfs_request = {0};

	if (webhdfs_request_begin(&request, client, WEBHDFS_SETTIMES, path, true, err) < 0)
		return -1;
	str_append_format(&request.parameters, "&modificationtime=%lld&accesstime=%lld",
			  (long long)modified_ms, (long long)accessed_ms);
	return webhdfs_request_run(&request, ask, err);
}

int webhdfs_explain_full(struct webhdfs_client *client, struct err *err)
{
	const struct webhdfs_options *options = &client->options;
	char *url cleanup_free =
		mem_printf("%s" WEBHDFS_ROOM_TARGET, options->addresses.items[client->active]);
	struct webhdfs_exchange exchange cleanup_webhdfs_exchange = {.method = "GET", .url = url};

	if (options->http_fs || !webhdfs_needs_room(err) ||
	    webhdfs_curl_run(client->curl, &exchange, NULL) != WEBHDFS_EXCHANGE_ANSWERED ||
	    exchange.status != 200)
		return -1;
	return webhdfs_add_room(str_text(&exchange.answer), exchange.answer.length, err);
}
