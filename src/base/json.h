/*
 * JSON (jansson) with errors that name the place. Readers take an object and a member's name; on a
 * wrong type or range they set `err` to `path.name: ...` and return -1. Members that are absent
 * leave *value as it was (so the caller presets defaults) unless the reader's name says `need`.
 */
#ifndef TONY_BASE_JSON_H
#define TONY_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* Memory of JSON is overwritten when it is freed, also by jansson: descriptions of jobs have
 * secrets in them. Called once, before any other. */
void json_overwrite_freed(void);

/* At most 64 levels deep; duplicate members and trailing bytes are refused. */
json_t *json_parse(const char *bytes, size_t length, struct err *err);

int json_read_text(const json_t *object, const char *name, char **value, struct err *err);
int json_need_text(const json_t *object, const char *name, char **value, struct err *err);
int json_read_int(const json_t *object, const char *name, int64_t min, int64_t max, int64_t *value,
		  struct err *err);
int json_need_int(const json_t *object, const char *name, int64_t min, int64_t max, int64_t *value,
		  struct err *err);
int json_read_bool(const json_t *object, const char *name, bool *value, struct err *err);
int json_read_list(const json_t *object, const char *name, struct str_list *list, struct err *err);

/* Some servers write a list of one item as that item. Of neither the count is 0. */
size_t json_count_of(const json_t *list_or_item);
const json_t *json_item_of(const json_t *list_or_item, size_t index);

/* Compact text (no newline), keys in insertion order. The caller frees. */
char *json_text(const json_t *value);

/* json_object_set_new() for text that may be NULL (then nothing is set) or not UTF-8 (then made
 * printable). */
void json_set_text(json_t *object, const char *name, const char *text);
void json_set_int(json_t *object, const char *name, int64_t value);
void json_set_bool(json_t *object, const char *name, bool value);
void json_set_list(json_t *object, const char *name, const struct str_list *list);

void json_cleanup(json_t **value);
#define cleanup_json __attribute__((cleanup(json_cleanup)))

#endif
