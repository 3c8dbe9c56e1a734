#include "scheduler/local_history.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "history/layout.h"
#include "history/pack.h"
#include "history/upload.h"
#include "job/journal.h"
#include "job/record.h"
#include "scheduler/local.h"
#include "store/access.h"
#include "store/location.h"

enum { LOOK_MS = 500 }; /* for the file system of a history to answer */

char *local_history_location(const struct job *job, const char *job_dir)
{
	const char *location = job_config(job, "tony.history.location");

	if (location)
		return mem_strdup(location);
	char *jobs cleanup_free = fs_dirname(job_dir), *state cleanup_free = fs_dirname(jobs);
	return fs_join(state, "history");
}

/* ---- packing ------------------------------------------------------------------------------ */

char *local_container_directory(const char *job_dir, const char *type, int index, int attempt)
{
	return mem_printf("%s/containers/%s-%d-%d", job_dir, type, index, attempt);
}

struct place {
	const struct job *job;
	const char *job_dir;
};

static char *log_path(void *data, size_t task, int attempt, const char *name)
{
	const struct place *place = data;
	const struct job *job = place->job;
	size_t type = 0;

	while (task >= (size_t)job_type_slots(&job->types[type]))
		task -= (size_t)job_type_slots(&job->types[type++]);
	char *directory cleanup_free = local_container_directory(
		place->job_dir, job->types[type].name, (int)task, attempt);
	return fs_join(directory, name);
}

static int pack(const struct job *job, const char *job_dir, const char *directory, struct err *err)
{
	char *journal cleanup_free = fs_join(job_dir, "journal.jsonl");
	char *metrics cleanup_free = fs_join(job_dir, HISTORY_METRICS);
	char *diff cleanup_free = fs_join(job_dir, HISTORY_DIFF);
	struct place place = {job, job_dir};
	const struct history_pack pack = {.job = job,
					  .diff = diff,
					  .journal = journal,
					  .metrics = metrics,
					  .log_path = log_path,
					  .data = &place};

	return history_pack(&pack, directory, err);
}

/* ---- remote stores ------------------------------------------------------------------------ */

/* How to reach it was found out by the client (local_client.c). */
static int upload(const struct job *job, const char *directory, const char *location,
		  const struct history_target *target, struct err *err)
{
	struct store_access access cleanup_store_access = {0};

	if (store_access_from_json(job->stores, &access, err) < 0)
		return err_wrap(err, "how the store is reached");
	struct store *store = store_open(location, &access, 0, NULL, err);
	int result = store ? history_upload(store, directory, target, err) : -1;
	store_close(store);
	return result;
}

/* ------------------------------------------------------------------------------------------- */

static struct history_target target_of(const struct job *job, const struct store_location *location)
{
	return (struct history_target){
		.location = location->path,
		.submitted_ms = job->submitted_ms,
		.job_id = job->id,
		.attempt = history_attempt(),
		.access = history_access_of(job_config(job, "tony.history.permissions")),
	};
}

static int publish(const struct job *job, const char *job_dir, const char *packed, const char *text,
		   const struct store_location *location, struct err *err)
{
	const struct history_target target = target_of(job, location);
	char *own cleanup_free = mem_printf("%s/history.%d", job_dir, getpid());

	bool is_remote = store_location_is_remote(location);

	if (!is_remote && history_is_published(&target))
		return 0;
	if (!packed && pack(job, job_dir, own, err) < 0)
		return fs_explain_room(job_dir, err);
	const char *directory = packed ? packed : own;
	int result = is_remote ? upload(job, directory, text, &target, err)
			       : history_publish(directory, &target, err);
	fs_remove_tree(own, NULL);
	return result;
}

static int fail(const struct job *job, const char *location, struct err *err)
{
	return err_wrap(err, "the history of %s is not in %s", job->id, location);
}

int local_history_publish(const struct job *job, const char *job_dir, const char *packed,
			  struct err *err)
{
	char *text cleanup_free = local_history_location(job, job_dir);
	struct store_location location cleanup_store_location = {0};

	if (store_location_parse(text, &location, err) < 0 ||
	    publish(job, job_dir, packed, text, &location, err) < 0)
		return fail(job, text, err);
	return 0;
}

/* ---- failures ----------------------------------------------------------------------------- */

static int tell(const char *job_dir, const char *trouble, struct err *err)
{
	char *path cleanup_free = fs_join(job_dir, "journal.jsonl");
	char *text cleanup_free = NULL;
	struct journal_line line;
	struct journal *journal = journal_open(path, err);
	int result = 0;

	if (journal && journal_read_last(path, &text, &line) && record_is_final(&line)) {
		json_t *final cleanup_json = journal_line_record(&line, err);
		if (final && !json_object_get(final, "history_trouble"))
			result = journal_append(journal, record_history_trouble(final, trouble),
						clock_wall_ms(), true, err);
	}
	journal_close(journal);
	return journal ? result : -1;
}

void local_history_conclude(const struct job *job, const char *job_dir)
{
	struct err err cleanup_err = {0}, why cleanup_err = {0};
	char *tokens cleanup_free = fs_join(job_dir, LOCAL_TOKENS_FILE);

	int result = local_history_publish(job, job_dir, NULL, &err);
	unlink(tokens); /* nothing of the job asks its stores any more */
	if (result == 0)
		return;
	log_warning("%s", err_message(&err));
	if (tell(job_dir, err_message(&err), &why) < 0)
		log_warning("the journal does not record this failure: %s", err_message(&why));
}

/* The caller frees. */
static char *look(const struct job *job, const char *job_dir)
{
	char *text cleanup_free = local_history_location(job, job_dir);
	struct store_location location cleanup_store_location = {0};
	struct err err cleanup_err = {0};

	if (store_location_parse(text, &location, &err) < 0 || store_location_is_remote(&location))
		return NULL;
	const struct history_target target = target_of(job, &location);
	if (history_check(&target, &err) == 0)
		return NULL;
	fail(job, text, &err);
	return mem_strdup(err_message(&err));
}

/* In a child: the location may be a file system that never answers. */
char *local_history_trouble(const struct job *job, const char *job_dir)
{
	char text[4096];
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return NULL;
	pid_t child = fork();
	if (child == 0) {
		char *trouble = look(job, job_dir);
		_exit(trouble && fs_write_all(ends[1], trouble, strlen(trouble), NULL) < 0);
	}
	close(ends[1]);
	struct pollfd answer = {.fd = ends[0], .events = POLLIN};
	bool is_told = child > 0 && poll(&answer, 1, LOOK_MS) > 0;
	ssize_t length = is_told ? read(ends[0], text, sizeof(text)) : 0;
	close(ends[0]);
	if (child > 0 && !is_told)
		kill(child, SIGKILL);
	if (child > 0)
		waitpid(child, NULL, is_told ? 0 : WNOHANG);
	return length > 0 ? mem_strndup(text, (size_t)length) : NULL;
}
