/* tony scale: how many tasks of elastic types are wanted. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "client/opened.h"
#include "client/report.h"
#include "client/verbs.h"

/* {"worker": 8} from the operands after the job. */
static json_t *read_counts(const struct str_list *operands, struct err *err)
{
	json_t *counts = json_object();

	for (size_t i = 1; i < operands->count; i++) {
		const char *item = operands->items[i], *equals = strchr(item, '=');
		int64_t count;
		if (!equals || equals == item ||
		    str_parse_int(equals + 1, 0, JOB_MAX_TASKS, &count) < 0) {
			err_set(err, ERR_USAGE, "\"%s\" is not TYPE=N; write worker=8", item);
			json_decref(counts);
			return NULL;
		}
		char *type cleanup_free = mem_strndup(item, (size_t)(equals - item));
		json_set_int(counts, type, count);
	}
	return counts;
}

static int check_types(const struct opened *opened, json_t *counts, struct err *err)
{
	const char *name;
	json_t *value;

	json_object_foreach(counts, name, value)
	{
		if (job_find_type(opened->job, name) < 0)
			return err_set(err, ERR_NOT_FOUND, "%s has no task type \"%s\"", opened->id,
				       name);
	}
	return 0;
}

static void say(const struct opened *opened, const char *name, int64_t wanted)
{
	int type = job_find_type(opened->job, name);
	int64_t before = type < 0 ? wanted : opened->view->types[type].wanted;

	printf("%s of %s: %lld wanted", name, opened->id, (long long)wanted);
	if (wanted > before)
		printf(", %lld more: they join when there is room for them, and the cluster starts "
		       "anew\n",
		       (long long)(wanted - before));
	else if (wanted < before)
		printf(", %lld fewer: the others go on as a new cluster\n",
		       (long long)(before - wanted));
	else
		printf(", as before\n");
}

static int scale(void *data, const struct verb_call *call, struct err *err)
{
	struct opened opened cleanup_opened = {0};
	struct err failure cleanup_err = {0};
	const char *name;
	json_t *value;

	if (call->operands->count < 2)
		return err_set(err, ERR_USAGE, "usage: %s", verb_scale.options.usage);
	json_t *counts cleanup_json = read_counts(call->operands, err);
	if (!counts || opened_find(&opened, call->operands->items[0], err) < 0 ||
	    check_types(&opened, counts, err) < 0)
		return -1;
	char *body cleanup_free = json_text(counts);
	json_t *answer cleanup_json =
		opened_ask_soon(&opened, "POST", "/v1/job/scale", body, &failure);
	if (!answer) {
		/* The AM finds the numbers wrong, which the user has typed. */
		enum err_kind kind = failure.kind == ERR_INPUT ? ERR_USAGE : failure.kind;
		return err_set(err, kind, "%s", err_message(&failure));
	}
	json_object_foreach(counts, name, value)
	{
		say(&opened, name, json_integer_value(value));
	}
	return 0;
}

const struct verb verb_scale = {
	.options =
		{
			.verb = "scale",
			.usage = "tony scale JOB TYPE=N [TYPE=N...]",
			.jobs = OPT_JOBS_LIVE,
			.summary = "change how many tasks of a type a running job wants",
			.description = "For elastic types, which have tony.<type>.min-instances: N "
				       "is a number "
				       "from that to tony.<type>.max-instances. Returns when the "
				       "job knows it.",
		},
	.run = scale,
};
