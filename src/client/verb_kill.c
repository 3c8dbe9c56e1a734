#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/job_choice.h"
#include "client/live.h"
#include "client/opened.h"
#include "client/report.h"
#include "client/sweep_control.h"
#include "client/verbs.h"

#define END_TIMEOUT_MS	60000
#define QUIET_MS	500  /* a user who waits for longer is told for what */
#define FIND_TIMEOUT_MS 5000 /* for an AM that is being started */
#define FIND_STEP_MS	100

struct kill_options {
	bool force, all, may_have_ended;
	char *reason;
	struct str_list tags;
};

static const struct opt options[] = {
	JOB_CHOICE_TAG(struct kill_options),
	JOB_CHOICE_ALL(struct kill_options),
	OPT_ROW("force", struct kill_options, force,
		"end its processes with SIGKILL, without asking the application master"),
	OPT_ROW("reason", struct kill_options, reason, "kept in the job's history",
		.argument = "TEXT", .may_be_empty = true),
};

static int ask_am(struct opened *opened, const char *reason, struct err *err)
{
	json_t *body cleanup_json = json_object();

	json_set_text(body, "reason", reason);
	char *text cleanup_free = json_text(body);
	json_t *answer cleanup_json = opened_ask(opened, "POST", "/v1/job/kill", text, err);
	return answer ? 0 : -1;
}

/* True when there is nothing (more) to ask for: the job ends, or has ended. */
static bool is_ending(struct opened *opened)
{
	return opened_read(opened, NULL, NULL, NULL) == 0 && opened->view->state >= JOB_FINISHING;
}

static int tell_failure(const struct opened *opened, const struct err *failure, struct err *err)
{
	bool names_job = strstr(err_message(failure), opened->id);

	if (failure->kind == ERR_DENIED && opened->door.identity)
		return err_copy(err, failure);
	return err_set(err, failure->kind, "%s%s%s; tony kill --force ends it all the same",
		       names_job ? "" : opened->id, names_job ? "" : ": ", err_message(failure));
}

/* An AM may be on its way, such as the one that follows a killed one. */
static int ask_to_end(struct opened *opened, const char *reason, struct err *err)
{
	int64_t until = clock_monotonic_ms() + FIND_TIMEOUT_MS;

	for (;;) {
		struct err failure cleanup_err = {0};
		int killed = opened_kill_waiting(opened, NULL, reason, &failure);
		if (killed == 0 || (killed > 0 && ask_am(opened, reason, &failure) == 0) ||
		    is_ending(opened))
			return 0;
		if (failure.kind != ERR_UNREACHABLE || clock_monotonic_ms() > until)
			return tell_failure(opened, &failure, err);
		usleep(FIND_STEP_MS * 1000);
		if (opened_find_am(opened, err) < 0)
			return -1;
	}
}

static int await_end(struct opened *opened, const char *stopping, struct err *err)
{
	int final = opened_follow(opened, QUIET_MS, NULL, NULL, err);

	if (final == 0) {
		report_note("%s", stopping);
		final = opened_follow(opened, END_TIMEOUT_MS - QUIET_MS, NULL, NULL, err);
	}
	if (final < 0)
		return -1;
	if (final == 0) {
		report_note("%s is ending, but has not ended yet: tony wait %s waits on, tony "
			    "kill --force %s ends it at once",
			    opened->id, opened->id, opened->id);
		return EXIT_CODE_TIMEOUT;
	}
	printf("%s %s\n", opened->id, job_state_name(opened->view->state));
	return EXIT_CODE_OK;
}

/* ---- several jobs ------------------------------------------------------------------------- */

/* A job that is on its way to its end. */
struct ending {
	struct opened opened;
	char *stopping; /* what the user is told meanwhile */
};

struct endings {
	const struct kill_options *chosen;
	struct ending *items;
	size_t count, awaited;
};

static void endings_finish(struct endings *endings)
{
	for (size_t i = 0; i < endings->count; i++) {
		opened_finish(&endings->items[i].opened);
		free(endings->items[i].stopping);
	}
	free(endings->items);
}

