#include "scene.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/conf.h"

/* ---- the job ------------------------------------------------------------------------------ */

static void add_type(struct job *job, const char *word)
{
	const char *equals = strchr(word, '=');
	char *name = mem_strndup(word, (size_t)(equals - word));

	job->types = mem_realloc_array(job->types, job->type_count + 1, sizeof(*job->types));
	job->types[job->type_count++] = (struct job_type){
		.name = name,
		.instances = atoi(equals + 1),
		.processes = 1,
		.memory = 4096,
		.vcores = 4,
		.command = mem_strdup("python3 train.py"),
		.role = strcmp(name, "ps") == 0 ? JOB_ROLE_UNTRACKED : JOB_ROLE_TRACKED,
	};
}

static struct job *make_job(const char *types)
{
	struct str_list words cleanup_str_list = {0};
	struct job *job = mem_alloc(sizeof(*job));

	*job = (struct job){
		.id = mem_strdup("tony-20261121-061400-1f3a"),
		.name = mem_strdup("digits"),
		.user = mem_strdup("ada"),
		.framework = mem_strdup("tensorflow"),
		.submitted_ms = BEGIN,
		.infrastructure_retry_count = 10,
		.registration_timeout_ms = 15 * MINUTE,
		.heartbeat_interval_ms = 1000,
		.max_missed_heartbeats = 25,
		.metrics_interval_ms = 5000,
		.config = json_object(),
	};
	str_split(&words, types, ' ');
	for (size_t i = 0; i < words.count; i++)
		add_type(job, words.items[i]);
	return job;
}

static struct attempt_view *add_attempt(struct task_view *task, size_t number)
{
	task->attempts =
		mem_realloc_array(task->attempts, task->attempt_count + 1, sizeof(*task->attempts));
	struct attempt_view *attempt = &task->attempts[task->attempt_count++];
	task->attempt++;
	*attempt = (struct attempt_view){
		.attempt = task->attempt,
		.epoch = 1,
		.host = mem_printf("node-%zu", number),
		.allocated_ms = BEGIN + 2 * SECOND,
		.launched_ms = BEGIN + 2 * SECOND,
		.registered_ms = BEGIN + 10 * SECOND,
		.started_ms = BEGIN + MINUTE,
	};
	return attempt;
}

struct scene scene_begin(const char *types)
{
	struct scene scene = {.job = make_job(types)};

	scene.view = job_view_create(scene.job);
	scene.input.view = scene.view;
	scene.view->begun_ms = BEGIN;
	for (size_t i = 0; i < scene.view->task_count; i++) {
		scene.view->tasks[i].requested_ms = BEGIN + SECOND;
		scene.view->tasks[i].host = mem_printf("node-%zu", i);
	}
	return scene;
}

void scene_run(struct scene *scene, int64_t ms)
{
	scene->view->state = JOB_RUNNING;
	scene->view->running_ms = BEGIN + MINUTE;
	scene->input.now_ms = BEGIN + MINUTE + ms;
	for (size_t i = 0; i < scene->view->task_count; i++) {
		struct task_view *task = &scene->view->tasks[i];
		task->state = TASK_RUNNING;
		task->started_ms = BEGIN + MINUTE;
		add_attempt(task, i);
	}
}

void scene_end(struct scene *scene, enum job_state state, int64_t ms)
{
	scene_run(scene, ms);
	scene->view->state = scene->view->outcome = state;
	scene->view->is_final = true;
	scene->view->ended_ms = scene->input.now_ms;
	for (size_t i = 0; i < scene->view->task_count; i++) {
		struct task_view *task = &scene->view->tasks[i];
		task->state = state == JOB_SUCCEEDED &&
					      scene->job->types[task->type].role == JOB_ROLE_TRACKED
				      ? TASK_SUCCEEDED
				      : TASK_STOPPED;
		task->ended_ms = scene->view->ended_ms;
		task->attempts[task->attempt_count - 1].ended_ms = scene->view->ended_ms;
	}
}

