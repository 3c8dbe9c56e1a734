/* From a described and staged job to an application that YARN has accepted. */
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"
#include "hadoop/container.h"
#include "history/layout.h"
#include "net/interrupt.h"
#include "net/socket_owner.h"
#include "scheduler/yarn_client.h"
#include "scheduler/yarn_diagnostics.h"
#include "scheduler/yarn_end.h"

#define DIRECTORY_PERMISSION 0700
#define FILE_PERMISSION	     0600
#define ACCEPT_TIMEOUT_MS    60000
#define ACCEPT_POLL_MS	     20

/* ---- prepare ------------------------------------------------------------------------------ */

/* Files that are written side by side: a DataNode takes some 0.4 s for each. A job that has ended
 * by then needs none of them. */
struct writes {
	struct store *store; /* the job's directory */
	int files[4];
	size_t count, pending;
	struct err err; /* the first failure */
};

static void on_written(void *data, const struct store_answer *answer, const struct err *err)
{
	struct writes *writes = data;

	if (err && !writes->err.message)
		err_copy(&writes->err, err);
	if (--writes->pending == 0)
		event_base_loopbreak(store_loop(writes->store));
}

/* Takes the descriptor. */
static int write_file(struct writes *writes, const char *name, int fd, struct err *err)
{
	struct stat status;

	if (fd < 0)
		return err_set_errno(err, "%s", name);
	writes->files[writes->count++] = fd;
	if (fstat(fd, &status) < 0)
		return err_set_errno(err, "%s", name);
	writes->pending++;
	store_start(writes->store, store_upload(name, FILE_PERMISSION, fd, status.st_size),
		    on_written, writes);
	return 0;
}

static int open_in(const char *mirror, const char *name)
{
	char *path cleanup_free = fs_join(mirror, name);

	return open(path, O_RDONLY | O_CLOEXEC);
}

/* The merged configuration stands beside the description, for people. */
static int write_config(struct writes *writes, const struct job *job, struct err *err)
{
	char *config cleanup_free = json_text(job->config);
	int fd cleanup_close = store_make_file(err);

	if (fd < 0 || fs_write_all(fd, config, strlen(config), err) < 0)
		return -1;
	return write_file(writes, "config.json", mem_steal_fd(&fd), err);
}

/* For the owner's other machines. Containers have the values in their credentials. */
static int write_description(struct writes *writes, const struct job *job, struct err *err)
{
	json_t *object cleanup_json = job_to_json(job);

	job_secrets_hide(object);
	char *text cleanup_free = json_text(object);
	int fd cleanup_close = store_make_file(err);
	if (fd < 0 || fs_write_all(fd, text, strlen(text), err) < 0)
		return -1;
	return write_file(writes, "job.json", mem_steal_fd(&fd), err);
}

/* A difference that cannot be read here will be missing in the history. */
static int begin_writes(struct writes *writes, const struct job *job, const char *mirror,
			struct err *err)
{
	int diff = job_diff_bytes(job) > 0 ? open_in(mirror, HISTORY_DIFF) : -1;

	if (diff >= 0 && write_file(writes, HISTORY_DIFF, diff, err) < 0)
		return -1;
	if (write_description(writes, job, err) < 0 ||
	    write_file(writes, "token", open_in(mirror, "token"), err) < 0)
		return -1;
	return write_config(writes, job, err);
}

static int write_files(struct writes *writes, const struct job *job, const char *mirror,
		       struct err *err)
{
	int result = begin_writes(writes, job, mirror, err);

	if (result == 0 && !interrupt_dispatch(store_loop(writes->store)))
		result = interrupt_set(err, store_location(writes->store));
	if (result == 0 && writes->err.message)
		result = err_copy(err, &writes->err);
	err_finish(&writes->err);
	for (size_t i = 0; i < writes->count; i++)
		close(writes->files[i]);
	return result;
}

/* The owner's other machines find the job by this. */
static int fill_directory(struct store *own, const struct hadoop_cluster *cluster,
			  const struct job *job, const char *mirror, struct err *err)
{
	struct store *store cleanup_yarn_store =
		yarn_store_open(cluster, cluster->job_dir, NULL, err);
	struct writes writes = {.store = store};

	if (!store ||
	    store_run(own, store_make_directories(job->id, DIRECTORY_PERMISSION), err) < 0)
		return -1;
	return write_files(&writes, job, mirror, err);
}

