/*
 * Heads on their way through the door to a task's web interface: a browser's question and a
 * program's answer, one behind the other. Whatever is in them, what comes out is one head, and
 * holds nothing of tony's.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "web/ui_head.h"

static const char prefix[] = "/ui/tb";
static const struct ui_place places[] = {
	{.prefix = prefix, .address = "10.0.0.7:6006"},
	{.prefix = prefix, .address = "10.0.0.7:6006", .keep_path = true},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* It is one head, to its last byte; `cookie` names the header with none of tony's. */
static void check(const struct str *text, const struct http_head *from, const char *cookie,
		  int (*parse)(struct http_head *, const char *, size_t, struct err *))
{
	struct http_head head;
	size_t length = http_head_length(text->text, text->length, 0);

	if (length != text->length)
		BUG("%zu bytes of %zu are the head: %s", length, text->length, text->text);
	if (from->header_count + 8 > HTTP_HEADERS_MAX)
		return;
	if (parse(&head, text->text, text->length, NULL) < 0)
		BUG("is no head: %s", text->text);
	const char *value = http_head_find(&head, cookie);
	if (value && strncmp(value, "tony-", 5) == 0)
		BUG("holds what is tony's: %s", text->text);
	http_head_finish(&head);
}

static void pass(const struct http_head *question, const struct http_head *answer,
		 const struct ui_place *place)
{
	struct str head cleanup_str = {0};

	if (strncmp(question->target, "/ui/tb/", 7) != 0)
		return;
	ui_head_of_question(&head, question, "10.0.0.8", false, place);
	check(&head, question, "Cookie", http_head_parse_request);
	str_truncate(&head, 0);
	if (answer)
		ui_head_of_answer(&head, answer, question->target, http_head_find(question, "Host"),
				  place);
	if (answer)
		check(&head, answer, "Set-Cookie", http_head_parse_response);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	size_t length = http_head_length(text, size, 0);
	size_t rest = http_head_length(text + length, size - length, 0);
	struct http_head question, answer;

	if (length == 0 || http_head_parse_request(&question, text, length, NULL) < 0)
		return 0;
	bool has_answer =
		rest > 0 && http_head_parse_response(&answer, text + length, rest, NULL) == 0;
	for (size_t i = 0; i < array_length(places); i++)
		pass(&question, has_answer ? &answer : NULL, &places[i]);
	if (has_answer)
		http_head_finish(&answer);
	http_head_finish(&question);
	return 0;
}
