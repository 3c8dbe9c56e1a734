#include "job/view_record.h"

#include "base/json.h"

int view_record_open(struct view_record *record, const struct journal_line *line, struct err *err)
{
	record->json = NULL;
	if (json_flat_parse(&record->flat, line->text, line->length))
		return 0;
	record->json = journal_line_record(line, err);
	return record->json ? 0 : -1;
}

void view_record_close(struct view_record *record)
{
	json_decref(record->json);
}

bool view_record_has(const struct view_record *record, const char *name)
{
	return record->json ? json_object_get(record->json, name) != NULL
			    : json_flat_find(&record->flat, name) != NULL;
}

const json_t *view_record_get(const struct view_record *record, const char *name)
{
	return record->json ? json_object_get(record->json, name) : NULL;
}

int view_record_read_text(const struct view_record *record, const char *name, char **value,
			  struct err *err)
{
	return record->json ? json_read_text(record->json, name, value, err)
			    : json_flat_read_text(&record->flat, name, value, err);
}

int view_record_need_text(const struct view_record *record, const char *name, char **value,
			  struct err *err)
{
	if (!view_record_has(record, name))
		return err_set(err, ERR_INPUT, "%s: is missing", name);
	return view_record_read_text(record, name, value, err);
}

int view_record_read_int(const struct view_record *record, const char *name, int64_t min,
			 int64_t max, int64_t *value, struct err *err)
{
	return record->json ? json_read_int(record->json, name, min, max, value, err)
			    : json_flat_read_int(&record->flat, name, min, max, value, err);
}

int view_record_read_bool(const struct view_record *record, const char *name, bool *value,
			  struct err *err)
{
	return record->json ? json_read_bool(record->json, name, value, err)
			    : json_flat_read_bool(&record->flat, name, value, err);
}

int view_record_read_list(const struct view_record *record, const char *name, struct str_list *list,
			  struct err *err)
{
	if (record->json)
		return json_read_list(record->json, name, list, err);
	return json_flat_find(&record->flat, name)
		       ? err_set(err, ERR_INPUT, "%s: is not a list", name)
		       : 0;
}
