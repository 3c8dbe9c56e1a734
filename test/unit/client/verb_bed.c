#include "verb_bed.h"

#include "../base/patience.h"
#include "../base/scratch.h"

#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/proc.h"
#include "client/verbs.h"
#include "job/journal.h"
#include "job/record.h"
#include "net/http_server.h"
#include "scheduler/state_dir.h"

#define KILL_ASKED "kill-asked"

static char *out, *err_out;

int verb_bed_create(void **state)
{
	if (scratch_create(state) != 0)
		return -1;
	return setenv("TONY_STATE_DIR", scratch_path(state, "state"), 1);
}

int verb_bed_remove(void **state)
{
	mem_replace(&out, NULL);
	mem_replace(&err_out, NULL);
	return scratch_remove(state);
}

/* ---- jobs --------------------------------------------------------------------------------- */

static void add_type(struct job *job, const char *name, int instances)
{
	job->types = mem_realloc_array(job->types, job->type_count + 1, sizeof(*job->types));
	job->types[job->type_count++] = (struct job_type){.name = mem_strdup(name),
							  .instances = instances,
							  .processes = 1,
							  .memory = 64,
							  .command = mem_strdup("true")};
}

static struct job *make_job(const char *id)
{
	struct job *job = mem_alloc(sizeof(*job));

	*job = (struct job){.id = mem_strdup(id),
			    .name = mem_strdup("digits"),
			    .user = mem_strdup("ada"),
			    .framework = mem_strdup("generic"),
			    .submitted_ms = 1000,
			    .heartbeat_interval_ms = 1000,
			    .max_missed_heartbeats = 25,
			    .config = json_object()};
	add_type(job, "worker", 2);
	add_type(job, "chief", 1);
	return job;
}

void bed_job_open(struct bed_job *bed, const char *id)
{
	struct err err = {0};
	struct job *job = make_job(id);

	*bed = (struct bed_job){.id = id};
	assert_success(scheduler_client_find("local")->prepare(job, &bed->door, &err), &err);
	job_destroy(job);
}

void bed_job_close(struct bed_job *bed)
{
	if (bed->am > 0) {
		kill(bed->am, SIGKILL);
		waitpid(bed->am, NULL, 0);
	}
	job_door_finish(&bed->door);
}

void bed_job_record(const struct bed_job *bed, json_t *record, int64_t time_ms)
{
	struct err err = {0};
	char *path cleanup_free = fs_join(bed->door.job_dir, "journal.jsonl");
	struct journal *journal = journal_open(path, &err);

	assert_non_null(record);
	if (!journal)
		fail_msg("%s", err_message(&err));
	assert_success(journal_append(journal, record, time_ms, false, &err), &err);
	journal_close(journal);
}

void bed_job_state(const struct bed_job *bed, const char *to)
{
	bed_job_record(bed,
		       json_pack("{s:s, s:s, s:s, s:i}", "ev", "job", "from", "forming", "to", to,
				 "epoch", 1),
		       2000);
}

void bed_job_task(const struct bed_job *bed, const char *task, const char *to, int attempt)
{
	bed_job_record(bed,
		       json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:b, s:s, s:i}", "ev", "task",
				 "task", task, "from", "registered", "to", to, "attempt", attempt,
				 "epoch", 1, "up", 1, "host", "127.0.0.1", "port", 4000),
		       3000);
}

void bed_job_end(const struct bed_job *bed, const char *outcome, const char *message)
{
	bed_job_record(
		bed,
		json_pack("{s:s, s:s, s:s}", "ev", "final", "state", outcome, "message", message),
		61000);
}

void bed_job_write(const struct bed_job *bed, const char *name, const char *text)
{
	struct err err = {0};
	char *containers cleanup_free = fs_join(bed->door.job_dir, "containers");
	char *path cleanup_free = fs_join(containers, name);
	char *directory cleanup_free = fs_dirname(path);

	assert_success(fs_make_directories(directory, 0700, &err), &err);
	assert_success(fs_write_file(path, text, strlen(text), 0600, &err), &err);
}

/* ---- an AM -------------------------------------------------------------------------------- */

struct am {
	const struct bed_job *bed;
	int status;
};

/* What is said of the second worker. */
static json_t *straggler(void)
{
	return json_pack("{s:s, s:s}", "by", "step", "text",
			 "worker:1 is at step 120, its siblings at 400");
}

/* One task a page, of the first two. */
static void answer_tasks(void *data, struct http_request *request)
{
	int64_t offset = 0;

	if (http_request_query_int(request, "offset", 0, 1000, &offset) < 0)
		return;
	json_t *tasks = json_array();
	char *name cleanup_free = mem_printf("worker:%d", (int)offset);
	if (offset < 2)
		json_array_append_new(
			tasks, json_pack("{s:s, s:[i], s:i, s:{s:i, s:i}, s:o*}", "task", name,
					 "pids", 100 + (int)offset, "executor_pid", 50, "metrics",
					 "step", offset == 1 ? 120 : 400, "steps", 1000,
					 "straggler", offset == 1 ? straggler() : NULL));
	http_answer_json(request, 200, json_pack("{s:i, s:o}", "total", 3, "tasks", tasks));
}

static void answer_work(void *data, struct http_request *request)
{
	http_answer_json(request, 200,
			 json_pack("{s:f, s:i, s:i, s:i, s:{s:o}}", "done", 0.26, "least_step", 120,
				   "most_step", 400, "steps", 1000, "stragglers", "worker:1",
				   straggler()));
}

