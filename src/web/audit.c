#include "web/audit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

enum { KNOWN_MAX = 64, VALUE_MAX = 256 };

struct known {
	char *key;
	int64_t told_ms;
	uint64_t more; /* came since, and were not told */
};

struct audit_refusals {
	struct known known[KNOWN_MAX];
	size_t next; /* makes way */
	int64_t window_ms;
	int told;	 /* since window_ms */
	uint64_t untold; /* that no other line counts */
};

static bool is_plain(const char *value)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "._-:@/+%[]";

	return *value && !value[strspn(value, plain)];
}

static void append_quoted(struct str *text, const char *value)
{
	str_append_char(text, '"');
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			str_append_char(text, '\\');
		str_append_char(text, *value);
	}
	str_append_char(text, '"');
}

static void append(struct str *text, const char *name, const char *value)
{
	if (!value)
		return;
	char *shown cleanup_free = str_printable(value, strlen(value));
	str_cut(shown, VALUE_MAX);
	str_append_format(text, "%s%s=", text->length > 0 ? " " : "", name);
	if (is_plain(shown))
		str_append(text, shown);
	else
		append_quoted(text, shown);
}

static void append_line(struct str *text, const struct audit_line *line)
{
	append(text, "user", line->user ? line->user : "-");
	append(text, "address", line->address);
	append(text, "proof", line->proof);
	append(text, "action", line->action);
	append(text, "job", line->job);
	append(text, "outcome", line->outcome);
	append(text, "detail", line->detail);
}

void audit_write(const struct audit_line *line)
{
	struct str text cleanup_str = {0};

	append_line(&text, line);
	log_write(LOG_LEVEL_AUDIT, "%s", text.text);
}

/* ---- refusals ----------------------------------------------------------------------------- */

struct audit_refusals *audit_refusals_create(void)
{
	struct audit_refusals *refusals = mem_alloc(sizeof(*refusals));

	refusals->window_ms = INT64_MIN / 2;
	return refusals;
}

void audit_refusals_destroy(struct audit_refusals *refusals)
{
	if (!refusals)
		return;
	for (size_t i = 0; i < KNOWN_MAX; i++)
		free(refusals->known[i].key);
	free(refusals);
}

/* All but the detail: a stranger has many of these. */
static char *key_of(const struct audit_line *line)
{
	struct audit_line same = *line;
	struct str key = {0};

	same.detail = NULL;
	append_line(&key, &same);
	return str_steal(&key);
}

static struct known *find_known(struct audit_refusals *refusals, const char *key)
{
	for (size_t i = 0; i < KNOWN_MAX; i++)
		if (str_equal(refusals->known[i].key, key))
			return &refusals->known[i];
	return NULL;
}

static bool has_room(struct audit_refusals *refusals, int64_t now_ms)
{
	if (now_ms - refusals->window_ms >= AUDIT_WINDOW_MS) {
		refusals->window_ms = now_ms;
		refusals->told = 0;
	}
	return refusals->told < AUDIT_REFUSALS_MAX;
}

static struct known *take_place(struct audit_refusals *refusals, char *key)
{
	struct known *place = &refusals->known[refusals->next];

	refusals->next = (refusals->next + 1) % KNOWN_MAX;
	refusals->untold += place->more;
	mem_replace(&place->key, key);
	place->more = 0;
	return place;
}

static void append_count(struct str *text, const char *name, uint64_t *count)
{
	if (*count > 0)
		str_append_format(text, " %s=%" PRIu64, name, *count);
	*count = 0;
}

bool audit_tell_refusal(struct audit_refusals *refusals, const struct audit_line *line,
			int64_t now_ms, struct str *text)
{
	char *key cleanup_free = key_of(line);
	struct known *known = find_known(refusals, key);

	if (known && now_ms - known->told_ms < AUDIT_WINDOW_MS) {
		known->more++;
		return false;
	}
	if (!has_room(refusals, now_ms)) {
		refusals->untold++;
		return false;
	}
	if (!known)
		known = take_place(refusals, mem_steal(&key));
	refusals->told++;
	known->told_ms = now_ms;
	append_line(text, line);
	append_count(text, "repeated", &known->more);
	append_count(text, "others-untold", &refusals->untold);
	return true;
}

void audit_refuse(struct audit_refusals *refusals, const struct audit_line *line, int64_t now_ms)
{
	struct str text cleanup_str = {0};

	if (audit_tell_refusal(refusals, line, now_ms, &text))
		log_write(LOG_LEVEL_AUDIT, "%s", text.text);
}
