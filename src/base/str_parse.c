/* Parsing and printing of numbers, sizes, durations, times and foreign text. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/mem.h"
#include "base/str.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

int str_parse_int(const char *text, int64_t min, int64_t max, int64_t *value)
{
	const char *digits = text + (*text == '-');

	if (!is_digit(*digits))
		return -1;
	char *end;
	errno = 0;
	long long parsed = strtoll(text, &end, 10);
	if (errno != 0 || *end || parsed < min || parsed > max)
		return -1;
	*value = parsed;
	return 0;
}

bool str_is_whole_number(const char *text)
{
	text += *text == '-';
	return *text && !text[strspn(text, "0123456789")];
}

int str_parse_double(const char *text, double *value)
{
	const char *digits = text + (*text == '-');

	/* strtod() also takes blanks, hexadecimal, "inf" and "nan". */
	if (!is_digit(*digits) && !(*digits == '.' && is_digit(digits[1])))
		return -1;
	if (text[strspn(text, "0123456789.eE+-")])
		return -1;
	char *end;
	double parsed = strtod(text, &end);
	if (*end || !__builtin_isfinite(parsed))
		return -1;
	*value = parsed;
	return 0;
}

int str_parse_bool(const char *text, bool *value)
{
	static const char *const words[][2] = {
		{"false", "true"}, {"no", "yes"}, {"off", "on"}, {"0", "1"}};

	for (size_t i = 0; i < array_length(words); i++) {
		for (int truth = 0; truth < 2; truth++) {
			if (str_equal_nocase(text, words[i][truth])) {
				*value = truth;
				return 0;
			}
		}
	}
	return -1;
}

struct unit {
	const char *name;
	double factor;
};

static const struct unit *find_unit(const char *name, size_t length, const struct unit *units,
				    size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(units[i].name) == length &&
		    strncasecmp(units[i].name, name, length) == 0)
			return &units[i];
	return NULL;
}

/* Reads "<digits>[.<digits>]", blanks and a unit in any case, and moves *text behind them. NULL
 * when anything else stands there. */
static const struct unit *read_quantity(const char **text, const struct unit *units, size_t count,
					double *value)
{
	size_t whole = strspn(*text, "0123456789");
	const char *end = *text + whole;

	if (whole == 0)
		return NULL;
	if (*end == '.') {
		size_t fraction = strspn(end + 1, "0123456789");
		if (fraction == 0)
			return NULL;
		end += 1 + fraction;
	}
	char *number cleanup_free = mem_strndup(*text, (size_t)(end - *text));
	end += strspn(end, " ");
	size_t letters = strcspn(end, " .0123456789");
	const struct unit *unit = find_unit(end, letters, units, count);
	if (!unit)
		return NULL;
	*value = strtod(number, NULL) * unit->factor;
	*text = end + letters + strspn(end + letters, " ");
	return unit;
}

#define MIB  0x1p20
#define MOST 0x1p61 /* bytes; beyond, nobody counts */

int str_parse_bytes(const char *text, int64_t *bytes)
{
	static const struct unit units[] = {
		{"", MIB},	{"k", 0x1p10},	 {"kb", 0x1p10},  {"ki", 0x1p10}, {"kib", 0x1p10},
		{"m", MIB},	{"mb", MIB},	 {"mi", MIB},	  {"mib", MIB},	  {"g", 0x1p30},
		{"gb", 0x1p30}, {"gi", 0x1p30},	 {"gib", 0x1p30}, {"t", 0x1p40},  {"tb", 0x1p40},
		{"ti", 0x1p40}, {"tib", 0x1p40},
	};
	double value;

	if (!read_quantity(&text, units, array_length(units), &value) || *text)
		return -1;
	*bytes = (int64_t)(value < MOST ? value : MOST);
	*bytes += (double)*bytes < value && value < MOST;
	return 0;
}

int str_parse_mib(const char *text, int64_t *mib)
{
	int64_t bytes;

	if (str_parse_bytes(text, &bytes) < 0)
		return -1;
	*mib = (bytes + (1 << 20) - 1) >> 20;
	return 0;
}

/* "1h30m": larger units come first, and a number without a unit stands alone. */
static int read_duration(const char *text, const struct unit *units, size_t count, double *ms)
{
	double least = INFINITY, part;

	*ms = 0;
	do {
		const struct unit *unit = read_quantity(&text, units, count, &part);
		bool alone = unit && least == INFINITY && !*text;
		if (!unit || unit->factor >= least || (!*unit->name && !alone))
			return -1;
		least = unit->factor;
		*ms += part;
	} while (*text);
	return 0;
}

int str_parse_duration(const char *text, int64_t bare_unit_ms, int64_t *ms)
{
	const double s = 1000, m = 60 * s, h = 60 * m, d = 24 * h;
	const struct unit units[] = {
		{"", (double)bare_unit_ms},
		{"ms", 1},
		{"s", s},
		{"sec", s},
		{"m", m},
		{"min", m},
		{"h", h},
		{"hr", h},
		{"d", d},
	};
	double value;

	/* Beyond 2^53 ms (285,000 years) a double no longer counts single ones. */
	if (read_duration(text, units, array_length(units), &value) < 0 || value > 0x1p53)
		return -1;
	/* To the nearest, but never to 0, which often means "none". */
	*ms = value > 0 && value < 1 ? 1 : (int64_t)(value + 0.5);
	return 0;
}

