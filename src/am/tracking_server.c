#include "am/tracking_server.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/mem.h"

#define TRUST_REMEDY "name a file with the authority that signed it in tony.tracking.ca-file"

/* Of a value: what every server since MLflow 1.28 takes. */
enum { ID_MAX = 64, KEY_MAX = 250, VALUE_MAX = 500 };

static const char user_variable[] = "MLFLOW_TRACKING_USERNAME";
static const char password_variable[] = "MLFLOW_TRACKING_PASSWORD";
static const char token_variable[] = "MLFLOW_TRACKING_TOKEN";

bool tracking_server_asks_for(const struct job *job, const char *variable)
{
	return job->tracking_uri &&
	       (str_equal(variable, user_variable) || str_equal(variable, password_variable) ||
		str_equal(variable, token_variable));
}

static const char *find_in(const struct str_list *environment, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < environment->count; i++)
		if (strncmp(environment->items[i], name, length) == 0 &&
		    environment->items[i][length] == '=')
			return environment->items[i] + length + 1;
	return NULL;
}

/* As the programs have it: a secret, or else a plain variable. A file's last newline is none of the
 * value. The caller frees; NULL: there is none. */
static char *find_variable(const struct job *job, const char *name)
{
	const struct job_secret *secret = job_secrets_find(&job->secrets, name);
	const char *plain = NULL;

	if (secret && secret->value)
		return mem_strndup(secret->value, strcspn(secret->value, "\r\n"));
	for (size_t i = 0; i < job->type_count && !plain; i++)
		plain = find_in(&job->types[i].environment, name);
	return mem_strdup(plain);
}

/* In MLflow's own order. */
static char *find_authorization(const struct job *job)
{
	char *user cleanup_free = find_variable(job, user_variable);
	char *password cleanup_secret = find_variable(job, password_variable);
	char *token cleanup_secret = find_variable(job, token_variable);

	if (user && password) {
		char *both cleanup_secret = mem_printf("%s:%s", user, password);
		char *code cleanup_secret = base64_encode(both, strlen(both));
		return mem_printf("Basic %s", code);
	}
	return token ? mem_printf("Bearer %s", token) : NULL;
}

int tracking_server_open(struct web_target *target, const struct job *job, struct err *err)
{
	if (web_target_open(target, job->tracking_uri, job->tracking_authorities, TRUST_REMEDY,
			    err) < 0)
		return -1;
	if (!target->authorization)
		target->authorization = find_authorization(job);
	return 0;
}

/* Without slashes at its end. */
static int length_of(const char *text)
{
	size_t length = strlen(text);

	while (length > 0 && text[length - 1] == '/')
		length--;
	return (int)length;
}

char *tracking_server_path(const struct web_target *target, const char *call)
{
	const char *prefix = target->url.target;

	return mem_printf("%.*s/api/2.0/mlflow/%s", length_of(prefix), prefix, call);
}

char *tracking_server_page(const struct job *job, const char *experiment, const char *run)
{
	const char *uri = job->tracking_uri;

	return mem_printf("%.*s/#/experiments/%s/runs/%s", length_of(uri), uri, experiment, run);
}

bool tracking_server_is_id(const char *text)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

	return text && *text && strlen(text) <= ID_MAX && text[strspn(text, allowed)] == '\0';
}

/* Not in the midst of a character. */
static char *cut(const char *text, size_t most)
{
	size_t length = strlen(text);

	if (length <= most)
		return mem_strdup(text);
	length = most - strlen("...");
	while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
		length--;
	return mem_printf("%.*s...", (int)length, text);
}

json_t *tracking_server_pair(const char *key, const char *value)
{
	char *short_key cleanup_free = cut(key, KEY_MAX);
	char *short_value cleanup_free = cut(value, VALUE_MAX);
	json_t *pair = json_object();

	json_set_text(pair, "key", short_key);
	json_set_text(pair, "value", short_value);
	return pair;
}

char *tracking_server_end(const struct job_view *view, bool *failed)
{
	static const char *const words[] = {
		[JOB_SUCCEEDED] = "FINISHED", [JOB_FAILED] = "FAILED", [JOB_KILLED] = "KILLED"};
	struct web_target target cleanup_web_target = {0};
	struct err err cleanup_err = {0};
	json_t *body cleanup_json = json_object();

	*failed = true;
	if (tracking_server_open(&target, view->job, &err) < 0)
		return mem_strdup(err_message(&err));
	json_set_text(body, "run_id", view->tracking_run);
	json_set_text(body, "status", words[view->state]);
	json_set_int(body, "end_time", view->ended_ms);
	char *path cleanup_free = tracking_server_path(&target, "runs/update");
	char *text cleanup_free = json_text(body);
	return web_target_post(&target, path, text, failed);
}
