/* tony notebook: JupyterLab as a job, and a port of this machine that leads to it.
 *
 * Jupyter takes any free port of the container's loopback interface, and keeps port and token in a
 * file of a directory that the container alone has. A command in the container reads it, so the
 * token is in no log, no argument list and no environment of others. */
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/proc.h"
#include "client/browser.h"
#include "client/exit_code.h"
#include "client/forward.h"
#include "client/report.h"
#include "client/results.h"
#include "client/submission.h"
#include "client/talk.h"
#include "client/task_channel.h"
#include "client/verbs.h"
#include "net/local_port.h"

enum {
	AGAIN_MS = 1000,     /* between attempts to reach a program that was lost */
	PATIENCE_MS = 60000, /* with these */
	IDLE_S_MAX = 365 * 24 * 3600,
};

#define IDLE_DEFAULT "1h"

struct notebook_options {
	struct submission_options how;
	int64_t port;
	bool browser, detach;
	char *idle;
};

static const struct opt options[] = {
	OPT_ROW("port", struct notebook_options, port, "the port of this machine; else any",
		.argument = "N", .min = 1, .max = 65535),
	OPT_ROW("browser", struct notebook_options, browser,
		"open it in this machine's browser (xdg-open)"),
	OPT_ROW("idle", struct notebook_options, idle,
		"end when nobody has used it, and nothing has run in it, for so long; 0: never; "
		"default " IDLE_DEFAULT,
		.argument = "TIME"),
	OPT_ROW("detach", struct notebook_options, detach,
		"print the job's id and return; tony notebook JOB leads there", .letter = 'd'),
	JOB_OPTIONS(struct notebook_options, how.job),
};

/* ---- the program ------------------------------------------------------------------------- */

#define PLACE "$(dirname -- \"$TONY_PROGRESS_FILE\")/jupyter"

/* A program that is restarted has the token and the cookies of the one before. Where the directory
 * is not the user's own, a link leads to results, which do not go with it. */
static const char begin_script[] =
	"export JUPYTER_RUNTIME_DIR=\"" PLACE "\"\n"
	"mkdir -p -m 700 -- \"$JUPYTER_RUNTIME_DIR\" || exit 70\n"
	"rm -f -- \"$JUPYTER_RUNTIME_DIR\"/*server-*\n"
	"export JUPYTER_TOKEN=\"$({ echo notebook; cat \"$TONY_TOKEN_FILE\"; } | sha256sum | cut "
	"-c1-64)\"\n"
	"test \"$(pwd -P)\" = %s || test -e output || ln -s -- \"$TONY_OUTPUT_DIR\" output\n";

/* Arguments of Python: the end of the job tells its user what to do. */
static const char look_arguments[] =
	"-c 'import importlib.util, os, sys\n"
	"importlib.util.find_spec(\"jupyterlab\") or sys.exit(\"No module named jupyterlab for \" "
	"+ "
	"sys.executable + \" on \" + os.uname().nodename + \": pip install jupyterlab there, bring "
	"an environment that has it by --python_venv, or name another server by --executes\")'";

static const char read_script[] =
	"until grep -qs '^}' \"" PLACE "\"/*server-*.json; do sleep 0.2; done\n"
	"cat \"" PLACE "\"/*server-*.json\n";

/* A kernel that is in use is one that a browser shows, or that computes. */
static void append_lab_arguments(int64_t idle_s, const struct str_list *words, struct str *out)
{
	str_append(out, "-m jupyterlab --no-browser --allow-root --ServerApp.ip=127.0.0.1 "
			"--ServerApp.port=0");
	if (idle_s > 0)
		str_append_format(out,
				  " --ServerApp.shutdown_no_activity_timeout=%lld "
				  "--MappingKernelManager.cull_idle_timeout=%lld "
				  "--MappingKernelManager.cull_interval=%lld",
				  (long long)idle_s, (long long)idle_s,
				  (long long)(idle_s < 60 ? idle_s : 60));
	for (size_t i = 0; i < words->count; i++) {
		char *quoted cleanup_free = str_shell_quote(words->items[i]);
		str_append_format(out, " %s", quoted);
	}
}

static void append_lab(const struct job_options *job, int64_t idle_s, const struct str_list *words,
		       struct str *script)
{
	const char *python = job->python_binary_path ? job->python_binary_path : "python3";
	struct str arguments cleanup_str = {0};

	append_lab_arguments(idle_s, words, &arguments);
	char *look cleanup_free =
		job_options_build_command(job->python_venv, python, look_arguments, NULL);
	char *lab cleanup_free = job_options_build_command(job->python_venv, python,
							   str_text(&arguments), job->task_params);
	str_append_format(script, "%s || exit 1\nexec %s", look, lab);
}

