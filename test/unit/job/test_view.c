/* What the machine did, written to a journal and folded again, is what the machine shows. */
#include "base/crc32c.h"
#include "sample.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "job/cause_json.h"
#include "job/record.h"
#include "job/view.h"
#include "machine_bed.h"

/* A job whose every action goes to a journal, as the AM writes it. */
struct scene {
	struct bed *bed;
	struct journal *journal;
	struct job_view *view;
	char *path;
};

static void add(struct scene *scene, json_t *record)
{
	struct err err cleanup_err = {0};

	assert_int_equal(journal_append(scene->journal, record, scene->bed->now, false, &err), 0);
}

static void write_actions(struct scene *scene)
{
	const struct bed *bed = scene->bed;

	for (size_t i = 0; i < bed->actions.count; i++) {
		const struct action *action = &bed->actions.items[i];
		const struct task *task = machine_task(bed->machine, action->task);
		if (action->kind == ACTION_TASK_CHANGED)
			add(scene, record_task(bed->job, task, (enum task_state)action->from,
					       (enum task_state)action->to, "/logs"));
		else if (action->kind == ACTION_JOB_CHANGED)
			add(scene, record_job(bed->job, bed->machine, (enum job_state)action->from,
					      (enum job_state)action->to));
		else if (action->kind == ACTION_NOTE)
			add(scene, record_note(bed->job, task, action->text));
	}
	struct err err cleanup_err = {0};
	assert_int_equal(job_view_read(scene->view, scene->path, &err), 0);
}

static struct scene begin(void **state, const char *types)
{
	struct scene scene = {.bed = bed_create(types)};

	scene.path = sample_path(state, "journal.jsonl");
	scene.journal = journal_open(scene.path, NULL);
	scene.view = job_view_create(scene.bed->job);
	bed_submit(scene.bed);
	write_actions(&scene);
	return scene;
}

static void end(struct scene *scene)
{
	job_view_destroy(scene->view);
	journal_close(scene->journal);
	bed_destroy(scene->bed);
	free(scene->path);
}

/* `steps`: "a0" allocate task 0, "r0" register, "s0" start, "x0" exit 0, "f0" exit 3, "g0" gone. */
static void play(struct scene *scene, const char *steps)
{
	for (const char *step = steps; *step; step += step[2] ? 3 : 2) {
		const char name[] = {'w', 'o', 'r', 'k', 'e', 'r', ':', step[1], '\0'};
		scene->bed->now += 1000;
		assert_true(*step == 'a'   ? bed_allocate(scene->bed, name)
			    : *step == 'r' ? bed_register(scene->bed, name)
			    : *step == 's' ? bed_start(scene->bed, name)
			    : *step == 'x' ? bed_exit(scene->bed, name, 0)
			    : *step == 'f' ? bed_exit(scene->bed, name, 3)
					   : bed_gone(scene->bed, name));
		write_actions(scene);
	}
}

static void assert_view_is_machine(const struct scene *scene)
{
	struct machine_status status = bed_status(scene->bed);
	const struct job_view *view = scene->view;

	assert_int_equal(view->state, status.state);
	assert_int_equal(view->epoch, status.epoch);
	assert_int_equal(view->retries, status.retries_used);
	assert_int_equal(view->cause.kind, status.cause->kind);
	assert_memory_equal(view->tasks_in, status.tasks_in, sizeof(status.tasks_in));
	for (size_t i = 0; i < view->task_count; i++) {
		const struct task *task = machine_task(scene->bed->machine, i);
		const struct task_view *row = &view->tasks[i];
		assert_int_equal(row->state, task->state);
		assert_int_equal(row->attempt, task->attempt);
		assert_int_equal(row->epoch, task->epoch);
		assert_int_equal(row->restart, task->restart);
		assert_int_equal(row->restarts_used, task->restarts_used);
		assert_int_equal(row->port, task->port);
		assert_int_equal(row->ui_port, task->ui_port);
		assert_int_equal(row->up, task->process_up);
		assert_true(str_equal(row->host, task->host));
		assert_true(str_equal(row->container, task->container));
	}
}