static int fill_mirror(const char *mirror, const char *token, const char *description,
		       struct err *err)
{
	if (yarn_mirror_write(mirror, "token", token, err) < 0 ||
	    yarn_mirror_write(mirror, YARN_END_SUBMITTED_HERE, "", err) < 0 ||
	    yarn_mirror_write(mirror, YARN_MIRROR_UNSENT, "", err) < 0)
		return -1;
	return yarn_mirror_write(mirror, "job.json", description, err);
}

static int check_size(const char *description, struct err *err)
{
	size_t length = strlen(description);

	return length <= HADOOP_JOB_CAP
		       ? 0
		       : err_set(err, ERR_CONFIG,
				 "the job's description takes %zu KiB; the ResourceManager keeps "
				 "it, %u KiB at most; name an archive in place of many single "
				 "files",
				 (length + 1023) >> 10, HADOOP_JOB_CAP >> 10);
}

int yarn_prepare(const struct job *job, struct job_door *door, struct err *err)
{
	char *description cleanup_secret = job_to_text(job);
	struct job_door made = {0};

	if (check_size(description, err) < 0)
		return -1;
	made.owner = SOCKET_OWNER_ANY;
	made.is_sealed = job->tls;
	made.job_dir = yarn_mirror(job->id, err);
	/* An application that was submitted before has that one. */
	made.token = made.job_dir ? yarn_mirror_token(made.job_dir, NULL) : NULL;
	if (!made.token)
		made.token = secret_create();
	if (made.job_dir && fill_mirror(made.job_dir, made.token, description, err) == 0) {
		*door = made;
		return 0;
	}
	if (made.job_dir)
		fs_remove_tree(made.job_dir, NULL);
	job_door_finish(&made);
	return -1;
}

/* ---- start -------------------------------------------------------------------------------- */

static int tell_refusal(const char *id, const Hadoop__ApplicationReportProto *report,
			struct err *err)
{
	char *text cleanup_free =
		yarn_diagnostics_of(id, report->diagnostics ? report->diagnostics : "no reason");

	return err_set(err, ERR_CAPACITY, "YARN refuses %s: %s", id, text);
}

/* Rules here and there may differ, and a ticket cache may have been another's in between. */
static void check_user(const struct hadoop_cluster *cluster, const char *id,
		       const Hadoop__ApplicationReportProto *report)
{
	const char *user = yarn_known_text(report->user);

	if (user && !str_equal(user, cluster->user))
		log_warning("%s is of the user %s for the ResourceManager, and of %s for tony; its "
			    "files are %s's. The rules in hadoop.security.auth_to_local here are "
			    "not the cluster's, or the ticket was changed. End it with: tony kill "
			    "%s",
			    id, user, cluster->user, cluster->user, id);
}

/* A wrong queue, say, is refused a few ms after the submission. *has_finished: its AM has told YARN
 * its end by now. */
static int await_acceptance(const struct hadoop_cluster *cluster, const char *id,
			    bool *has_finished, struct err *err)
{
	int64_t deadline = clock_monotonic_ms() + ACCEPT_TIMEOUT_MS;

	for (;;) {
		Hadoop__GetApplicationReportResponseProto *response = yarn_report(cluster, id, err);
		ProtobufCMessage *message cleanup_message = (ProtobufCMessage *)response;
		if (!response)
			return -1;
		const Hadoop__ApplicationReportProto *report = response->application_report;
		switch (report->yarn_application_state) {
		case HADOOP__YARN_APPLICATION_STATE_PROTO__NEW:
		case HADOOP__YARN_APPLICATION_STATE_PROTO__NEW_SAVING:
		case HADOOP__YARN_APPLICATION_STATE_PROTO__SUBMITTED:
			break;
		case HADOOP__YARN_APPLICATION_STATE_PROTO__FAILED:
		case HADOOP__YARN_APPLICATION_STATE_PROTO__KILLED:
			/* An AM that fails at once may have done so by now. */
			if (yarn_am_attempt(report) > 0)
				return 0;
			return tell_refusal(id, report, err);
		case HADOOP__YARN_APPLICATION_STATE_PROTO__FINISHED:
			*has_finished = true;
			return 0;
		default:
			check_user(cluster, id, report);
			return 0;
		}
		if (clock_monotonic_ms() >= deadline)
			return err_set(err, ERR_UNREACHABLE,
				       "%s is not accepted after %d s; see the ResourceManager's "
				       "log",
				       id, ACCEPT_TIMEOUT_MS / 1000);
		poll(NULL, 0, ACCEPT_POLL_MS);
	}
}

static bool has_ended(const struct hadoop_cluster *cluster, const char *id)
{
	Hadoop__GetApplicationReportResponseProto *response = yarn_report(cluster, id, NULL);
	ProtobufCMessage *message cleanup_message = (ProtobufCMessage *)response;

	return response && job_state_is_final(yarn_job_state(response->application_report));
}