/* TonY's --executes is a notebook server's command; ours is one without. */
static void write_command(struct job_options *job, int64_t idle_s, const struct str_list *words)
{
	char *given cleanup_free = job_options_build_command(
		job->python_venv, job->python_binary_path, job->executes, job->task_params);
	char *here cleanup_free = getcwd(NULL, 0);
	char *directory cleanup_free = str_shell_quote(here ? here : "");
	struct str script cleanup_str = {0};

	str_append_format(&script, begin_script, directory);
	if (given)
		str_append(&script, given);
	else
		append_lab(job, idle_s, words, &script);
	mem_replace(&job->executes, str_steal(&script));
	mem_replace(&job->python_binary_path, NULL);
	mem_replace(&job->task_params, NULL);
}

static int check_job(void *data, const struct description *description, const struct stage *stage,
		     struct err *err)
{
	const struct job *job = description->job;
	const char *allows = job_config(job, "tony.am.allow-exec");

	if (allows && str_equal(allows, "false"))
		return err_set(err, ERR_DENIED,
			       "tony.am.allow-exec is false here: nobody is led to a port in a "
			       "container; tony submit runs a notebook server, and tony open JOB "
			       "notebook leads to it");
	if (job_task_count(job) == 1)
		return 0;
	return err_set(err, ERR_CONFIG,
		       "a notebook is one task, and the configuration asks for %d; leave the task "
		       "types out, and let cells start jobs",
		       (int)job_task_count(job));
}

static int read_idle(const char *text, int64_t *idle_s, struct err *err)
{
	int64_t idle_ms;

	if (str_parse_duration(text ? text : IDLE_DEFAULT, 1000, &idle_ms) < 0 ||
	    idle_ms / 1000 > IDLE_S_MAX)
		return err_set(err, ERR_USAGE, "--idle: \"%s\" is not a time; write 30m, 2h or 0",
			       text);
	*idle_s = (idle_ms + 999) / 1000;
	return 0;
}

/* Before there is a job that would wait for it. */
static int check_port(int64_t port, struct err *err)
{
	struct event_base *base = event_base_new();
	char *address cleanup_free = mem_printf("127.0.0.1:%d", (int)port);
	struct local_port *probe = local_port_open(
		&(struct local_port_options){.base = base, .address = address, .user = geteuid()},
		err);

	local_port_close(probe);
	event_base_free(base);
	return probe ? 0 : err_wrap(err, "--port: choose another one, or none");
}

/* *id stays NULL where there is none to lead to; the result is the exit code then. */
static int start(struct notebook_options *chosen, const struct str_list *words, char **id,
		 struct err *err)
{
	const struct str_list none = {0};
	struct job_options *job = &chosen->how.job;
	int64_t idle_s = 0;

	if (read_idle(chosen->idle, &idle_s, err) < 0 ||
	    (chosen->port > 0 && !chosen->detach && check_port(chosen->port, err) < 0))
		return -1;
	if (job->executes && words->count > 0)
		return err_set(err, ERR_USAGE,
			       "words after -- are for JupyterLab, and --executes names another "
			       "program; give one");
	if (job->array)
		return err_set(err, ERR_USAGE, "--array: a notebook is one job");
	write_command(job, idle_s, words);
	mem_replace(&job->framework, mem_strdup("generic"));
	if (!job->name)
		job->name = mem_strdup("notebook");
	chosen->how.check = check_job;
	return submission_start(&chosen->how, &none, 0, id, err);
}

/* ---- the way there ----------------------------------------------------------------------- */

/* Which process of the only task. */
struct run {
	int attempt, epoch, restart;
};

struct notebook {
	const struct notebook_options *chosen;
	struct opened opened;
	char *task;
	bool is_own, is_shown;
	struct run tried;	  /* the last one to which there was to be a way */
	int64_t led_ms;		  /* monotonic: since when there is none */
	struct forward_port port; /* the same one, as long as this process lives */
	char *path;		  /* "/?token=..." */
};

static bool is_running(const struct job_view *view)
{
	return view->tasks[0].state == TASK_RUNNING && view->tasks[0].up;
}

static struct run find_run(const struct job_view *view)
{
	const struct task_view *task = &view->tasks[0];

	return (struct run){task->attempt, task->epoch, task->restart};
}

static bool runs_anew(void *data, const struct job_view *view)
{
	const struct run *tried = data;
	struct run run = find_run(view);

	return is_running(view) && (run.attempt != tried->attempt || run.epoch != tried->epoch ||
				    run.restart != tried->restart);
}

static void let_signals(int how)
{
	sigset_t set;

	watch_signals(&set);
	sigprocmask(how, &set, NULL);
}

