#include "job/job_secret.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/mem.h"
#include "job/job_fields.h"

static const char *const kinds[] = {"variable", "file", NULL};

bool job_secret_is_name(const char *text)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";

	return *text && strchr(letters, *text) && strlen(text) <= JOB_SECRET_NAME &&
	       text[strspn(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
				 "abcdefghijklmnopqrstuvwxyz")] == '\0';
}

const struct job_secret *job_secrets_find(const struct job_secrets *secrets, const char *name)
{
	for (size_t i = 0; i < secrets->count; i++)
		if (str_equal(secrets->items[i].name, name))
			return &secrets->items[i];
	return NULL;
}

void job_secrets_add(struct job_secrets *secrets, struct job_secret secret)
{
	secrets->items = mem_grow(secrets->items, secrets->count, sizeof(secret));
	secrets->items[secrets->count++] = secret;
}

void job_secret_copy(const struct job_secret *from, struct job_secret *to)
{
	*to = (struct job_secret){mem_strdup(from->name), from->is_file, NULL, from->length};
	if (!from->value)
		return;
	to->value = mem_alloc(from->length + 1);
	memcpy(to->value, from->value, from->length);
}

void job_secret_forget(struct job_secret *secret)
{
	if (secret->value)
		explicit_bzero(secret->value, secret->length);
	free(secret->value);
	secret->value = NULL;
	secret->length = 0;
}

void job_secrets_forget(struct job_secrets *secrets)
{
	for (size_t i = 0; i < secrets->count; i++)
		job_secret_forget(&secrets->items[i]);
}

void job_secret_finish(struct job_secret *secret)
{
	job_secret_forget(secret);
	free(secret->name);
	*secret = (struct job_secret){0};
}

void job_secrets_finish(struct job_secrets *secrets)
{
	for (size_t i = 0; i < secrets->count; i++)
		job_secret_finish(&secrets->items[i]);
	free(secrets->items);
	*secrets = (struct job_secrets){0};
}

/* ---- in job.json -------------------------------------------------------------------------- */

void job_secrets_write(const struct job_secrets *secrets, json_t *job)
{
	json_t *list = secrets->count > 0 ? json_array() : NULL;

	for (size_t i = 0; i < secrets->count; i++) {
		const struct job_secret *secret = &secrets->items[i];
		json_t *object = json_object();
		json_set_text(object, "name", secret->name);
		json_set_text(object, "kind", kinds[secret->is_file]);
		if (secret->value) {
			char *text cleanup_secret = base64_encode(secret->value, secret->length);
			json_set_text(object, "value", text);
		}
		json_array_append_new(list, object);
	}
	if (list)
		json_object_set_new(job, "secrets", list);
}

void job_secrets_hide(json_t *job)
{
	json_t *secret;
	size_t i;

	json_array_foreach(json_object_get(job, "secrets"), i, secret)
		json_object_del(secret, "value");
}

static int read_value(const json_t *object, struct job_secret *secret, struct err *err)
{
	const json_t *value = json_object_get(object, "value");
	size_t length = json_string_length(value);

	if (!value)
		return 0;
	if (length > JOB_SECRET_CAP * 2)
		return err_set(err, ERR_INPUT, "value: is longer than %d bytes", JOB_SECRET_CAP);
	char *bytes = json_is_string(value)
			      ? base64_decode(json_string_value(value), length, &secret->length)
			      : NULL;
	if (!bytes)
		return err_set(err, ERR_INPUT, "value: is not base64");
	secret->value = mem_alloc(secret->length + 1);
	memcpy(secret->value, bytes, secret->length);
	explicit_bzero(bytes, secret->length);
	free(bytes);
	if (secret->length > JOB_SECRET_CAP)
		return err_set(err, ERR_INPUT, "value: is longer than %d bytes", JOB_SECRET_CAP);
	if (!secret->is_file && memchr(secret->value, '\0', secret->length))
		return err_set(err, ERR_INPUT, "value: holds a NUL");
	return 0;
}

static int read_secret(const json_t *object, struct job_secrets *secrets, struct err *err)
{
	char *name cleanup_free = NULL;

	if (json_need_text(object, "name", &name, err) < 0)
		return -1;
	int kind = job_read_choice(object, "kind", kinds, err);
	if (kind < 0)
		return -1;
	if (!job_secret_is_name(name))
		return err_set(err, ERR_INPUT, "name: is not of the form [A-Za-z_][A-Za-z0-9_]*");
	if (job_secrets_find(secrets, name))
		return err_set(err, ERR_INPUT, "name: \"%s\" is there twice", name);
	job_secrets_add(secrets, (struct job_secret){mem_steal(&name), kind == 1, NULL, 0});
	return read_value(object, &secrets->items[secrets->count - 1], err);
}

int job_secrets_read(const json_t *job, struct job_secrets *secrets, struct err *err)
{
	const json_t *list = json_object_get(job, "secrets");

	if (list && !json_is_array(list))
		return err_set(err, ERR_INPUT, "secrets: is not a list");
	if (json_array_size(list) > JOB_MAX_SECRETS)
		return err_set(err, ERR_INPUT, "secrets: has more than %d entries",
			       JOB_MAX_SECRETS);
	for (size_t i = 0; i < json_array_size(list); i++)
		if (read_secret(json_array_get(list, i), secrets, err) < 0)
			return err_wrap(err, "secrets[%zu]", i);
	return 0;
}