/* ---- folding ------------------------------------------------------------------------------ */

static void a_good_job_is_seen_whole(void **state)
{
	struct scene scene = begin(state, "worker=2");

	play(&scene, "a0 a1 r0 r1 s0 s1");
	assert_view_is_machine(&scene);
	assert_int_equal(scene.view->tasks[1].started_ms, scene.bed->now);
	play(&scene, "x0 x1 g0 g1");
	assert_view_is_machine(&scene);
	assert_int_equal(scene.view->state, JOB_SUCCEEDED);
	assert_int_equal(scene.view->begun_ms, 1000);
	assert_int_equal(scene.view->running_ms, 5000);
	assert_int_equal(scene.view->ended_ms, 11000);
	assert_int_equal(scene.view->tasks[0].requested_ms, 1000);
	assert_int_equal(scene.view->tasks[0].started_ms, 6000);
	assert_int_equal(scene.view->tasks[0].ended_ms, 8000);
	assert_string_equal(scene.view->tasks[0].log_dir, "/logs");
	end(&scene);
}

static void assert_ui_url(const struct scene *scene, const char *expected)
{
	char *url cleanup_free = task_view_ui_url(&scene->view->tasks[0]);

	assert_true(str_equal(url, expected));
}

static void a_web_interface_has_an_address(void **state)
{
	struct scene scene = begin(state, "worker=1");
	struct task_view v6 = {.host = (char *)"fe80::1", .ui_port = 6006};

	play(&scene, "a0 r0 s0");
	assert_ui_url(&scene, NULL);
	int64_t started_ms = scene.view->tasks[0].started_ms;
	scene.bed->now += 1000;
	bed_serve(scene.bed, "worker:0", 6006);
	write_actions(&scene);
	assert_view_is_machine(&scene);
	char *url cleanup_free = mem_printf("http://%s:6006", scene.view->tasks[0].host);
	assert_ui_url(&scene, url);
	assert_int_equal(scene.view->tasks[0].started_ms, started_ms);
	play(&scene, "x0 g0");
	assert_ui_url(&scene, NULL);
	end(&scene);

	char *bracketed cleanup_free = task_view_ui_url(&v6);
	assert_string_equal(bracketed, "http://[fe80::1]:6006");
}

static void a_failure_names_its_cause(void **state)
{
	struct scene scene = begin(state, "worker=2");

	scene.bed->job->fail_fast = true;
	play(&scene, "a0 a1 r0 r1 s0 s1 f1 g0 g1");
	assert_view_is_machine(&scene);
	assert_int_equal(scene.view->state, JOB_FAILED);
	assert_int_equal(scene.view->outcome, JOB_FAILED);
	assert_int_equal(scene.view->cause_task, 1);
	assert_int_equal(scene.view->cause.exit_code, 3);
	assert_int_equal(scene.view->tasks[1].cause.exit_code, 3);
	assert_int_equal(scene.view->tasks[0].ended_ms, 8000);
	end(&scene);
}

/* Of a job that recovered nothing is told as its cause, but its tasks' scars stay. */
static void a_recovered_job_has_no_cause(void **state)
{
	struct scene scene = begin(state, "worker=2");

	scene.bed->job->retry_count = 1;
	play(&scene, "a0 a1 r0 r1 s0 s1 f1");
	assert_int_equal(scene.view->state, JOB_REFORMING);
	assert_int_equal(scene.view->cause.exit_code, 3);
	assert_int_equal(scene.view->cause_task, 1);
	assert_int_equal(scene.view->cause_epoch, 1);
	play(&scene, "r0 r1 s0 s1");
	assert_view_is_machine(&scene);
	assert_int_equal(scene.view->epoch, 2);
	assert_int_equal(scene.view->cause.kind, CAUSE_NONE);
	assert_int_equal(scene.view->tasks[1].ended_ms, 0);
	end(&scene);
}