/* The file of a running server. */
static int read_place(struct notebook *notebook, const char *text, size_t length, struct err *err)
{
	json_t *place cleanup_json = json_parse(text, length, err);
	char *base cleanup_free = NULL, *token cleanup_free = NULL;

	if (!place || json_need_int(place, "port", 1, UINT16_MAX, &notebook->port.there, err) < 0 ||
	    json_need_text(place, "base_url", &base, err) < 0 ||
	    json_need_text(place, "token", &token, err) < 0)
		return err_wrap(err, "%s: what the notebook server says of itself", notebook->task);
	mem_replace(&notebook->path,
		    *token ? mem_printf("%s?token=%s", base, token) : mem_strdup(base));
	return 0;
}

/* 1: a signal came. */
static int find_place(struct notebook *notebook, struct err *err)
{
	struct session_command command cleanup_command = {0};
	struct str output cleanup_str = {0};
	const struct talk_options talk = {.opened = &notebook->opened,
					  .task = notebook->task,
					  .command = &command,
					  .output = &output};

	str_list_add(&command.words, "sh");
	str_list_add(&command.words, "-c");
	str_list_add(&command.words, read_script);
	int code = talk_run(&talk, err);
	if (code == 0)
		return read_place(notebook, str_text(&output), output.length, err);
	if (code == PROC_SHELL_SIGNAL + SIGINT || code == PROC_SHELL_SIGNAL + SIGTERM)
		return 1;
	return code < 0 ? -1 : err_set(err, ERR_FAILED, "%s: it has ended", notebook->task);
}

static void show_link(struct notebook *notebook, const char *address)
{
	struct err err cleanup_err = {0};
	char *url cleanup_free = mem_printf("http://%s%s", address, notebook->path);
	char *shown cleanup_free = str_printable(url, strlen(url)); /* a part is the program's */

	printf("%s\n", shown);
	fflush(stdout);
	if (notebook->chosen->browser && browser_open(url, &err) < 0)
		report_error(&err);
}

/* The link to the next program is the same. */
static void on_led(void *data, const char *address, int64_t there)
{
	struct notebook *notebook = data;
	bool is_shown = notebook->is_shown;

	notebook->is_shown = true;
	notebook->led_ms = INT64_MAX;
	str_parse_int(strrchr(address, ':') + 1, 1, UINT16_MAX, &notebook->port.here);
	if (!is_shown)
		show_link(notebook, address);
	report_note("%s leads to %s of %s until this is interrupted (Ctrl-C%s)", address,
		    notebook->task, notebook->opened.id,
		    notebook->is_own ? ", which ends the notebook" : "");
}

/* 1: a signal came; -1: the way has ended, and why. */
static int lead(struct notebook *notebook, struct err *err)
{
	const struct forward_options forward = {.opened = &notebook->opened,
						.host = "127.0.0.1",
						.task = notebook->task,
						.ports = &notebook->port,
						.count = 1,
						.led = on_led,
						.data = notebook,
						.is_of_one_program = true};
	int result = find_place(notebook, err);

	if (result == 0)
		result = forward_run(&forward, err) == 0 ? 1 : -1;
	if (notebook->led_ms == INT64_MAX)
		notebook->led_ms = clock_monotonic_ms();
	return result;
}

static int conclude(struct notebook *notebook, const struct watch_options *how, int code)
{
	watch_conclude(&notebook->opened, how);
	return results_conclude(&notebook->opened, code);
}

/* Until the program runs, or the next one: EXIT_CODE_TIMEOUT; else the exit code, or -1: `err`. */
static int await_program(struct notebook *notebook, struct err *err)
{
	const struct watch_options how = {.stream = stderr,
					  .tail = -1,
					  .owns_job = notebook->is_own,
					  .goes_on = notebook->tried.attempt > 0,
					  .timeout_ms = -1,
					  .is_enough = runs_anew,
					  .data = &notebook->tried};
	int code = watch_job(&notebook->opened, &how, err);

	return code >= 0 && notebook->opened.view->is_final ? conclude(notebook, &how, code) : code;
}

/* As if the watch had been there when Ctrl-C came. */
static int end(struct notebook *notebook, struct err *err)
{
	const struct watch_options how = {
		.stream = stderr, .tail = -1, .owns_job = true, .goes_on = true, .timeout_ms = -1};
	sigset_t heard;

	if (!notebook->is_own)
		return EXIT_CODE_OK;
	let_signals(SIG_BLOCK);
	watch_signals(&heard);
	raise(sigismember(&heard, SIGINT) ? SIGINT : SIGTERM);
	int code = watch_job(&notebook->opened, &how, err);
	return code >= 0 && notebook->opened.view->is_final ? conclude(notebook, &how, code) : code;
}

/* A signal that came while they were blocked. */
static bool is_to_end(void)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM);
}

