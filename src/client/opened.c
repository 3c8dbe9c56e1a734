#include "client/opened.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/follow.h"
#include "net/http_client.h"

#define ASK_TIMEOUT_MS 10000
#define POLL_MS	       1000 /* where the file system tells of no changes */

static int read_description(struct opened *opened, struct err *err)
{
	size_t length;
	char *path cleanup_free = fs_join(opened->door.job_dir, "job.json");
	char *text cleanup_free = fs_read_file(path, JOB_JSON_CAP, &length, err);
	if (!text)
		return -1;
	opened->job = job_from_text(text, length, err);
	if (!opened->job)
		return err_wrap(err, "%s", path);
	opened->journal_path = fs_join(opened->door.job_dir, "journal.jsonl");
	opened->view = job_view_create(opened->job);
	return 0;
}

int opened_find(struct opened *opened, const char *id, struct err *err)
{
	opened->ops = scheduler_client_find("local");
	if (opened->ops->find(id, &opened->door, &opened->id, err) < 0 ||
	    read_description(opened, err) < 0)
		return -1;
	return opened_refresh(opened, err);
}

void opened_finish(struct opened *opened)
{
	job_view_destroy(opened->view);
	job_destroy(opened->job);
	free(opened->journal_path);
	free(opened->id);
	job_door_finish(&opened->door);
}

int opened_refresh(struct opened *opened, struct err *err)
{
	if (!fs_exists(opened->journal_path))
		return 0; /* the AM has not begun */
	return job_view_read(opened->view, opened->journal_path, err);
}

/* Every line there is now. */
static int read_lines(struct opened *opened, struct journal_reader *reader, journal_visit *on_line,
		      void *data, struct err *err)
{
	struct journal_line line;
	int more;
	while ((more = journal_reader_next(reader, &line, err)) > 0) {
		if (job_view_add(opened->view, &line, err) < 0)
			return -1;
		if (on_line && on_line(data, &line, err) < 0)
			return -1;
	}
	return more;
}

static int follow_reader(struct opened *opened, struct journal_reader *reader,
			 struct follow *follow, int64_t timeout_ms, journal_visit *on_line,
			 void *data, struct err *err)
{
	int64_t until = timeout_ms > 0 ? clock_monotonic_ms() + timeout_ms : INT64_MAX;
	for (;;) {
		follow_drain(follow);
		if (read_lines(opened, reader, on_line, data, err) < 0)
			return -1;
		if (opened->view->is_final)
			return 1;
		int64_t left = until - clock_monotonic_ms();
		if (left <= 0)
			return 0;
		follow_wait(follow, left < POLL_MS ? left : POLL_MS);
	}
}

/* The journal comes into being shortly after the job's directory. */
static int wait_for_journal(const struct opened *opened, struct follow *follow, int64_t timeout_ms)
{
	int64_t until = timeout_ms > 0 ? clock_monotonic_ms() + timeout_ms : INT64_MAX;
	follow_add(follow, opened->door.job_dir);
	while (!fs_exists(opened->journal_path)) {
		int64_t left = until - clock_monotonic_ms();
		if (left <= 0)
			return 0;
		follow_wait(follow, left < POLL_MS ? left : POLL_MS);
		follow_drain(follow);
	}
	follow_add(follow, opened->journal_path);
	return 1;
}

int opened_follow(struct opened *opened, int64_t since, int64_t timeout_ms, journal_visit *on_line,
		  void *data, struct err *err)
{
	struct follow *follow = follow_create(err);
	if (!follow)
		return -1;
	int result = wait_for_journal(opened, follow, timeout_ms);
	struct journal_reader *reader =
		result > 0 ? journal_reader_open(opened->journal_path, since, err) : NULL;
	if (result > 0)
		result = reader ? follow_reader(opened, reader, follow, timeout_ms, on_line, data,
						err)
				: -1;
	journal_reader_close(reader);
	follow_destroy(follow);
	return result;
}

json_t *opened_ask(const struct opened *opened, const char *method, const char *path,
		   const char *body, struct err *err)
{
	struct str response cleanup_str = {0};
	int status;
	if (!opened->door.address) {
		err_set(err, ERR_UNREACHABLE, "%s has no running application master", opened->id);
		return NULL;
	}
	if (http_call(opened->door.address, opened->door.token, method, path, body, ASK_TIMEOUT_MS,
		      &status, &response, err) < 0 ||
	    http_response_check(status, str_text(&response), response.length, err) < 0)
		return NULL;
	return json_parse(str_text(&response), response.length, err);
}
