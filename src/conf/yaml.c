/*
 * Job files in YAML: a mapping, whose nested keys are joined by dots to the names that XML has.
 *
 *   tony:
 *     worker: {instances: 2, memory: 2g}
 *     execution:
 *       envs: {EPOCHS: 3}            # or a list of KEY=VALUE
 *     worker.resources: [words.txt, "base.zip#archive"]
 *
 * Values are taken as they are written; the table of keys says what they have to be. Aliases are
 * refused, so no file grows beyond its length, and so are tags, keys that are no words, and more
 * than one document.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/mem.h"
#include "conf/conf_internal.h"

enum { MAX_DEPTH = 32 };

struct reader {
	yaml_parser_t parser;
	const struct conf_input *source;
	const char *bytes;
	size_t length;
	struct map *lines; /* name -> the line that said it */
	struct err *err;
};

static void event_cleanup(yaml_event_t *event)
{
	yaml_event_delete(event);
}
#define cleanup_event __attribute__((cleanup(event_cleanup)))

static int line_of(const yaml_event_t *event)
{
	return (int)event->start_mark.line + 1;
}

static int fail(const struct reader *reader, const yaml_event_t *event, const char *text)
{
	return err_set(reader->err, ERR_CONFIG, "%s:%d: %s", reader->source->path, line_of(event),
		       text);
}

/* Of a key: what else is wrong is told, too. */
static void tell(const struct reader *reader, const yaml_event_t *event, const char *name,
		 const char *text)
{
	char *shown cleanup_free = conf_show_name(name);

	problems_error(&reader->source->conf->problems, PROBLEM_FILE, "%s:%d: %s: %s",
		       reader->source->path, line_of(event), shown, text);
}

/* The reader of characters tells an offset, and the scanner behind it a mark. */
static int line_of_problem(const struct reader *reader)
{
	const yaml_parser_t *parser = &reader->parser;
	int line = 1;

	if (parser->error != YAML_READER_ERROR)
		return (int)parser->problem_mark.line + 1;
	for (size_t i = 0; i < parser->problem_offset && i < reader->length; i++)
		line += reader->bytes[i] == '\n';
	return line;
}

static int next(struct reader *reader, yaml_event_t *event)
{
	yaml_parser_t *parser = &reader->parser;

	if (yaml_parser_parse(parser, event))
		return 0;
	memset(event, 0, sizeof(*event));
	const char *why = parser->problem ? parser->problem : "malformed";
	return err_set(reader->err, ERR_CONFIG, "%s:%d: not YAML: %s%s%s", reader->source->path,
		       line_of_problem(reader), why, parser->context ? ", " : "",
		       parser->context ? parser->context : "");
}

/* ---- scalars ------------------------------------------------------------------------------ */

/* YAML's own types change nothing: the table of keys has the say. */
static bool is_plain_tag(const yaml_char_t *tag)
{
	static const char *const tags[] = {YAML_STR_TAG,  YAML_INT_TAG,	 YAML_FLOAT_TAG,
					   YAML_BOOL_TAG, YAML_NULL_TAG, YAML_SEQ_TAG,
					   YAML_MAP_TAG};

	for (size_t i = 0; tag && i < array_length(tags); i++)
		if (str_equal(tags[i], (const char *)tag))
			return true;
	return !tag;
}

static int check_tag(const struct reader *reader, const yaml_event_t *event, const yaml_char_t *tag)
{
	if (is_plain_tag(tag))
		return 0;
	return fail(reader, event, "a tag (!...) means nothing here; take it out");
}

static bool has_control(const char *value, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)value[i] < ' ' && !strchr("\t\r\n", value[i]))
			return true;
	return strlen(value) != length;
}

/* U+FFFE or U+FFFF, in UTF-8. */
static bool has_noncharacter(const char *value)
{
	return strstr(value, "\xef\xbf\xbe") || strstr(value, "\xef\xbf\xbf");
}

/* Refuses a text that XML could not hold. */
static int check_scalar(const struct reader *reader, const yaml_event_t *event)
{
	if (check_tag(reader, event, event->data.scalar.tag) < 0)
		return -1;
	const char *value = (const char *)event->data.scalar.value;
	if (has_control(value, event->data.scalar.length))
		return fail(reader, event, "holds a control character; take it out");
	if (has_noncharacter(value))
		return fail(reader, event,
			    "holds U+FFFE or U+FFFF, which no text has; take it out");
	return 0;
}

