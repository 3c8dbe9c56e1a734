#include "../base/test.h"

#include "base/json.h"
#include "base/mem.h"
#include "client/live.h"

struct scene {
	struct job *job;
	struct job_view *view;
	json_t *work;
	struct str out;
};

static void add_type(struct job *job, const char *name, int instances)
{
	job->types = mem_realloc_array(job->types, job->type_count + 1, sizeof(*job->types));
	job->types[job->type_count++] =
		(struct job_type){.name = mem_strdup(name), .instances = instances, .processes = 1};
}

static int open_scene(void **state)
{
	struct scene *scene = mem_alloc(sizeof(*scene));
	struct job *job = mem_alloc(sizeof(*job));

	job->id = mem_strdup("tony-1");
	job->name = mem_strdup("digits");
	job->submitted_ms = 1000;
	job->retry_count = 3;
	add_type(job, "db", 1);
	add_type(job, "worker", 3);
	job->types[1].dependencies = mem_alloc(sizeof(struct job_dependency));
	job->types[1].dependency_count = 1;
	scene->job = job;
	scene->view = job_view_create(job);
	*state = scene;
	return 0;
}

static int close_scene(void **state)
{
	struct scene *scene = *state;

	job_view_destroy(scene->view);
	job_destroy(scene->job);
	json_decref(scene->work);
	str_finish(&scene->out);
	free(scene);
	return 0;
}

static void set_state(struct scene *scene, size_t task, enum task_state state)
{
	struct task_view *shown = &scene->view->tasks[task];

	scene->view->tasks_in[shown->state]--;
	shown->state = state;
	shown->state_since_ms = 2000;
	scene->view->tasks_in[state]++;
}

static const char *table(struct scene *scene, int columns, int rows, bool color)
{
	str_truncate(&scene->out, 0);
	live_table(scene->view, scene->work, 62000, (struct live_size){columns, rows}, color,
		   &scene->out);
	return str_text(&scene->out);
}

/* Lines at most `columns` wide; returns how many there are. */
static int measure(const char *text, size_t columns)
{
	int lines = 0;

	while (*text) {
		size_t length = strcspn(text, "\n");
		size_t characters = 0;
		for (size_t i = 0; i < length; i++)
			characters += ((unsigned char)text[i] & 0xc0) != 0x80;
		assert_true(characters <= columns);
		lines++;
		text += length + 1;
	}
	return lines;
}

static void every_task_has_a_line(void **state)
{
	struct scene *scene = *state;

	set_state(scene, 0, TASK_RUNNING);
	scene->view->state = JOB_FORMING;
	const char *text = table(scene, 80, 24, false);
	assert_int_equal(measure(text, 80), 5);
	assert_text_has(text, "tony-1  forming  1 m 01 s  digits\n");
	assert_text_has(text, "  db:0      running ");
	assert_text_has(text, "  worker:2  waiting ");
	assert_text_has(text, "for db to succeed\n");
	assert_null(strchr(text, '\033'));
}

static void rows_that_the_head_does_not_need_are_for_lines_that_go_on_below(void **state)
{
	struct scene *scene = *state;
	int whole = 0;

	scene->view->state = JOB_FORMING;
	const char *text = table(scene, 40, 14, false);
	assert_in_range(measure(text, 40), 8, 14);
	for (const char *at = text; (at = strstr(at, "succeed")); at++)
		whole++;
	assert_int_equal(whole, 3);
}

static void what_is_waited_for_and_what_failed_first_is_said(void **state)
{
	struct scene *scene = *state;
	struct job_view *view = scene->view;

	view->waiting = mem_strdup("needs 8.0 GiB: 3.2 GiB free");
	view->cause.kind = CAUSE_EXIT;
	view->cause.text = mem_strdup("exited with code 1");
	view->cause.headline = mem_strdup("ValueError: no data");
	view->cause_task = 2;
	view->retries = 1;
	view->epoch = 2;
	const char *text = table(scene, 80, 24, false);
	assert_text_has(text, "cluster start 2  retry 1 of 3");
	assert_text_has(text, "\nwaiting: needs 8.0 GiB: 3.2 GiB free\n");
	assert_text_has(text, "\nfirst failure: worker:1: exited with code 1\n");
	assert_text_has(text, "ValueError: no data\n");
}