/* One text for all attempts of a task: container, epoch.restart, times in s ("-": none), cause. */
static void assert_attempts(const struct scene *scene, size_t task, const char *expected)
{
	const struct task_view *row = &scene->view->tasks[task];
	struct str text cleanup_str = {0};

	for (size_t i = 0; i < row->attempt_count; i++) {
		const struct attempt_view *one = &row->attempts[i];
		str_append_format(&text, "%s%d %d.%d a%d l%d r%d s%d e%d %s", i ? " | " : "",
				  one->attempt, one->epoch, one->restart,
				  (int)(one->allocated_ms / 1000), (int)(one->launched_ms / 1000),
				  (int)(one->registered_ms / 1000), (int)(one->started_ms / 1000),
				  (int)(one->ended_ms / 1000), cause_kind_name(one->cause.kind));
	}
	assert_string_equal(str_text(&text), expected);
}

static void processes_of_one_container_are_attempts(void **state)
{
	struct scene scene = begin(state, "worker=2");

	scene.bed->job->retry_count = 1;
	scene.bed->job->types[0].max_restarts = 1;
	play(&scene, "a0 a1 r0 r1 s0 s1 f1");
	play(&scene, "s1 f1 r0 r1 s0 s1 x0 x1 g0 g1");
	assert_attempts(&scene, 1,
			"1 1.0 a3 l3 r5 s7 e8 exit | 1 1.1 a3 l3 r8 s9 e10 exit | "
			"1 2.0 a3 l3 r12 s14 e16 none");
	/* This one was told to stop. */
	assert_attempts(&scene, 0, "1 1.0 a2 l2 r4 s6 e10 none | 1 2.0 a2 l2 r11 s13 e15 none");
	assert_string_equal(scene.view->tasks[0].attempts[0].container, "container");
	assert_string_equal(scene.view->tasks[0].attempts[0].log_dir, "/logs");
	end(&scene);
}

static void containers_that_start_nothing_are_attempts(void **state)
{
	struct scene scene = begin(state, "worker=2");

	play(&scene, "a0 a1 r0 g1");
	assert_int_equal(scene.view->tasks[1].attempt_count, 1);
	json_t *json cleanup_json = task_view_attempts_to_json(&scene.view->tasks[1]);
	char *text cleanup_free = json_text(json);
	assert_string_equal(text, "[{\"attempt\":1,\"epoch\":0,\"restart\":0,\"container\":"
				  "\"container\",\"host\":\"127.0.0.1\",\"port\":0,\"log_dir\":\"/"
				  "logs\",\"allocated_ms\":3000,\"launched_ms\":3000,\"ended_ms\":"
				  "5000,\"cause\":{\"kind\":\"launch-failed\",\"text\":\"its "
				  "container ended before it registered\"}}]");
	end(&scene);
}

/* From the allocation on, through all processes in it, and until the task's last one has ended. */
static void the_time_of_containers_is_added_up(void **state)
{
	struct scene scene = begin(state, "worker=2");

	scene.bed->job->retry_count = 1;
	scene.bed->job->types[0].max_restarts = 1;
	play(&scene, "a0");
	assert_int_equal(scene.view->types[0].container_ms, 0);
	play(&scene, "a1 r0 r1 s0 s1 f1");
	play(&scene, "s1 f1 r0 r1 s0 s1 x0 x1");
	assert_int_equal(scene.view->types[0].container_ms, (15 - 2 + 16 - 3) * 1000);
	play(&scene, "g0 g1");
	assert_int_equal(scene.view->types[0].container_ms, (15 - 2 + 16 - 3) * 1000);
	end(&scene);
}

