/* The rows of tony list. */
#ifndef TONY_CLIENT_LIST_TABLE_H
#define TONY_CLIENT_LIST_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "client/job_list.h"

struct list_form {
	bool wide; /* all columns */
	bool each; /* not folded (job_list_fold()) */
};
/* Appends the table, as report_table_format() does. */
void list_table_format(const struct job_list *list, const struct list_form *form, int64_t now_ms,
		       size_t width, struct str *out);
/* docs/json/list.schema.json */
json_t *list_table_json(const struct job_list *list);

#endif