void scene_finish(struct scene *scene)
{
	advice_list_finish(&scene->list);
	advise_uses_finish(&scene->input.uses);
	for (size_t i = 0; i < scene->input.past_count; i++)
		history_summary_finish(&scene->past[i]);
	free(scene->past);
	job_view_destroy(scene->view);
	job_destroy(scene->job);
}

struct task_view *scene_task(const struct scene *scene, const char *name)
{
	int64_t number = job_find_task(scene->job, name);

	assert_true(number >= 0);
	return &scene->view->tasks[number];
}

struct attempt_view *scene_failure(struct scene *scene, const char *name, enum cause_kind kind,
				   int64_t from_ms, int64_t to_ms)
{
	int64_t number = job_find_task(scene->job, name);
	struct attempt_view *attempt = add_attempt(scene_task(scene, name), (size_t)number);

	attempt->epoch = attempt->attempt;
	attempt->started_ms = BEGIN + from_ms;
	attempt->ended_ms = BEGIN + to_ms;
	attempt->cause = (struct cause){.kind = kind, .exit_code = kind == CAUSE_EXIT ? 1 : 0};
	return attempt;
}

/* ---- what it used ------------------------------------------------------------------------- */

struct advise_use *scene_use(struct scene *scene, const char *name)
{
	const struct task_view *task = scene_task(scene, name);
	const struct attempt_view *attempt = &task->attempts[task->attempt_count - 1];
	struct advise_use *use = advise_uses_add(
		&scene->input.uses, (size_t)job_find_task(scene->job, name), attempt->attempt);

	use->from_ms = attempt->started_ms;
	use->to_ms = attempt->ended_ms > 0 ? attempt->ended_ms : scene->input.now_ms;
	use->samples = (use->to_ms - use->from_ms) / (5 * SECOND);
	return use;
}

void scene_uses(struct scene *scene, const char *type, double cores, int64_t mib)
{
	int number = job_find_type(scene->job, type);

	for (int i = 0; i < scene->job->types[number].instances; i++) {
		char *name cleanup_free = mem_printf("%s:%d", type, i);
		struct advise_use *use = scene_use(scene, name);
		use->average_cores = use->high_cores = cores;
		use->max_rss_bytes = use->max_pss_bytes = mib * MIB;
	}
}

void scene_gpu(struct advise_use *use, double percent, double memory_percent)
{
	use->gpus = mem_realloc_array(use->gpus, use->gpu_count + 1, sizeof(*use->gpus));
	use->gpus[use->gpu_count] = (struct advise_gpu){
		.index = (int)use->gpu_count,
		.average_percent = percent,
		.high_percent = percent,
		.used_bytes = memory_percent,
		.memory_bytes = 100,
	};
	use->gpu_count++;
}

void scene_steps(struct advise_use *use, int64_t from_ms, int64_t to_ms, int64_t first,
		 double per_second)
{
	use->stretches =
		mem_realloc_array(use->stretches, use->stretch_count + 1, sizeof(*use->stretches));
	use->stretches[use->stretch_count++] = (struct advise_stretch){
		.first_ms = BEGIN + from_ms,
		.last_ms = BEGIN + to_ms,
		.first_step = first,
		.last_step = first + (int64_t)(per_second * (double)(to_ms - from_ms) / 1000),
		.points = 100,
	};
}

