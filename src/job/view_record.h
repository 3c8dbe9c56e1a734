/* A record as a view folds it in: JSON, or members that were found without making any
 * (json_flat.h). */
#ifndef TONY_JOB_VIEW_RECORD_H
#define TONY_JOB_VIEW_RECORD_H

#include <jansson.h>

#include "base/json_flat.h"
#include "base/str.h"
#include "job/journal.h"

struct view_record {
	json_t *json; /* NULL: it is flat */
	struct json_flat flat;
};

/* `line` stays as long as the record does. */
int view_record_open(struct view_record *record, const struct journal_line *line, struct err *err);
void view_record_close(struct view_record *record);
#define cleanup_view_record __attribute__((cleanup(view_record_close)))

bool view_record_has(const struct view_record *record, const char *name);
/* An object or a list; NULL: there is none. */
const json_t *view_record_get(const struct view_record *record, const char *name);

/* As their namesakes of json.h. */
int view_record_read_text(const struct view_record *record, const char *name, char **value,
			  struct err *err);
int view_record_need_text(const struct view_record *record, const char *name, char **value,
			  struct err *err);
int view_record_read_int(const struct view_record *record, const char *name, int64_t min,
			 int64_t max, int64_t *value, struct err *err);
int view_record_read_bool(const struct view_record *record, const char *name, bool *value,
			  struct err *err);
int view_record_read_list(const struct view_record *record, const char *name, struct str_list *list,
			  struct err *err);

#endif
