/* What this machine keeps of a job on YARN: its description, and its journal as far as it was read.
 * Any number of processes may look at a job at once; who appends holds the lock. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "history/layout.h"
#include "job/journal.h"
#include "job/record.h"
#include "net/http_client.h"
#include "scheduler/am_calls.h"
#include "scheduler/journal_copy.h"
#include "scheduler/journal_note.h"
#include "scheduler/local_start.h"
#include "scheduler/state_dir.h"
#include "scheduler/yarn_client.h"
#include "scheduler/yarn_store.h"
#include "store/store.h"

#define PULL_TIMEOUT_MS 10000
#define JOURNAL_CAP	((int64_t)1 << 30)
#define ATTEMPT_CAP	32
#define ADDRESS_CAP	512
#define TOKEN_CAP	4096

/* ---- the directory ------------------------------------------------------------------------ */

char *yarn_mirror_path(const char *id, struct err *err)
{
	char *state cleanup_free = state_dir_find(err);

	return state ? mem_printf("%s/yarn/%s", state, id) : NULL;
}

char *yarn_mirror(const char *id, struct err *err)
{
	char *directory cleanup_free = yarn_mirror_path(id, err);

	return directory && state_dir_make(directory, err) == 0 ? mem_steal(&directory) : NULL;
}

int yarn_mirror_write(const char *mirror, const char *name, const char *text, struct err *err)
{
	char *path cleanup_free = fs_join(mirror, name);

	return fs_write_file(path, text, strlen(text), 0600, err);
}

bool yarn_mirror_is_unsent(const char *mirror)
{
	char *mark cleanup_free = fs_join(mirror, YARN_MIRROR_UNSENT);

	return fs_exists(mark);
}

void yarn_mirror_note_sent(const char *mirror)
{
	char *mark cleanup_free = fs_join(mirror, YARN_MIRROR_UNSENT);

	unlink(mark);
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
	*is_final = record_is_final(&line);
	return line.sequence;
}

