#include "base/escape.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

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

/* CSI, numbers, "m": nothing that a terminal could take for more. */
static bool is_colour(const char *sequence, size_t length)
{
	return length >= 3 && sequence[1] == '[' &&
	       2 + strspn(sequence + 2, "0123456789;:") == length - 1;
}

static bool is_reset(const char *colour, size_t length)
{
	return length == 3 || (length == 4 && colour[2] == '0');
}

/* Text up to a sequence is cleaned by itself: what stands around the sequence is no character. */
static void add_text(struct str *out, const char *text, size_t length)
{
	char *clean cleanup_free = str_printable(text, length);

	str_append(out, clean);
}

char *escape_colours(const char *line, size_t length)
{
	struct escape escape = {0};
	struct str out = {0};
	bool is_coloured = false;
	size_t text = 0, begin = 0;

	for (size_t i = 0; i < length; i++) {
		bool is_taken = escape_takes(&escape, line[i]);
		if (line[i] == ESCAPE)
			begin = i;
		if (!is_taken)
			continue;
		add_text(&out, line + text, i - text);
		text = i + 1;
		size_t size = text - begin;
		if (escape.final != 'm' || !is_colour(line + begin, size))
			continue;
		str_append_bytes(&out, line + begin, size);
		is_coloured = !is_reset(line + begin, size);
	}
	add_text(&out, line + text, length - text);
	if (is_coloured)
		str_append(&out, "\033[0m");
	return str_steal(&out);
}
