/* A job that goes on and whose AM is not there, as when the scheduler starts another one: what its
 * files on this machine say. They are read anew for each question, since it may be back any moment.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "portal/reader_internal.h"
#include "scheduler/scheduler.h"

/* One that was not begun, or was begun anew, is empty. */
static int open_journal(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 && errno == ENOENT)
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? err_set_errno(err, "%s", path) : fd;
}

/* Where the scheduler has more to say of it; NULL: nowhere. The caller frees. */
static char *tracking_words(const struct reader *reader)
{
	char *url cleanup_free =
		reader->ops->traits->has_proxy ? reader->ops->page(reader->job) : NULL;

	return url ? mem_printf("; %s tells more: %s", reader->ops->traits->name, url) : NULL;
}

/* When the AM wrote its last line; NULL: it has written none. The caller frees. */
static char *last_heard(const char *journal)
{
	char *text cleanup_free = NULL;
	struct journal_line line;

	return journal_read_last(journal, &text, &line) ? str_format_time(line.time_ms) : NULL;
}

static void say_away(struct reader *reader, const char *journal)
{
	char *since cleanup_free = last_heard(journal);
	char *more cleanup_free = tracking_words(reader);

	if (reader->door.ended) /* there is nobody to be heard */
		return;
	if (reader->door.waiting) {
		reader->away = mem_printf("%s%s", reader->door.waiting, more ? more : "");
		return;
	}
	reader->away = mem_printf("its application master %s%s%s",
				  since ? "has not been heard since " : "is not there",
				  since ? since : "", more ? more : "");
}

static int open_files(struct reader *reader, struct err *err)
{
	char *description cleanup_free = fs_join(reader->door.job_dir, "job.json");
	char *journal cleanup_free = fs_join(reader->door.job_dir, "journal.jsonl");
	struct err flaw cleanup_err = {0};

	reader->job = job_read_file(description, err);
	reader->journal = reader->job ? open_journal(journal, err) : -1;
	if (reader->journal < 0)
		return -1;
	if (reader_fold(reader, &flaw) < 0)
		log_warning("%s: %s", reader->id, err_message(&flaw));
	say_away(reader, journal);
	return 0;
}

void reader_answer_away(struct reader *reader, struct http_request *request,
			void (*answer)(void *data, struct http_request *request))
{
	struct err err cleanup_err = {0};

	reader->is_open = open_files(reader, &err) == 0;
	if (reader->is_open)
		answer(reader, request);
	else
		reader_answer_failure(request, &err);
	reader_close(reader);
	mem_replace(&reader->away, NULL);
}
