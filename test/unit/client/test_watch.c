#include "../base/test.h"
#include "../hadoop/web_server.h"

#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/watch.h"
#include "net/interrupt.h"

static const struct scheduler_traits elsewhere_traits = {.name = "elsewhere"};
static const struct scheduler_client_ops elsewhere = {.traits = &elsewhere_traits};

struct scene {
	struct job *job;
	struct opened opened;
	struct job_view *view;
	bool output_was_shown;
	char *text;
};

static int open_scene(void **state)
{
	struct scene *scene = mem_alloc(sizeof(*scene));
	struct job *job = mem_alloc(sizeof(*job));

	job->id = mem_strdup("tony-1");
	job->submitted_ms = 1000;
	job->type_count = 1;
	job->types = mem_alloc(sizeof(*job->types));
	job->types[0] = (struct job_type){
		.name = mem_strdup("worker"), .instances = 2, .processes = 1, .memory = 100};
	scene->job = job;
	scene->view = job_view_create(job);
	scene->view->ended_ms = 3000;
	scene->view->is_final = true;
	job->heartbeat_interval_ms = 1000;
	scene->opened = (struct opened){.ops = &elsewhere, .id = job->id, .view = scene->view};
	scene->opened.door.job_dir = (char *)"/nonexistent";
	*state = scene;
	return 0;
}

static int close_scene(void **state)
{
	struct scene *scene = *state;

	job_view_destroy(scene->view);
	job_destroy(scene->job);
	free(scene->text);
	free(scene);
	return 0;
}

static const char *conclude(struct scene *scene)
{
	FILE *stream = tmpfile();
	char text[4096] = {0};

	watch_conclude(
		&scene->opened,
		&(struct watch_options){.stream = stream, .shows_output = scene->output_was_shown});
	rewind(stream);
	assert_true(fread(text, 1, sizeof(text) - 1, stream) > 0);
	fclose(stream);
	mem_replace(&scene->text, mem_strdup(text));
	return scene->text;
}

static void it_is_told_where_programs_ran(void **state)
{
	static const struct scheduler_traits traits = {.name = "here", .shares_files = true};
	static const struct scheduler_client_ops here = {.traits = &traits};
	struct scene *scene = *state;
	char *job_dir cleanup_free = mem_printf("/tmp/tony-watch-%d", getpid());
	char *containers cleanup_free = fs_join(job_dir, "containers");
	char *expected cleanup_free = mem_printf("\nran in: %s/*/work\n", containers);

	scene->view->state = JOB_SUCCEEDED;
	scene->opened.ops = &here;
	assert_null(
		strstr(conclude(scene), "ran in")); /* of a job that is kept in a history only */
	assert_int_equal(fs_make_directories(containers, 0700, NULL), 0);
	scene->opened.door.job_dir = job_dir;
	assert_text_has(conclude(scene), expected);
	assert_int_equal(fs_remove_tree(job_dir, NULL), 0);
	scene->job->work_dir = mem_strdup("/home/ada");
	assert_text_has(conclude(scene), "\nran in: /home/ada\n");
}

static void success_names_the_logs(void **state)
{
	struct scene *scene = *state;

	scene->view->state = JOB_SUCCEEDED;
	scene->view->message = mem_strdup("the job succeeded");
	assert_string_equal(conclude(scene),
			    "tony-1 succeeded after 2.0 s\nsee: tony logs tony-1\n");
}

static void failure_names_cause_remedy_and_log(void **state)
{
	struct scene *scene = *state;
	struct cause *cause = &scene->view->cause;

	scene->view->state = JOB_FAILED;
	scene->view->message = mem_strdup("worker:1 on h ran out of memory: MemoryError");
	scene->view->cause_task = 1;
	cause->kind = CAUSE_OUT_OF_MEMORY;
	str_list_add(&cause->tail, "step 41");
	str_list_add(&cause->tail, "MemoryError");
	const char *text = conclude(scene);
	assert_text_has(text, "tony-1 failed after 2.0 s: worker:1 on h ran out of memory");
	assert_text_has(text, "\n    step 41\n");
	assert_null(strstr(text, "    MemoryError")); /* the message has it */
	assert_text_has(text, "tony.worker.memory");
	assert_text_has(text, "tony logs tony-1 --task worker:1\n");
}

