#include "client/prune.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "client/age.h"
#include "client/report.h"
#include "conf/conf.h"
#include "history/retain.h"
#include "scheduler/job_stores.h"

#define MIB ((int64_t)1 << 20)

static int parse(const char *older_than, const char *max_size, struct history_retention *retention,
		 struct err *err)
{
	int64_t bytes = 0;

	if (max_size && str_equal(max_size, "0"))
		return err_set(err, ERR_USAGE, "--max-size: \"0\" has no unit; 0g means no limit");
	if ((older_than && age_parse("--older-than", older_than, &retention->age_ms, err) < 0) ||
	    age_check_unit("--max-size", max_size, "g", err) < 0)
		return -1;
	if (max_size && str_parse_bytes(max_size, &bytes) < 0)
		return err_set(err, ERR_USAGE, "--max-size: \"%s\" is not a size; write 10g",
			       max_size);
	retention->bytes = bytes;
	return 0;
}

/* `defaults`: where the site says nothing, tony's own default holds. */
static int read_site(struct history_retention *retention, bool defaults, struct err *err)
{
	struct conf *site cleanup_conf = conf_create();

	if (conf_load_site(site, err) < 0)
		return -1;
	conf_resolve(site, true);
	if (defaults || conf_find(site, "tony.history.retention-sec"))
		retention->age_ms = conf_ms(site, "tony.history.retention-sec");
	retention->bytes = conf_mib(site, "tony.history.retention-size") * MIB;
	return 0;
}

int prune_read_site(struct history_retention *retention, struct err *err)
{
	return read_site(retention, false, err);
}

struct told {
	json_t *removed, *stays; /* lines */
};

static void on_removed(void *data, const char *text)
{
	json_array_append_new(((struct told *)data)->removed, json_string(text));
}

static void on_stays(void *data, const char *path, const char *text)
{
	json_array_append_new(((struct told *)data)->stays, json_string(text));
}

static void report(const struct history_store *store, const struct history_retained *retained,
		   const struct told *told, json_t *list)
{
	json_t *row = json_object();

	json_set_text(row, "location", history_store_location(store));
	json_set_int(row, "removed", (int64_t)retained->removed);
	json_set_int(row, "kept", (int64_t)retained->kept);
	json_set_int(row, "failed", (int64_t)retained->failed);
	json_set_int(row, "damaged", (int64_t)retained->damaged);
	json_set_int(row, "strays", (int64_t)retained->strays);
	json_object_set(row, "log", told->removed);
	json_object_set(row, "stays", told->stays);
	json_array_append_new(list, row);
}

static void report_damaged(const json_t *row)
{
	json_int_t count = json_integer_value(json_object_get(row, "damaged"));
	char *line cleanup_free =
		mem_printf("%s: %lld entr%s whose summary is not a job's of that name stay%s",
			   json_string_value(json_object_get(row, "location")), count,
			   count == 1 ? "y" : "ies", count == 1 ? "s" : "");

	if (count > 0)
		report_line(line);
}

static void report_strays(const json_t *row)
{
	json_int_t count = json_integer_value(json_object_get(row, "strays"));
	char *line cleanup_free =
		mem_printf("%s: %lld hidden director%s of old days stay%s, no leftover%s of yours",
			   json_string_value(json_object_get(row, "location")), count,
			   count == 1 ? "y" : "ies", count == 1 ? "s" : "", count == 1 ? "" : "s");

	if (count > 0)
		report_line(line);
}

static void print(json_t *list)
{
	const json_t *row, *line_of;
	size_t i, k;

	json_array_foreach(list, i, row)
	{
		json_array_foreach(json_object_get(row, "log"), k, line_of)
			report_line(json_string_value(line_of));
		char *line cleanup_free =
			mem_printf("%s: %lld removed, %lld kept",
				   json_string_value(json_object_get(row, "location")),
				   json_integer_value(json_object_get(row, "removed")),
				   json_integer_value(json_object_get(row, "kept")));
		report_line(line);
		json_array_foreach(json_object_get(row, "stays"), k, line_of)
			report_line(json_string_value(line_of));
		report_damaged(row);
		report_strays(row);
	}
	json_decref(list);
}

int prune(const char *location, const char *older_than, const char *max_size, bool as_json,
	  struct err *err)
{
	struct job_stores stores cleanup_job_stores = {0};
	struct history_retention retention = {0};
	size_t failed = 0;
	int result = 0;

	if ((older_than || max_size ? parse(older_than, max_size, &retention, err)
				    : read_site(&retention, true, err)) < 0 ||
	    job_stores_open(location, &stores, err) < 0)
		return -1;
	json_t *list = json_array();
	/* Removals are told, also when a store fails after them. */
	for (size_t i = 0; i < stores.count && result == 0; i++) {
		struct history_retained retained = {0};
		json_t *removed cleanup_json = json_array(), *stays cleanup_json = json_array();
		struct told told = {removed, stays};
		retention.on_removed = on_removed;
		retention.on_stays = on_stays;
		retention.data = &told;
		result = history_retain(stores.items[i], &retention, clock_wall_ms(), &retained,
					err);
		failed += retained.failed;
		report(stores.items[i], &retained, &told, list);
	}
	if (as_json)
		report_json(list);
	else
		print(list);
	if (result < 0)
		return -1;
	return failed == 0 ? 0
			   : err_set(err, ERR_FAILED, "%zu histor%s could not be removed", failed,
				     failed == 1 ? "y" : "ies");
}
