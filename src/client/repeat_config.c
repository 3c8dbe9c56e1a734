/* The configuration of the job that repeats another. */
#include "base/json.h"
#include "client/repeat.h"

void repeat_set_value(struct repeat *repeat, const char *key, const char *value)
{
	json_t *config = repeat->config;
	json_t *row = json_object_get(config, key);

	if (!value) {
		json_object_del(config, key);
		return;
	}
	if (!row) {
		row = json_object();
		json_set_text(row, "origin", "tony rerun");
		json_object_set_new(config, key, row);
	}
	json_set_text(row, "value", value);
}

void repeat_set_place(struct repeat *repeat, const char *key, const char *value)
{
	repeat_set_value(repeat, key, value);
	json_set_text(repeat->placed, key, value);
}
