#include "client/remedy.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "client/sweep_control.h"
#include "job/policy.h"

#define TYPE_PLACE "{type}" /* stands for the type of the task that failed */

static const char port_stolen[] =
	"ask whose uid that is; tony.{type}.listener-uids names users who may listen, and "
	"tony.{type}.strict-port=true keeps them out where the program sets SO_REUSEPORT or never "
	"listens there; a port in an argument list is told to every user: let the program read "
	"TONY_PORT from its environment";

static const char *const remedies[CAUSE_KIND_COUNT] = {
	[CAUSE_OUT_OF_MEMORY] = "raise --memory (tony.{type}.memory), or let the program use less",
	[CAUSE_EXECUTION_TIMEOUT] = "raise tony.task.executor.execution-timeout-ms",
	[CAUSE_HUNG] = "see hang-stacks.txt beside its log, or raise tony.{type}.hang-timeout",
	[CAUSE_FROZEN] = "find out who stopped it, or raise tony.{type}.frozen-timeout",
	[CAUSE_NO_SPACE] = "make room on that machine before the job runs again",
	[CAUSE_STORE_FULL] = "remove files there, or ask for a larger quota",
	[CAUSE_PORT_STOLEN] = port_stolen,
	[CAUSE_REGISTRATION_TIMEOUT] = "raise tony.container.registration.timeout",
	[CAUSE_ALLOCATION_TIMEOUT] = "raise tony.container.allocation.timeout, or ask for less",
	[CAUSE_APPLICATION_TIMEOUT] = "raise --timeout (tony.application.timeout)",
};

static const char *port_remedy(const struct job_type *type, const struct task_view *task)
{
	if (type->strict_port)
		return "set tony.{type}.strict-port=false";
	if (task->port_open)
		return "let one process alone bind TONY_PORT, once: nobody else has it";
	if (type->hold_port)
		return "if the program sets neither SO_REUSEADDR nor SO_REUSEPORT, set "
		       "tony.{type}.hold-port=false";
	return "submit the job again: nobody holds a port with tony.{type}.hold-port=false";
}

#define GIVES_RANKS                                                                                \
	"add --framework pytorch (tony.application.framework), by which tasks get RANK, "          \
	"WORLD_SIZE and MASTER_ADDR"

/* Programs that lack the variables of their framework, which the user has not named; or that do
 * what the framework that is named has done already. */
static const struct {
	const char *says, *framework, *remedy;
	bool is_named;
} by_words[] = {
	{"environment variable RANK expected", "pytorch", GIVES_RANKS},
	{"environment variable WORLD_SIZE expected", "pytorch", GIVES_RANKS},
	{"environment variable MASTER_ADDR expected", "pytorch", GIVES_RANKS},
	{"KeyError: 'RANK'", "pytorch", GIVES_RANKS},
	{"KeyError: 'WORLD_SIZE'", "pytorch", GIVES_RANKS},
	{"KeyError: 'LOCAL_RANK'", "pytorch", GIVES_RANKS},
	{"KeyError: 'TF_CONFIG'", "tensorflow",
	 "add --framework tensorflow (tony.application.framework)"},
	{.says = "changed on src filesystem",
	 .remedy = "submit the job again, and write new files under new names"},
	{.says = "bdb.BdbQuit",
	 .remedy = "take breakpoint() out: the program has no terminal; tony shell and tony stacks "
		   "look "
		   "into a task that runs"},
	{"Unexpected keyword arguments: ['", "dask",
	 "write Client() without arguments: Dask's workers are this job's tasks (--workers N, "
	 "tony.worker.vcores, tony.worker.memory)",
	 .is_named = true},
};

static const char *find_by_words(const struct job_view *view)
{
	const struct cause *cause = &view->cause;
	const char *said = cause->kind == CAUSE_LAUNCH_FAILED ? cause->text : cause->headline;

	for (size_t i = 0; said && i < array_length(by_words); i++)
		if (strstr(said, by_words[i].says) &&
		    (!by_words[i].framework ||
		     str_equal(view->job->framework, by_words[i].framework) ==
			     by_words[i].is_named))
			return by_words[i].remedy;
	return NULL;
}

static const char *find_remedy(const struct job_view *view)
{
	const char *by_word = find_by_words(view);

	if (by_word)
		return by_word;
	if (view->cause.kind == CAUSE_PORT_TAKEN && view->cause_task >= 0)
		return port_remedy(&view->job->types[view->tasks[view->cause_task].type],
				   &view->tasks[view->cause_task]);
	if (cause_is_of_signal(&view->cause, SIGILL))
		return "build the program for the processors of the machines, or name others by "
		       "tony.{type}.node-label";
	if (!remedies[view->cause.kind] && policy_errno_of_room(view->cause.headline) == ENOSPC)
		return remedies[CAUSE_NO_SPACE];
	return remedies[view->cause.kind];
}

static char *own_remedy(const struct job_view *view)
{
	const char *remedy = find_remedy(view);

	if (!remedy)
		return NULL;
	const char *place = strstr(remedy, TYPE_PLACE);
	if (place && view->cause_task < 0)
		return NULL;
	struct str text = {0};
	for (; place; place = strstr(remedy, TYPE_PLACE)) {
		str_append_bytes(&text, remedy, (size_t)(place - remedy));
		str_append(&text, view->job->types[view->tasks[view->cause_task].type].name);
		remedy = place + strlen(TYPE_PLACE);
	}
	str_append(&text, remedy);
	return str_steal(&text);
}

/* Whether there are any in HDFS, only HDFS could tell. A sweep of which no trial has completed
 * would go on from nothing. */
static bool has_checkpoints(const struct job_view *view)
{
	const struct job *job = view->job;
	const char *headline = view->cause.headline;

	if (job_is_sweep(job) && headline && strstr(headline, SWEEP_NONE_COMPLETED))
		return false;
	return job->checkpoint_dir && *job->checkpoint_dir == '/' &&
	       fs_has_entries(job->checkpoint_dir);
}

char *remedy_of(const struct job_view *view)
{
	char *remedy cleanup_free = own_remedy(view);

	if (view->state != JOB_FAILED || !has_checkpoints(view))
		return mem_steal(&remedy);
	return mem_printf("%s%stony rerun %s --resume, which goes on from its checkpoints",
			  remedy ? remedy : "", remedy ? "; then " : "", view->job->id);
}

/* An executor that could not run says why; what its node or the scheduler said, the AM has noted.
 */
static const char *log_of(const struct cause *cause)
{
	switch (cause->kind) {
	case CAUSE_EXECUTOR_LOST:
	case CAUSE_START_FAILED:
	case CAUSE_NO_SPACE:
	case CAUSE_STORE_FULL:
		return "executor";
	case CAUSE_LAUNCH_FAILED:
		return cause->text && str_starts_with(cause->text, "could not run") ? "executor"
										    : "am";
	case CAUSE_ALLOCATION_REFUSED:
	case CAUSE_ALLOCATION_TIMEOUT:
	case CAUSE_AM_FAILED:
		return "am";
	default:
		return "task";
	}
}

char *remedy_logs(const struct job_view *view)
{
	const char *log = log_of(&view->cause);

	if (str_equal(log, "am"))
		return mem_strdup("--am");
	if (view->cause_task < 0)
		return NULL;
	const struct task_view *task = &view->tasks[view->cause_task];
	return mem_printf("--%s %s:%d", log, view->job->types[task->type].name, task->index);
}