static void a_remedy_names_the_type_wherever_it_has_to(void **state)
{
	struct scene *scene = *state;

	scene->view->state = JOB_FAILED;
	scene->view->cause_task = 1;
	for (int kind = CAUSE_NONE + 1; kind < CAUSE_KIND_COUNT; kind++) {
		scene->view->cause.kind = (enum cause_kind)kind;
		assert_null(strstr(conclude(scene), "{type}"));
	}
	scene->view->cause.kind = CAUSE_PORT_STOLEN;
	assert_text_has(conclude(scene), "tony.worker.listener-uids names");
	assert_text_has(conclude(scene), "tony.worker.strict-port=true keeps");
	assert_text_has(conclude(scene), "let the program read TONY_PORT from its environment");
}

static void that_a_port_is_to_be_open_is_advised_where_it_was_held(void **state)
{
	struct scene *scene = *state;

	scene->view->state = JOB_FAILED;
	scene->view->cause_task = 1;
	scene->view->cause.kind = CAUSE_PORT_TAKEN;
	scene->job->types[scene->view->tasks[1].type].hold_port = true;
	assert_text_has(conclude(scene), "set tony.worker.hold-port=false");
	scene->view->tasks[1].port_open = true;
	assert_null(strstr(conclude(scene), "hold-port"));
	assert_text_has(conclude(scene), "let one process alone bind TONY_PORT");
}

static void room_is_made_before_a_job_goes_on_from_its_checkpoints(void **state)
{
	struct scene *scene = *state;

	scene->view->state = JOB_FAILED;
	scene->view->cause.kind = CAUSE_EXIT;
	scene->view->cause.headline = mem_strdup("dd: error writing 'x': No space left on device");
	assert_text_has(conclude(scene),
			"try: make room on that machine before the job runs again\n");
	scene->job->checkpoint_dir = mem_strdup("/proc/self"); /* has entries */
	assert_text_has(conclude(scene), "runs again; then tony rerun tony-1 --resume");
}

static void output_that_was_shown_is_not_told_again(void **state)
{
	struct scene *scene = *state;

	scene->view->state = JOB_FAILED;
	scene->output_was_shown = true;
	str_list_add(&scene->view->cause.tail, "step 41");
	const char *text = conclude(scene);
	assert_null(strstr(text, "step 41"));
	assert_text_has(text, "see: tony logs tony-1");
}

static void the_worst_that_is_to_be_advised_is_told(void **state)
{
	struct scene *scene = *state;
	struct task_view *task = &scene->view->tasks[1];

	scene->view->state = JOB_SUCCEEDED;
	task->attempts = mem_alloc(sizeof(*task->attempts));
	task->attempts[task->attempt_count++] =
		(struct attempt_view){.attempt = 1, .cause.kind = CAUSE_OUT_OF_MEMORY};
	assert_string_equal(conclude(scene), "tony-1 succeeded after 2.0 s\nsee: tony logs tony-1\n"
					     "advice: worker needs more memory than it asks for; "
					     "see: tony advise tony-1\n");
}

static void a_programs_escape_sequences_are_made_harmless(void **state)
{
	struct scene *scene = *state;

	scene->view->state = JOB_FAILED;
	scene->view->message = mem_strdup("\033]0;evil\007");
	str_list_add(&scene->view->cause.tail, "\033[2J");
	const char *text = conclude(scene);
	assert_null(strchr(text, '\033'));
	assert_null(strchr(text, '\007'));
}

static void signals_that_are_ignored_for_us_stay_so(void **state)
{
	sigset_t set;

	signal(SIGHUP, SIG_IGN); /* nohup */
	watch_signals(&set);
	assert_int_equal(sigismember(&set, SIGHUP), 0);
	assert_int_equal(sigismember(&set, SIGINT), 1);
	signal(SIGHUP, SIG_DFL);
	watch_signals(&set);
	assert_int_equal(sigismember(&set, SIGHUP), 1);
}

/* ---- signals, and an engine that is silent ------------------------------------------------ */

static int questions; /* to the engine */

/* The user becomes impatient at once. */
static int be_silent(const char *id, struct job_door *door, char **full_id, struct err *err)
{
	questions++;
	raise(SIGINT);
	return interrupt_set(err, "engine at e:1: report");
}