char *str_format_mib(double mib)
{
	if (mib >= 1024 * 1023.95)
		return mem_printf("%.1f TiB", mib / (1024 * 1024));
	if (mib >= 1023.5)
		return mem_printf("%.1f GiB", mib / 1024);
	if (mib >= 9.95 || mib == (double)(int64_t)mib)
		return mem_printf("%.0f MiB", mib);
	return mem_printf("%.1f MiB", mib);
}

char *str_format_mib_beside(int64_t mib, int64_t other)
{
	char *text = str_format_mib((double)mib);
	char *others cleanup_free = str_format_mib((double)other);

	if (mib != other && str_equal(text, others))
		mem_replace(&text, mem_printf("%lld MiB", (long long)mib));
	return text;
}

char *str_format_bytes(int64_t bytes)
{
	if (bytes < 1024)
		return mem_printf("%lld B", (long long)bytes);
	if (bytes < 1024 * 1024)
		return mem_printf("%lld KiB", (long long)(bytes / 1024));
	return str_format_mib((double)bytes / (1024 * 1024));
}

char *str_format_duration(int64_t ms)
{
	const char *sign = ms < 0 ? "-" : "";
	uint64_t left = ms < 0 ? -(uint64_t)ms : (uint64_t)ms;
	unsigned long long s = left / 1000, m = s / 60, h = m / 60, d = h / 24;

	if (left < 1000)
		return mem_printf("%s%llu ms", sign, (unsigned long long)left);
	if (m == 0)
		return mem_printf("%s%llu.%llu s", sign, s, (unsigned long long)left % 1000 / 100);
	if (h == 0)
		return mem_printf("%s%llu m %02llu s", sign, m, s % 60);
	if (d == 0)
		return mem_printf("%s%llu h %02llu m", sign, h, m % 60);
	return mem_printf("%s%llu d %02llu h", sign, d, h % 24);
}

char *str_format_time(int64_t ms)
{
	int64_t part = ((ms % 1000) + 1000) % 1000;
	time_t seconds = (time_t)(ms / 1000 - (ms % 1000 < 0));
	struct tm tm;

	if (!gmtime_r(&seconds, &tm))
		return mem_printf("%lld ms", (long long)ms);
	return mem_printf("%04lld-%02d-%02dT%02d:%02d:%02d.%03dZ", (long long)tm.tm_year + 1900,
			  tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)part);
}

char *str_shell_quote(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_@%+=:,./-";
	struct str quoted = {0};

	if (*word && !word[strspn(word, plain)])
		return mem_strdup(word);
	str_append_char(&quoted, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			str_append(&quoted, "'\\''");
		else
			str_append_char(&quoted, *word);
	}
	str_append_char(&quoted, '\'');
	return str_steal(&quoted);
}

/* The length of the UTF-8 character at `bytes`, its number in *code; 0 when there is none. */
static size_t decode(const unsigned char *bytes, size_t length, uint32_t *code)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t size = bytes[0] < 0x80 ? 1 : bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;

	if ((bytes[0] >= 0x80 && bytes[0] < 0xc2) || bytes[0] > 0xf4 || size > length)
		return 0;
	*code = size == 1 ? bytes[0] : bytes[0] & (0x7fu >> size);
	for (size_t i = 1; i < size; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		*code = (*code << 6) | (bytes[i] & 0x3f);
	}
	if (*code < smallest[size] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))
		return 0;
	return size;
}

bool str_is_utf8(const char *bytes, size_t length)
{
	uint32_t code;

	for (size_t i = 0; i < length;) {
		size_t size = decode((const unsigned char *)bytes + i, length - i, &code);
		if (size == 0 || code == 0)
			return false;
		i += size;
	}
	return true;
}

/* Bidirectional controls (U+202A to U+202E, U+2066 to U+2069) reorder what stands beside them;
 * U+2028 and U+2029 end a line. */
static bool is_control(uint32_t code)
{
	return (code < 0x20 && code != '\t' && code != '\n') || (code >= 0x7f && code < 0xa0) ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

void str_cut(char *text, size_t most)
{
	if (!text || strlen(text) <= most)
		return;
	while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80)
		most--;
	text[most] = '\0';
}

char *str_printable(const char *bytes, size_t length)
{
	struct str clean = {0};
	uint32_t code;

	for (size_t i = 0; i < length;) {
		size_t plain = 0;
		while (i + plain < length && bytes[i + plain] >= ' ' && bytes[i + plain] < 0x7f)
			plain++;
		str_append_bytes(&clean, bytes + i, plain);
		i += plain;
		if (i == length)
			break;
		size_t size = decode((const unsigned char *)bytes + i, length - i, &code);
		if (size == 0 || is_control(code))
			str_append_char(&clean, '?');
		else
			str_append_bytes(&clean, bytes + i, size);
		i += size ? size : 1;
	}
	return str_steal(&clean);
}

char *str_environment(const char *name)
{
	const char *dash = strchr(name, '-');
	bool or_empty = dash && dash > name && dash[-1] == ':';
	char *variable cleanup_free =
		dash ? mem_strndup(name, (size_t)(dash - name) - or_empty) : mem_strdup(name);
	const char *value = getenv(variable);

	if (dash && (!value || (or_empty && !*value)))
		return mem_strdup(dash + 1);
	return mem_strdup(value);
}
