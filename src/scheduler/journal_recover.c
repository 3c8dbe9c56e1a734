/*
 * The journal of the AM before. A failure that took that AM may have taken the store, too, for a
 * while: an attempt that gave up at once would be one less for the job.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "net/backoff.h"
#include "scheduler/journal_copy.h"
#include "scheduler/journal_note.h"
#include "scheduler/scheduler.h"
#include "store/store.h"

enum {
	PATIENCE_S = 300, /* half of what YARN waits for an AM to register, unless it is told */
	FIRST_RETRY_MS = 500,
	RETRY_CAP_MS = 5000,
	REFUSALS = 3, /* then it is how the cluster is */
};

struct recovery {
	struct store *store;
	const struct scheduler_place *place;
	struct journal_found found;
	int refusals;			  /* of the directory's notes */
	int64_t lengths[KEPT_FILE_COUNT]; /* of kept_files; 0: there is none */
	int fd;
};

static void on_note(void *data, const char *name, const char *bytes, size_t length)
{
	struct recovery *recovery = data;

	journal_found_note(&recovery->found, name, bytes, length);
}

static void on_item(void *data, const struct store_item *item)
{
	struct recovery *recovery = data;

	for (size_t i = 0; i < KEPT_FILE_COUNT; i++)
		if (str_equal(item->name, kept_files[i].name))
			recovery->lengths[i] = item->length;
	journal_found_file(&recovery->found, item);
}

/* Of a cluster that keeps none there is nothing but the file. */
static int find_notes(struct recovery *recovery, struct err *err)
{
	struct err refusal cleanup_err = {0};

	if (!store_traits(recovery->store)->has_notes ||
	    store_run(recovery->store, store_notes("", on_note, recovery), &refusal) == 0 ||
	    refusal.kind == ERR_NOT_FOUND)
		return 0;
	return refusal.kind == ERR_UNREACHABLE || ++recovery->refusals < REFUSALS
		       ? err_copy(err, &refusal)
		       : 0;
}

static int find(struct recovery *recovery, struct err *err)
{
	struct err missing cleanup_err = {0};

	journal_found_finish(&recovery->found);
	recovery->found = (struct journal_found){.before = recovery->place->am_attempt};
	memset(recovery->lengths, 0, sizeof(recovery->lengths));
	if (find_notes(recovery, err) < 0)
		return -1;
	return store_run(recovery->store, store_list("", NULL, on_item, recovery), &missing) < 0 &&
			       missing.kind != ERR_NOT_FOUND
		       ? err_copy(err, &missing)
		       : 0;
}

/* The lines that had been noted of it, but were not in the file yet. */
static int add_rest(const struct recovery *recovery, struct err *err)
{
	off_t end = lseek(recovery->fd, 0, SEEK_END);
	size_t length;

	if (end < 0)
		return err_set_errno(err, "%s", recovery->place->journal);
	const char *rest = journal_found_rest(&recovery->found, end, &length);
	return fs_write_all(recovery->fd, rest, length, err);
}

static int bring(struct recovery *recovery, struct err *err)
{
	const struct journal_found *found = &recovery->found;

	if (find(recovery, err) < 0)
		return -1;
	if (found->attempt == 0)
		return 0;
	log_info("the journal is that of application master %d", found->attempt);
	char *name cleanup_free = journal_copy_name(found->attempt);
	if (found->length > 0 &&
	    store_run(recovery->store, store_download(name, NULL, recovery->fd, 0, found->length),
		      err) < 0)
		return -1;
	return add_rest(recovery, err);
}

static int bring_patiently(struct recovery *recovery, struct err *err)
{
	struct backoff backoff = {.first_ms = FIRST_RETRY_MS, .cap_ms = RETRY_CAP_MS};
	int64_t deadline = clock_monotonic_ms() + PATIENCE_S * INT64_C(1000);

	for (int tries = 1;; tries++) {
		struct err why cleanup_err = {0};
		if (bring(recovery, &why) == 0)
			return 0;
		if ((why.kind != ERR_UNREACHABLE && why.kind != ERR_FAILED) ||
		    clock_monotonic_ms() >= deadline)
			return err_copy(err, &why);
		if (tries == 1)
			log_warning("the journal of the application master before cannot be read "
				    "for now, which is tried for %d s: %s",
				    PATIENCE_S, err_message(&why));
		usleep((useconds_t)backoff_next(&backoff, random_u64()) * 1000);
	}
}

/* Without it the job goes on as well. */
static void bring_file(const struct recovery *recovery, size_t which, const char *job_dir)
{
	const struct kept_file *file = &kept_files[which];
	int64_t length = recovery->lengths[which];
	char *path cleanup_free = fs_join(job_dir, file->name);
	char *part cleanup_free = mem_printf("%s.part", path);
	struct err err cleanup_err = {0};

	if (recovery->found.attempt == 0 || length == 0 || length > file->cap)
		return;
	int fd cleanup_close = open(part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (store_run(recovery->store, store_download(file->name, NULL, fd, 0, length), &err) < 0)
		log_warning("%s of the application master before are lost: %s", file->what,
			    err_message(&err));
	else if (rename(part, path) < 0)
		log_warning("%s cannot be put in its place", part);
	unlink(part);
}

int journal_recover(struct store *store, const char *job_dir, const struct scheduler_place *place,
		    struct err *err)
{
	int fd cleanup_close = open(place->journal, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct recovery recovery = {.store = store, .place = place, .fd = fd};

	if (fd < 0)
		return err_set_errno(err, "%s", place->journal);
	int result = bring_patiently(&recovery, err);
	for (size_t i = 0; result == 0 && i < KEPT_FILE_COUNT; i++)
		bring_file(&recovery, i, job_dir);
	if (result < 0)
		unlink(place->journal);
	journal_found_finish(&recovery.found);
	return result < 0 ? err_wrap(err, "the journal of the application master before") : 0;
}