static void serve(struct scene *scene, size_t task)
{
	set_state(scene, task, TASK_RUNNING);
	scene->view->tasks[task].host = mem_strdup("127.0.0.1");
	scene->view->tasks[task].ui_port = 6006;
}

static void a_web_interface_is_shown(void **state)
{
	struct scene *scene = *state;

	assert_null(strstr(table(scene, 80, 24, false), "TensorBoard"));
	serve(scene, 1);
	assert_text_has(table(scene, 80, 24, false), "\nTensorBoard  http://127.0.0.1:6006\n");
}

static void in_a_job_without_types_it_may_be_a_notebook(void **state)
{
	struct scene *scene = *state;

	serve(scene, 0);
	scene->job->type_count = 1;
	scene->view->task_count = 1;
	assert_text_has(table(scene, 80, 24, false), "\nWeb interface  http://127.0.0.1:6006\n");
	scene->job->type_count = 2;
	scene->view->task_count = 4;
}

static void a_narrow_terminal_cuts_lines_not_characters(void **state)
{
	struct scene *scene = *state;

	mem_replace(&scene->job->name,
		    mem_strdup("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"));
	for (int columns = 1; columns < 60; columns++) {
		const char *text = table(scene, columns, 24, columns % 2);
		if (columns % 2 == 0)
			measure(text, (size_t)columns);
		assert_true(str_is_utf8(text, strlen(text)));
	}
}

static bool is_trouble(struct scene *scene, const char *event, const char *to)
{
	json_t *record cleanup_json = json_pack("{si ss ss}", "seq", 1, "ev", event, "to", to);
	char *text cleanup_free = json_text(record);
	struct journal_line framed = {.sequence = 1, .text = text, .length = strlen(text)};

	return live_line_is_trouble(scene->view, &framed);
}

static void what_died_is_said_while_the_job_runs_on(void **state)
{
	struct scene *scene = *state;
	struct task_view *task = &scene->view->tasks[2];

	set_state(scene, 2, TASK_RUNNING);
	scene->view->state = JOB_RUNNING;
	task->attempts = mem_alloc(sizeof(*task->attempts));
	task->attempts[task->attempt_count++] = (struct attempt_view){
		.attempt = 1,
		.ended_ms = 60000,
		.cause = {.kind = CAUSE_SIGNAL,
			  .text = mem_strdup("killed by signal 9 (SIGKILL)")}};
	assert_text_has(table(scene, 80, 24, false),
			"\nlast failure, 2.0 s ago: worker:1: killed by signal 9 (SIGKILL)\n");
	assert_text_has(table(scene, 40, 24, false), "\nlast failure, 2.0 s ago: worker:1:\n"
						     "    killed by signal 9 (SIGKILL)\n");
	scene->view->state = JOB_SUCCEEDED;
	assert_null(strstr(table(scene, 80, 24, false), "last failure"));
}

static void a_task_that_has_ended_tells_how_long_it_ran(void **state)
{
	struct scene *scene = *state;
	struct task_view *task = &scene->view->tasks[1];

	set_state(scene, 1, TASK_SUCCEEDED);
	set_state(scene, 2, TASK_STOPPED);
	set_state(scene, 3, TASK_RUNNING);
	task->started_ms = 10000;
	task->ended_ms = 13000;
	const char *text = table(scene, 80, 24, false);
	assert_text_has(text, "\n  worker:0  succeeded       3.0 s\n");
	assert_text_has(text, "\n  worker:1  stopped\n"); /* it never ran */
	assert_text_has(text, "\n  worker:2  running      1 m 00 s");
}

