/* A job in a store, opened for the handlers of a reader. */
#include <string.h>

#include "base/mem.h"
#include "history/layout.h"
#include "portal/reader_internal.h"

int reader_fold(struct reader *reader, struct err *err)
{
	char *journal cleanup_free = mem_printf("/proc/self/fd/%d", reader->journal);

	reader->view = job_view_create(reader->job);
	return job_view_read(reader->view, journal, err) < 0
		       ? err_rename(err, journal, HISTORY_EVENTS)
		       : 0;
}

/* People are let in by the index, which may be older than what is in the entry's place now. */
static int check_user(const struct reader *reader, struct err *err)
{
	const char *user = reader->record.user;

	if (!reader->user || !*reader->user || str_equal(user, reader->user))
		return 0;
	return err_set(err, ERR_DENIED,
		       "this entry of the history is %s's, and not %s's any more; open the job "
		       "again later",
		       user, reader->user);
}

/* Is the entry still the one by which people are let in? */
static int check_entry(struct reader *reader, const char *owner, struct err *err)
{
	struct history_summary summary cleanup_history_summary = {0};

	if (!str_equal(owner, reader->job->user) || !str_equal(owner, reader->user))
		return err_set(err, ERR_DENIED,
			       "this entry of the history was written by %s, and says that the job "
			       "was %s's",
			       owner, reader->job->user);
	if (history_store_summary(reader->store, reader->path, &summary, err) < 0)
		return -1;
	if (!str_equal(summary.view_acl, reader->view_acl))
		return err_set(err, ERR_DENIED,
			       "who may look at it was changed; open the job again later");
	return 0;
}

char *reader_find_owner(struct reader *reader, struct err *err)
{
	char *owner cleanup_free = history_store_owner(reader->store, reader->path, err);

	return owner && check_entry(reader, owner, err) == 0 ? mem_steal(&owner) : NULL;
}

static int open_job(struct reader *reader, struct err *err)
{
	size_t length;

	if (job_stores_open(reader->location, &reader->stores, err) < 0)
		return -1;
	reader->store = reader->stores.items[0];
	if (history_store_record(reader->store, reader->path, NULL, &reader->record, err) < 0 ||
	    check_user(reader, err) < 0)
		return -1;
	char *bytes cleanup_free = history_store_read_file(reader->store, &reader->record,
							   HISTORY_JOB, JOB_JSON_CAP, &length, err);
	reader->job = bytes ? job_from_text(bytes, length, err) : NULL;
	if (!reader->job)
		return -1;
	reader->journal = history_store_open_file(reader->store, &reader->record, HISTORY_EVENTS,
						  HISTORY_FILE_CAP, err);
	return reader->journal < 0 ? -1 : reader_fold(reader, err);
}

void reader_close(struct reader *reader)
{
	job_view_destroy(mem_steal(&reader->view));
	job_destroy(mem_steal(&reader->job));
	history_record_finish(&reader->record);
	mem_cleanup_close(&reader->journal);
	job_stores_close(&reader->stores);
	reader->is_open = false;
}

void reader_answer_failure(struct http_request *request, const struct err *err)
{
	switch (err->kind) {
	case ERR_NOT_FOUND:
		http_answer_error(request, 404, "not-found", "%s", err_message(err));
		return;
	case ERR_DENIED: /* what is there is another user's by now */
		http_answer_error(request, 409, "conflict", "%s", err_message(err));
		return;
	default:
		http_answer_error(request, 500, "failed", "%s", err_message(err));
	}
}

bool reader_open(struct reader *reader, struct http_request *request)
{
	struct err err cleanup_err = {0};

	if (reader->is_open)
		return true;
	reader->is_open = open_job(reader, &err) == 0;
	if (reader->is_open)
		return true;
	reader_close(reader);
	reader_answer_failure(request, &err);
	return false;
}

int64_t reader_find_task(const struct reader *reader, struct http_request *request)
{
	int64_t task = job_find_task(reader->job, http_request_parameter(request, "task"));

	if (task < 0)
		http_answer_error(request, 404, "not-found", "this job has no task of that name");
	return task;
}
