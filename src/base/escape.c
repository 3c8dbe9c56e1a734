#include "base/escape.h"

#include <string.h>

enum { ESCAPE = 0x1b, BELL = 0x07 };

/* Where in a sequence the stream is. */
enum { NO_SEQUENCE, BEGUN, CONTROL, STRING, STRING_END };

static bool is_between(char byte, char first, char last)
{
	return byte >= first && byte <= last;
}

/* Behind the escape byte: "[" begins a control sequence, others a text (a window's title, a link),
 * and what is left are a few bytes more. */
static void begin(struct escape *escape, char byte)
{
	if (byte == '[')
		escape->place = CONTROL;
	else if (strchr("]PX^_", byte))
		escape->place = STRING;
	else if (!is_between(byte, ' ', '/'))
		escape->place = NO_SEQUENCE;
}

static bool is_torn_by(const struct escape *escape, char byte)
{
	return (unsigned char)byte < ' ' ||
	       (escape->place == CONTROL && !is_between(byte, ' ', '~'));
}

bool escape_takes(struct escape *escape, char byte)
{
	escape->final = 0;
	if (byte == ESCAPE) {
		escape->place = escape->place == STRING ? STRING_END : BEGUN;
		return true;
	}
	if (escape->place == NO_SEQUENCE)
		return false;
	bool is_seen = byte != BELL && is_torn_by(escape, byte);
	if (byte == BELL || is_seen || escape->place == STRING_END) {
		escape->place = NO_SEQUENCE;
	} else if (escape->place == BEGUN) {
		begin(escape, byte);
	} else if (escape->place == CONTROL && is_between(byte, '@', '~')) {
		escape->place = NO_SEQUENCE;
		escape->final = byte;
	}
	return !is_seen;
}

size_t escape_strip(char *bytes, size_t length)
{
	struct escape escape = {0};
	size_t left = 0;

	for (size_t i = 0; i < length; i++)
		if (!escape_takes(&escape, bytes[i]))
			bytes[left++] = bytes[i];
	return left;
}