static bool is_null(const yaml_event_t *event)
{
	const char *value = (const char *)event->data.scalar.value;

	return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	       (!*value || str_equal(value, "~") || str_equal(value, "null"));
}

/* Each name once, however it is spelt: nested, or with dots. */
static bool is_first(struct reader *reader, const yaml_event_t *event, const char *name)
{
	const char *before = map_get(reader->lines, name);

	if (!before) {
		map_set(reader->lines, name, mem_printf("%d", line_of(event)));
		return true;
	}
	char *text cleanup_free =
		mem_printf("is set in line %s, too; take one of them out", before);
	tell(reader, event, name, text);
	return false;
}

static void set(struct reader *reader, const yaml_event_t *event, const char *name,
		const char *value)
{
	const struct conf_place place = {reader->source->layer, reader->source->path,
					 line_of(event)};

	conf_set(reader->source->conf, &place, name, value);
	struct conf_entry *entry = conf_entry_of(reader->source->conf, name);
	entry->in_yaml = entry->layer == reader->source->layer;
}

static int read_scalar(struct reader *reader, const yaml_event_t *event, const char *name)
{
	if (check_scalar(reader, event) < 0)
		return -1;
	if (!is_first(reader, event, name))
		return 0;
	if (is_null(event))
		tell(reader, event, name, "has no value; write one, or \"\" for an empty one");
	else
		set(reader, event, name, (const char *)event->data.scalar.value);
	return 0;
}

/* ---- lists -------------------------------------------------------------------------------- */

static bool is_list(const char *name)
{
	const struct key *key = key_find(name, NULL);

	return !key || key->type >= KEY_LIST;
}

static bool is_environment(const char *name)
{
	const struct key *key = key_find(name, NULL);

	return key && key->type == KEY_ENVIRONMENT;
}

static void append_item(struct reader *reader, const yaml_event_t *event, const char *name,
			const char *item, struct str *list)
{
	if (strchr(item, ',') && !is_environment(name)) {
		tell(reader, event, name, "an item of a list cannot hold a comma");
		return;
	}
	if (is_environment(name) && str_ends_with(item, "\\")) {
		char *text cleanup_free =
			mem_printf("the value of %.*s ends in \"\\\", which would escape the comma "
				   "behind it; give it with --env",
				   (int)strcspn(item, "="), item);
		tell(reader, event, name, text);
		return;
	}
	key_append_item(key_find(name, NULL), item, list);
}

static int read_items(struct reader *reader, const char *name, struct str *list)
{
	for (;;) {
		yaml_event_t item cleanup_event = {0};
		if (next(reader, &item) < 0)
			return -1;
		if (item.type == YAML_SEQUENCE_END_EVENT)
			return 0;
		if (item.type != YAML_SCALAR_EVENT)
			return fail(reader, &item, "an item of a list is a word; write it as one");
		if (check_scalar(reader, &item) < 0)
			return -1;
		if (is_null(&item))
			tell(reader, &item, name,
			     "an item has no value; write one, or take it out");
		else
			append_item(reader, &item, name, (const char *)item.data.scalar.value,
				    list);
	}
}

static int read_list(struct reader *reader, const yaml_event_t *event, const char *name)
{
	struct str list cleanup_str = {0};

	if (read_items(reader, name, &list) < 0)
		return -1;
	if (!is_list(name))
		tell(reader, event, name, "is one value and no list; write it without [ ] or -");
	else if (is_first(reader, event, name))
		set(reader, event, name, str_text(&list));
	return 0;
}

/* ---- mappings ----------------------------------------------------------------------------- */

/* 1: the mapping's end. */
static int next_key(struct reader *reader, yaml_event_t *key)
{
	if (next(reader, key) < 0)
		return -1;
	if (key->type == YAML_MAPPING_END_EVENT)
		return 1;
	if (key->type != YAML_SCALAR_EVENT)
		return fail(reader, key, "a key is a word; write KEY: VALUE");
	if (check_scalar(reader, key) < 0)
		return -1;
	return *key->data.scalar.value ? 0 : fail(reader, key, "a key is empty; write KEY: VALUE");
}

