/*
 * The heads of answers, one after the other, as a server sends them that wants a proof, or says so:
 * challenges, tokens and cookies. The exchange is one of plain text, in which every token of a
 * server's that begins with 'y' is its last. Three calls are made, so that cookies come back.
 */
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/http_message.h"
#include "net/http_negotiate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void *begin(void *data, const char *host, struct err *err)
{
	return data;
}

static int step(void *exchange, const void *token, size_t length, struct str *out, bool *complete,
		struct err *err)
{
	*complete = length > 0 && *(const char *)token == 'y';
	if (length > 0 && *(const char *)token == 'n')
		return err_set(err, ERR_DENIED, "no");
	if (!*complete)
		str_append_bytes(out, length > 0 ? token : "first", length > 0 ? length : 5);
	return 0;
}

static void end(void *exchange)
{
}

/* A request gets whole lines, and one of them at most. */
static void check_headers(const char *headers)
{
	size_t length = strlen(headers), lines = 0;

	for (size_t i = 0; i < length; i++) {
		lines += headers[i] == '\n';
		if ((unsigned char)headers[i] < ' ' && headers[i] != '\r' && headers[i] != '\n')
			BUG("a control character in a request");
	}
	if (lines > 1 || (length > 0 && strcmp(headers + length - 2, "\r\n") != 0))
		BUG("the request gets %zu lines: %s", lines, headers);
}

/* False: no head is left. */
static bool call(struct http_negotiator *negotiator, const char **text, size_t *left)
{
	struct http_negotiation *negotiation =
		http_negotiation_create(negotiator, "host:1", "host", true);
	bool again = true, is_there = false;

	for (size_t turns = 0; again; turns++) {
		struct http_head head;
		check_headers(http_negotiation_headers(negotiation));
		size_t length = http_head_length(*text, *left, 0);
		is_there = length > 0 && http_head_parse_response(&head, *text, length, NULL) == 0;
		if (!is_there)
			break;
		if (turns > HTTP_NEGOTIATE_TOKENS + 1)
			BUG("%zu rounds", turns);
		*text += length;
		*left -= length;
		bool is_401 = head.status == 401;
		if (http_negotiation_take(negotiation, &head, &again, NULL) < 0)
			again = false;
		else if (again != is_401)
			BUG("status %d, and the call goes on: %d", head.status, again);
		http_head_finish(&head);
	}
	http_negotiation_destroy(negotiation);
	return is_there;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct http_mechanism mechanism = {begin, step,	      end,
							NULL,  "hadoop.auth", "Plain"};
	struct http_negotiator *negotiator = http_negotiator_create(&mechanism, "", "do this");
	const char *text = (const char *)data;
	size_t left = size;

	while (call(negotiator, &text, &left))
		continue;
	http_negotiator_destroy(negotiator);
	return 0;
}
