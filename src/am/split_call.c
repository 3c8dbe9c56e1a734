#include "am/split_call.h"

#include <stdlib.h>
#include <string.h>

#include "am/split_items.h"
#include "base/json.h"
#include "base/mem.h"
#include "protocol/message.h"

enum { LEASE_MS = 600000, LEASE_MS_MIN = 1000, WAIT_MS = 30000 };

/* ---- who asks ----------------------------------------------------------------------------- */

static int read_count(const json_t *body, const char *name, int *value, struct err *err)
{
	int64_t number = *value;
	int result = json_read_int(body, name, 0, MESSAGE_COUNT_MAX, &number, err);

	*value = (int)number;
	return result;
}

static int read_identity(const json_t *body, struct split_holder *holder, struct err *err)
{
	*holder = (struct split_holder){.attempt = -1, .epoch = -1, .restart = -1};
	if (read_count(body, "attempt", &holder->attempt, err) < 0 ||
	    read_count(body, "epoch", &holder->epoch, err) < 0 ||
	    read_count(body, "restart", &holder->restart, err) < 0 ||
	    read_count(body, "process", &holder->process, err) < 0)
		return -1;
	return holder->attempt >= 0 && holder->epoch >= 0 && holder->restart >= 0
		       ? 0
		       : err_set(err, ERR_INPUT,
				 "attempt, epoch, restart: are missing; they are the program's "
				 "TONY_TASK_ATTEMPT, TONY_EPOCH and TONY_RESTART");
}

int split_call_read_holder(const json_t *body, const struct machine *machine,
			   struct split_holder *holder, struct err *err)
{
	char *name cleanup_free = NULL;

	if (json_need_text(body, "holder", &name, err) < 0 || read_identity(body, holder, err) < 0)
		return -1;
	int64_t task = machine_find_task(machine, name);
	if (task < 0)
		return err_set(err, ERR_INPUT, "holder: this job has no task of that name");
	holder->task = (size_t)task;
	return 0;
}

char *split_call_read_fingerprint(const json_t *body, struct err *err)
{
	char *text cleanup_free = NULL;

	if (json_need_text(body, "fingerprint", &text, err) < 0)
		return NULL;
	if (split_is_fingerprint(text))
		return mem_steal(&text);
	err_set(err, ERR_INPUT, "fingerprint: is not 1 to %d digits of 0-9 and a-f",
		SPLIT_FINGERPRINT_MAX);
	return NULL;
}

int split_call_read_wait(const json_t *body, int64_t *wait_ms, struct err *err)
{
	*wait_ms = WAIT_MS;
	return json_read_int(body, "wait_ms", 0, SPLIT_WAIT_MAX_MS, wait_ms, err);
}

/* ---- lists -------------------------------------------------------------------------------- */

static int read_item(struct str_list *items, const json_t *item, struct err *err)
{
	if (!json_is_object(item))
		return err_set(err, ERR_INPUT, "items: number %zu is not an object", items->count);
	char *text cleanup_free = json_text(item);
	if (strlen(text) > SPLIT_ITEM_MAX)
		return err_set(err, ERR_INPUT, "items: number %zu is longer than %d bytes",
			       items->count, SPLIT_ITEM_MAX);
	str_list_take(items, mem_steal(&text));
	return 0;
}

static int read_items(const json_t *body, struct str_list *items, struct err *err)
{
	const json_t *array = json_object_get(body, "items"), *item;
	size_t i;

	if (!json_is_array(array) || json_array_size(array) > SPLIT_ITEMS_MAX)
		return err_set(err, ERR_INPUT, "items: is not a list of at most %d items",
			       SPLIT_ITEMS_MAX);
	json_array_foreach(array, i, item)
	{
		if (read_item(items, item, err) < 0)
			return -1;
	}
	return 0;
}

static int read_list(const json_t *body, struct split_list_record *list, struct err *err)
{
	char *fingerprint cleanup_free = split_call_read_fingerprint(body, err);
	int64_t seed = -1;

	*list = (struct split_list_record){.passes = 1, .lease_ms = LEASE_MS, .count = -1};
	if (!fingerprint ||
	    json_read_int(body, "passes", 1, SPLIT_PASSES_MAX, &list->passes, err) < 0 ||
	    json_read_int(body, "seed", 0, INT64_MAX, &seed, err) < 0 ||
	    json_read_int(body, "lease_ms", LEASE_MS_MIN, SPLIT_LEASE_MS_MAX, &list->lease_ms,
			  err) < 0)
		return -1;
	memcpy(list->fingerprint, fingerprint, strlen(fingerprint) + 1);
	list->is_shuffled = seed >= 0;
	list->seed = list->is_shuffled ? (uint64_t)seed : 0;
	return 0;
}

int split_call_read_put(const json_t *body, struct split_put *put, struct err *err)
{
	*put = (struct split_put){0};
	if (read_list(body, &put->list, err) < 0 ||
	    json_read_int(body, "first", 0, SPLITS_MAX, &put->first, err) < 0 ||
	    json_read_bool(body, "complete", &put->is_complete, err) < 0)
		return -1;
	return read_items(body, &put->items, err);
}