static void an_address_is_whole_or_left_out(void **state)
{
	struct scene *scene = *state;

	set_state(scene, 1, TASK_RUNNING);
	scene->view->tasks[1].up = true;
	scene->view->tasks[1].port = 40001;
	mem_replace(&scene->view->tasks[1].host, mem_strdup("127.0.0.1"));
	assert_text_has(table(scene, 80, 24, false), "127.0.0.1:40001");
	assert_null(strstr(table(scene, 40, 24, false), "127"));
}

static void stopping_says_for_how_long(void **state)
{
	struct scene *scene = *state;
	char *none cleanup_free = live_stopping(scene->view);

	scene->job->types[1].stop_grace_ms = 10000;
	set_state(scene, 1, TASK_RUNNING);
	set_state(scene, 2, TASK_REGISTERED);
	char *two cleanup_free = live_stopping(scene->view);
	assert_string_equal(none, "stopping the job");
	assert_string_equal(two, "stopping 2 tasks: SIGTERM now, SIGKILL after 10.0 s");
}

static void a_job_that_does_not_run_says_what_it_is_about(void **state)
{
	struct scene *scene = *state;

	scene->view->state = JOB_FORMING;
	scene->view->state_since_ms = 60000;
	assert_null(live_idle(scene->view, 60999));
	char *idle cleanup_free = live_idle(scene->view, 63000);
	assert_string_equal(idle, "forming for 3.0 s: 4 tasks: 4 waiting");
	scene->view->state = JOB_RUNNING;
	assert_null(live_idle(scene->view, 63000));
}

static void copies_of_sources_are_what_a_job_waits_for(void **state)
{
	struct scene *scene = *state;
	struct job_files *files = &scene->job->types[0].files;

	files->items = mem_alloc_array(1, sizeof(*files->items));
	files->items[files->count++] = (struct job_file){.kind = JOB_FILE_CONTENT};
	scene->view->state = JOB_FORMING;
	scene->view->state_since_ms = 60000;
	char *forming cleanup_free = live_idle(scene->view, 63000);
	scene->view->state = JOB_FINISHING;
	char *finishing cleanup_free = live_idle(scene->view, 63000);
	assert_string_equal(forming, "forming for 3.0 s: 4 tasks: 4 waiting; each task gets a copy "
				     "of src_dir");
	assert_string_equal(finishing, "finishing for 3.0 s: 4 tasks: 4 waiting; the copies of "
				       "src_dir are removed");
}

static void trouble_goes_on_being_told(void **state)
{
	struct scene *scene = *state;
	char *bytes = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&bytes, &length);
	struct live *live = live_open(stream, scene->view, LIVE_TROUBLE);

	for (int i = 0; i < 60; i++) {
		json_t *record cleanup_json =
			json_pack("{si ss ss}", "seq", 1, "ev", "note", "text", "trouble");
		char *text cleanup_free = json_text(record);
		struct journal_line framed = {.sequence = 1, .text = text, .length = strlen(text)};
		live_add(live, &framed);
		live_show(live, 1000 * i); /* one record a second */
	}
	live_close(live);
	fclose(stream);
	int lines = 0;
	for (size_t i = 0; i < length; i++)
		lines += bytes[i] == '\n';
	free(bytes);
	assert_int_equal(lines, 60);
}

static void beside_output_only_trouble_is_told(void **state)
{
	struct scene *scene = *state;

	assert_false(is_trouble(scene, "job", "running"));
	assert_true(is_trouble(scene, "job", "reforming"));
	assert_true(is_trouble(scene, "task", "failed"));
	scene->view->epoch = 2;
	assert_true(is_trouble(scene, "job", "running"));
	assert_false(is_trouble(scene, "job", "succeeded"));
}