void scene_past(struct scene *scene, int64_t mib, int64_t cpu_percent, int64_t lasted_ms)
{
	size_t number = scene->input.past_count;
	const struct job *job = scene->job;

	scene->past = mem_realloc_array(scene->past, number + 1, sizeof(*scene->past));
	struct history_summary *past = &scene->past[number];
	*past = (struct history_summary){
		.id = mem_printf("tony-20261120-061400-%04zx", number),
		.name = mem_strdup(job->name),
		.state = JOB_SUCCEEDED,
		.begun_ms = BEGIN - 48 * HOUR, /* it waited for a day */
		.forming_ms = BEGIN - 24 * HOUR,
		.running_ms = BEGIN - 24 * HOUR,
		.ended_ms = BEGIN - 24 * HOUR + lasted_ms,
		.types = mem_alloc_array(job->type_count, sizeof(*past->types)),
		.type_count = job->type_count,
	};
	for (size_t i = 0; i < job->type_count; i++)
		past->types[i] = (struct history_type){
			.name = mem_strdup(job->types[i].name),
			.instances = job->types[i].instances,
			.max_rss_bytes = mib * MIB,
			.average_cpu_percent = cpu_percent,
			.average_gpu_percent = -1,
		};
	scene->input.past = scene->past;
	scene->input.past_count++;
}

/* ---- what the rules say ------------------------------------------------------------------- */

/* All settings that are suggested, as a tony.xml. */
static void append_settings(const struct advice_list *list, struct str *xml)
{
	str_append(xml, "<configuration>");
	for (size_t i = 0; i < list->count; i++) {
		char *one cleanup_free = advice_xml(&list->items[i]);
		str_append(xml, one);
	}
	str_append(xml, "</configuration>");
}

static void assert_valid(const struct advice_list *list)
{
	struct conf *conf = conf_create();
	struct str text cleanup_str = {0};
	struct err err cleanup_err = {0};

	append_settings(list, &text);
	const char *xml = text.text;
	if (conf_load_bytes(conf, CONF_LAYER_FILE, NULL, xml, text.length, &err) < 0)
		fail_msg("%s\n%s", err_message(&err), xml);
	conf_resolve(conf, false);
	if (problems_to_err(conf_problems(conf), &err) < 0)
		fail_msg("%s\n%s", err_message(&err), xml);
	conf_destroy(conf);
}

static const struct advice *look(struct scene *scene, const char *rule)
{
	const struct advice *found = NULL;

	advice_list_finish(&scene->list);
	advise(&scene->input, &scene->list);
	for (size_t i = 0; i < scene->list.count; i++) {
		const struct advice *advice = &scene->list.items[i];
		assert_true(*advice->title && advice->evidence.count > 0);
		assert_true(advice->setting_count > 0 || advice->remedy);
		if (i > 0)
			assert_true(advice[-1].severity >= advice->severity);
		if (!found && strcmp(advice->rule, rule) == 0)
			found = advice;
	}
	assert_valid(&scene->list);
	return found;
}

static char *rules_of(const struct scene *scene)
{
	struct str_list rules cleanup_str_list = {0};

	for (size_t i = 0; i < scene->list.count; i++)
		str_list_add(&rules, scene->list.items[i].rule);
	return str_list_join(&rules, " ");
}

const struct advice *scene_advice(struct scene *scene, const char *rule)
{
	const struct advice *advice = look(scene, rule);

	if (!advice) {
		char *rules cleanup_free = rules_of(scene);
		fail_msg("%s says nothing; what does: %s", rule, rules);
	}
	return advice;
}

void scene_silence(struct scene *scene, const char *rule)
{
	const struct advice *advice = look(scene, rule);

	if (advice)
		fail_msg("%s: %s", rule, advice->title);
}

void assert_setting(const struct advice *advice, const char *key, const char *now,
		    const char *suggested)
{
	for (size_t i = 0; i < advice->setting_count; i++) {
		if (strcmp(advice->settings[i].key, key) != 0)
			continue;
		assert_string_equal(advice->settings[i].now, now);
		assert_string_equal(advice->settings[i].suggested, suggested);
		return;
	}
	fail_msg("%s does not suggest %s", advice->rule, key);
}

void assert_evidence(const struct advice *advice, const char *part)
{
	char *all cleanup_free = str_list_join(&advice->evidence, "\n");

	if (!strstr(all, part))
		fail_msg("\"%s\" is not in:\n%s", part, all);
}
