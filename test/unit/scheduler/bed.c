#include "bed.h"

#include "../base/patience.h"
#include "../base/scratch.h"

#include <stdio.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"

enum { MAX_BEDS = 8 };

static struct bed *beds[MAX_BEDS];

/* ---- what the scheduler tells ------------------------------------------------------------- */

static void note(struct bed *bed, const char *what, size_t task, int attempt)
{
	int index = (int)task;
	size_t type = 0;

	while (index >= bed->job.types[type].instances)
		index -= bed->job.types[type++].instances;
	str_append_format(&bed->log, "%s %s:%d/%d\n", what, bed->job.types[type].name, index,
			  attempt);
}

static void on_allocated(void *data, size_t task, int attempt, const char *container,
			 const char *host)
{
	assert_string_equal(host, "127.0.0.1");
	note(data, "allocated", task, attempt);
}

static void on_refused(void *data, size_t task, int attempt, const char *text)
{
	struct bed *bed = data;

	mem_replace(&bed->refusal, mem_strdup(text));
	note(bed, "refused", task, attempt);
}

static void on_ended(void *data, size_t task, int attempt, const struct cause *cause)
{
	struct bed *bed = data;

	cause_copy(bed->cause, cause);
	note(bed, "ended", task, attempt);
}

/* Marks and control groups are the machine's, and others test at the same time. */
static char *make_id(const char *name)
{
	return mem_printf("%s-%d", name, (int)getpid());
}

/* As the tests call jobs, by their names. */
static void on_waiting(void *data, const char *text)
{
	char *rest cleanup_free = make_id("");
	struct bed *bed = data;

	mem_replace(&bed->waiting, mem_strdup(text));
	for (char *at = bed->waiting; at && (at = strstr(at, rest));)
		memmove(at, at + strlen(rest), strlen(at + strlen(rest)) + 1);
}

static void on_noted(void *data, const char *text)
{
	struct bed *bed = data;

	str_append_format(&bed->log, "noted %s\n", text);
}

/* ---- open and close ----------------------------------------------------------------------- */

static void add_type(struct job *job, const char *text)
{
	struct str_list parts cleanup_str_list = {0}, numbers cleanup_str_list = {0};
	struct job_type type = {.processes = 1, .vcores = 1};
	int64_t number = 0;

	str_split(&parts, text, '=');
	str_split(&numbers, parts.items[1], ':');
	type.name = mem_strdup(parts.items[0]);
	assert_int_equal(str_parse_int(numbers.items[0], 0, 1000, &number), 0);
	type.instances = (int)number;
	assert_int_equal(str_parse_int(numbers.items[1], 0, 1 << 20, &type.memory), 0);
	if (numbers.count > 2) {
		assert_int_equal(str_parse_int(numbers.items[2], 0, 1000, &number), 0);
		type.gpus = (int)number;
	}
	job->types = mem_realloc_array(job->types, job->type_count + 1, sizeof(*job->types));
	job->types[job->type_count++] = type;
}

static void add_job(struct bed *bed, const char *name, enum job_mode mode, const char *types,
		    const char *config)
{
	struct str_list list cleanup_str_list = {0};
	struct err err = {0};

	bed->job.id = make_id(name);
	bed->job.mode = mode;
	bed->job.config = json_parse(config, strlen(config), &err);
	assert_non_null(bed->job.config);
	str_split(&list, types, ' ');
	for (size_t i = 0; i < list.count; i++)
		add_type(&bed->job, list.items[i]);
}

static struct bed **free_slot(void)
{
	for (size_t i = 0; i < MAX_BEDS; i++) {
		if (!beds[i])
			return &beds[i];
	}
	BUG("too many beds");
}

struct bed *bed_open(void **state, const char *name, enum job_mode mode, const char *types,
		     const char *config)
{
	const struct scheduler_ops *ops = scheduler_find("local");
	struct bed *bed = mem_alloc(sizeof(*bed));
	struct err err = {0};

	add_job(bed, name, mode, types, config);
	char *dir cleanup_free = mem_printf("jobs/%s", name);
	bed->dir = mem_strdup(scratch_path(state, dir));
	assert_success(fs_make_directories(bed->dir, 0700, &err), &err);
	bed->cause = mem_alloc(sizeof(*bed->cause));
	bed->base = event_base_new();
	assert_success(ops->guardian.hold(&bed->job, bed->dir, &bed->hold, &err), &err);
	const struct scheduler_place place = {.am_attempt = 1};
	const struct scheduler_setup setup = {
		.job = &bed->job,
		.job_dir = bed->dir,
		.place = &place,
		.hold = &bed->hold,
		.base = bed->base,
		.listener = {.data = bed,
			     .allocated = on_allocated,
			     .refused = on_refused,
			     .ended = on_ended,
			     .waiting = on_waiting,
			     .noted = on_noted},
	};
	bed->scheduler = ops->open(&setup, &err);
	if (!bed->scheduler)
		fail_msg("%s", err_message(&err));
	*free_slot() = bed;
	return bed;
}

void bed_close_scheduler(struct bed *bed)
{
	const struct scheduler_ops *ops = bed->scheduler->ops;

	ops->close(bed->scheduler);
	ops->guardian.clean(&bed->job, bed->dir, &bed->hold);
	bed->scheduler = NULL;
}