static int kill_silently(const struct job_door *door, const char *reason, struct err *err)
{
	return be_silent(NULL, NULL, NULL, err);
}

static int pull_nothing(const struct job_door *door, int64_t hold_ms, struct pull_aside *aside,
			struct err *err)
{
	return 0;
}

static const struct scheduler_traits silent_traits = {.name = "silent", .remote_am = true};
static const struct scheduler_client_ops silent_engine = {
	.traits = &silent_traits,
	.find = be_silent,
	.pull = pull_nothing,
	.kill = kill_silently,
	.kill_waiting = kill_silently,
};

/* The words of `tony submit` until it ends with 130. */
static const char *watch_silent_engine(struct scene *scene, const struct scheduler_client_ops *ops)
{
	const struct watch_options how = {.stream = tmpfile(), .owns_job = true, .timeout_ms = -1};
	char text[4096] = {0};
	struct err err cleanup_err = {0};

	questions = 0;
	scene->view->is_final = false;
	scene->opened.ops = ops;
	scene->opened.journal_path = (char *)"/nonexistent/journal.jsonl";
	assert_int_equal(watch_job(&scene->opened, &how, &err), EXIT_CODE_INTERRUPTED);
	rewind(how.stream);
	assert_true(fread(text, 1, sizeof(text) - 1, how.stream) > 0);
	fclose(how.stream);
	mem_replace(&scene->text, mem_strdup(text));
	return scene->text;
}

/* The first signal comes while the AM is looked for, the second while somebody is looked for who
 * could stop the job. */
static void a_second_signal_leaves_an_engine_that_is_silent(void **state)
{
	struct scene *scene = *state;
	const char *text = watch_silent_engine(scene, &silent_engine);

	assert_int_equal(questions, 2);
	assert_text_has(text, "the job is asked to stop as soon as it can be (engine at e:1: "
			      "report: interrupted before an answer came); Ctrl-C again leaves "
			      "it as it is\n");
	assert_text_has(text, "tony-1 could not be asked to stop, and goes on (engine at e:1: "
			      "report: interrupted before an answer came); tony status tony-1 "
			      "tells more, tony kill tony-1 ends it\n");
}

/* The user becomes impatient before each look at the journal. */
static int pull_impatiently(const struct job_door *door, int64_t hold_ms, struct pull_aside *aside,
			    struct err *err)
{
	raise(SIGINT);
	return 0;
}

static void an_am_is_asked_to_stop_before_its_engine(void **state)
{
	static const struct web_step steps[] = {
		{"POST /v1/job/kill ",
		 "200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"}};
	struct scene *scene = *state;
	struct scheduler_client_ops ops = silent_engine;
	struct web_server am;

	ops.pull = pull_impatiently;
	web_server_start(&am, steps, array_length(steps));
	scene->opened.door.address = mem_strdup(am.address);
	scene->opened.heard_ms = clock_monotonic_ms();
	const char *text = watch_silent_engine(scene, &ops);
	web_server_stop(&am);
	web_server_finish(&am);
	free(scene->opened.door.address);
	/* The second signal ends the job, of which the engine says nothing; the third leaves. */
	assert_int_equal(questions, 1);
	assert_text_has(text, "; Ctrl-C again ends the job at once\n");
	assert_text_has(text, "tony-1 was asked to stop, and is not known to have ended (engine at "
			      "e:1: report: interrupted before an answer came); tony status "
			      "tony-1 tells more, tony kill --force tony-1 ends it\n");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, open_scene, close_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(success_names_the_logs),
		TEST(it_is_told_where_programs_ran),
		TEST(failure_names_cause_remedy_and_log),
		TEST(a_remedy_names_the_type_wherever_it_has_to),
		TEST(that_a_port_is_to_be_open_is_advised_where_it_was_held),
		TEST(room_is_made_before_a_job_goes_on_from_its_checkpoints),
		TEST(output_that_was_shown_is_not_told_again),
		TEST(the_worst_that_is_to_be_advised_is_told),
		TEST(a_programs_escape_sequences_are_made_harmless),
		TEST(signals_that_are_ignored_for_us_stay_so),
		TEST(a_second_signal_leaves_an_engine_that_is_silent),
		TEST(an_am_is_asked_to_stop_before_its_engine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