void split_put_finish(struct split_put *put)
{
	str_list_finish(&put->items);
}

/* ---- leases ------------------------------------------------------------------------------- */

static int read_numbers(const json_t *item, size_t count, int64_t *numbers)
{
	if (json_array_size(item) != count)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const json_t *number = json_array_get(item, i);
		if (!json_is_integer(number) || json_integer_value(number) < 0 ||
		    json_integer_value(number) > MESSAGE_AMOUNT_MAX)
			return -1;
		numbers[i] = json_integer_value(number);
	}
	return 0;
}

/* [[pass, split], ...]; absent: NULL. */
static int read_held(const json_t *body, struct split_question *question, struct err *err)
{
	const json_t *array = json_object_get(body, "held"), *item;
	int64_t numbers[2];
	size_t i;

	question->has_held = array != NULL;
	if (!array)
		return 0;
	question->held = mem_alloc_array(json_array_size(array), sizeof(*question->held));
	json_array_foreach(array, i, item)
	{
		if (read_numbers(item, 2, numbers) < 0)
			break;
		question->held[i] = (struct split_id){numbers[0], (size_t)numbers[1]};
	}
	question->held_count = i;
	return json_is_array(array) && i == json_array_size(array)
		       ? 0
		       : err_set(err, ERR_INPUT, "held: is not a list of [PASS, SPLIT]");
}

int split_call_read_lease(const json_t *body, struct split_question *question, struct err *err)
{
	*question = (struct split_question){.count = 1};
	if (json_read_int(body, "count", 1, SPLIT_LEASES_MAX, &question->count, err) < 0)
		return -1;
	return read_held(body, question, err);
}

static int read_lease(const json_t *item, struct split_open *open, struct err *err)
{
	int64_t split = 0;

	if (json_need_int(item, "pass", 1, SPLIT_PASSES_MAX, &open->id.pass, err) < 0 ||
	    json_need_int(item, "split", 0, SPLITS_MAX - 1, &split, err) < 0)
		return -1;
	open->id.split = (size_t)split;
	return json_read_int(item, "offset", 0, MESSAGE_AMOUNT_MAX, &open->offset, err);
}

struct split_open *split_call_read_leases(const json_t *body, size_t *count, struct err *err)
{
	const json_t *array = json_object_get(body, "leases"), *item;
	struct split_open *leases cleanup_free =
		mem_alloc_array(json_array_size(array), sizeof(*leases));
	size_t i;

	if (!json_is_array(array)) {
		err_set(err, ERR_INPUT, "leases: is not a list");
		return NULL;
	}
	json_array_foreach(array, i, item)
	{
		if (read_lease(item, &leases[i], err) < 0) {
			err_wrap(err, "leases: number %zu", i);
			return NULL;
		}
	}
	*count = i;
	return mem_steal(&leases);
}

/* ---- what a checkpoint holds --------------------------------------------------------------- */

static int read_open(const json_t *body, const char *name, enum split_state state, size_t width,
		     struct split_saved *saved, struct err *err)
{
	const json_t *array = json_object_get(body, name), *item;
	int64_t numbers[3] = {0};
	size_t i;

	if (!json_is_array(array))
		return err_set(err, ERR_INPUT, "%s: is not a list", name);
	saved->open = mem_realloc_array(saved->open, saved->open_count + json_array_size(array) + 1,
					sizeof(*saved->open));
	json_array_foreach(array, i, item)
	{
		if (read_numbers(item, width, numbers) < 0)
			return err_set(err, ERR_INPUT, "%s: number %zu is not %zu numbers", name, i,
				       width);
		saved->open[saved->open_count++] =
			(struct split_open){.id = {numbers[0], (size_t)numbers[1]},
					    .state = state,
					    .offset = width > 2 ? numbers[2] : 0};
	}
	return 0;
}

int split_call_read_saved(const json_t *body, struct split_saved *saved, struct err *err)
{
	int64_t next = 0;

	*saved = (struct split_saved){0};
	saved->fingerprint = split_call_read_fingerprint(body, err);
	if (!saved->fingerprint ||
	    json_need_int(body, "items", 0, SPLITS_MAX, &saved->items, err) < 0 ||
	    json_need_int(body, "pass", 1, SPLIT_PASSES_MAX, &saved->position.pass, err) < 0 ||
	    json_need_int(body, "next", 0, saved->items, &next, err) < 0)
		return -1;
	saved->position.next = (size_t)next;
	saved->list = mem_strdup(json_string_value(json_object_get(body, "list")));
	return read_open(body, "unfinished", SPLIT_RETURNED, 3, saved, err) < 0
		       ? -1
		       : read_open(body, "ahead", SPLIT_AHEAD, 2, saved, err);
}

void split_saved_finish(struct split_saved *saved)
{
	free(saved->fingerprint);
	free(saved->list);
	free(saved->open);
}