static void escape_sequences_of_programs_do_not_reach_the_terminal(void **state)
{
	struct scene *scene = *state;

	scene->view->cause.kind = CAUSE_EXIT;
	scene->view->cause.text = mem_strdup("\033]0;evil\007 and\r more");
	const char *text = table(scene, 80, 24, true);
	assert_null(strstr(text, "\033]"));
	assert_null(strchr(text, '\r'));
	assert_null(strchr(text, '\007'));
}

static void many_tasks_are_folded_by_state(void **state)
{
	struct scene *scene = *state;

	job_view_destroy(scene->view);
	scene->job->types[1].instances = 100;
	scene->view = job_view_create(scene->job);
	for (size_t i = 1; i < 98; i++)
		set_state(scene, i, TASK_RUNNING);
	set_state(scene, 98, TASK_FAILED);
	scene->view->tasks[98].cause.text = mem_strdup("exited with code 1");
	const char *text = table(scene, 80, 12, false);
	assert_true(measure(text, 80) <= 12);
	assert_text_has(text, "  worker  100: 1 failed, 97 running, 2 waiting\n");
	assert_text_has(text, "  worker:97  failed ");
	assert_null(strstr(text, "worker:3 "));
	assert_true(measure(table(scene, 80, 0, false), 80) <= 4);
}

static void what_is_not_wanted_is_not_shown(void **state)
{
	struct scene *scene = *state;
	struct job_type *worker = &scene->job->types[1];

	job_view_destroy(scene->view);
	worker->min_instances = 2;
	worker->max_instances = 100;
	scene->view = job_view_create(scene->job);
	scene->view->state = JOB_RUNNING;
	scene->view->types[1].running = 2;
	set_state(scene, 1, TASK_RUNNING);
	set_state(scene, 2, TASK_RUNNING);
	set_state(scene, 3, TASK_REGISTERED);
	const char *text = table(scene, 80, 24, false);
	assert_int_equal(measure(text, 80), 6);
	assert_text_has(text, "\nworker: 3 wanted (2 to 100), 2 running\n");
	assert_text_has(text, "to be taken in\n");
	assert_null(strstr(text, "worker:3"));
	assert_text_has(table(scene, 80, 4, false), "  worker  3: 2 running, 1 registered\n");
	str_truncate(&scene->out, 0);
	live_summary(scene->view, &scene->out);
	assert_string_equal(str_text(&scene->out), "4 tasks: 2 running, 1 registered, 1 waiting");
}

static void set_work(struct scene *scene, const char *text)
{
	json_decref(scene->work);
	scene->work = json_parse(text, strlen(text), NULL);
	assert_non_null(scene->work);
}

static void how_far_the_programs_are_and_who_is_behind_is_said(void **state)
{
	struct scene *scene = *state;

	scene->view->state = JOB_RUNNING;
	for (size_t i = 1; i < 4; i++)
		set_state(scene, i, TASK_RUNNING);
	set_work(scene,
		 "{\"done\": 0.316, \"least_step\": 120, \"most_step\": 400, \"steps\": "
		 "1000, \"stragglers\": {\"worker:2\": {\"text\": \"worker:2 is at step 120, "
		 "its siblings at 400\"}}}");
	const char *text = table(scene, 100, 24, false);
	assert_text_has(text, "\nprogress: [######..............] 31%, steps 120 to 400 of 1000\n");
	assert_text_has(text, "straggler: is at step 120, its siblings at 400\n");
	assert_true(strstr(text, "straggler") > strstr(text, "worker:2  running "));
	text = table(scene, 100, 5, false); /* folded */
	assert_text_has(text, "straggler: is at step 120, its siblings at 400\n");
	set_state(scene, 3, TASK_STOPPING);
	assert_null(strstr(table(scene, 80, 24, false), "straggler"));
	set_work(scene, "{\"least_step\": 7, \"most_step\": 7, \"stragglers\": {}}");
	assert_text_has(table(scene, 80, 24, false), "\nprogress: step 7\n");
	scene->view->state = JOB_REFORMING;
	assert_null(strstr(table(scene, 80, 24, false), "progress"));
}