static int kill_undescribed(const struct opened *opened, const char *reason, struct err *err)
{
	err_finish(err);
	if (opened->ops->kill(&opened->door, reason, err) < 0)
		return -1;
	printf("%s %s\n", opened->id, job_state_name(JOB_KILLED));
	return 1;
}

/* 1: it has ended, and nothing more is to be told of it. */
static int begin(struct ending *ending, const struct kill_options *chosen, const char *job,
		 struct err *err)
{
	struct opened *opened = &ending->opened;

	if (opened_find(opened, job, err) < 0)
		return chosen->force && opened->door.undescribed.kind
			       ? kill_undescribed(opened, chosen->reason, err)
			       : -1;
	if (opened->view->is_final)
		return chosen->may_have_ended ? 1 : opened_say_ended(opened, err);
	/* From then on the tasks count as stopped. */
	ending->stopping = chosen->force ? mem_strdup("killing the job with SIGKILL")
					 : live_stopping(opened->view);
	return chosen->force ? opened->ops->kill(&opened->door, chosen->reason, err)
			     : ask_to_end(opened, chosen->reason, err);
}

/* All are told before any is waited for: their graces pass at the same time. */
static int begin_one(void *data, const char *job, struct err *err)
{
	struct endings *endings = data;
	struct ending *ending = &endings->items[endings->count];

	int begun = begin(ending, endings->chosen, job, err);
	if (begun == 0) {
		endings->count++;
		return EXIT_CODE_OK;
	}
	opened_finish(&ending->opened);
	free(ending->stopping);
	*ending = (struct ending){0};
	return begun < 0 ? -1 : EXIT_CODE_OK;
}

static int await_one(void *data, const char *job, struct err *err)
{
	struct endings *endings = data;
	struct ending *ending = &endings->items[endings->awaited++];

	return await_end(&ending->opened, ending->stopping, err);
}

/* `trials`: what sweeps among them have left, whose process was dead, or not asked (--force). */
static int end_all(const struct kill_options *chosen, const struct str_list *jobs,
		   struct str_list *trials)
{
	struct str_list begun cleanup_str_list = {0};
	struct endings endings __attribute__((cleanup(endings_finish))) = {chosen};

	endings.items = mem_alloc_array(jobs->count, sizeof(*endings.items));
	int code = job_choice_each(jobs, begin_one, &endings);
	for (size_t i = 0; i < endings.count; i++)
		str_list_add(&begun, endings.items[i].opened.id);
	int end = begun.count > 0 ? job_choice_each(&begun, await_one, &endings) : EXIT_CODE_OK;
	for (size_t i = 0; i < endings.count; i++)
		if (job_is_sweep(endings.items[i].opened.job))
			sweep_trials(endings.items[i].opened.id, true, trials, NULL);
	return code > end ? code : end;
}

static int kill_jobs(void *data, const struct verb_call *call, struct err *err)
{
	const struct kill_options *chosen = data;
	const struct job_choice choice = {&verb_kill.options, call->operands, &chosen->tags,
					  chosen->all};
	struct str_list jobs cleanup_str_list = {0}, trials cleanup_str_list = {0};
	struct str_list none cleanup_str_list = {0};

	if (call->operands->count == 0 && chosen->tags.count == 0)
		return err_set(err, ERR_USAGE, "which job? usage: %s; see tony list",
			       verb_kill.options.usage);
	if (job_choice_find(&choice, &jobs, err) < 0)
		return -1;
	int code = end_all(chosen, &jobs, &trials);
	struct kill_options left = *chosen;
	left.may_have_ended = true; /* by themselves, since their sweep has */
	int end = trials.count > 0 ? end_all(&left, &trials, &none) : EXIT_CODE_OK;
	return code > end ? code : end;
}

const struct verb verb_kill = {
	.options =
		{
			.verb = "kill",
			.usage = "tony kill [OPTIONS] JOB...",
			.jobs = OPT_JOBS_LIVE,
			.summary = "end jobs",
			.description =
				"The jobs' programs get SIGTERM, and SIGKILL when their grace "
				"(tony.<type>.stop-grace) is over. Returns when the jobs have "
				"ended.",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct kill_options),
	.run = kill_jobs,
};