static void answer_post(const struct am *am, struct http_request *request)
{
	if (am->status == 200)
		http_answer_json(request, 200, json_object());
	else
		http_answer_error(request, am->status, "conflict", "this cannot be done now");
}

static void answer_kill(void *data, struct http_request *request)
{
	const struct am *am = data;

	bed_job_write(am->bed, KILL_ASKED, "");
	answer_post(am, request);
	if (am->status == 200)
		bed_job_end(am->bed, "killed", "killed by the user");
}

static void answer_restart(void *data, struct http_request *request)
{
	answer_post(data, request);
}

static void answer_scale(void *data, struct http_request *request)
{
	answer_post(data, request);
}

static const struct http_route routes[] = {
	{"GET", "/v1/tasks", answer_tasks, false},
	{"GET", "/v1/work", answer_work, false},
	{"POST", "/v1/job/kill", answer_kill, false},
	{"POST", "/v1/job/scale", answer_scale, false},
	{"POST", "/v1/tasks/{task}/restart", answer_restart, false},
};

static void write_am_file(const struct bed_job *bed, const char *address)
{
	struct proc_id self;
	char *path cleanup_free = fs_join(bed->door.job_dir, "am.json");

	proc_identify(getpid(), &self);
	json_t *object cleanup_json =
		json_pack("{s:s, s:i, s:I, s:i}", "address", address, "pid", (int)self.pid,
			  "start_time", (json_int_t)self.start_time, "am_attempt", 1);
	char *text cleanup_free = json_text(object);
	fs_write_file(path, text, strlen(text), 0600, NULL);
}

static _Noreturn void be_am(const struct bed_job *bed, int status)
{
	struct event_base *base = event_base_new();
	struct am am = {.bed = bed, .status = status};
	struct http_server_config config = {.address = "127.0.0.1:0",
					    .token = bed->door.token,
					    .routes = routes,
					    .route_count = array_length(routes),
					    .data = &am};
	struct http_server *server = http_server_create(base, &config, NULL);

	if (server && state_dir_hold(bed->door.job_dir, NULL) >= 0) {
		write_am_file(bed, http_server_address(server));
		event_base_dispatch(base);
	}
	_exit(1);
}

void bed_job_start_am(struct bed_job *bed, int status)
{
	char *path cleanup_free = fs_join(bed->door.job_dir, "am.json");

	fflush(NULL);
	bed->am = fork();
	assert_true(bed->am >= 0);
	if (bed->am == 0)
		be_am(bed, status);
	wait_until(fs_exists(path));
}

void bed_job_await_kill(const struct bed_job *bed)
{
	char *path cleanup_free = mem_printf("%s/containers/" KILL_ASKED, bed->door.job_dir);

	wait_until(fs_exists(path));
}

/* ---- many --------------------------------------------------------------------------------- */

static void take_files(struct bed_crowd *crowd)
{
	int next cleanup_close = open("/dev/null", O_RDONLY | O_CLOEXEC);

	getrlimit(RLIMIT_NOFILE, &crowd->files);
	const struct rlimit few = {.rlim_cur = (rlim_t)next + BED_CROWD - 10,
				   .rlim_max = crowd->files.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
}

void bed_crowd_open(struct bed_crowd *crowd)
{
	struct str words = {0};

	for (int i = 0; i < BED_CROWD; i++) {
		snprintf(crowd->ids[i], sizeof(crowd->ids[i]), "tony-20261121-061400-%04d", i);
		bed_job_open(&crowd->jobs[i], crowd->ids[i]);
		bed_job_state(&crowd->jobs[i], "running");
		bed_job_task(&crowd->jobs[i], "worker:0", "running", 1);
		str_append_format(&words, " %s", crowd->ids[i]);
	}
	crowd->words = str_steal(&words);
	take_files(crowd);
}

void bed_crowd_close(struct bed_crowd *crowd)
{
	setrlimit(RLIMIT_NOFILE, &crowd->files);
	for (int i = 0; i < BED_CROWD; i++)
		bed_job_close(&crowd->jobs[i]);
	free(crowd->words);
}

/* ---- verbs -------------------------------------------------------------------------------- */

static int call(const struct str_list *words)
{
#define CALL(name)                                                                                 \
	if (str_equal(words->items[0], #name))                                                     \
		return verbs_run(&verb_##name, (int)words->count, words->items);
	VERBS(CALL)
#undef CALL
	fail_msg("no verb %s", words->items[0]);
	return -1;
}

/* Lets `fd` write to a scratch file; returns what it was. */
static int redirect(void **state, int fd, const char *name)
{
	int saved = fcntl(fd, F_DUPFD_CLOEXEC, 10);
	int file = open(scratch_path(state, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(saved >= 0 && file >= 0);
	dup2(file, fd);
	close(file);
	return saved;
}

static void restore(int fd, int saved)
{
	dup2(saved, fd);
	close(saved);
}

int bed_run(void **state, const char *line)
{
	struct str_list words cleanup_str_list = {0};

	str_split(&words, line, ' ');
	fflush(NULL);
	int saved_out = redirect(state, STDOUT_FILENO, "out");
	int saved_err = redirect(state, STDERR_FILENO, "err");
	int code = call(&words);
	fflush(NULL);
	restore(STDOUT_FILENO, saved_out);
	restore(STDERR_FILENO, saved_err);
	mem_replace(&out, scratch_read(state, "out"));
	mem_replace(&err_out, scratch_read(state, "err"));
	return code;
}

const char *bed_out(void)
{
	return out;
}

const char *bed_err(void)
{
	return err_out;
}
