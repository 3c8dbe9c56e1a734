#include "net/http_message.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/http_url.h"

enum {
	CHUNK_LINE_MAX = 1024, /* a size with its extensions, which nobody sends */
	TRAILER_MAX = 16 * 1024,
	HEADERS_AT_ONCE = 8,
};
#define CONTENT_LENGTH_MAX ((int64_t)1 << 53)

static bool ends_with(const char *bytes, size_t length, const char *end)
{
	size_t size = strlen(end);

	return length >= size && memcmp(bytes + length - size, end, size) == 0;
}

size_t http_head_length(const char *bytes, size_t length, size_t from)
{
	const char *feed;

	while (from < length && (feed = memchr(bytes + from, '\n', length - from))) {
		from = (size_t)(feed - bytes) + 1;
		if (!ends_with(bytes, from, "\r\n") || ends_with(bytes, from, "\r\n\r\n"))
			return from;
	}
	return 0;
}

static bool is_token(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c != '\0' && strchr("!#$%&'*+-.^_`|~", c));
}

static size_t token_length(const char *text)
{
	size_t length = 0;

	while (is_token(text[length]))
		length++;
	return length;
}

/* Cuts the line at `*cursor` off and moves on; NULL at the empty line that ends the head. */
static char *next_line(char **cursor)
{
	char *line = *cursor;
	char *end = strstr(line, "\r\n");

	if (!end || end == line)
		return NULL;
	*end = '\0';
	*cursor = end + 2;
	return line;
}

static int check_bytes(const char *line, struct err *err)
{
	for (const unsigned char *c = (const unsigned char *)line; *c; c++) {
		if ((*c < ' ' && *c != '\t') || *c == 0x7f)
			return err_set(err, ERR_INPUT, "a control character (%d) in a header", *c);
	}
	return 0;
}

static int split_header(struct http_header *header, char *line, struct err *err)
{
	size_t length = token_length(line);

	if (length == 0 || line[length] != ':')
		return err_set(err, ERR_INPUT, "a line of the headers is not NAME: VALUE");
	if (check_bytes(line, err) < 0)
		return -1;
	line[length] = '\0';
	header->name = line;
	char *value = line + length + 1;
	value += strspn(value, " \t");
	for (size_t end = strlen(value); end > 0 && strchr(" \t", value[end - 1]); end--)
		value[end - 1] = '\0';
	header->value = value;
	return 0;
}

/* "keep-alive, Upgrade" has "upgrade". */
static bool list_has(const char *list, const char *word)
{
	struct str_list words cleanup_str_list = {0};

	str_split(&words, list, ',');
	for (size_t i = 0; i < words.count; i++) {
		if (strcasecmp(words.items[i], word) == 0)
			return true;
	}
	return false;
}

static int read_content_length(struct http_head *head, const char *value, struct err *err)
{
	int64_t length;

	if (value[strspn(value, "0123456789")] ||
	    str_parse_int(value, 0, CONTENT_LENGTH_MAX, &length) < 0)
		return err_set(err, ERR_INPUT, "Content-Length is not a size");
	if (head->content_length >= 0 && head->content_length != length)
		return err_set(err, ERR_INPUT, "two Content-Lengths that differ");
	head->content_length = length;
	return 0;
}

static int read_framing(struct http_head *head, const struct http_header *header, struct err *err)
{
	const char *value = header->value;

	if (strcasecmp(header->name, "Content-Length") == 0)
		return read_content_length(head, value, err);
	if (strcasecmp(header->name, "Transfer-Encoding") == 0) {
		if (head->chunked || strcasecmp(value, "chunked") != 0)
			return err_set(err, ERR_INPUT, "Transfer-Encoding is not \"chunked\"");
		head->chunked = true;
	} else if (strcasecmp(header->name, "Connection") == 0) {
		if (list_has(value, "close"))
			head->keep_alive = false;
	} else if (strcasecmp(header->name, "Expect") == 0) {
		head->expects_continue = strcasecmp(value, "100-continue") == 0;
	}
	return 0;
}

