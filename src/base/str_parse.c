/* Parsing and printing of numbers, sizes, durations, times and foreign text. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
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
	const char *suffix;
	double factor;
};

/* "<digits>[.<digits>]<suffix>", any case; -1 when the text is anything else. */
static int parse_with_unit(const char *text, const struct unit *units, size_t count, double *value)
{
	size_t whole = strspn(text, "0123456789");
	const char *suffix = text + whole;

	if (whole == 0)
		return -1;
	if (*suffix == '.') {
		size_t fraction = strspn(suffix + 1, "0123456789");
		if (fraction == 0)
			return -1;
		suffix += 1 + fraction;
	}
	for (size_t i = 0; i < count; i++) {
		if (str_equal_nocase(suffix, units[i].suffix)) {
			char *number cleanup_free = mem_strndup(text, (size_t)(suffix - text));
			*value = strtod(number, NULL) * units[i].factor;
			return 0;
		}
	}
	return -1;
}

int str_parse_mib(const char *text, int64_t *mib)
{
	static const struct unit units[] = {
		{"", 1}, {"k", 1.0 / 1024}, {"m", 1}, {"g", 1024}, {"t", 1024 * 1024}};
	double value;

	if (parse_with_unit(text, units, array_length(units), &value) < 0 || value > 0x1p40)
		return -1;
	*mib = (int64_t)value;
	*mib += (double)*mib < value;
	return 0;
}

int str_parse_duration(const char *text, int64_t bare_unit_ms, int64_t *ms)
{
	const struct unit units[] = {{"", (double)bare_unit_ms}, {"ms", 1},	{"s", 1000},
				     {"m", 60 * 1000},		 {"h", 3600e3}, {"d", 24 * 3600e3}};
	double value;

	/* Beyond 2^53 ms (285,000 years) a double no longer counts single ones. */
	if (parse_with_unit(text, units, array_length(units), &value) < 0 || value > 0x1p53)
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

static bool is_control(uint32_t code)
{
	return (code < 0x20 && code != '\t' && code != '\n') || (code >= 0x7f && code < 0xa0);
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
