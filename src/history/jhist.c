#include "history/jhist.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "history/avro.h"
#include "history/jhist_internal.h"
#include "history/layout.h"
#include "history/store_internal.h"

#define SUFFIX	   ".jhist"
#define UNFINISHED ".jhist.inprogress"
#define DIGITS	   "0123456789"
#define NOT_ENDED  "goes on, or its AM was killed: TonY does not tell which"

/* ---- names -------------------------------------------------------------------------------- */

void jhist_name_finish(struct jhist_name *name)
{
	free(name->id);
	free(name->user);
	*name = (struct jhist_name){0};
}

/* "123-rest": the number, and the rest; NULL: there is none. */
static const char *take_number(const char *text, int64_t *number)
{
	char *digits cleanup_free = mem_strndup(text, strspn(text, DIGITS));

	if (str_parse_int(digits, 0, INT64_MAX, number) < 0 || text[strlen(digits)] != '-')
		return NULL;
	return text + strlen(digits) + 1;
}

/* TonY says no more of one that it was told to kill than that it was; what is no end of its is a
 * failure. */
static enum job_state parse_status(const char *status)
{
	if (str_equal(status, "SUCCEEDED"))
		return JOB_SUCCEEDED;
	return str_equal(status, "KILLED") ? JOB_KILLED : JOB_FAILED;
}

/* `stem`: the file's name without suffix. A user's name may have dashes in it. */
static bool parse_stem(const char *stem, bool is_finished, struct jhist_name *name)
{
	const char *dash = strchr(stem, '-');
	const char *rest = dash ? take_number(dash + 1, &name->started_ms) : NULL;
	const char *last;

	if (!rest)
		return false;
	name->id = mem_strndup(stem, (size_t)(dash - stem));
	name->state = JOB_RUNNING;
	last = rest + strlen(rest);
	if (is_finished) {
		rest = take_number(rest, &name->completed_ms);
		last = rest ? strrchr(rest, '-') : NULL;
		if (!last)
			return false;
		name->state = parse_status(last + 1);
	}
	name->user = mem_strndup(rest, (size_t)(last - rest));
	return history_is_id(name->id) && *name->user;
}

bool jhist_name_parse(const char *file, struct jhist_name *name)
{
	bool is_finished = str_ends_with(file, SUFFIX);

	*name = (struct jhist_name){0};
	if (!is_finished && !str_ends_with(file, UNFINISHED))
		return false;
	size_t suffix = strlen(is_finished ? SUFFIX : UNFINISHED);
	char *stem cleanup_free = mem_strndup(file, strlen(file) - suffix);
	if (parse_stem(stem, is_finished, name))
		return true;
	jhist_name_finish(name);
	return false;
}

/* ---- events ------------------------------------------------------------------------------- */

static int collect(void *data, const json_t *record, struct err *err)
{
	return json_array_append(data, (json_t *)record);
}

/* As far as it goes: an AM that was killed leaves half a block. */
static json_t *read_events(const struct jhist_source *source, struct err *err)
{
	json_t *records = json_array();
	struct err flaw cleanup_err = {0};

	if (avro_read(source->events, source->length, collect, records, &flaw) == 0 ||
	    json_array_size(records) > 0)
		return records;
	/* One that was just begun. */
	if (source->length == 0)
		return records;
	err_set(err, flaw.kind, "%s: %s", source->name, err_message(&flaw));
	json_decref(records);
	return NULL;
}

/* ---- the whole ---------------------------------------------------------------------------- */

void jhist_finish(struct jhist *jhist)
{
	job_destroy(jhist->job);
	mem_cleanup_close(&jhist->events);
	free(jhist->metrics);
	history_summary_finish(&jhist->summary);
}

static int summarize(struct jhist *jhist, const json_t *records, enum job_state state,
		     struct err *err)
{
	struct job_view *view = job_view_create(jhist->job);
	char *path cleanup_free = mem_printf("/proc/self/fd/%d", jhist->events);
	int result = job_view_read(view, path, err);

	if (result == 0) {
		history_summary_of(view, &jhist->summary);
		jhist->summary.state = state;
		if (!job_state_is_final(state))
			mem_replace(&jhist->summary.message, mem_strdup(NOT_ENDED));
		jhist_measure(jhist->job, records, &jhist->summary);
	}
	job_view_destroy(view);
	return result;
}

static int tell(const struct jhist_source *source, const struct jhist_name *name,
		const json_t *records, struct jhist *jhist, struct err *err)
{
	enum job_state state = name->state;

	jhist->job = jhist_job(source, name, records, err);
	if (!jhist->job)
		return -1;
	jhist->events = jhist_journal(jhist->job, name, records, &state, err);
	if (jhist->events < 0 || summarize(jhist, records, state, err) < 0)
		return -1;
	jhist->metrics = jhist_metrics(jhist->job, records);
	return 0;
}

int jhist_read(const struct jhist_source *source, struct jhist *jhist, struct err *err)
{
	struct jhist told = {.events = -1};
	struct jhist_name name;

	if (!jhist_name_parse(source->name, &name))
		return err_set(err, ERR_INPUT, "%s: is not the name of a .jhist", source->name);
	json_t *records cleanup_json = read_events(source, err);
	int result = records ? tell(source, &name, records, &told, err) : -1;
	jhist_name_finish(&name);
	if (result == 0)
		*jhist = told;
	else
		jhist_finish(&told);
	return result;
}
