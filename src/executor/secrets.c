#include "executor/secrets.h"

#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "executor/tail.h"

static char *path_of(const struct settings *settings, const struct job_secret *secret)
{
	char *directory cleanup_free = fs_join(settings->container_dir, "secrets");

	return secret ? fs_join(directory, secret->name) : mem_steal(&directory);
}

int secrets_write(const struct settings *settings, struct err *err)
{
	const struct job_secrets *secrets = &settings->job->secrets;
	char *directory cleanup_free = path_of(settings, NULL);

	for (size_t i = 0; i < secrets->count; i++) {
		const struct job_secret *secret = &secrets->items[i];
		char *path cleanup_free = path_of(settings, secret);
		if (!secret->is_file || !secret->value)
			continue;
		if (fs_make_directories(directory, 0700, err) < 0 ||
		    fs_write_private(path, secret->value, secret->length, err) < 0)
			return -1;
	}
	return 0;
}

void secrets_set(const struct settings *settings, struct environment *environment)
{
	const struct job_secrets *secrets = &settings->job->secrets;

	for (size_t i = 0; i < secrets->count; i++) {
		const struct job_secret *secret = &secrets->items[i];
		char *path cleanup_free = path_of(settings, secret);
		if (secret->value)
			environment_set(environment, secret->name,
					secret->is_file ? path : secret->value);
	}
}

void secrets_remove(const struct settings *settings)
{
	char *directory cleanup_free = path_of(settings, NULL);

	if (settings->job->secrets.count > 0)
		fs_remove_tree(directory, NULL);
}

/* ---- a program's last words --------------------------------------------------------------- */

/* How many bytes at a text's end are the beginning of `word`; 0: fewer than are masked. */
static size_t find_cut(const char *text, const char *word)
{
	size_t left = strlen(text), cut = strlen(word);

	if (cut > left)
		cut = left;
	while (cut >= SECRETS_MASK_LEAST && memcmp(text + left - cut, word, cut) != 0)
		cut--;
	return cut >= SECRETS_MASK_LEAST ? cut : 0;
}

static void mask_word(char **text, const char *word)
{
	struct str masked cleanup_str = {0};
	const char *from = *text, *found;

	while ((found = strstr(from, word))) {
		str_append_bytes(&masked, from, (size_t)(found - from));
		str_append(&masked, JOB_SECRET_HIDDEN);
		from = found + strlen(word);
	}
	/* A line that is too long was cut, maybe in the middle of the value. */
	size_t cut = strlen(*text) >= TAIL_LINE_CAP ? find_cut(from, word) : 0;
	str_append_bytes(&masked, from, strlen(from) - cut);
	if (cut > 0)
		str_append(&masked, JOB_SECRET_HIDDEN);
	mem_replace(text, str_steal(&masked));
}

static void mask_cause(struct cause *cause, const char *word)
{
	/* A report's own. */
	if (cause->text)
		mask_word((char **)&cause->text, word);
	if (cause->headline)
		mask_word(&cause->headline, word);
	for (size_t i = 0; i < cause->tail.count; i++)
		mask_word(&cause->tail.items[i], word);
}

/* A key of several lines is printed line by line, and each as tail.h has it. */
static void mask_value(struct cause *cause, const struct job_secret *secret)
{
	const char *line = secret->value, *end = secret->value + secret->length;

	while (line < end) {
		const char *next = memchr(line, '\n', (size_t)(end - line));
		size_t length = (size_t)((next ? next : end) - line);
		while (length > 0 && strchr(" \t\r", line[length - 1]))
			length--;
		char *word cleanup_secret = str_printable(line, length);
		const char *begin = word + strspn(word, " \t");
		if (strlen(begin) >= SECRETS_MASK_LEAST)
			mask_cause(cause, begin);
		line = next ? next + 1 : end;
	}
}

void secrets_mask(const struct settings *settings, struct cause *cause)
{
	const struct job_secrets *secrets = &settings->job->secrets;

	for (size_t i = 0; i < secrets->count; i++)
		if (secrets->items[i].value)
			mask_value(cause, &secrets->items[i]);
}