/* *has_begun: something may be in the store, or at the ResourceManager. */
static int make_checkpoint_dir(const struct hadoop_cluster *cluster, struct store *own,
			       const struct job *job, bool *has_begun, struct err *err)
{
	char *url cleanup_free = yarn_url_within(cluster, job->checkpoint_dir);
	char *resumed cleanup_free = yarn_resumed_name(cluster, job);

	if (!url) /* of each node's own, or a file system that only the programs know */
		return 0;
	if (resumed &&
	    store_run(own, store_make_directories(resumed, DIRECTORY_PERMISSION), err) < 0)
		return -1;
	*has_begun = *has_begun || resumed;
	struct store *store cleanup_yarn_store = yarn_store_at(cluster, url, NULL, err);
	return store ? store_run(store, store_make_directories("", DIRECTORY_PERMISSION), err) : -1;
}

/* While files are written, which takes half a second, YARN starts the AM. An AM that has ended its
 * job by then has removed the directory, with files in it that were being written: the client
 * removes the files that it wrote after that, and files that it could not write are no loss.
 * The directory of a job whose AM was killed, or could not publish its journal, stays: the first
 * client that looks publishes that.
 */
static int submit(const struct hadoop_cluster *cluster, struct store *own, const struct job *job,
		  const struct job_door *door, bool *has_begun, struct err *err)
{
	char *description cleanup_secret = job_to_text(job);
	bool has_finished = false;

	if (make_checkpoint_dir(cluster, own, job, has_begun, err) < 0)
		return -1;
	*has_begun = true;
	if (yarn_submit(cluster, job, door->token, description, err) < 0)
		return -1;
	yarn_mirror_note_sent(door->job_dir);
	if (fill_directory(own, cluster, job, door->job_dir, err) < 0) {
		if (!has_ended(cluster, job->id))
			return -1;
		err_finish(err);
	}
	if (await_acceptance(cluster, job->id, &has_finished, err) < 0)
		return -1;
	if (has_finished && yarn_mirror_kept(cluster, NULL) == 0)
		store_run(own, store_remove(job->id), NULL);
	return 0;
}

/* Of a job that was not accepted nothing is left, but for files in the cache, which the next try
 * need not send again. */
static void remove_submission(const struct hadoop_cluster *cluster, struct store *own,
			      const struct job *job)
{
	char *checkpoints cleanup_free = yarn_checkpoint_name(job->id);
	char *output cleanup_free = yarn_output_name(job->id);
	char *resumed cleanup_free = yarn_resumed_name(cluster, job);

	const char *const names[] = {job->id, checkpoints, output, resumed};
	struct err err cleanup_err = {0};

	/* A store that does not answer is not waited for again. */
	for (size_t i = 0; i < array_length(names) && !err_is_silence(&err); i++)
		if (names[i])
			store_run(own, store_remove(names[i]), &err);
}

/* Its owner hears of the failure from the submission. */
static void forgo_notices(const struct job *job, const char *mirror)
{
	struct job silent = *job;

	silent.on_end_webhook = silent.on_end_command = silent.tracking_uri = NULL;
	char *description cleanup_secret = job_to_text(&silent);
	yarn_mirror_write(mirror, "job.json", description, NULL);
}

/* A ResourceManager that went away, or takes our proof no longer, may have taken the application:
 * nothing of it is removed. */
static int say_unknown(const char *id, struct err *err)
{
	char *why cleanup_free = mem_strdup(err_message(err));

	return err_set(err, ERR_UNREACHABLE,
		       "%s; the job may run all the same: tony status %s says so once the "
		       "ResourceManager answers, tony kill %s ends it",
		       why, id, id);
}

int yarn_start(const struct job *job, struct job_door *door, struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster =
		hadoop_cluster_from_json(job->engine, job->stores, err);
	struct store *own cleanup_yarn_store = cluster ? yarn_store_own(cluster, err) : NULL;
	struct err failure cleanup_err = {0};
	bool has_begun = false;

	if (own && submit(cluster, own, job, door, &has_begun, err) == 0)
		return 0;
	if (has_begun) {
		forgo_notices(job, door->job_dir);
		if (yarn_kill(door, NULL, &failure) < 0 && failure.kind != ERR_NOT_FOUND)
			return say_unknown(job->id, err);
		remove_submission(cluster, own, job);
	}
	fs_remove_tree(door->job_dir, NULL);
	return -1;
}