static void what_a_task_uses_is_said_where_there_is_room(void **state)
{
	struct scene *scene = *state;

	scene->view->state = JOB_RUNNING;
	set_state(scene, 1, TASK_RUNNING);
	set_state(scene, 2, TASK_STOPPING);
	mem_replace(&scene->view->tasks[1].host, mem_strdup("127.0.0.1"));
	scene->view->tasks[1].port = 40001;
	scene->view->tasks[1].up = true;
	scene->job->types[1].memory = 2048;
	set_work(scene, "{\"stragglers\": {}, \"use\": {\"worker:0\": {\"cpu_percent\": 184.6, "
			"\"memory_bytes\": 1288490189}, \"worker:1\": {\"memory_bytes\": 1}}}");
	const char *text = table(scene, 80, 24, false);
	measure(text, 80);
	assert_text_has(text, "  CPU 1.8, 1.2 of 2.0 GiB  127.0.0.1:40001\n");
	assert_null(strstr(text, "0 of 2.0"));
	text = table(scene, 70, 24, false); /* half an address misleads */
	assert_text_has(text, "  CPU 1.8, 1.2 of 2.0 GiB\n");
	set_work(scene, "{\"use\": {\"worker:0\": {\"cpu_percent\": 100, \"gpu_percent\": 92.6, "
			"\"gpu_memory_used_mib\": 30720, \"gpu_memory_total_mib\": 81920}}}");
	assert_text_has(table(scene, 100, 24, false),
			"  CPU 1.0, GPU 93 %, 30.0 of 80.0 GiB  127.0.0.1:40001\n");
}

/* It may be of another version, or none of tony's. */
static void answers_that_say_nothing_of_use_are_passed_over(void **state)
{
	static const char *const answers[] = {
		"{}",
		"[]",
		"{\"done\": 7e300, \"stragglers\": 5}",
		"{\"done\": \"all\", \"least_step\": 1.5, \"stragglers\": {\"worker:2\": 1}}",
		"{\"done\": -1, \"stragglers\": {\"worker:2\": {\"text\": 5}}}",
		"{\"use\": 5}",
		"{\"use\": {\"worker:0\": {\"cpu_percent\": \"much\", \"gpu_percent\": {}}}}",
	};
	struct scene *scene = *state;

	scene->view->state = JOB_RUNNING;
	for (size_t i = 0; i < array_length(answers); i++) {
		set_work(scene, answers[i]);
		assert_int_equal(measure(table(scene, 80, 24, false), 80), 5);
		assert_null(strstr(table(scene, 80, 24, false), "progress"));
	}
}

static void colours_say_how_a_task_is(void **state)
{
	struct scene *scene = *state;

	set_state(scene, 0, TASK_RUNNING);
	set_state(scene, 1, TASK_FAILED);
	const char *text = table(scene, 80, 24, true);
	assert_text_has(text, "\033[32mrunning\033[0m");
	assert_text_has(text, "\033[31mfailed\033[0m");
}

static const char *line(struct scene *scene, json_t *record)
{
	json_set_int(record, "seq", 1);
	char *text cleanup_free = json_text(record);
	struct journal_line framed = {
		.sequence = 1, .time_ms = 0, .text = text, .length = strlen(text)};

	json_decref(record);
	str_truncate(&scene->out, 0);
	live_line(scene->view, &framed, &scene->out);
	return str_text(&scene->out);
}

