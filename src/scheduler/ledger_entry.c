#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "scheduler/ledger.h"

#define SHARE_LIMIT ((int64_t)1 << 60)

static json_t *share_to_json(const struct share *share)
{
	json_t *object = json_object();

	json_set_int(object, "memory", share->memory);
	json_set_int(object, "vcores", share->vcores);
	json_set_int(object, "gpus", share->gpus);
	return object;
}

static int read_share(const json_t *object, const char *name, struct share *share, struct err *err)
{
	const json_t *value = json_object_get(object, name);

	if (!json_is_object(value))
		return err_set(err, ERR_INPUT, "%s: not an object", name);
	if (json_need_int(value, "memory", 0, SHARE_LIMIT, &share->memory, err) < 0 ||
	    json_need_int(value, "vcores", 0, SHARE_LIMIT, &share->vcores, err) < 0 ||
	    json_need_int(value, "gpus", 0, SHARE_LIMIT, &share->gpus, err) < 0)
		return err_wrap(err, "%s", name);
	return 0;
}

char *ledger_format(const struct ledger_entry *entry)
{
	json_t *object cleanup_json = json_object();

	json_set_text(object, "job", entry->job);
	json_set_int(object, "containers", entry->containers);
	json_object_set_new(object, "holds", share_to_json(&entry->holds));
	json_set_list(object, "gpus", &entry->gpus);
	json_set_int(object, "ticket", entry->ticket);
	json_object_set_new(object, "wants", share_to_json(&entry->wants));
	if (entry->priority > 0)
		json_set_int(object, "priority", entry->priority);
	json_set_text(object, "parent", entry->parent);
	return json_text(object);
}

static int read_entry(const json_t *object, struct ledger_entry *entry, struct err *err)
{
	if (json_need_text(object, "job", &entry->job, err) < 0 ||
	    json_need_int(object, "containers", 0, JOB_MAX_TASKS, &entry->containers, err) < 0 ||
	    read_share(object, "holds", &entry->holds, err) < 0 ||
	    json_read_list(object, "gpus", &entry->gpus, err) < 0 ||
	    json_need_int(object, "ticket", 0, SHARE_LIMIT, &entry->ticket, err) < 0 ||
	    read_share(object, "wants", &entry->wants, err) < 0 ||
	    json_read_int(object, "priority", 0, INT32_MAX, &entry->priority, err) < 0 ||
	    json_read_text(object, "parent", &entry->parent, err) < 0)
		return -1;
	return 0;
}

int ledger_parse(const char *bytes, size_t length, struct ledger_entry *entry, struct err *err)
{
	struct ledger_entry read = {0};
	json_t *object cleanup_json = json_parse(bytes, length, err);

	if (!object)
		return -1;
	if (read_entry(object, &read, err) < 0) {
		ledger_entry_finish(&read);
		return -1;
	}
	*entry = read;
	return 0;
}

void ledger_entry_finish(struct ledger_entry *entry)
{
	free(entry->job);
	free(entry->parent);
	str_list_finish(&entry->gpus);
	*entry = (struct ledger_entry){0};
}
