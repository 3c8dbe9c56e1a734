/*
 * Files of an AM's directory in the job's directory in a store, beside the journal: the next AM
 * finds them, and whoever finds the job dead brings the metrics into its history. The loop never
 * waits for it, one write of a file is under way at most, and another one follows if the file has
 * changed meanwhile. A write that failed is tried again with the next change of any file. A failure
 * costs figures, or has splits read again, and nothing else.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "history/layout.h"
#include "scheduler/journal_copy.h"
#include "scheduler/scheduler.h"
#include "store/store.h"

enum {
	FILE_MODE = 0600,
	TELL_TRIES = 2, /* a minute is between them, of metrics */
};

const struct kept_file kept_files[KEPT_FILE_COUNT] = {
	{HISTORY_METRICS, "the metrics so far", METRICS_COPY_CAP},
	{SCHEDULER_SPLIT_LIST, "the lists of splits", 256 << 20},
	{SCHEDULER_SPLIT_STATE, "the queues of splits", 256 << 20},
};

struct file_copy {
	struct file_copies *copies;
	const struct kept_file *file;
	char *part;		  /* its name while it is not whole */
	struct store_call *call;  /* NULL: none is under way */
	char *path;		  /* where the AM has it; NULL: nowhere yet */
	bool was_missed;	  /* it was written meanwhile */
	int fd;			  /* of what `call` is to keep; -1: none */
	struct stat status, kept; /* of that, and of what was kept last */
	int failures;		  /* in a row */
};

struct file_copies {
	struct store *store;
	struct journal_writer writer;
	struct file_copy files[KEPT_FILE_COUNT];
	void (*troubled)(void *data, const char *text);
	void *data;
	bool is_over;
	void (*finished)(void *data); /* NULL: nobody waits for the last write */
	void *finished_data;
};

static bool is_troubled(const struct file_copies *copies)
{
	for (size_t i = 0; i < KEPT_FILE_COUNT; i++)
		if (copies->files[i].failures > 0)
			return true;
	return false;
}

static bool is_busy(const struct file_copies *copies)
{
	for (size_t i = 0; i < KEPT_FILE_COUNT; i++)
		if (copies->files[i].call)
			return true;
	return false;
}

static void warn_of_trouble(struct file_copy *copy, const struct err *err)
{
	struct file_copies *copies = copy->copies;
	char *text cleanup_free =
		mem_printf("%s cannot be kept in %s; the job goes on: %s", copy->file->what,
			   store_location(copies->store), err_message(err));

	copy->failures++;
	if (copy->failures == 1)
		log_warning("%s", text);
	if (copy->failures == TELL_TRIES)
		copies->troubled(copies->data, text);
}

static void end_trouble(struct file_copy *copy)
{
	if (copy->failures == 0)
		return;
	copy->failures = 0;
	if (!is_troubled(copy->copies))
		copy->copies->troubled(copy->copies->data, NULL);
}

static void end(struct file_copy *copy, const struct err *err)
{
	struct file_copies *copies = copy->copies;
	bool was_missed = copy->was_missed;

	copy->was_missed = false;
	copy->call = NULL;
	mem_cleanup_close(&copy->fd);
	if (err)
		warn_of_trouble(copy, err);
	else
		end_trouble(copy);
	if (was_missed && !err)
		file_copies_written(copies, copy->path);
	if (copies->finished && !is_busy(copies))
		copies->finished(copies->finished_data);
}

/* An AM that stood still may have a successor, whose files are newer. */
static bool may_write(const struct file_copies *copies)
{
	return !copies->is_over && copies->writer.may_write(copies->writer.data);
}

static void on_renamed(void *data, const struct store_answer *answer, const struct err *err)
{
	struct file_copy *copy = data;

	if (!err)
		copy->kept = copy->status;
	end(copy, err);
}

static void on_uploaded(void *data, const struct store_answer *answer, const struct err *err)
{
	struct file_copy *copy = data;

	if (err || !may_write(copy->copies))
		end(copy, err);
	else
		copy->call =
			store_start(copy->copies->store, store_rename(copy->part, copy->file->name),
				    on_renamed, copy);
}

static void on_directory(void *data, const struct store_answer *answer, const struct err *err)
{
	struct file_copy *copy = data;

	if (err || !may_write(copy->copies))
		end(copy, err);
	else
		copy->call = store_start(
			copy->copies->store,
			store_upload(copy->part, FILE_MODE, copy->fd, copy->status.st_size),
			on_uploaded, copy);
}

struct file_copies *file_copies_create(struct store *store, const struct journal_writer *writer,
				       void (*troubled)(void *data, const char *text), void *data)
{
	struct file_copies *copies = mem_alloc(sizeof(*copies));

	*copies = (struct file_copies){
		.store = store, .writer = *writer, .troubled = troubled, .data = data};
	for (size_t i = 0; i < KEPT_FILE_COUNT; i++)
		copies->files[i] =
			(struct file_copy){.copies = copies,
					   .file = &kept_files[i],
					   .part = mem_printf("%s.part", kept_files[i].name),
					   .fd = -1};
	return copies;
}

/* A file of the same length is the same: such a file grows, or is another one. An empty one is
 * worth no copy as long as there is none. */
static bool is_news(const struct file_copy *copy)
{
	const struct stat *status = &copy->status, *kept = &copy->kept;
	bool is_another = status->st_size > 0 && status->st_ino != kept->st_ino;

	return status->st_size <= copy->file->cap &&
	       (status->st_size != kept->st_size || is_another);
}

/* The directory is looked for, since writing would make it: an AM that stood still while others
 * ended the job would leave it behind. */
static void write_file(struct file_copy *copy)
{
	copy->fd = open(copy->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (copy->fd < 0)
		return;
	if (fstat(copy->fd, &copy->status) < 0 || !is_news(copy))
		mem_cleanup_close(&copy->fd);
	else
		copy->call = store_start(copy->copies->store, store_stat(""), on_directory, copy);
}

void file_copies_written(struct file_copies *copies, const char *path)
{
	for (size_t i = 0; i < KEPT_FILE_COUNT; i++) {
		struct file_copy *copy = &copies->files[i];
		bool is_it = str_equal(fs_basename(path), copy->file->name);
		if ((!is_it && copy->failures == 0) || !may_write(copies))
			continue;
		if (is_it && !str_equal(copy->path, path))
			mem_replace(&copy->path, mem_strdup(path));
		if (!copy->call)
			write_file(copy);
		else if (is_it)
			copy->was_missed = true;
	}
}

bool file_copies_finish(struct file_copies *copies, void (*done)(void *data), void *data)
{
	copies->is_over = true;
	copies->finished = done;
	copies->finished_data = data;
	return !is_busy(copies);
}

void file_copies_destroy(struct file_copies *copies)
{
	if (!copies)
		return;
	for (size_t i = 0; i < KEPT_FILE_COUNT; i++) {
		struct file_copy *copy = &copies->files[i];
		if (copy->call)
			store_cancel(copy->call);
		mem_cleanup_close(&copy->fd);
		free(copy->part);
		free(copy->path);
	}
	free(copies);
}
