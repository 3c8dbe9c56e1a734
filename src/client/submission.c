/* Describe, check, stage, start, watch. */
#include "client/submission.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "client/exit_code.h"
#include "client/input.h"
#include "client/job_answer.h"
#include "client/job_array.h"
#include "client/job_file.h"
#include "client/job_verb.h"
#include "client/preflight.h"
#include "client/provenance.h"
#include "client/report.h"
#include "client/results.h"
#include "client/stage_send.h"
#include "client/sweep_config.h"
#include "client/sweep_control.h"
#include "client/upkeep.h"
#include "net/interrupt.h"
#include "scheduler/state_dir.h"

/* A start is worth more than an answer: the program itself will tell. */
enum { MODULE_WAIT_MS = 200 };
/* Nor is git waited for any longer. Where sources are copied, it has until then, and what it tells
 * later than that costs a second job.json. */
enum { GIT_SOON_MS = 50 };

#define MARKS_KEY "marks-key" /* in the state directory */
enum { MARKS_KEY_CAP = 256 };

/* From here to the watch, a signal waits: the job's directory must not stay behind half made. */
static void hold_signals(void)
{
	sigset_t set;

	watch_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static int fill(const struct scheduler_client_ops *ops, const struct stage *stage,
		const struct job *job, struct job_door *door, struct err *err)
{
	if (!ops->traits->staged &&
	    stage_copy(stage, job, door->job_dir, interrupt_is_pending, err) < 0)
		return -1;
	if (interrupt_is_pending())
		return err_set(err, ERR_FAILED, "interrupted before the job was started");
	return 0;
}

/* Whether the state directory has room is seen by writing into it. */
static int check(const struct description *description, const struct stage *stage, struct err *err)
{
	struct preflight preflight cleanup_preflight = {.patience_ms = MODULE_WAIT_MS};

	preflight_job(&preflight, description, stage);
	return preflight_to_err(&preflight, err);
}

static int64_t git_limit_ms(const struct job *job)
{
	return job_config_ms(job, "tony.application.provenance-timeout", 1);
}

/* Nobody reads job.json before the job starts. Where there is no room, the start will say so. */
static void record(struct provenance *provenance, bool is_written, struct job *job,
		   const struct job_door *door)
{
	if (!is_written) {
		provenance_take(provenance, job, git_limit_ms(job));
		char *text cleanup_secret = job_to_text(job);
		char *path cleanup_free = fs_join(door->job_dir, "job.json");
		fs_write_file(path, text, strlen(text), 0600, NULL);
	}
	provenance_write_diff(provenance, door->job_dir);
	provenance_finish(provenance);
}

/* The key of marks is this user's, on this machine, in no record. The first of two submissions that
 * make it counts. The caller frees; NULL: it cannot be kept. */
static char *take_marks_key(void)
{
	char *state cleanup_free = state_dir_find(NULL);
	char *path cleanup_free = state ? fs_join(state, MARKS_KEY) : NULL;

	if (!state || state_dir_make(state, NULL) < 0)
		return NULL;
	if (!fs_exists(path)) {
		char *own cleanup_free = mem_printf("%s.%d", path, (int)getpid());
		char *key cleanup_secret = secret_create();
		if (fs_write_file(own, key, strlen(key), 0600, NULL) == 0)
			(void)!link(own, path);
		unlink(own);
	}
	return fs_read_secret(path, "the key of marks", MARKS_KEY_CAP, NULL, NULL);
}

/* Without a key two jobs do not tell whether they have the same secrets. */
static void mark_secrets(struct job *job)
{
	char *key cleanup_secret = job_has_secrets(job) ? take_marks_key() : NULL;

	if (key && *key)
		job_mark_secrets(job, key);
}

static int announce(const struct submission_options *chosen, const struct job *job, struct err *err)
{
	return chosen->announce ? chosen->announce(chosen->announce_data, job, err) : 0;
}

static int start(const struct submission_options *chosen, const struct scheduler_client_ops *ops,
		 const struct stage *stage, struct provenance *provenance, struct job *job,
		 struct job_door *door, struct err *err)
{
	if (!ops->traits->staged && stage_resolve(stage, job, err) < 0)
		return -1;
	mark_secrets(job);
	hold_signals();
	if (ops->traits->staged && stage_send(stage, job, ops, interrupt_is_pending, err) < 0)
		return -1;
	bool copies = !ops->traits->staged && stage_has_source(stage);
	bool is_written =
		provenance_take(provenance, job, copies ? GIT_SOON_MS : git_limit_ms(job)) ||
		!copies;
	if (ops->prepare(job, door, err) < 0)
		return -1;
	if (fill(ops, stage, job, door, err) == 0 && announce(chosen, job, err) == 0) {
		record(provenance, is_written, job, door);
		int result = ops->start(job, door, err);
		job_secrets_forget(&job->secrets);
		return result;
	}
	fs_explain_room(door->job_dir, err);
	state_dir_remove_job(door->job_dir);
	return -1;
}

/* The exit code of a submission that failed; -1: that of `err`. */
static int explain_failure(const struct err *err)
{
	if (!interrupt_is_pending())
		return -1;
	report_error(err);
	return EXIT_CODE_INTERRUPTED;
}

static json_t *submitted_json(const struct job *job, const char *job_dir)
{
	json_t *object = json_object();
	char *output cleanup_free =
		job->results_dir ? fs_join(job->results_dir, job->id) : mem_strdup(job->output_dir);

	json_set_text(object, "id", job->id);
	json_set_text(object, "job_dir", job_dir);
	json_set_text(object, "output", output);
	if (job->array)
		json_set_int(object, "array_index", job->array_index);
	return object;
}

static void print_submitted(const struct job *job, const char *job_dir, bool as_json)
{
	if (as_json)
		report_json(submitted_json(job, job_dir));
	else
		puts(job->id);
}

/* A script may well read on where the job did not. */
static void warn_of_stdin(const struct submission_options *chosen)
{
	if (!chosen->with_stdin && input_is_waiting(STDIN_FILENO))
		report_note("warning: standard input is not given to the program; see --stdin, or "
			    "write </dev/null");
}

/* Then there is nothing to detach from. */
static bool has_failed_to_start(const struct opened *opened)
{
	struct job_view *view = job_view_create(opened->view->job);
	bool result = fs_exists(opened->journal_path) &&
		      job_view_read(view, opened->journal_path, NULL) == 0 && view->am_pid == 0 &&
		      view->is_final;

	job_view_destroy(view);
	return result;
}

/* The command makes something of its task's number: the user knows that the programs differ by it.
 */
static bool knows_its_task(const struct job *job)
{
	for (size_t i = 0; i < job->type_count; i++)
		if (strstr(job->types[i].command, "TONY_") || strstr(job->types[i].command, "{{"))
			return true;
	return false;
}

/* A job file without one is for TensorFlow, as in TonY, and a command of words is not. */
static void tell_framework(const struct description *description)
{
	const struct job *job = description->job;
	const char *what = "";

	if (!description->framework_is_default)
		return;
	if (str_equal(job->framework, "tensorflow"))
		what = ", as in TonY";
	else if (job_task_count(job) > 1 && !knows_its_task(job))
		what = ", which gives programs no RANK, WORLD_SIZE or TF_CONFIG";
	report_note("no framework is named: %s is taken%s; see --framework", job->framework, what);
}

/* Nobody has said where the cluster is. */
static void tell_scheduler(const struct description *description)
{
	const struct scheduler_client_ops *ops = job_verb_scheduler(description);
	char *text cleanup_free = ops->traits->is_service ? ops->found() : NULL;

	if (text)
		report_note("%s", text);
}

static int check_options(const struct submission_options *chosen, struct err *err)
{
	if (chosen->watch.follow && (chosen->detach || chosen->json))
		return err_set(err, ERR_USAGE,
			       "--follow and --%s contradict; give one, and see tony logs --follow",
			       chosen->detach ? "detach" : "json");
	if (chosen->with_stdin && chosen->job.conf_file && job_file_is_stdin(chosen->job.conf_file))
		return err_set(err, ERR_USAGE,
			       "--stdin and --conf_file - both read standard input; give one a "
			       "file");
	if (chosen->job.array && (chosen->watch.follow || chosen->with_stdin))
		return err_set(err, ERR_USAGE, "--array and --%s contradict; %s",
			       chosen->with_stdin ? "stdin" : "follow",
			       chosen->with_stdin ? "give the jobs a file"
						  : "see tony logs --follow for one of its jobs");
	if (chosen->job.sweep.count > 0 && chosen->with_stdin)
		return err_set(err, ERR_USAGE,
			       "--sweep and --stdin contradict; give the jobs a file");
	if (chosen->job.array && chosen->job.conf_file && job_file_is_stream(chosen->job.conf_file))
		return err_set(err, ERR_USAGE,
			       "--array and --conf_file %s contradict: each of the jobs reads the "
			       "job file; give a file",
			       chosen->job.conf_file);
	return watch_choice_check(&chosen->watch, err);
}

static void choose_watch(const struct watch_choice *choice, const struct job *job,
			 struct watch_options *how)
{
	const char *hint = watch_hint(choice, job);

	watch_choose(choice, job, how);
	if (hint)
		report_note("%s", hint);
}

static int watch(const struct submission_options *chosen, struct opened *opened, struct err *err)
{
	struct watch_options how = {
		.stream = stderr, .tail = -1, .owns_job = true, .timeout_ms = -1};

	if (!chosen->json)
		choose_watch(&chosen->watch, opened->view->job, &how);
	int code = watch_job(opened, &how, err);
	if (code < 0)
		return -1;
	if (opened->view->is_final)
		watch_conclude(opened, &how);
	code = results_conclude(opened, code); /* before the answer tells where they are */
	if (chosen->json && opened->view->is_final) {
		report_json(job_answer(opened));
		report_flush_end(stdout, opened->view);
	}
	return code;
}

/* Of an array's jobs, as far as they are submitted. */
struct array {
	char *id;	     /* NULL: none is submitted yet */
	size_t count, next;  /* of its numbers */
	struct str_list ids; /* of those before the next one (job/awaited.h) */
	json_t *answers;
};

static void array_finish(struct array *array)
{
	free(array->id);
	str_list_finish(&array->ids);
	json_decref(array->answers);
}

static void join_array(struct array *array, const struct description *description)
{
	struct job *job = description->job;

	array->count = description->array_count;
	if (array->id)
		job_array_join(job, array->id, description->array[array->next], &array->ids);
}

static int describe(const struct submission_options *chosen, const struct str_list *operands,
		    size_t dashdash, struct array *array, struct description *description,
		    struct stage *stage, struct err *err)
{
	if (job_verb_describe(&chosen->job, operands, dashdash, description, stage, err) < 0 ||
	    (chosen->check && chosen->check(chosen->check_data, description, stage, err) < 0))
		return -1;
	if (description->array_count > 0)
		join_array(array, description);
	if (chosen->repeat)
		repeat_note(chosen->repeat, description->job);
	if (chosen->trial)
		sweep_control_mark(chosen->trial, description->job);
	if (chosen->with_stdin && stage_plan_stdin(description->job, stage, err) < 0)
		return -1;
	if (array->id || chosen->job.is_told)
		return 0;
	if (description->found_file && !chosen->json)
		report_note("configuration: ./%s", description->found_file);
	if (!chosen->repeat)
		tell_framework(description);
	tell_scheduler(description);
	return 0;
}

/* The trials of a sweep are checked, and then the sweep itself, which has a place of its own. The
 * first check may give a job the id that its engine will know it by. */
int submission_check(const struct submission_options *chosen, struct description *description,
		     struct stage *stage, struct err *err)
{
	char *id cleanup_free = mem_strdup(description->job->id);

	if (check(description, stage, err) < 0)
		return -1;
	if (chosen->trial || !sweep_is_configured(description->job->config))
		return 0;
	mem_replace(&description->job->id, mem_steal(&id));
	const struct opened *resumed =
		chosen->repeat && chosen->repeat->resumes ? chosen->repeat->opened : NULL;
	if (sweep_control(description, stage, resumed, err) < 0)
		return -1;
	return check(description, stage, err);
}

static int describe_and_start(const struct submission_options *chosen,
			      const struct str_list *operands, size_t dashdash, struct array *array,
			      struct description *description, struct opened *opened,
			      struct err *err)
{
	struct stage stage cleanup_stage = {0};
	struct provenance provenance cleanup_provenance = {0};

	if (describe(chosen, operands, dashdash, array, description, &stage, err) < 0)
		return -1;
	if (chosen->repeat && repeat_has_sources(chosen->repeat))
		provenance_inherit(&provenance, chosen->repeat->opened, description->job);
	else
		provenance_begin(&provenance, description, &stage);
	if (submission_check(chosen, description, &stage, err) < 0)
		return -1;
	if (chosen->repeat)
		repeat_warn_of_changes(chosen->repeat, description->job);
	opened->ops = job_verb_scheduler(description);
	if (start(chosen, opened->ops, &stage, &provenance, description->job, &opened->door, err) <
	    0)
		return explain_failure(err);
	if (chosen->repeat)
		repeat_warn_of_commit(chosen->repeat, description->job);
	opened->id = mem_strdup(description->job->id);
	opened->journal_path = fs_join(opened->door.job_dir, "journal.jsonl");
	opened->view = job_view_create(description->job);
	/* An AM elsewhere may be there already, or have ended the job: it is looked for at once. */
	opened->heard_ms = opened->ops->traits->remote_am ? 0 : clock_monotonic_ms();
	return 0;
}

/* The array's id is told with its first job: a later one may not start. */
static int submit_next(const struct submission_options *chosen, const struct str_list *operands,
		       size_t dashdash, struct array *array, struct err *err)
{
	struct description description cleanup_description = {0};
	struct opened opened cleanup_opened = {0};

	int code =
		describe_and_start(chosen, operands, dashdash, array, &description, &opened, err);
	if (code != 0)
		return code;
	const struct job *job = description.job;
	if (has_failed_to_start(&opened))
		return err_set(err, ERR_FAILED, "%s has failed to start; see tony status %s",
			       job->id, job->id);
	const struct awaited self = {job->id, true, job->submitted_ms};
	if (!array->id) {
		array->id = mem_strdup(job->array);
		upkeep_start(opened.ops, job);
		if (!chosen->json)
			puts(array->id);
	}
	if (chosen->json)
		json_array_append_new(array->answers, submitted_json(job, opened.door.job_dir));
	str_list_take(&array->ids, awaited_format(&self));
	array->next++;
	return 0;
}

static int submit_array(const struct submission_options *chosen, const struct str_list *operands,
			size_t dashdash, struct err *err)
{
	struct array array __attribute__((cleanup(array_finish))) = {.answers = json_array()};
	int code = 0;

	do {
		code = submit_next(chosen, operands, dashdash, &array, err);
	} while (code == 0 && array.next < array.count);
	if (code != 0 && array.id) {
		char *told cleanup_free =
			mem_printf("%zu of %zu jobs of %s were submitted, and then none: tony kill "
				   "%s ends them",
				   array.next, array.count, array.id, array.id);
		if (code < 0)
			err_wrap(err, "%s", told);
		else
			report_note("%s", told);
	}
	if (array.id && chosen->json)
		report_json(json_pack("{s:s,s:O}", "array", array.id, "jobs", array.answers));
	if (code != 0)
		return code;
	return report_flush_job(stdout, array.id, "was submitted and runs") < 0 ? EXIT_CODE_INTERNAL
										: EXIT_CODE_OK;
}

int submission_run(const struct submission_options *chosen, const struct str_list *operands,
		   size_t dashdash, struct err *err)
{
	struct description description cleanup_description = {0};
	struct opened opened cleanup_opened = {0};
	struct array none = {0};

	if (check_options(chosen, err) < 0)
		return -1;
	if (chosen->job.array)
		return submit_array(chosen, operands, dashdash, err);
	int code =
		describe_and_start(chosen, operands, dashdash, &none, &description, &opened, err);
	if (code != 0)
		return code;
	warn_of_stdin(chosen);
	bool has_started = !has_failed_to_start(&opened);
	if (has_started)
		upkeep_start(opened.ops, description.job);
	if (chosen->detach && has_started) {
		print_submitted(description.job, opened.door.job_dir, chosen->json);
		return report_flush_job(stdout, opened.id, "was submitted and runs") < 0
			       ? EXIT_CODE_INTERNAL
			       : EXIT_CODE_OK;
	}
	return watch(chosen, &opened, err);
}

int submission_start(const struct submission_options *chosen, const struct str_list *operands,
		     size_t dashdash, char **id, struct err *err)
{
	struct description description cleanup_description = {0};
	struct opened opened cleanup_opened = {0};
	struct array none = {0};

	int code =
		describe_and_start(chosen, operands, dashdash, &none, &description, &opened, err);
	if (code != 0)
		return code;
	if (has_failed_to_start(&opened))
		return watch(chosen, &opened, err);
	upkeep_start(opened.ops, description.job);
	*id = mem_strdup(opened.id);
	return 0;
}