/* It is not the end of the program, or of its AM. */
static bool is_lasting(const struct notebook *notebook, const struct err *trouble)
{
	bool may_pass = err_is_silence(trouble) || trouble->kind == ERR_FAILED ||
			trouble->kind == ERR_NOT_FOUND;

	return !may_pass || clock_monotonic_ms() - notebook->led_ms > PATIENCE_MS;
}

static int tell_trouble(struct notebook *notebook, const struct err *trouble, struct err *err)
{
	const char *id = notebook->opened.id;

	err_copy(err, trouble);
	return err_wrap(err, "%s goes on; tony notebook %s leads there again, tony kill %s ends it",
			id, id, id);
}

static void turn_to(struct notebook *notebook)
{
	if (runs_anew(&notebook->tried, notebook->opened.view)) {
		notebook->tried = find_run(notebook->opened.view);
		notebook->led_ms = clock_monotonic_ms();
		report_note("%s runs; waiting for its notebook server", notebook->task);
	} else {
		opened_find_am(&notebook->opened, NULL); /* there may be another one */
	}
}

/* Whether the same program is to be reached again. */
static bool pause_before_it(struct notebook *notebook)
{
	opened_follow(&notebook->opened, AGAIN_MS, NULL, NULL, NULL);
	return is_running(notebook->opened.view) &&
	       !runs_anew(&notebook->tried, notebook->opened.view) &&
	       !notebook->opened.view->is_final;
}

/* From each program to the one that follows it, and from each AM. */
static int stay(struct notebook *notebook, struct err *err)
{
	struct err trouble cleanup_err = {0};

	for (;;) {
		bool is_again = trouble.kind != ERR_NONE && pause_before_it(notebook);
		int code = is_again ? EXIT_CODE_TIMEOUT : await_program(notebook, err);
		if (code != EXIT_CODE_TIMEOUT)
			return code;
		turn_to(notebook);
		err_finish(&trouble);
		if (is_to_end())
			return end(notebook, err);
		let_signals(SIG_UNBLOCK);
		if (lead(notebook, &trouble) > 0)
			return end(notebook, err);
		let_signals(SIG_BLOCK);
		if (is_lasting(notebook, &trouble))
			return tell_trouble(notebook, &trouble, err);
	}
}

static int follow(const struct notebook_options *chosen, const char *id, bool is_own,
		  struct err *err)
{
	struct notebook notebook = {
		.chosen = chosen, .is_own = is_own, .port = {.here = chosen->port}};
	int code = opened_find(&notebook.opened, id, err);

	if (code == 0 && job_task_count(notebook.opened.job) != 1)
		code = err_set(err, ERR_USAGE, "%s has several tasks, and is no notebook",
			       notebook.opened.id);
	else if (code == 0 && !is_own && notebook.opened.view->is_final)
		code = opened_say_ended(&notebook.opened, err);
	if (code == 0) {
		notebook.task = job_task_name(notebook.opened.job, 0, 0);
		code = stay(&notebook, err);
	}
	free(notebook.task);
	free(notebook.path);
	opened_finish(&notebook.opened);
	return code;
}

static int run(void *data, const struct verb_call *call, struct err *err)
{
	struct notebook_options *chosen = data;
	struct str_list words cleanup_str_list = {0};
	char *id cleanup_free = NULL;

	if (call->dashdash > 1)
		return err_set(err, ERR_USAGE, "usage: %s", verb_notebook.options.usage);
	if (call->dashdash == 1)
		return follow(chosen, call->operands->items[0], false, err);
	for (size_t i = 0; i < call->operands->count; i++)
		str_list_add(&words, call->operands->items[i]);
	int code = start(chosen, &words, &id, err);
	if (!id || code != 0)
		return code;
	if (!chosen->detach)
		return follow(chosen, id, true, err);
	puts(id);
	return report_flush_job(stdout, id, "was submitted and runs") < 0 ? EXIT_CODE_INTERNAL
									  : EXIT_CODE_OK;
}

const struct verb verb_notebook = {
	.options =
		{
			.verb = "notebook",
			.usage = "tony notebook [OPTIONS] [JOB | -- ARG...]",
			.jobs = OPT_JOBS_LIVE,
			.summary = "run JupyterLab as a job, and lead there",
			.description =
				"Prints a link to it at a port of this machine, which holds until "
				"this is interrupted. Ctrl-C ends the notebook, as it ends a job "
				"of tony submit; when the terminal is closed the notebook goes on. "
				"With a JOB it leads to a notebook that runs already, which Ctrl-C "
				"leaves alone. Each ARG is one of JupyterLab. The options are "
				"those of tony submit, for one task.",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct notebook_options),
	.run = run,
};