static void lines_tell_what_matters(void **state)
{
	struct scene *scene = *state;

	assert_string_equal(line(scene, json_pack("{ss ss ss}", "ev", "job", "from", "submitted",
						  "to", "forming")),
			    "1970-01-01T00:00:00.000Z job forming\n");
	assert_text_has(
		line(scene, json_pack("{ss ss ss ss s{ss ss}}", "ev", "task", "task", "worker:1",
				      "from", "running", "to", "failed", "cause", "text",
				      "exited with code 1", "headline", "ValueError: x\nmore")),
		" worker:1 failed: exited with code 1: ValueError: x\n");
	assert_text_has(line(scene, json_pack("{ss ss}", "ev", "note", "text", "a retry in 2 s")),
			" a retry in 2 s\n");
	assert_text_has(line(scene, json_pack("{ss ss}", "ev", "waiting", "text", "needs 8 GiB")),
			" waiting: needs 8 GiB\n");
	assert_string_equal(line(scene, json_pack("{ss ss ss ss}", "ev", "task", "task", "worker:1",
						  "from", "launching", "to", "registered")),
			    "");
	serve(scene, 1);
	assert_text_has(line(scene, json_pack("{ss ss ss ss}", "ev", "task", "task", "worker:0",
					      "from", "running", "to", "running")),
			" TensorBoard  http://127.0.0.1:6006\n");
	assert_string_equal(line(scene, json_pack("{ss}", "ev", "tomorrow")), "");
	assert_string_equal(line(scene, json_pack("{si}", "ev", 5)), "");
}

static void the_summary_counts(void **state)
{
	struct scene *scene = *state;

	set_state(scene, 0, TASK_SUCCEEDED);
	set_state(scene, 1, TASK_RUNNING);
	live_summary(scene->view, &scene->out);
	assert_string_equal(scene->out.text, "4 tasks: 1 running, 2 waiting, 1 succeeded");
}

static void a_pipe_gets_lines_without_escapes(void **state)
{
	struct scene *scene = *state;
	char *text = NULL;
	size_t length;
	FILE *stream = tmpfile();
	struct live *live = live_open(stream, scene->view, LIVE_TABLE);

	assert_false(live_is_table(live));
	scene->view->state = JOB_FORMING;
	live_show(live, 5000);
	live_show(live, 5001); /* nothing new */
	set_state(scene, 0, TASK_RUNNING);
	live_show(live, 5002); /* too soon */
	scene->view->state = JOB_RUNNING;
	live_show(live, 5003); /* a turn of the job is told at once */
	live_say(live, "said %d", 1);
	live_close(live);
	length = (size_t)ftell(stream);
	rewind(stream);
	text = mem_alloc(length + 1);
	assert_int_equal(fread(text, 1, length, stream), length);
	fclose(stream);
	assert_string_equal(text, "1970-01-01T00:00:05.000Z 4 tasks: 4 waiting\n"
				  "1970-01-01T00:00:05.003Z 4 tasks: 1 running, 3 waiting\n"
				  "said 1\n");
	free(text);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, open_scene, close_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_task_has_a_line),
		TEST(rows_that_the_head_does_not_need_are_for_lines_that_go_on_below),
		TEST(what_is_waited_for_and_what_failed_first_is_said),
		TEST(how_far_the_programs_are_and_who_is_behind_is_said),
		TEST(what_a_task_uses_is_said_where_there_is_room),
		TEST(answers_that_say_nothing_of_use_are_passed_over),
		TEST(what_died_is_said_while_the_job_runs_on),
		TEST(a_task_that_has_ended_tells_how_long_it_ran),
		TEST(an_address_is_whole_or_left_out),
		TEST(stopping_says_for_how_long),
		TEST(a_job_that_does_not_run_says_what_it_is_about),
		TEST(copies_of_sources_are_what_a_job_waits_for),
		TEST(beside_output_only_trouble_is_told),
		TEST(trouble_goes_on_being_told),
		TEST(a_web_interface_is_shown),
		TEST(in_a_job_without_types_it_may_be_a_notebook),
		TEST(a_narrow_terminal_cuts_lines_not_characters),
		TEST(escape_sequences_of_programs_do_not_reach_the_terminal),
		TEST(many_tasks_are_folded_by_state),
		TEST(what_is_not_wanted_is_not_shown),
		TEST(colours_say_how_a_task_is),
		TEST(lines_tell_what_matters),
		TEST(the_summary_counts),
		TEST(a_pipe_gets_lines_without_escapes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