/* The AM tells notices after the last line that others hear of, and repeats it with them. */
static bool has_notices_due(const char *mirror)
{
	char *path cleanup_free = fs_join(mirror, "journal.jsonl");
	char *text cleanup_free = NULL;
	struct journal_line line;

	return journal_read_last(path, &text, &line) && record_has_notices_due(&line);
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

int yarn_mirror_attempt(const char *mirror)
{
	char *path cleanup_free = fs_join(mirror, "attempt");
	char *text cleanup_free =
		fs_exists(path) ? fs_read_file(path, ATTEMPT_CAP, NULL, NULL) : NULL;
	int64_t number = 0;

	if (text)
		str_parse_int(text, 0, INT32_MAX, &number);
	return (int)number;
}

/* Of lines that begin with number `first` those that are not here yet. Under the lock. */
static int append(const char *mirror, const char *bytes, size_t length, int64_t first,
		  struct err *err)
{
	char *path cleanup_free = fs_join(mirror, "journal.jsonl");
	const char *start = bytes, *end = bytes + length;
	bool is_final;
	int64_t next = last_sequence(mirror, &is_final) + 1;

	for (int64_t i = first; i < next && start; i++) {
		start = memchr(start, '\n', (size_t)(end - start));
		start = start ? start + 1 : NULL;
	}
	size_t good = start ? count_good(start, (size_t)(end - start), next) : 0;
	if (good == 0)
		return 0;
	int fd cleanup_close = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set_errno(err, "%s", path);
	return fs_write_all(fd, start, good, err);
}

struct known {
	int attempt;  /* of the AM that writes the journal */
	int64_t next; /* the line that is not here yet */
	bool is_final;
};

/* How far the journal is. */
static int look(const char *mirror, struct known *known, struct err *err)
{
	int held cleanup_close = lock(mirror, err);

	if (held < 0)
		return -1;
	known->attempt = yarn_mirror_attempt(mirror);
	known->next = last_sequence(mirror, &known->is_final) + 1;
	return 0;
}

/* Others may have been faster, or may have found another AM. */
static int take(const struct job_door *door, const struct str *lines, int64_t first,
		struct err *err)
{
	int held cleanup_close = lock(door->job_dir, err);

	if (held < 0)
		return -1;
	if (yarn_mirror_attempt(door->job_dir) != door->am_attempt)
		return 1;
	return append(door->job_dir, str_text(lines), lines->length, first, err);
}

/* The port may be another program's by now, of an AM that is gone; and files are damaged. */
static void tell_denied(const struct job_door *door, const struct err *why)
{
	char *path cleanup_free = fs_join(door->job_dir, "token");
	char *text cleanup_free =
		door->identity || !fs_exists(path)
			? mem_strdup(err_message(why))
			: mem_printf("%s; if that stays so, the token in %s is not the job's: "
				     "remove this file, and tony reads the token anew",
				     err_message(why), path);

	log_trouble(fs_basename(door->job_dir), text);
}

/* `silence`: why no answer came, ERR_NONE where one did. */
static int take_answer(const struct job_door *door, int64_t since, const struct err *silence,
		       int status, const struct str *answer, struct err *err)
{
	struct err refusal cleanup_err = {0};

	if (silence->kind != ERR_NONE) {
		if (silence->kind == ERR_DENIED)
			tell_denied(door, silence);
		return silence->kind != ERR_INTERRUPTED;
	}
	if (http_response_check(status, str_text(answer), answer->length, &refusal) < 0) {
		log_debug("%s: %s", door->address, err_message(&refusal));
		/* 503: it is ending, or has much to do. Else it is somebody else's port by now. */
		return refusal.kind == ERR_UNREACHABLE ? 0 : 1;
	}
	return take(door, answer, since, err);
}

static int take_aside(const struct job_door *door, struct pull_aside *aside, struct err *err)
{
	struct str answer cleanup_str = {0};
	struct err silence cleanup_err = {0};
	int status = 0;

	if (!am_call_has_ended(aside->call))
		return PULL_PENDING;
	am_call_take(mem_steal(&aside->call), &status, &answer, &silence);
	return take_answer(door, aside->since, &silence, status, &answer, err);
}

int yarn_pull(const struct job_door *door, int64_t hold_ms, struct pull_aside *aside,
	      struct err *err)
{
	struct str answer cleanup_str = {0};
	struct err silence cleanup_err = {0};
	struct known known;
	int status = 0;

	if (aside->call)
		return take_aside(door, aside, err);
	if (!door->address || !door->token)
		return 0;
	if (look(door->job_dir, &known, err) < 0)
		return -1;
	/* The caller reads an older one. */
	if (known.attempt != door->am_attempt)
		return 1;
	if (known.is_final)
		return 0;
	char *path cleanup_free = mem_printf("/v1/events?since=%lld&wait=%lld",
					     (long long)known.next, (long long)hold_ms);
	if (aside->calls) {
		aside->since = known.next;
		aside->call = am_call_start(aside->calls, door, "GET", path, NULL,
					    PULL_TIMEOUT_MS + hold_ms);
		return PULL_PENDING;
	}
	job_door_call(door, "GET", path, NULL, PULL_TIMEOUT_MS + hold_ms, &status, &answer,
		      &silence);
	return take_answer(door, known.next, &silence, status, &answer, err);
}

/* Under the lock. What another process has heard meanwhile of the next AM stays. */
static int begin(const char *mirror, int attempt, bool has_come, struct err *err)
{
	char *journal cleanup_free = fs_join(mirror, "journal.jsonl");
	char *number cleanup_free = mem_printf("%d", attempt);
	char *address cleanup_free = fs_join(mirror, "address");
	if (yarn_mirror_attempt(mirror) >= attempt)
		return 0;
	unlink(address);
	if (!has_come)
		return 0;
	/* Who reads the old one has it open. */
	if (unlink(journal) < 0 && errno != ENOENT)
		return err_set_errno(err, "%s", journal);
	return yarn_mirror_write(mirror, "attempt", number, err);
}

int yarn_mirror_begin(const char *mirror, int attempt, bool has_come, struct err *err)
{
	int held cleanup_close = lock(mirror, err);

	return held < 0 ? -1 : begin(mirror, attempt, has_come, err);
}

char *yarn_mirror_address(const char *mirror, const char *told)
{
	char *path cleanup_free = fs_join(mirror, "address");
	char *known = fs_exists(path) ? fs_read_file(path, ADDRESS_CAP, NULL, NULL) : NULL;

	if (!told || str_equal(told, known))
		return known;
	free(known);
	yarn_mirror_write(mirror, "address", told, NULL);
	return mem_strdup(told);
}

char *yarn_mirror_token(const char *mirror, struct store *job_dir)
{
	char *local cleanup_free = fs_join(mirror, "token");
	char *description cleanup_free = fs_join(mirror, "job.json");
	struct str token cleanup_str = {0};

	if (!job_dir)
		return fs_exists(local) ? job_read_token(local, NULL) : NULL;
	if (store_read_bytes(job_dir, "token", TOKEN_CAP, &token, NULL) < 0 || token.length == 0)
		return NULL;
	if (fs_exists(description))
		yarn_mirror_write(mirror, "token", token.text, NULL);
	return str_steal(&token);
}

/* No token is shown in clear for want of an answer. */
bool yarn_mirror_is_sealed(const char *mirror, struct store *job_dir)
{
	char *path cleanup_free = fs_join(mirror, "job.json");
	struct str text cleanup_str = {0};
	struct job *job = job_read_file(path, NULL);

	if (!job && job_dir &&
	    store_read_bytes(job_dir, "job.json", JOB_JSON_CAP, &text, NULL) == 0)
		job = job_from_text(str_text(&text), text.length, NULL);
	bool is_sealed = !job || job->tls;
	job_destroy(job);
	return is_sealed;
}

/* ---- an ended job ------------------------------------------------------------------------- */

static bool wants_notices(const char *mirror)
{
	char *path cleanup_free = fs_join(mirror, "job.json");
	struct job *job = job_read_file(path, NULL);
	bool result = job && job_has_notices(job);

	job_destroy(job);
	return result;
}

/* An AM that was killed with all its attempts has published nothing. `tells`: nor sent notices. */
static int conclude(const char *mirror, const Hadoop__ApplicationReportProto *report, bool tells,
		    struct err *err)
{
	char *path cleanup_free = fs_join(mirror, "journal.jsonl");
	enum job_state state = report ? yarn_job_state(report) : JOB_FAILED;
	struct cause cause = {0};
	struct journal *journal = journal_open(path, err);

	if (!journal)
		return -1;
	char *message cleanup_free = yarn_diagnose(report, journal_sequence(journal) > 0, &cause);
	int64_t now = report && report->finishtime > 0 ? report->finishtime : clock_wall_ms();
	json_t *record = record_final(state, message, &cause);
	if (tells && wants_notices(mirror))
		record_set_notices_due(record);
	int result = journal_append(journal, record, now, true, err);
	journal_close(journal);
	cause_finish(&cause);
	return result;
}

/* Clusters may share a file system: what this ResourceManager does not know, another one may. */
static int check_cluster(const char *mirror, const struct hadoop_cluster *cluster, struct err *err)
{
	char *path cleanup_free = fs_join(mirror, "job.json");
	struct job *job = job_read_file(path, NULL);
	struct hadoop_cluster *own cleanup_hadoop_cluster =
		job ? hadoop_cluster_from_json(job->engine, job->stores, NULL) : NULL;

	job_destroy(job);
	for (size_t i = 0; own && i < own->rm.count; i++)
		if (str_list_has(&cluster->rm, own->rm.items[i]))
			return 0;
	return !own ? 0
		    : err_set(err, ERR_CONFIG,
			      "%s is a job of the ResourceManager at %s; set HADOOP_CONF_DIR to "
			      "the site files of that cluster",
			      fs_basename(mirror), own->rm.items[0]);
}

/* A store that refuses to tell notes has none. */
static int find_kept(struct store *store, struct journal_found *found, struct err *err)
{
	struct err missing cleanup_err = {0}, refusal cleanup_err = {0};

	if (store_traits(store)->has_notes &&
	    store_run(store, store_notes("", journal_found_note, found), &refusal) < 0 &&
	    err_is_silence(&refusal))
		return err_copy(err, &refusal);
	if (store_run(store, store_list("", NULL, journal_found_file, found), &missing) < 0 &&
	    missing.kind != ERR_NOT_FOUND)
		return err_copy(err, &missing);
	return 0;
}

int yarn_mirror_kept(const struct hadoop_cluster *cluster, struct err *err)
{
	struct journal_found found cleanup_journal_found = {.before = INT_MAX};
	struct store *store cleanup_yarn_store =
		yarn_store_open_once(cluster, cluster->job_dir, err);

	if (!store || find_kept(store, &found, err) < 0)
		return -1;
	return found.attempt > 0;
}

/* The whole journal that was found. */
static int read_kept(struct store *store, const struct journal_found *found, struct str *bytes,
		     struct err *err)
{
	char *name cleanup_free = journal_copy_name(found->attempt);
	size_t length;

	if (found->length >= 0) {
		int fd cleanup_close = store_open_file(store, name, JOURNAL_CAP, NULL, err);
		char *text cleanup_free =
			fd < 0 ? NULL : fs_read_descriptor(fd, name, JOURNAL_CAP, &length, err);
		if (!text)
			return -1;
		str_append_bytes(bytes, text, length);
	}
	const char *rest = journal_found_rest(found, (int64_t)bytes->length, &length);
	str_append_bytes(bytes, rest, length);
	return 0;
}

/* What the last of its AMs kept for the next one is more than what was followed here, if anything
 * was. Under the lock. `once`: a store that does not answer is not waited for. */
static int take_kept(const struct hadoop_cluster *cluster, const char *mirror, bool once,
		     struct err *err)
{
	struct journal_found found cleanup_journal_found = {.before = INT_MAX};
	struct store *store = once ? yarn_store_open_once(cluster, cluster->job_dir, err)
				   : yarn_store_open(cluster, cluster->job_dir, NULL, err);
	struct str bytes cleanup_str = {0};
	int result = store ? find_kept(store, &found, err) : -1;
	bool is_newer = found.attempt > 0 && found.attempt >= yarn_mirror_attempt(mirror);

	if (result == 0 && is_newer)
		result = read_kept(store, &found, &bytes, err);
	store_close(store);
	if (result < 0 || !is_newer)
		return result;
	return begin(mirror, found.attempt, true, err) < 0
		       ? -1
		       : append(mirror, str_text(&bytes), bytes.length, 1, err);
}

/* Its history can do without. */
static void fetch_file(struct store *job_dir, const char *mirror, const char *name, int64_t cap)
{
	char *path cleanup_free = fs_join(mirror, name);
	struct str bytes cleanup_str = {0};
	struct err err cleanup_err = {0};

	if (store_read_bytes(job_dir, name, cap, &bytes, &err) < 0 ||
	    fs_write_file(path, str_text(&bytes), bytes.length, 0600, &err) < 0)
		log_debug("%s: %s", fs_basename(mirror), err_message(&err));
}

/* The metrics so far, and the difference of the code from its commit. */
static void fetch_files(struct store *job_dir, const char *mirror)
{
	fetch_file(job_dir, mirror, HISTORY_METRICS, METRICS_COPY_CAP);
	fetch_file(job_dir, mirror, HISTORY_DIFF, HISTORY_DIFF_CAP);
}

static void clear_up(struct store *job_dir, const struct hadoop_cluster *cluster,
		     const char *mirror)
{
	struct err err cleanup_err = {0};

	fetch_files(job_dir, mirror);
	if (yarn_history_publish(cluster, mirror, &err) == 0)
		store_run(job_dir, store_remove(""), NULL);
	else
		log_debug("%s: %s", fs_basename(mirror), err_message(&err));
}

/* The job's directory is removed once all else is done: where it is gone, somebody has sent the
 * notices, or has removed the job. */
static bool is_there(struct store *job_dir)
{
	struct store_item directory cleanup_store_item = {0};
	struct err missing cleanup_err = {0};

	return store_look(job_dir, "", &directory, &missing) == 0 || missing.kind != ERR_NOT_FOUND;
}

/* By a process that may start none, as those of a portal. Without the job's directory no other tony
 * would send the notices. */
static void leave_notices(const struct hadoop_cluster *cluster, const char *mirror,
			  const struct err *why)
{
	const char *id = fs_basename(mirror);
	struct err err cleanup_err = {0};
	char *text cleanup_free =
		mem_printf("%s: the notices of its end wait for `tony status %s`: %s", id, id,
			   err_message(why));

	log_trouble("notices", text);
	if (yarn_history_publish(cluster, mirror, &err) < 0)
		log_debug("%s: %s", id, err_message(&err));
}

/* Notices may take long: a process of their own sends them, and then publishes (yarn_end.h). */
static void finish(struct store *job_dir, const struct hadoop_cluster *cluster, const char *mirror)
{
	struct err err cleanup_err = {0};

	if (!has_notices_due(mirror)) {
		clear_up(job_dir, cluster, mirror);
		return;
	}
	fetch_files(job_dir, mirror);
	if (local_start_last_duty(fs_basename(mirror), mirror, &err) < 0)
		leave_notices(cluster, mirror, &err);
}

/* Nobody believes an entry that this user publishes of another one's job. */
static bool is_own(const struct hadoop_cluster *cluster,
		   const Hadoop__ApplicationReportProto *report)
{
	const char *user = yarn_user_of(report);

	return !user || str_equal(user, cluster->user);
}

/* In place of its AM, which may have come as far as the last line. */
static int publish_end(struct store *job_dir, const struct hadoop_cluster *cluster,
		       const char *mirror, const Hadoop__ApplicationReportProto *report,
		       struct err *err)
{
	bool owns = is_own(cluster, report), tells = owns && is_there(job_dir), is_final;

	last_sequence(mirror, &is_final);
	if (!is_final && conclude(mirror, report, tells, err) < 0)
		return -1;
	if (owns && (tells || !has_notices_due(mirror)))
		finish(job_dir, cluster, mirror);
	return 0;
}

/* Under the lock. */
static int take_end(struct store *job_dir, const struct hadoop_cluster *cluster, const char *mirror,
		    const Hadoop__ApplicationReportProto *report, struct err *err)
{
	struct err missing cleanup_err = {0}, gone cleanup_err = {0};
	size_t length;
	bool is_final;

	char *bytes cleanup_free = yarn_kept_journal(cluster, mirror, report, &length, &missing);
	if (!bytes) {
		/* Of a store that is none, the ResourceManager's word has to do. */
		if (err_is_silence(&missing) || (!report && missing.kind != ERR_NOT_FOUND))
			return err_copy(err, &missing);
		/* It publishes, unless it could not, and has left. */
		if (yarn_has_am_still(report)) {
			take_kept(cluster, mirror, true, NULL);
			return 0;
		}
		if (!report && check_cluster(mirror, cluster, err) < 0)
			return -1;
		int taken = take_kept(cluster, mirror, false, &gone);
		/* Who has published it in the meantime has removed what was kept. */
		bytes = yarn_kept_journal(cluster, mirror, report, &length, NULL);
		if (!bytes && taken < 0)
			return err_copy(err, &gone);
		if (!bytes)
			return publish_end(job_dir, cluster, mirror, report, err);
	}
	if (append(mirror, bytes, length, 1, err) < 0)
		return -1;
	last_sequence(mirror, &is_final);
	if (!is_final)
		return conclude(mirror, report, false, err);
	/* A portal has published it and left the notices. */
	if (has_notices_due(mirror) && is_own(cluster, report) && is_there(job_dir))
		finish(job_dir, cluster, mirror);
	return 0;
}

static int settle_journal(struct store *job_dir, const struct hadoop_cluster *cluster,
			  const char *mirror, const Hadoop__ApplicationReportProto *report,
			  struct err *err)
{
	int held cleanup_close = lock(mirror, err);
	bool is_final;

	if (held < 0)
		return -1;
	last_sequence(mirror, &is_final);
	if (!is_final)
		return take_end(job_dir, cluster, mirror, report, err);
	/* An end that is known is one, whatever else becomes of it. */
	if (has_notices_due(mirror) && !state_dir_is_held(mirror))
		take_end(job_dir, cluster, mirror, report, NULL);
	return 0;
}

void yarn_mirror_end(const char *mirror, const struct hadoop_cluster *cluster,
		     const Hadoop__ApplicationReportProto *report)
{
	int held cleanup_close = lock(mirror, NULL);
	const char *user = yarn_user_of(report);
	bool is_final;

	if (held < 0)
		return;
	last_sequence(mirror, &is_final);
	if (!is_final && job_state_is_final(yarn_job_state(report)))
		conclude(mirror, report, !user || str_equal(user, cluster->user), NULL);
}

void yarn_mirror_clear_up(const char *mirror, const struct hadoop_cluster *cluster)
{
	struct store *job_dir cleanup_yarn_store =
		yarn_store_open(cluster, cluster->job_dir, NULL, NULL);

	if (job_dir && !has_notices_due(mirror))
		clear_up(job_dir, cluster, mirror);
}

/* An AM that follows another may wait long for its container: as far as the one before has come is
 * in its journal. */
static void read_before(const struct hadoop_cluster *cluster, const char *mirror,
			const Hadoop__ApplicationReportProto *report)
{
	struct err err cleanup_err = {0};
	bool waits =
		report->yarn_application_state == HADOOP__YARN_APPLICATION_STATE_PROTO__ACCEPTED;

	if (!waits || yarn_awaits_first_am(report) ||
	    yarn_am_attempt(report) <= yarn_mirror_attempt(mirror))
		return;
	int held cleanup_close = lock(mirror, &err);
	if (held < 0 || take_kept(cluster, mirror, true, &err) < 0)
		log_debug("%s: %s", fs_basename(mirror), err_message(&err));
}

int yarn_mirror_settle(const char *mirror, const struct hadoop_cluster *cluster, const char *id,
		       const Hadoop__ApplicationReportProto *report, struct err *err)
{
	struct store *job_dir cleanup_yarn_store =
		yarn_store_open(cluster, cluster->job_dir, NULL, err);

	if (!job_dir)
		return -1;
	if (yarn_kept_description(job_dir, cluster, mirror, report, err) < 0)
		return err_wrap(err, "%s %s", id,
				err && err->kind == ERR_EXPIRED ? "cannot be looked at"
								: "has no description any more");
	if (report && !job_state_is_final(yarn_job_state(report))) {
		read_before(cluster, mirror, report);
		return 0;
	}
	return settle_journal(job_dir, cluster, mirror, report, err);
}
