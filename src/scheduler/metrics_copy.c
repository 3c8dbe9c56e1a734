/*
 * The metrics so far in the job's directory in a store, beside the journal: whoever finds the job
 * dead brings them into its history. The loop never waits for it, one write is under way at most,
 * and what comes meanwhile is left out: more will come. A failure costs figures, and nothing else.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "history/layout.h"
#include "scheduler/journal_copy.h"
#include "store/store.h"

#define PART HISTORY_METRICS ".part"

enum {
	FILE_MODE = 0600,
	TELL_TRIES = 2, /* a minute is between them */
};

struct metrics_copy {
	struct store *store;
	struct journal_writer writer;
	struct store_call *call;     /* NULL: none is under way */
	int fd;			     /* of what `call` is to keep; -1: none */
	int64_t length, kept_length; /* bytes */
	int failures;		     /* in a row */
	void (*troubled)(void *data, const char *text);
	void *data;
	bool is_over;
	void (*finished)(void *data); /* NULL: nobody waits for the end of `call` */
	void *finished_data;
};

static void warn_of_trouble(struct metrics_copy *metrics, const struct err *err)
{
	char *text cleanup_free =
		mem_printf("the metrics so far cannot be kept in %s; the job goes on: %s",
			   store_location(metrics->store), err_message(err));

	metrics->failures++;
	if (metrics->failures == 1)
		log_warning("%s", text);
	if (metrics->failures == TELL_TRIES)
		metrics->troubled(metrics->data, text);
}

static void end(struct metrics_copy *metrics, const struct err *err)
{
	metrics->call = NULL;
	close(metrics->fd);
	metrics->fd = -1;
	if (err)
		warn_of_trouble(metrics, err);
	else if (metrics->failures > 0)
		metrics->troubled(metrics->data, NULL);
	if (!err)
		metrics->failures = 0;
	if (metrics->finished)
		metrics->finished(metrics->finished_data);
}

/* An AM that stood still may have a successor, whose metrics are newer. */
static bool may_write(const struct metrics_copy *metrics)
{
	return !metrics->is_over && metrics->writer.may_write(metrics->writer.data);
}

static void on_renamed(void *data, const struct store_answer *answer, const struct err *err)
{
	struct metrics_copy *metrics = data;

	if (!err)
		metrics->kept_length = metrics->length;
	end(metrics, err);
}

static void on_uploaded(void *data, const struct store_answer *answer, const struct err *err)
{
	struct metrics_copy *metrics = data;

	if (err || !may_write(metrics))
		end(metrics, err);
	else
		metrics->call = store_start(metrics->store, store_rename(PART, HISTORY_METRICS),
					    on_renamed, metrics);
}

static void on_directory(void *data, const struct store_answer *answer, const struct err *err)
{
	struct metrics_copy *metrics = data;

	if (err || !may_write(metrics))
		end(metrics, err);
	else
		metrics->call = store_start(
			metrics->store, store_upload(PART, FILE_MODE, metrics->fd, metrics->length),
			on_uploaded, metrics);
}

struct metrics_copy *metrics_copy_create(struct store *store, const struct journal_writer *writer,
					 void (*troubled)(void *data, const char *text), void *data)
{
	struct metrics_copy *metrics = mem_alloc(sizeof(*metrics));

	*metrics = (struct metrics_copy){
		.store = store, .writer = *writer, .fd = -1, .troubled = troubled, .data = data};
	return metrics;
}

/* The directory is looked for, since writing would make it: an AM that stood still while others
 * ended the job would leave it behind. */
void metrics_copy_written(struct metrics_copy *metrics, const char *path)
{
	struct stat status;

	if (metrics->call || !may_write(metrics))
		return;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	/* Each measurement makes it longer; what has the same length is the same. */
	if (fstat(fd, &status) < 0 || status.st_size == metrics->kept_length ||
	    status.st_size > METRICS_COPY_CAP) {
		close(fd);
		return;
	}
	metrics->fd = fd;
	metrics->length = status.st_size;
	metrics->call = store_start(metrics->store, store_stat(""), on_directory, metrics);
}

bool metrics_copy_finish(struct metrics_copy *metrics, void (*done)(void *data), void *data)
{
	metrics->is_over = true;
	metrics->finished = done;
	metrics->finished_data = data;
	return !metrics->call;
}

void metrics_copy_destroy(struct metrics_copy *metrics)
{
	if (!metrics)
		return;
	if (metrics->call)
		store_cancel(metrics->call);
	if (metrics->fd >= 0)
		close(metrics->fd);
	free(metrics);
}