static struct http_header *add_header(struct http_head *head)
{
	if (head->header_count % HEADERS_AT_ONCE == 0)
		head->headers =
			mem_realloc_array(head->headers, head->header_count + HEADERS_AT_ONCE,
					  sizeof(*head->headers));
	return &head->headers[head->header_count++];
}

static int parse_headers(struct http_head *head, char *cursor, struct err *err)
{
	char *line;

	head->content_length = -1;
	while ((line = next_line(&cursor))) {
		if (head->header_count == HTTP_HEADERS_MAX)
			return err_set(err, ERR_INPUT, "more than %d headers", HTTP_HEADERS_MAX);
		struct http_header *header = add_header(head);
		if (split_header(header, line, err) < 0 || read_framing(head, header, err) < 0)
			return -1;
	}
	/* Two framings are how a request hides another one. */
	if (head->chunked && head->content_length >= 0)
		return err_set(err, ERR_INPUT, "both Content-Length and Transfer-Encoding");
	return 0;
}

/* 1 for "HTTP/1.1", 0 for "HTTP/1.0", or -1. */
static int read_version(const char *version)
{
	if (strcmp(version, "HTTP/1.1") == 0)
		return 1;
	return strcmp(version, "HTTP/1.0") == 0 ? 0 : -1;
}

static int parse_request_line(struct http_head *head, char *line, struct err *err)
{
	size_t method = token_length(line);
	char *target = line + method + 1;

	if (method == 0 || method > HTTP_METHOD_MAX || line[method] != ' ')
		return err_set(err, ERR_INPUT, "the first line is not METHOD PATH HTTP/1.1");
	line[method] = '\0';
	size_t length = strcspn(target, " ");
	if (target[0] != '/' || target[length] != ' ')
		return err_set(err, ERR_INPUT, "the first line is not METHOD /PATH HTTP/1.1");
	target[length] = '\0';
	for (size_t i = 0; i < length; i++) {
		if (target[i] < '!' || target[i] > '~' || target[i] == '#')
			return err_set(err, ERR_INPUT, "the path holds a byte that it must encode");
	}
	int version = read_version(target + length + 1);
	if (version < 0)
		return err_set(err, ERR_INPUT, "the version is not HTTP/1.1");
	head->method = line;
	head->target = target;
	head->minor_version = version;
	head->keep_alive = version == 1;
	return 0;
}

static int parse_status_line(struct http_head *head, char *line, struct err *err)
{
	char *space = strchr(line, ' ');

	if (space)
		*space = '\0';
	int version = read_version(line);
	if (!space || version < 0)
		return err_set(err, ERR_INPUT, "the answer is not HTTP/1.1");
	char *code = space + 1;
	if (strspn(code, "0123456789") != 3 || (code[3] != '\0' && code[3] != ' '))
		return err_set(err, ERR_INPUT, "the answer has no status");
	head->status = (code[0] - '0') * 100 + (code[1] - '0') * 10 + (code[2] - '0');
	if (head->status < 100)
		return err_set(err, ERR_INPUT, "the answer has no status");
	head->minor_version = version;
	head->keep_alive = version == 1;
	return 0;
}

static int parse(struct http_head *head, const char *bytes, size_t length,
		 int (*parse_first)(struct http_head *, char *, struct err *), struct err *err)
{
	memset(head, 0, sizeof(*head));
	if (memchr(bytes, '\0', length))
		return err_set(err, ERR_INPUT, "a NUL in the headers");
	if (!ends_with(bytes, length, "\r\n\r\n"))
		return err_set(err, ERR_INPUT, "a line of the headers ends in LF, not in CR LF");
	head->text = mem_strndup(bytes, length);
	char *cursor = head->text;
	char *first = next_line(&cursor);
	if (!first)
		err_set(err, ERR_INPUT, "the first line is empty");
	else if (parse_first(head, first, err) == 0 && parse_headers(head, cursor, err) == 0)
		return 0;
	http_head_finish(head);
	return -1;
}

size_t http_head_count(const struct http_head *head, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < head->header_count; i++)
		count += strcasecmp(head->headers[i].name, name) == 0;
	return count;
}