/* envs: {KEY: VALUE} */
static int read_environment(struct reader *reader, const yaml_event_t *event, const char *name)
{
	struct str list cleanup_str = {0};

	for (;;) {
		yaml_event_t key cleanup_event = {0}, value cleanup_event = {0};
		int result = next_key(reader, &key);
		if (result < 0)
			return -1;
		if (result > 0)
			break;
		if (next(reader, &value) < 0)
			return -1;
		if (value.type != YAML_SCALAR_EVENT)
			return fail(reader, &value, "a variable has one value; write KEY: VALUE");
		if (check_scalar(reader, &value) < 0)
			return -1;
		const char *variable = (const char *)key.data.scalar.value;
		char *whole cleanup_free = mem_printf("%s.%s", name, variable);
		if (!is_first(reader, &key, whole))
			continue;
		char *pair cleanup_free =
			mem_printf("%s=%s", variable,
				   is_null(&value) ? "" : (const char *)value.data.scalar.value);
		append_item(reader, &key, name, pair, &list);
	}
	if (is_first(reader, event, name))
		set(reader, event, name, str_text(&list));
	return 0;
}

static int read_mapping(struct reader *reader, const char *prefix, int depth);

static int read_value(struct reader *reader, const yaml_event_t *event, const char *name, int depth)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return read_scalar(reader, event, name);
	case YAML_SEQUENCE_START_EVENT:
		if (check_tag(reader, event, event->data.sequence_start.tag) < 0)
			return -1;
		return read_list(reader, event, name);
	case YAML_MAPPING_START_EVENT:
		if (check_tag(reader, event, event->data.mapping_start.tag) < 0)
			return -1;
		if (is_environment(name))
			return read_environment(reader, event, name);
		return depth < MAX_DEPTH ? read_mapping(reader, name, depth + 1)
					 : fail(reader, event, "keys are nested too deeply");
	default:
		return fail(reader, event, "an alias (*...) is not taken; write the value here");
	}
}

static int read_mapping(struct reader *reader, const char *prefix, int depth)
{
	for (;;) {
		yaml_event_t key cleanup_event = {0}, value cleanup_event = {0};
		int result = next_key(reader, &key);
		if (result != 0)
			return result < 0 ? -1 : 0;
		const char *word = (const char *)key.data.scalar.value;
		char *name cleanup_free =
			prefix ? mem_printf("%s.%s", prefix, word) : mem_strdup(word);
		if (next(reader, &value) < 0 || read_value(reader, &value, name, depth) < 0)
			return -1;
	}
}

/* ------------------------------------------------------------------------------------------- */

static int read_document(struct reader *reader)
{
	yaml_event_t start cleanup_event = {0}, document cleanup_event = {0};
	yaml_event_t root cleanup_event = {0}, end cleanup_event = {0}, after cleanup_event = {0};

	if (next(reader, &start) < 0 || next(reader, &document) < 0)
		return -1;
	if (document.type == YAML_STREAM_END_EVENT)
		return fail(reader, &document, "is empty; write KEY: VALUE");
	if (next(reader, &root) < 0)
		return -1;
	if (root.type != YAML_MAPPING_START_EVENT)
		return fail(reader, &root, "the file has no keys; write KEY: VALUE, or XML");
	if (check_tag(reader, &root, root.data.mapping_start.tag) < 0 ||
	    read_mapping(reader, NULL, 1) < 0 || next(reader, &end) < 0 || next(reader, &after) < 0)
		return -1;
	return after.type == YAML_STREAM_END_EVENT
		       ? 0
		       : fail(reader, &after, "a second document begins; a job has one");
}

int conf_read_yaml(const struct conf_input *source, const char *bytes, size_t length,
		   struct err *err)
{
	struct reader reader = {.source = source, .bytes = bytes, .length = length, .err = err};

	if (!yaml_parser_initialize(&reader.parser))
		abort();
	reader.lines = map_create(free);
	yaml_parser_set_input_string(&reader.parser, (const unsigned char *)bytes, length);
	int result = read_document(&reader);
	map_destroy(reader.lines);
	yaml_parser_delete(&reader.parser);
	return result;
}
