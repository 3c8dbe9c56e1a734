/* What this machine keeps of a job on YARN: its description, and its journal as far as it was read.
 * Any number of processes may look at a job at once; who appends holds the lock. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "hadoop/webhdfs_client.h"
#include "job/journal.h"
#include "job/record.h"
#include "net/http_client.h"
#include "scheduler/state_dir.h"
#include "scheduler/yarn_client.h"

#define PULL_TIMEOUT_MS 10000
#define JOURNAL_CAP	((size_t)1 << 30)
#define ATTEMPT_CAP	32
#define SETTLE_MS	10000 /* the AM publishes the journal, and only then tells of the end */

/* ---- the directory ------------------------------------------------------------------------ */

char *yarn_mirror(const char *id, struct err *err)
{
	char *state cleanup_free = state_dir_find(err);

	if (!state)
		return NULL;
	char *directory cleanup_free = mem_printf("%s/yarn/%s", state, id);
	return fs_make_directories(directory, 0700, err) < 0 ? NULL : mem_steal(&directory);
}

int yarn_mirror_write(const char *mirror, const char *name, const char *text, struct err *err)
{
	char *path cleanup_free = fs_join(mirror, name);

	return fs_write_file(path, text, strlen(text), 0600, err);
}

static int lock(const char *mirror, struct err *err)
{
	char *path cleanup_free = fs_join(mirror, "lock");

	return fs_lock(path, err);
}

/* ---- the journal -------------------------------------------------------------------------- */

/* Of a journal whose last line is torn or enormous. */
static int64_t repaired_sequence(const char *path)
{
	struct journal *journal = fs_exists(path) ? journal_open(path, NULL) : NULL;
	int64_t sequence = journal ? journal_sequence(journal) : 0;

	journal_close(journal);
	return sequence;
}

/* The last line's sequence number, 0 when there is none; *is_final: it is the job's end. */
static int64_t last_sequence(const char *mirror, bool *is_final)
{
	char *path cleanup_free = fs_join(mirror, "journal.jsonl");
	char *text cleanup_free = NULL;
	struct journal_line line;

	*is_final = false;
	if (!journal_read_last(path, &text, &line))
		return repaired_sequence(path);
	json_t *record cleanup_json = journal_line_record(&line, NULL);
	*is_final = str_equal(json_string_value(json_object_get(record, "ev")), "final");
	return line.sequence;
}

bool yarn_mirror_is_final(const char *mirror)
{
	bool is_final;

	last_sequence(mirror, &is_final);
	return is_final;
}

/* Whole lines that follow on each other; what is behind a flawed one comes another time. */
static size_t count_good(const char *bytes, size_t length, int64_t next)
{
	size_t good = 0;

	while (good < length) {
		const char *end = memchr(bytes + good, '\n', length - good);
		struct journal_line line;
		if (!end)
			break;
		if (journal_parse_line(bytes + good, (size_t)(end - bytes) - good, &line, NULL) <
			    0 ||
		    line.sequence != next++)
			break;
		good = (size_t)(end - bytes) + 1;
	}
	return good;
}

static int append(const char *mirror, const char *bytes, size_t length, int64_t next,
		  struct err *err)
{
	char *path cleanup_free = fs_join(mirror, "journal.jsonl");
	size_t good = count_good(bytes, length, next);

	if (good == 0)
		return 0;
	int fd cleanup_close = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set_errno(err, "%s", path);
	return fs_write_all(fd, bytes, good, err);
}

int yarn_pull(const struct job_door *door, struct err *err)
{
	struct str answer cleanup_str = {0};
	bool is_final;
	int status;

	if (!door->address || !door->token)
		return 0;
	int held cleanup_close = lock(door->job_dir, err);
	if (held < 0)
		return -1;
	int64_t next = last_sequence(door->job_dir, &is_final) + 1;
	char *path cleanup_free = mem_printf("/v1/events?since=%lld", (long long)next);
	if (is_final)
		return 0;
	if (http_call(door->address, door->token, "GET", path, NULL, PULL_TIMEOUT_MS, &status,
		      &answer, NULL) < 0)
		return 1;
	struct err refusal cleanup_err = {0};
	if (http_response_check(status, str_text(&answer), answer.length, &refusal) < 0) {
		log_debug("%s: %s", door->address, err_message(&refusal));
		/* 503: it is ending, or has much to do. Else it is somebody else's port by now. */
		return refusal.kind == ERR_UNREACHABLE ? 0 : 1;
	}
	return append(door->job_dir, str_text(&answer), answer.length, next, err);
}

int yarn_mirror_begin(const char *mirror, int attempt, struct err *err)
{
	char *path cleanup_free = fs_join(mirror, "attempt");
	char *journal cleanup_free = fs_join(mirror, "journal.jsonl");
	char *number cleanup_free = mem_printf("%d", attempt);
	int held cleanup_close = lock(mirror, err);

	if (held < 0)
		return -1;
	char *known cleanup_free =
		fs_exists(path) ? fs_read_file(path, ATTEMPT_CAP, NULL, NULL) : NULL;
	if (str_equal(known, number))
		return 0;
	/* Who reads the old one has it open. */
	if (unlink(journal) < 0 && errno != ENOENT)
		return err_set_errno(err, "%s", journal);
	return yarn_mirror_write(mirror, "attempt", number, err);
}