static void a_lost_container_counts_until_it_was_lost(void **state)
{
	struct scene scene = begin(state, "worker=2");

	scene.bed->job->infrastructure_retry_count = 1;
	play(&scene, "a0 a1 r0 r1 s0 s1 g1");
	bed_pass(scene.bed, 2000); /* nobody holds one while it is asked for */
	write_actions(&scene);
	play(&scene, "r0 a1");
	assert_int_equal(scene.view->tasks[1].attempt, 2);
	assert_int_equal(scene.view->types[0].container_ms, (11 - 2 + 8 - 3) * 1000);
	/* The AM is killed: what is left counts until the job's end. */
	job_view_end(scene.view, JOB_FAILED, "the AM was killed", 20000);
	assert_int_equal(scene.view->types[0].container_ms, (20 - 2 + 8 - 3 + 20 - 12) * 1000);
	end(&scene);
}

static void notes_waiting_and_the_end_are_seen(void **state)
{
	struct scene scene = begin(state, "worker=1");
	struct job_view *view = scene.view;

	add(&scene, record_am(2, 4711, "127.0.0.1:4000", NULL));
	add(&scene, record_waiting("waits for 8.0 GiB: 3.2 GiB free"));
	add(&scene, record_note(scene.bed->job, NULL, "something"));
	assert_int_equal(job_view_read(view, scene.path, NULL), 0);
	assert_int_equal(view->am_attempt, 2);
	assert_int_equal(view->am_pid, 4711);
	assert_string_equal(view->am_address, "127.0.0.1:4000");
	assert_string_equal(view->waiting, "waits for 8.0 GiB: 3.2 GiB free");
	assert_string_equal(view->note, "something");
	assert_false(view->is_final);
	add(&scene, record_waiting(NULL));
	add(&scene, record_final(JOB_KILLED, "killed by the user", NULL));
	assert_int_equal(job_view_read(view, scene.path, NULL), 0);
	assert_null(view->waiting);
	assert_true(view->is_final);
	assert_int_equal(view->state, JOB_KILLED);
	assert_string_equal(view->message, "killed by the user");
	end(&scene);
}

static void use_is_that_of_the_process_that_has_ended(void **state)
{
	const struct program_use use = {
		.ms = 20, .cpu_ms = 10, .max_rss_bytes = 4096, .max_pss_bytes = 2048};
	struct scene scene = begin(state, "worker=1");

	play(&scene, "a0 r0 s0");
	const struct task *task = machine_task(scene.bed->machine, 0);
	bed_exit(scene.bed, "worker:0", 3);
	json_t *record = record_task(scene.bed->job, task, TASK_RUNNING, task->state, "/logs");
	record_add_use(record, &use);
	add(&scene, record);
	assert_int_equal(job_view_read(scene.view, scene.path, NULL), 0);
	const struct task_view *row = &scene.view->tasks[0];
	assert_memory_equal(&row->use, &use, sizeof(use));
	assert_memory_equal(&row->attempts[row->attempt_count - 1].use, &use, sizeof(use));
	json_t *json cleanup_json = task_view_to_json(scene.view, 0);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(json, "used"), "cpu_ms")), 10);
	end(&scene);
}

static void checkpoints_that_cannot_be_stored_are_seen(void **state)
{
	struct scene scene = begin(state, "worker=1");
	const struct task *task = machine_task(scene.bed->machine, 0);

	add(&scene,
	    record_checkpoints(scene.bed->job, task, "its checkpoints: no room", 1000, 4000));
	assert_int_equal(job_view_read(scene.view, scene.path, NULL), 0);
	json_t *json cleanup_json = task_view_to_json(scene.view, 0);
	assert_string_equal(json_string_value(json_object_get(json, "checkpoint_trouble")),
			    "its checkpoints: no room");
	assert_int_equal(json_integer_value(json_object_get(json, "checkpoint_trouble_since_ms")),
			 1000);
	json_t *over cleanup_json =
		record_checkpoints(scene.bed->job, task, NULL, 1000, 1000 + 185000);
	assert_string_equal(json_string_value(json_object_get(over, "text")),
			    "all is well with its checkpoints again, after 3 m 05 s");
	add(&scene, json_incref(over));
	assert_int_equal(job_view_read(scene.view, scene.path, NULL), 0);
	assert_null(scene.view->tasks[0].checkpoint_trouble);
	end(&scene);
}