/* RFC 9112, 3.2. */
static int check_host(const struct http_head *head, struct err *err)
{
	size_t count = http_head_count(head, "Host");

	if (count > 1)
		return err_set(err, ERR_INPUT, "more than one Host");
	if (count == 0 && head->minor_version == 1)
		return err_set(err, ERR_INPUT, "there is no Host");
	return 0;
}

int http_head_parse_request(struct http_head *head, const char *bytes, size_t length,
			    struct err *err)
{
	if (parse(head, bytes, length, parse_request_line, err) < 0)
		return -1;
	if (check_host(head, err) == 0)
		return 0;
	http_head_finish(head);
	return -1;
}

int http_head_parse_response(struct http_head *head, const char *bytes, size_t length,
			     struct err *err)
{
	return parse(head, bytes, length, parse_status_line, err);
}

const char *http_head_find(const struct http_head *head, const char *name)
{
	for (size_t i = 0; i < head->header_count; i++) {
		if (strcasecmp(head->headers[i].name, name) == 0)
			return head->headers[i].value;
	}
	return NULL;
}

void http_head_finish(struct http_head *head)
{
	free(head->text);
	free(head->headers);
	memset(head, 0, sizeof(*head));
}

static int end_size_line(struct http_chunks *chunks)
{
	if (chunks->line < 3) /* only CR LF */
		return -1;
	chunks->state = chunks->left > 0 ? CHUNKS_DATA : CHUNKS_TRAILER;
	chunks->line = 0;
	chunks->in_extension = false;
	return 0;
}

static int take_size_byte(struct http_chunks *chunks, char c)
{
	int digit = http_hex_digit(c);

	if (chunks->carriage != (c == '\n') || ++chunks->line > CHUNK_LINE_MAX)
		return -1;
	if (c == '\n')
		return end_size_line(chunks);
	if (c == '\r' || chunks->in_extension)
		return 0;
	if (digit < 0) {
		chunks->in_extension = true;
		return chunks->line > 1 && strchr("; \t", c) && c ? 0 : -1;
	}
	if (chunks->left >> 48)
		return -1;
	chunks->left = chunks->left << 4 | (uint64_t)digit;
	return 0;
}

static int take_trailer_byte(struct http_chunks *chunks, char c)
{
	if (chunks->carriage != (c == '\n') || ++chunks->trailer > TRAILER_MAX)
		return -1;
	if (c == '\n') {
		/* A line that is only CR LF ends it all. */
		if (chunks->line == 1)
			chunks->state = CHUNKS_DONE;
		chunks->line = 0;
	} else {
		chunks->line++;
	}
	return 0;
}

static int take_data_end_byte(struct http_chunks *chunks, char c)
{
	if (c != "\r\n"[chunks->line])
		return -1;
	if (++chunks->line == 2) {
		chunks->line = 0;
		chunks->state = CHUNKS_SIZE;
	}
	return 0;
}

static int take_byte(struct http_chunks *chunks, char c)
{
	int result = -1;

	if (chunks->state == CHUNKS_SIZE)
		result = take_size_byte(chunks, c);
	else if (chunks->state == CHUNKS_TRAILER)
		result = take_trailer_byte(chunks, c);
	else if (chunks->state == CHUNKS_DATA_END)
		result = take_data_end_byte(chunks, c);
	chunks->carriage = c == '\r';
	return result;
}

ssize_t http_chunks_next(struct http_chunks *chunks, const char *bytes, size_t length,
			 const char **data, size_t *data_length)
{
	size_t i = 0;

	*data = bytes;
	*data_length = 0;
	while (i < length && chunks->state != CHUNKS_DATA && chunks->state != CHUNKS_DONE) {
		if (take_byte(chunks, bytes[i++]) < 0)
			return -1;
	}
	if (chunks->state == CHUNKS_DATA && i < length) {
		size_t some = length - i;
		if (some > chunks->left)
			some = (size_t)chunks->left;
		*data = bytes + i;
		*data_length = some;
		chunks->left -= some;
		i += some;
		if (chunks->left == 0)
			chunks->state = CHUNKS_DATA_END;
	}
	return (ssize_t)i;
}