static void free_job(struct job *job)
{
	for (size_t i = 0; i < job->type_count; i++)
		free(job->types[i].name);
	free(job->types);
	free(job->id);
	json_decref(job->config);
}

void bed_close(struct bed *bed)
{
	if (bed->scheduler)
		bed_close_scheduler(bed);
	for (size_t i = 0; i < MAX_BEDS; i++) {
		if (beds[i] == bed)
			beds[i] = NULL;
	}
	event_base_free(bed->base);
	cause_finish(bed->cause);
	free(bed->cause);
	str_finish(&bed->log);
	free_job(&bed->job);
	free(bed->waiting);
	free(bed->refusal);
	free(bed->dir);
	free(bed);
}

/* ---- what the AM asks --------------------------------------------------------------------- */

/* "worker:0/2", "worker:0?" */
static struct scheduler_request parse_task(const struct bed *bed, const char *text)
{
	struct scheduler_request request = {.attempt = 1};
	char name[64];

	assert_true(sscanf(text, "%63[a-z]:%d/%d", name, &request.index, &request.attempt) >= 2);
	request.is_optional = str_ends_with(text, "?");
	request.task = (size_t)request.index;
	while (strcmp(bed->job.types[request.type].name, name) != 0)
		request.task += (size_t)bed->job.types[request.type++].instances;
	return request;
}

void bed_request(struct bed *bed, const char *tasks)
{
	struct str_list list cleanup_str_list = {0};
	struct scheduler_request requests[16];
	size_t length = bed->log.length;

	str_split(&list, tasks, ' ');
	for (size_t i = 0; i < list.count; i++)
		requests[i] = parse_task(bed, list.items[i]);
	bed->scheduler->ops->request(bed->scheduler, requests, list.count);
	assert_int_equal(bed->log.length, length); /* nothing is told from within a call */
}

void bed_cancel(struct bed *bed, const char *task)
{
	struct scheduler_request request = parse_task(bed, task);

	bed->scheduler->ops->cancel(bed->scheduler, request.task, request.attempt);
}

void bed_launch(struct bed *bed, const char *task)
{
	struct scheduler_request request = parse_task(bed, task);
	char *name cleanup_free =
		mem_printf("%s:%d", bed->job.types[request.type].name, request.index);
	struct scheduler_launch launch = {request.task, request.attempt, name, "127.0.0.1:4000"};
	size_t length = bed->log.length;

	bed->scheduler->ops->launch(bed->scheduler, &launch);
	assert_int_equal(bed->log.length, length);
}

void bed_release(struct bed *bed, const char *task, int64_t grace_ms)
{
	struct scheduler_request request = parse_task(bed, task);
	size_t length = bed->log.length;

	bed->scheduler->ops->release(bed->scheduler, request.task, request.attempt, grace_ms);
	assert_int_equal(bed->log.length, length);
}

/* ---- waiting ------------------------------------------------------------------------------ */

void bed_turn(void)
{
	for (size_t i = 0; i < MAX_BEDS; i++) {
		if (beds[i] && beds[i]->scheduler)
			event_base_loop(beds[i]->base, EVLOOP_NONBLOCK);
	}
}

static void rest(int64_t deadline, const struct bed *bed, const char *what)
{
	if (clock_monotonic_ms() > deadline)
		fail_msg("%s: no \"%s\" in:\n%swaiting: %s", bed->job.id, what, str_text(&bed->log),
			 bed->waiting ? bed->waiting : "(nothing)");
	bed_turn();
	let_pass(1);
}

bool bed_logged(const struct bed *bed, const char *line)
{
	char *whole cleanup_free = mem_printf("%s\n", line);

	return strstr(str_text(&bed->log), whole) != NULL;
}

void bed_wait(struct bed *bed, const char *line)
{
	int64_t deadline = clock_monotonic_ms() + PATIENCE_MS;

	while (!bed_logged(bed, line))
		rest(deadline, bed, line);
}

void bed_wait_waiting(struct bed *bed, const char *part)
{
	int64_t deadline = clock_monotonic_ms() + PATIENCE_MS;

	while (part ? !bed->waiting || !strstr(bed->waiting, part) : bed->waiting != NULL)
		rest(deadline, bed, part ? part : "end of waiting");
}

char *bed_wait_file(struct bed *bed, const char *container, const char *name)
{
	char *path cleanup_free = mem_printf("%s/containers/%s/%s", bed->dir, container, name);
	int64_t deadline = clock_monotonic_ms() + PATIENCE_MS;
	struct err err = {0};

	while (!fs_exists(path))
		rest(deadline, bed, path);
	char *text = fs_read_file(path, 1 << 20, NULL, &err);
	if (!text)
		fail_msg("%s", err_message(&err));
	return text;
}

pid_t bed_wait_pid(struct bed *bed, const char *container, const char *name)
{
	char *text cleanup_free = bed_wait_file(bed, container, name);

	return (pid_t)atoi(text);
}

char *bed_variable(struct bed *bed, const char *container, const char *name)
{
	char *text cleanup_free = bed_wait_file(bed, container, "env");
	struct str_list lines cleanup_str_list = {0};
	char *start cleanup_free = mem_printf("%s=", name);

	str_split(&lines, text, '\n');
	for (size_t i = 0; i < lines.count; i++) {
		if (str_starts_with(lines.items[i], start))
			return mem_strdup(lines.items[i] + strlen(start));
	}
	return NULL;
}