/* ---- an ended job ------------------------------------------------------------------------- */

static int fetch(struct webhdfs_client *client, const char *directory, const char *name, size_t cap,
		 struct str *bytes, struct err *err)
{
	char *path cleanup_free = fs_join(directory, name);

	return webhdfs_read_file(client, path, cap, bytes, err);
}

/* From the job's directory, or from where an ended one was published. */
static int fetch_description(struct webhdfs_client *client, const struct hadoop_cluster *cluster,
			     const char *mirror, struct err *err)
{
	char *path cleanup_free = fs_join(mirror, "job.json");
	struct str text cleanup_str = {0};

	if (fs_exists(path))
		return 0;
	if (fetch(client, cluster->job_dir, "job.json", JOB_JSON_CAP, &text, NULL) < 0 &&
	    fetch(client, cluster->history_dir, "job.json", JOB_JSON_CAP, &text, err) < 0)
		return -1;
	struct job *job = job_from_text(str_text(&text), text.length, err);
	if (!job)
		return -1;
	job_destroy(job);
	return fs_write_file(path, text.text, text.length, 0600, err);
}

/* An AM that was killed with all its attempts has published nothing. */
static int conclude(const char *mirror, const Hadoop__ApplicationReportProto *report,
		    struct err *err)
{
	char *path cleanup_free = fs_join(mirror, "journal.jsonl");
	const char *text = report && report->diagnostics && *report->diagnostics
				   ? report->diagnostics
				   : "YARN says no more";
	char *message cleanup_free = str_printable(text, strcspn(text, "\n"));
	enum job_state state = report ? yarn_job_state(report) : JOB_FAILED;
	struct journal *journal = journal_open(path, err);

	if (!journal)
		return -1;
	int64_t now = report && report->finishtime > 0 ? report->finishtime : clock_wall_ms();
	int result = journal_append(journal, record_final(state, message), now, true, err);
	journal_close(journal);
	return result;
}

/* Of an AM that has told of the end itself. */
static bool may_still_come(const Hadoop__ApplicationReportProto *report)
{
	return report &&
	       report->yarn_application_state == HADOOP__YARN_APPLICATION_STATE_PROTO__FINISHED &&
	       clock_wall_ms() - report->finishtime < SETTLE_MS;
}

static int publish_file(struct webhdfs_client *client, const char *directory, const char *mirror,
			const char *name)
{
	const struct webhdfs_create create = {.permission = 0600, .overwrite = true};
	char *from cleanup_free = fs_join(mirror, name),
		   *to cleanup_free = fs_join(directory, name);
	size_t length;
	char *bytes cleanup_free = fs_read_file(from, JOURNAL_CAP, &length, NULL);

	return bytes ? webhdfs_write(client, to, &create, bytes, length, NULL) : -1;
}

/* In place of the AM that could not, so that other machines of the user's know it, too. */
static void clear_up(struct webhdfs_client *client, const struct hadoop_cluster *cluster,
		     const char *mirror)
{
	if (publish_file(client, cluster->history_dir, mirror, "job.json") == 0 &&
	    publish_file(client, cluster->history_dir, mirror, "journal.jsonl") == 0)
		webhdfs_remove(client, cluster->job_dir, NULL);
}

static int settle_journal(struct webhdfs_client *client, const struct hadoop_cluster *cluster,
			  const char *mirror, const Hadoop__ApplicationReportProto *report,
			  struct err *err)
{
	int held cleanup_close = lock(mirror, err);
	struct str bytes cleanup_str = {0};
	struct err missing cleanup_err = {0};
	bool is_final;

	if (held < 0)
		return -1;
	int64_t last = last_sequence(mirror, &is_final);
	if (is_final)
		return 0;
	if (fetch(client, cluster->history_dir, "journal.jsonl", JOURNAL_CAP, &bytes, &missing) <
	    0) {
		if (missing.kind != ERR_NOT_FOUND)
			return err_set(err, missing.kind, "%s", err_message(&missing));
		if (may_still_come(report))
			return 0;
		if (conclude(mirror, report, err) < 0)
			return -1;
		clear_up(client, cluster, mirror);
		return 0;
	}
	/* The lines that are here already are the same ones. */
	const char *start = bytes.text;
	for (int64_t i = 0; i < last && start; i++) {
		start = memchr(start, '\n', bytes.length - (size_t)(start - bytes.text));
		start = start ? start + 1 : NULL;
	}
	if (start &&
	    append(mirror, start, bytes.length - (size_t)(start - bytes.text), last + 1, err) < 0)
		return -1;
	last_sequence(mirror, &is_final);
	return is_final ? 0 : conclude(mirror, report, err);
}

int yarn_mirror_settle(const char *mirror, const struct hadoop_cluster *cluster, const char *id,
		       const Hadoop__ApplicationReportProto *report, struct err *err)
{
	struct webhdfs_client *client cleanup_webhdfs = yarn_webhdfs(cluster, err);

	if (!client)
		return -1;
	if (fetch_description(client, cluster, mirror, err) < 0)
		return err_wrap(err, "%s has no description any more", id);
	if (report && !job_state_is_final(yarn_job_state(report)))
		return 0;
	return settle_journal(client, cluster, mirror, report, err);
}