/* As the machine's AM writes it: nothing is stored after the end. */
static void of_an_ended_job_nobody_tries_again(void **state)
{
	struct scene scene = begin(state, "worker=1");

	add(&scene, record_store("the journal: no room; trying again", 1000, 1000));
	add(&scene, record_checkpoints(scene.bed->job, machine_task(scene.bed->machine, 0),
				       "its checkpoints: no room; trying again", 1000, 4000));
	assert_int_equal(job_view_read(scene.view, scene.path, NULL), 0);
	job_view_end(scene.view, JOB_FAILED, "no room", 5000);
	assert_string_equal(scene.view->store_trouble, "the journal: no room");
	assert_string_equal(scene.view->tasks[0].checkpoint_trouble, "its checkpoints: no room");
	end(&scene);
}

static void what_cannot_be_kept_of_a_job_is_seen(void **state)
{
	struct scene scene = begin(state, "worker=1");

	add(&scene, record_store("the journal: no room", 1000, 1000));
	assert_int_equal(job_view_read(scene.view, scene.path, NULL), 0);
	json_t *json cleanup_json = job_view_to_json(scene.view);
	assert_string_equal(json_string_value(json_object_get(json, "store_trouble")),
			    "the journal: no room");
	assert_int_equal(json_integer_value(json_object_get(json, "store_trouble_since_ms")), 1000);
	add(&scene, record_store(NULL, 1000, 4000));
	assert_int_equal(job_view_read(scene.view, scene.path, NULL), 0);
	json_t *later cleanup_json = job_view_to_json(scene.view);
	assert_null(json_object_get(later, "store_trouble"));
	assert_null(json_object_get(later, "store_trouble_since_ms"));
	end(&scene);
}

/* promise: R17 */
static void machines_to_blame_are_seen(void **state)
{
	struct scene scene = begin(state, "worker=1");

	add(&scene, record_avoid("h2"));
	add(&scene, record_avoid("h1"));
	add(&scene, record_avoid("h2"));
	assert_int_equal(job_view_read(scene.view, scene.path, NULL), 0);
	char *hosts cleanup_free = str_list_join(&scene.view->avoided, " ");
	assert_string_equal(hosts, "h2 h1");
	end(&scene);
}

static void the_longest_end_is_found_without_the_rest(void **state)
{
	struct scene scene = begin(state, "worker=1");
	struct journal_line line;
	char *text = NULL;
	char *message cleanup_free = mem_alloc(2 * CAUSE_TEXT_CAP + 1);

	memset(message, '"', 2 * CAUSE_TEXT_CAP); /* doubled by its escape */
	add(&scene, record_final(JOB_FAILED, message, NULL));
	assert_true(journal_read_last(scene.path, &text, &line));
	json_t *record = journal_line_record(&line, NULL);
	assert_string_equal(json_string_value(json_object_get(record, "ev")), "final");
	assert_string_equal(json_string_value(json_object_get(record, "message")), message);
	json_decref(record);
	free(text);
	end(&scene);
}

