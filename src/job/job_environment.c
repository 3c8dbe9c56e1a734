#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "job/job.h"

enum { KEY_NAME_LENGTH = 8, MARK_LENGTH = 32 };

/* Names that people give to what is nobody's business. */
static bool is_secret(const char *name)
{
	static const char *const words[] = {"PASSWORD",	  "PASSWD",	 "SECRET",  "TOKEN",
					    "CREDENTIAL", "PRIVATE_KEY", "API_KEY", "ACCESS_KEY"};

	return str_has_any_nocase(name, words, array_length(words));
}

static void hide(const struct job *job, size_t type, bool is_marked, const char *name,
		 json_t *answer)
{
	const json_t *marks = json_object_get(job->marks, job->types[type].name);
	const char *mark = json_string_value(json_object_get(marks, name));
	char *text cleanup_free = mem_printf(JOB_SECRET_HIDDEN "%s", is_marked && mark ? mark : "");

	json_set_text(answer, name, text);
}

json_t *job_environment_to_json(const struct job *job, size_t type, bool is_marked)
{
	const struct str_list *pairs = &job->types[type].environment;
	json_t *answer = json_object();

	for (size_t i = 0; i < pairs->count; i++) {
		size_t length = strcspn(pairs->items[i], "=");
		char *key cleanup_free = mem_strndup(pairs->items[i], length);
		const char *value = pairs->items[i] + length + (pairs->items[i][length] == '=');
		if (is_secret(key) || str_equal(value, JOB_SECRET_HIDDEN))
			hide(job, type, is_marked, key, answer);
		else
			json_set_text(answer, key, value);
	}
	for (size_t i = 0; i < job->secrets.count; i++)
		hide(job, type, is_marked, job->secrets.items[i].name, answer);
	return answer;
}

/* ---- marks -------------------------------------------------------------------------------- */

/* The name is a part of it: equal values of two variables do not show. The caller frees. */
static char *mark_of(const char *key, const char *name, const void *value, size_t length)
{
	struct str marked cleanup_str_secret = {0};
	unsigned char hmac[SECRET_HMAC_BYTES];
	char *key_name cleanup_free = secret_derive(key, "the name of the key of marks");
	struct str mark = {0};

	str_append_bytes(&marked, name, strlen(name) + 1);
	str_append_bytes(&marked, value, length);
	secret_hmac(key, strlen(key), marked.text, marked.length, hmac);
	str_append_format(&mark, "%.*s:", KEY_NAME_LENGTH, key_name);
	for (size_t i = 0; i < MARK_LENGTH / 2; i++)
		str_append_format(&mark, "%02x", hmac[i]);
	return str_steal(&mark);
}

static void add_mark(json_t *marks, const char *key, const char *name, const void *value,
		     size_t length)
{
	char *mark cleanup_free = mark_of(key, name, value, length);

	json_set_text(marks, name, mark);
}

/* All variables: a history for others has none of their values. */
static json_t *mark_type(const struct job *job, size_t type, const char *key)
{
	const struct str_list *pairs = &job->types[type].environment;
	json_t *marks = json_object();

	for (size_t i = 0; i < pairs->count; i++) {
		size_t length = strcspn(pairs->items[i], "=");
		char *name cleanup_free = mem_strndup(pairs->items[i], length);
		const char *value = pairs->items[i] + length;
		add_mark(marks, key, name, value, strlen(value));
	}
	for (size_t i = 0; i < job->secrets.count; i++) {
		const struct job_secret *secret = &job->secrets.items[i];
		if (secret->value)
			add_mark(marks, key, secret->name, secret->value, secret->length);
	}
	return marks;
}

bool job_has_secrets(const struct job *job)
{
	for (size_t type = 0; type < job->type_count; type++)
		if (job->types[type].environment.count > 0)
			return true;
	return job->secrets.count > 0 || job->on_end_webhook;
}

void job_mark_secrets(struct job *job, const char *key)
{
	static const char webhook[] = "tony.application.on-end-webhook";
	json_t *marks = json_object();

	for (size_t i = 0; i < job->type_count; i++)
		json_object_set_new(marks, job->types[i].name, mark_type(job, i, key));
	json_decref(job->marks);
	job->marks = marks;
	if (job->on_end_webhook)
		add_mark(json_object_get(job->config, webhook), key, "mark", job->on_end_webhook,
			 strlen(job->on_end_webhook));
}

bool job_is_hidden(const char *text)
{
	const size_t front = strlen(JOB_SECRET_HIDDEN);

	if (!text || !str_starts_with(text, JOB_SECRET_HIDDEN))
		return false;
	const char *mark = text + front;
	return !*mark ||
	       (strlen(mark) == KEY_NAME_LENGTH + 1 + MARK_LENGTH && mark[KEY_NAME_LENGTH] == ':' &&
		mark[strspn(mark, "0123456789abcdef:")] == '\0');
}

int job_compare_hidden(const char *one, const char *other)
{
	const char *first = one + strlen(JOB_SECRET_HIDDEN);
	const char *second = other + strlen(JOB_SECRET_HIDDEN);

	if (!*first || !*second || strncmp(first, second, KEY_NAME_LENGTH) != 0)
		return -1;
	return !str_equal(first, second);
}
