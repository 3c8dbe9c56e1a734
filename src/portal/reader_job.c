/* What a job in a store was, and was told. */
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "framework/framework.h"
#include "history/store.h"
#include "portal/reader_internal.h"

enum { PAGE_MAX = 10000 };

void reader_handle_job(void *data, struct http_request *request)
{
	struct reader *reader = data;

	if (!reader_open(reader, request))
		return;
	json_t *answer = job_view_to_json(reader->view);
	/* Of an entry whose summary is damaged the index knows no user. */
	const char *user = reader->record.user ? reader->record.user : reader->user;
	if (user && *user)
		json_set_text(answer, "user", user);
	json_object_set_new(answer, "links", json_array());
	json_set_text(answer, "waiting", reader->away);
	http_answer_json(request, 200, answer);
}

/* One task at a time as text: of many, their JSON would be a multiple of it. */
void reader_handle_tasks(void *data, struct http_request *request)
{
	struct reader *reader = data;
	int64_t offset = 0, limit = PAGE_MAX;
	struct str text cleanup_str = {0};

	if (http_request_query_int(request, "offset", 0, JOB_MAX_TASKS, &offset) < 0 ||
	    http_request_query_int(request, "limit", 1, PAGE_MAX, &limit) < 0 ||
	    !reader_open(reader, request))
		return;
	const struct job_view *view = reader->view;
	size_t end = (size_t)(offset + limit);
	str_append_format(&text, "{\"total\":%zu,\"tasks\":[", view->task_count);
	for (size_t i = (size_t)offset; i < view->task_count && i < end; i++) {
		json_t *task cleanup_json = task_view_to_json(view, i);
		char *one cleanup_free = json_text(task);
		str_append_format(&text, "%s%s", i > (size_t)offset ? "," : "", one);
	}
	str_append(&text, "]}");
	http_answer_json_text(request, 200, text.text, text.length);
}

void reader_handle_task(void *data, struct http_request *request)
{
	struct reader *reader = data;
	int64_t task = reader_open(reader, request) ? reader_find_task(reader, request) : -1;

	if (task >= 0)
		http_answer_json(request, 200, task_view_to_json(reader->view, (size_t)task));
}

void reader_handle_attempts(void *data, struct http_request *request)
{
	struct reader *reader = data;
	int64_t task = reader_open(reader, request) ? reader_find_task(reader, request) : -1;

	if (task >= 0)
		http_answer_json(request, 200,
				 task_view_attempts_to_json(&reader->view->tasks[task]));
}

void reader_handle_config(void *data, struct http_request *request)
{
	struct reader *reader = data;

	if (!reader_open(reader, request))
		return;
	json_t *config = reader->job->config;
	http_answer_json(request, 200, config ? json_incref(config) : json_object());
}

/* Out of the store, or of a folder of a job whose AM is not there. */
static char *read_kept(struct reader *reader, const char *folder, const char *name, size_t cap,
		       size_t *length, struct err *err)
{
	if (reader->store)
		return history_store_read_file(reader->store, &reader->record, name, cap, length,
					       err);
	char *path cleanup_free = fs_join(folder, name);
	return fs_exists(path) ? fs_read_file(path, cap, length, err) : NULL;
}

static void answer_kept(struct http_request *request, const char *type, const char *bytes,
			size_t length, const char *missing, const struct err *err)
{
	if (bytes)
		http_answer_bytes(request, 200, type, bytes, length);
	else if (err->kind == ERR_NONE || err->kind == ERR_NOT_FOUND)
		http_answer_error(request, 404, "not-found", "%s", missing);
	else
		reader_answer_failure(request, err);
}

void reader_handle_diff(void *data, struct http_request *request)
{
	struct reader *reader = data;
	struct err err cleanup_err = {0};
	size_t length = 0;

	if (!reader_open(reader, request))
		return;
	char *diff cleanup_free = read_kept(reader, reader->door.job_dir, HISTORY_DIFF,
					    HISTORY_DIFF_CAP, &length, &err);
	answer_kept(request, HISTORY_DIFF_TYPE, diff, length,
		    "no difference of this job's code is kept", &err);
}

void reader_handle_sweep(void *data, struct http_request *request)
{
	struct reader *reader = data;
	struct err err cleanup_err = {0};
	size_t length = 0;

	if (!reader_open(reader, request))
		return;
	char *table cleanup_free =
		job_is_sweep(reader->job)
			? read_kept(reader, reader->job->checkpoint_dir, HISTORY_SWEEP,
				    HISTORY_SWEEP_CAP, &length, &err)
			: NULL;
	answer_kept(request, "application/json", table, length, "no table of a sweep is kept",
		    &err);
}

/* Of the last epoch. */
void reader_handle_cluster(void *data, struct http_request *request)
{
	struct reader *reader = data;

	if (!reader_open(reader, request))
		return;
	const struct job *job = reader->job;
	const struct task_view *task = reader->view->tasks;
	struct cluster *cluster = cluster_create(job, reader->view->epoch);
	for (size_t i = 0; i < job->type_count; i++) {
		struct cluster_type *type = &cluster->types[i];
		type->count = (size_t)job_type_slots(&job->types[i]);
		type->addresses = mem_alloc_array(type->count, sizeof(*type->addresses));
		for (size_t k = 0; k < type->count; k++, task++) {
			type->addresses[k].host = mem_strdup(task->host);
			type->addresses[k].port = task->port;
		}
	}
	http_answer_json(request, 200, cluster_to_json(cluster));
	cluster_destroy(cluster);
}

void reader_handle_environment(void *data, struct http_request *request)
{
	struct reader *reader = data;
	const char *name = http_request_query(request, "type");

	if (!name) {
		http_answer_error(request, 400, "bad-request", "type: is missing");
		return;
	}
	if (!reader_open(reader, request))
		return;
	int type = job_find_type(reader->job, name);
	int64_t marks = 0;
	if (type < 0)
		http_answer_error(request, 404, "not-found", "this job has no type of that name");
	else if (http_request_query_int(request, "marks", 0, 1, &marks) == 0)
		http_answer_json(request, 200,
				 job_environment_to_json(reader->job, (size_t)type, marks));
}