/* The final line of an AM that was killed is its guardian's, which knows nothing of tasks. */
static void nothing_of_an_ended_job_runs(void **state)
{
	struct scene scene = begin(state, "worker=2");
	struct job_view *view = scene.view;

	bed_allocate(scene.bed, "worker:0");
	write_actions(&scene);
	add(&scene, record_final(JOB_FAILED, "the application master was killed", NULL));
	assert_int_equal(job_view_read(view, scene.path, NULL), 0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(view->tasks[i].state, TASK_STOPPED);
	assert_int_equal(view->tasks_in[TASK_STOPPED], 2);
	assert_int_equal(view->tasks_in[TASK_LAUNCHING], 0);
	end(&scene);
}

static void a_history_that_is_not_published_is_seen(void **state)
{
	struct scene scene = begin(state, "worker=1");
	struct journal_line line;
	char *text = NULL;

	add(&scene, record_final(JOB_KILLED, "killed by the user", NULL));
	assert_int_equal(job_view_read(scene.view, scene.path, NULL), 0);
	int64_t ended_ms = scene.view->ended_ms;
	assert_true(journal_read_last(scene.path, &text, &line));
	json_t *last cleanup_json = journal_line_record(&line, NULL);
	free(text);
	add(&scene, record_history_trouble(last, "no room"));
	assert_int_equal(job_view_read(scene.view, scene.path, NULL), 0);
	assert_string_equal(scene.view->history_trouble, "no room");
	assert_string_equal(scene.view->message, "killed by the user");
	assert_int_equal(scene.view->ended_ms, ended_ms);
	assert_true(journal_read_last(scene.path, &text, &line));
	assert_true(record_is_final(&line)); /* lists read no more than that */
	free(text);
	end(&scene);
}

/* Lists read no more than that. */
static int64_t ended_of_last_line(const struct scene *scene)
{
	struct job_view *view = job_view_create(scene->bed->job);
	struct journal_line line;
	char *text = NULL;

	assert_true(journal_read_last(scene->path, &text, &line));
	assert_int_equal(job_view_add(view, &line, NULL), 0);
	int64_t ended_ms = view->ended_ms;
	job_view_destroy(view);
	free(text);
	return ended_ms;
}

static void what_became_of_notices_is_in_the_last_line(void **state)
{
	struct scene scene = begin(state, "worker=1");
	struct journal_line line;
	char *text = NULL;
	json_t *first = record_final(JOB_FAILED, "no data", NULL), *notices = json_array();

	record_set_notices_due(first);
	add(&scene, first);
	assert_int_equal(job_view_read(scene.view, scene.path, NULL), 0);
	assert_true(scene.view->is_final && scene.view->notices_due && !scene.view->notices);
	assert_true(journal_read_last(scene.path, &text, &line));
	assert_true(record_has_notices_due(&line));
	json_t *last cleanup_json = journal_line_record(&line, NULL);
	free(text);
	json_array_append_new(notices, record_notice("x", "it is gone", true));
	int64_t ended_ms = scene.bed->now;
	scene.bed->now += 90000;
	add(&scene, record_notices(last, notices));
	assert_int_equal(job_view_read(scene.view, scene.path, NULL), 0);
	assert_false(scene.view->notices_due);
	assert_int_equal(ended_of_last_line(&scene), ended_ms);
	assert_string_equal(scene.view->message, "no data");
	const json_t *told = json_array_get(scene.view->notices, 0);
	assert_string_equal(json_string_value(json_object_get(told, "text")), "it is gone");
	assert_true(journal_read_last(scene.path, &text, &line));
	assert_true(record_is_final(&line) && !record_has_notices_due(&line));
	/* An AM that follows says the end once more, and nobody forgets what was told. */
	add(&scene, record_final(JOB_FAILED, "no data", NULL));
	assert_int_equal(job_view_read(scene.view, scene.path, NULL), 0);
	assert_non_null(scene.view->notices);
	free(text);
	end(&scene);
}

static void notices_of_another_form_are_refused(void **state)
{
	struct scene scene = begin(state, "worker=1");
	json_t *final = record_final(JOB_FAILED, "no data", NULL);
	struct err err cleanup_err = {0};

	json_object_set_new(final, "notices", json_pack("[{s:s}]", "of", "x"));
	add(&scene, final);
	assert_int_equal(job_view_read(scene.view, scene.path, &err), -1);
	end(&scene);
}

/* The writer of the last line in place of an AM may know why there is none. */
static void the_last_line_may_have_a_cause(void **state)
{
	struct scene scene = begin(state, "worker=2");
	const struct cause cause = {.kind = CAUSE_AM_FAILED,
				    .text = (char *)"failed to start",
				    .headline = (char *)"no moon"};

	add(&scene, record_final(JOB_FAILED, "failed to start: no moon", &cause));
	assert_int_equal(job_view_read(scene.view, scene.path, NULL), 0);
	assert_int_equal(scene.view->cause.kind, CAUSE_AM_FAILED);
	assert_string_equal(scene.view->cause.headline, "no moon");
	assert_int_equal(scene.view->cause_task, -1);
	assert_string_equal(scene.view->message, "failed to start: no moon");
	end(&scene);
}

/* ---- robustness --------------------------------------------------------------------------- */

static int fold_text(struct job_view *view, const char *members, struct err *err)
{
	char *body cleanup_free =
		mem_printf("{\"seq\":%lld,\"t\":5,%s", (long long)view->sequence + 1, members);
	char *text cleanup_free =
		mem_printf("%s,\"crc\":\"%08x\"}", body, crc32c(body, strlen(body)));
	struct journal_line line;

	assert_int_equal(journal_parse_line(text, strlen(text), &line, NULL), 0);
	return job_view_add(view, &line, err);
}

static void flawed_records_are_refused(void **state)
{
	static const char *const bad[] = {
		"\"x\":1",
		"\"ev\":3",
		"\"ev\":\"job\"",
		"\"ev\":\"job\",\"to\":\"happy\"",
		"\"ev\":\"job\",\"to\":\"running\",\"epoch\":-1",
		"\"ev\":\"job\",\"to\":\"running\",\"cause\":{\"kind\":\"boredom\"}",
		"\"ev\":\"job\",\"to\":\"failed\",\"cause_task\":\"worker:9\"",
		"\"ev\":\"task\",\"to\":\"running\"",
		"\"ev\":\"task\",\"task\":\"worker:2\",\"to\":\"running\"",
		"\"ev\":\"task\",\"task\":\"worker:0\",\"to\":\"flying\"",
		"\"ev\":\"task\",\"task\":\"worker:0\",\"to\":\"running\",\"port\":\"80\"",
		"\"ev\":\"final\"",
		"\"ev\":\"am\",\"pid\":[]",
		"\"ev\":",
	};
	struct job *job = sample_job();
	struct job_view *view = job_view_create(job);

	for (size_t i = 0; i < array_length(bad); i++) {
		struct err err cleanup_err = {0};
		assert_int_equal(fold_text(view, bad[i], &err), -1);
		assert_ptr_equal(strstr(err.message, "journal line 1: "), err.message);
	}
	assert_int_equal(view->sequence, 0);
	job_view_destroy(view);
	job_destroy(job);
}

static void unknown_records_are_passed_over(void **state)
{
	struct job *job = sample_job();
	struct job_view *view = job_view_create(job);

	assert_int_equal(fold_text(view, "\"ev\":\"weather\",\"sky\":\"blue\"", NULL), 0);
	assert_int_equal(view->sequence, 1);
	job_view_destroy(view);
	job_destroy(job);
}

/* ---- as the AM tells it ------------------------------------------------------------------- */

/* How many are wanted, and that the others count nowhere. */
static void what_is_not_wanted_does_not_count(void **state)
{
	struct scene scene = {.bed = bed_create("worker=2")};
	bed_type(scene.bed, "worker")->min_instances = 1;
	bed_type(scene.bed, "worker")->max_instances = 4;
	scene.path = sample_path(state, "journal.jsonl");
	scene.journal = journal_open(scene.path, NULL);
	scene.view = job_view_create(scene.bed->job);
	bed_submit(scene.bed);
	write_actions(&scene);
	assert_int_equal(scene.view->task_count, 4);
	assert_int_equal(scene.view->tasks_in[TASK_WAITING], 0);
	assert_true(scene.view->tasks[2].dormant);
	assert_true(bed_scale(scene.bed, "worker", 3));
	write_actions(&scene);
	assert_int_equal(scene.view->types[0].wanted, 3);
	assert_false(scene.view->tasks[2].dormant);
	assert_true(scene.view->tasks[3].dormant);
	assert_int_equal(scene.view->tasks_in[TASK_REQUESTED], 3);
	assert_true(bed_scale(scene.bed, "worker", 1));
	write_actions(&scene);
	assert_true(scene.view->tasks[1].dormant);
	assert_int_equal(scene.view->tasks_in[TASK_REQUESTED], 1);
	assert_int_equal(scene.view->tasks_in[TASK_STOPPED], 0);
	json_t *json cleanup_json = job_view_to_json(scene.view);
	const json_t *type = json_array_get(json_object_get(json, "types"), 0);
	assert_int_equal(json_integer_value(json_object_get(json, "task_count")), 1);
	assert_int_equal(json_integer_value(json_object_get(type, "wanted")), 1);
	assert_int_equal(json_integer_value(json_object_get(type, "min_instances")), 1);
	assert_int_equal(json_integer_value(json_object_get(type, "max_instances")), 4);
	end(&scene);
}

static void the_view_is_told_as_json(void **state)
{
	struct scene scene = begin(state, "worker=2");

	scene.bed->job->fail_fast = true;
	play(&scene, "a0 a1 r0 r1 s0 s1 f1");
	json_t *job cleanup_json = job_view_to_json(scene.view);
	assert_string_equal(json_string_value(json_object_get(job, "state")), "finishing");
	assert_string_equal(json_string_value(json_object_get(job, "outcome")), "failed");
	assert_string_equal(json_string_value(json_object_get(job, "cause_task")), "worker:1");
	json_t *progress = json_object_get(job, "progress");
	assert_int_equal(json_integer_value(json_object_get(progress, "stopped")), 1);
	json_t *task cleanup_json = task_view_to_json(scene.view, 1);
	char *text cleanup_free = json_text(task);
	assert_string_equal(
		text, "{\"task\":\"worker:1\",\"state\":\"failed\",\"attempt\":1,\"epoch\":1,"
		      "\"restart\":0,\"restarts_used\":0,\"host\":\"127.0.0.1\",\"port\":4000,"
		      "\"container\":\"container\",\"log_dir\":\"/logs\",\"started_ms\":7000,"
		      "\"ended_ms\":8000,\"cause\":{\"kind\":\"exit\",\"exit_code\":3,"
		      "\"text\":\"exited\"}}");
	end(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define in_directory(test) cmocka_unit_test_setup_teardown(test, sample_setup, sample_finish)
		in_directory(a_good_job_is_seen_whole),
		in_directory(a_web_interface_has_an_address),
		in_directory(a_failure_names_its_cause),
		in_directory(a_recovered_job_has_no_cause),
		in_directory(processes_of_one_container_are_attempts),
		in_directory(containers_that_start_nothing_are_attempts),
		in_directory(the_time_of_containers_is_added_up),
		in_directory(a_lost_container_counts_until_it_was_lost),
		in_directory(notes_waiting_and_the_end_are_seen),
		in_directory(checkpoints_that_cannot_be_stored_are_seen),
		in_directory(what_cannot_be_kept_of_a_job_is_seen),
		in_directory(of_an_ended_job_nobody_tries_again),
		in_directory(use_is_that_of_the_process_that_has_ended),
		in_directory(machines_to_blame_are_seen),
		in_directory(nothing_of_an_ended_job_runs),
		in_directory(a_history_that_is_not_published_is_seen),
		in_directory(what_became_of_notices_is_in_the_last_line),
		in_directory(notices_of_another_form_are_refused),
		in_directory(the_last_line_may_have_a_cause),
		in_directory(the_longest_end_is_found_without_the_rest),
		in_directory(what_is_not_wanted_does_not_count),
		in_directory(the_view_is_told_as_json),
		cmocka_unit_test(flawed_records_are_refused),
		cmocka_unit_test(unknown_records_are_passed_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
