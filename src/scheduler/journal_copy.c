/*
 * Where an AM that follows this one finds the job's journal: in the job's directory in a store, a
 * file for each AM, written on while the job runs. The loop never waits for it: one write is under
 * way at most, and takes with it all that came meanwhile.
 *
 * The file appears by a rename once all lines so far are in it; later ones are appended. Of an
 * append that failed nobody knows how much was done, so the file is then made anew.
 *
 * A DataNode of HDFS takes 0.4 s for each write, for which programs would wait. So what the file
 * lacks is noted beside it (journal_note.h), where the store takes notes and it is small enough.
 */
#include "scheduler/journal_copy.h"

#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/timer.h"
#include "net/backoff.h"
#include "scheduler/journal_note.h"
#include "store/store.h"

enum {
	DIRECTORY_MODE = 0700,
	FILE_MODE = 0600,
	PATIENCE_MS = 5000, /* how long anybody waits for a line to be kept */
	STILL_MS = 1000,    /* a timer as late as that: the process stood still */
	MAY_WRITE_MS = 100, /* until it is asked again */
	FIRST_RETRY_MS = 1000,
	RETRY_CAP_MS = 30000,
	/* Trouble that is over sooner is told to nobody; a store that is silent fails slowly. */
	TELL_TRIES = 3,
	TELL_MS = 5000,
};

struct journal_copy {
	struct journal_copy_options options;
	struct store_call *call; /* NULL: none is under way */
	char *path, *part;	 /* in the store; the part is renamed to the path */
	int fd;			 /* of the journal itself */
	bool has_directory, is_whole;
	int64_t length, sequence;      /* of what `call` is to keep */
	int64_t kept_length, appended; /* bytes; the last line's number */
	struct store_call *note;       /* NULL: none is under way */
	char *note_name;
	int64_t note_length, note_sequence;   /* of what `note` is to keep */
	int64_t noted_length, noted_sequence; /* of what was noted last */
	bool cannot_be_noted;		      /* what the file lacks, until it has more */
	bool has_no_notes;		      /* the store has none, or refused one */
	struct event *retry, *patience;
	int64_t patience_until;
	struct backoff backoff;
	bool is_late;		      /* nobody is to wait */
	int failures;		      /* in a row */
	int64_t began_ms;	      /* when the first write of these began; of none: the last */
	bool is_troubled;	      /* told so */
	void (*finished)(void *data); /* NULL: it goes on */
	void *finished_data;
};

static void go_on(struct journal_copy *journal);

/* ---- outcomes ----------------------------------------------------------------------------- */

static void tell(struct journal_copy *journal, int64_t sequence)
{
	journal->options.kept(journal->options.data, sequence);
}

static void let_go(struct journal_copy *journal)
{
	journal->is_late = true;
	tell(journal, INT64_MAX);
}

static void begin_patience(struct journal_copy *journal)
{
	journal->patience_until = clock_monotonic_ms() + PATIENCE_MS;
	timer_start(journal->patience, PATIENCE_MS);
}

/* Who stood still learns first whether it is still the job's AM: what was reported to it might be
 * lost otherwise. */
static void on_patience_over(evutil_socket_t fd, short what, void *data)
{
	struct journal_copy *journal = data;

	if (clock_monotonic_ms() - journal->patience_until > STILL_MS)
		begin_patience(journal);
	else
		let_go(journal);
}

static void on_retry(evutil_socket_t fd, short what, void *data)
{
	go_on(data);
}

static void end(struct journal_copy *journal)
{
	void (*finished)(void *data) = journal->finished;

	journal->finished = NULL;
	if (finished)
		finished(journal->finished_data);
}

static bool takes_notes(const struct journal_copy *journal)
{
	return journal->has_directory && !journal->cannot_be_noted && !journal->has_no_notes;
}

static void warn_of_trouble(struct journal_copy *journal, const struct err *err)
{
	char *text cleanup_free =
		mem_printf("the journal's file in %s, where another application master would look "
			   "for it, cannot be written for now; the job goes on: %s",
			   store_location(journal->options.store), err_message(err));

	journal->failures++;
	if (journal->failures == 1)
		log_warning("%s", text);
	if (journal->is_troubled ||
	    (journal->failures < TELL_TRIES && clock_monotonic_ms() - journal->began_ms < TELL_MS))
		return;
	journal->is_troubled = true;
	journal->options.troubled(journal->options.data, text);
}

static void plan_retry(struct journal_copy *journal)
{
	timer_start(journal->retry, backoff_next(&journal->backoff, random_u64()));
}

static void fail(struct journal_copy *journal, const struct err *err)
{
	journal->is_whole = false;
	warn_of_trouble(journal, err);
	if (journal->finished) {
		end(journal);
		return;
	}
	if (!takes_notes(journal))
		let_go(journal);
	plan_retry(journal);
}

static void succeed(struct journal_copy *journal)
{
	if (journal->failures > 0)
		log_info("the journal's file in %s is written again",
			 store_location(journal->options.store));
	journal->failures = 0;
	journal->is_troubled = journal->is_late = false;
	backoff_reset(&journal->backoff);
	evtimer_del(journal->patience);
	journal->cannot_be_noted = false;
	journal->kept_length = journal->length;
	tell(journal, journal->sequence > journal->noted_sequence ? journal->sequence
								  : journal->noted_sequence);
	journal->options.troubled(journal->options.data, NULL);
	if (journal->finished)
		end(journal);
	else
		go_on(journal);
}

static bool may_write(const struct journal_copy *journal)
{
	return journal->options.writer.may_write(journal->options.writer.data);
}

/* In the midst of it, this AM may have become one of several. */
static void put_off(struct journal_copy *journal)
{
	journal->call = NULL;
	if (journal->finished)
		end(journal);
	else
		timer_start(journal->retry, MAY_WRITE_MS);
}

/* ---- notes -------------------------------------------------------------------------------- */

static void on_noted(void *data, const struct store_answer *answer, const struct err *err)
{
	struct journal_copy *journal = data;

	journal->note = NULL;
	if (err) {
		log_debug("the end of the journal is not noted: %s", err_message(err));
		if (err->kind == ERR_NOT_FOUND)
			journal->has_directory = false;
		else
			journal->has_no_notes = err->kind != ERR_UNREACHABLE;
		return;
	}
	journal->noted_length = journal->note_length;
	journal->noted_sequence = journal->note_sequence;
	if (journal->is_late)
		return;
	evtimer_del(journal->patience);
	tell(journal, journal->noted_sequence);
	go_on(journal);
}

/* The rest of the journal up to `end`, which the file in the store lacks, whole, or NULL. The
 * caller frees. */
static char *read_rest(const struct journal_copy *journal, int64_t end, struct err *err)
{
	size_t length = (size_t)(end - journal->kept_length);
	char *bytes cleanup_free = mem_alloc(length);

	if (fs_read_at(journal->fd, journal->options.journal, journal->kept_length, bytes, length,
		       err) < 0)
		return NULL;
	return mem_steal(&bytes);
}

static int read_note(const struct journal_copy *journal, int64_t end, struct str *value)
{
	struct err err cleanup_err = {0};
	int64_t length = end - journal->kept_length;

	if (length > JOURNAL_NOTE_CAP)
		return -1;
	char *bytes cleanup_free = read_rest(journal, end, &err);
	return bytes ? journal_note_encode(journal->kept_length, bytes, (size_t)length, value) : -1;
}

static void note(struct journal_copy *journal, int64_t end)
{
	struct str value cleanup_str = {0};

	journal->cannot_be_noted = read_note(journal, end, &value) < 0;
	if (journal->cannot_be_noted)
		return;
	journal->note_length = end;
	journal->note_sequence = journal->appended;
	journal->note =
		store_start(journal->options.store,
			    store_set_note("", journal->note_name, value.text, value.length),
			    on_noted, journal);
}

/* ---- steps -------------------------------------------------------------------------------- */

static void on_appended(void *data, const struct store_answer *answer, const struct err *err)
{
	struct journal_copy *journal = data;

	journal->call = NULL;
	if (err)
		fail(journal, err);
	else
		succeed(journal);
}

static void on_renamed(void *data, const struct store_answer *answer, const struct err *err)
{
	struct journal_copy *journal = data;

	journal->is_whole = !err;
	on_appended(data, answer, err);
}

static void on_created(void *data, const struct store_answer *answer, const struct err *err)
{
	struct journal_copy *journal = data;

	if (err)
		on_appended(data, answer, err);
	else if (!may_write(journal))
		put_off(journal);
	else
		journal->call = store_start(journal->options.store,
					    store_rename(journal->part, journal->path), on_renamed,
					    journal);
}

static void on_directory(void *data, const struct store_answer *answer, const struct err *err)
{
	struct journal_copy *journal = data;

	journal->has_directory = !err;
	if (err)
		on_appended(data, answer, err);
	else if (!may_write(journal))
		put_off(journal);
	else {
		journal->call = store_start(
			journal->options.store,
			store_upload(journal->part, FILE_MODE, journal->fd, journal->length),
			on_created, journal);
		go_on(journal);
	}
}

/* When the journal cannot be read, nothing was sent: the file in the store is as it was. */
static void append(struct journal_copy *journal)
{
	struct err err cleanup_err = {0};
	char *bytes cleanup_free = read_rest(journal, journal->length, &err);

	if (!bytes) {
		err_wrap(&err, "the journal here cannot be read");
		warn_of_trouble(journal, &err);
		plan_retry(journal);
		return;
	}
	journal->call = store_start(journal->options.store,
				    store_append(journal->path, bytes,
						 (size_t)(journal->length - journal->kept_length)),
				    on_appended, journal);
}

static void write_file(struct journal_copy *journal, int64_t end)
{
	if (journal->failures == 0)
		journal->began_ms = clock_monotonic_ms();
	journal->length = end;
	journal->sequence = journal->appended;
	if (!journal->is_whole)
		journal->call = store_start(journal->options.store,
					    store_make_directories("", DIRECTORY_MODE),
					    on_directory, journal);
	else
		append(journal);
}

static void go_on(struct journal_copy *journal)
{
	struct stat status;

	if (journal->finished || fstat(journal->fd, &status) < 0 ||
	    status.st_size <= journal->kept_length)
		return;
	if (!journal->is_late && status.st_size > journal->noted_length &&
	    !event_pending(journal->patience, EV_TIMEOUT, NULL))
		begin_patience(journal);
	bool writes = !journal->call && !event_pending(journal->retry, EV_TIMEOUT, NULL);
	bool notes =
		takes_notes(journal) && !journal->note && status.st_size > journal->noted_length;
	if (!writes && !notes)
		return;
	if (!may_write(journal)) {
		timer_start(journal->retry, MAY_WRITE_MS);
		return;
	}
	if (notes)
		note(journal, status.st_size);
	if (writes)
		write_file(journal, status.st_size);
}

/* ---- life --------------------------------------------------------------------------------- */

struct journal_copy *journal_copy_create(const struct journal_copy_options *options,
					 struct err *err)
{
	int fd = open(options->journal, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0) {
		err_set_errno(err, "%s", options->journal);
		return NULL;
	}
	struct journal_copy *journal = mem_alloc(sizeof(*journal));
	*journal = (struct journal_copy){
		.options = *options,
		.path = journal_copy_name(options->am_attempt),
		.has_no_notes = !store_traits(options->store)->has_notes,
		.fd = fd,
		.retry = evtimer_new(options->base, on_retry, journal),
		.patience = evtimer_new(options->base, on_patience_over, journal),
		.backoff = {.first_ms = FIRST_RETRY_MS, .cap_ms = RETRY_CAP_MS},
	};
	journal->part = mem_printf("%s.part", journal->path);
	journal->note_name = journal_note_name(options->am_attempt);
	return journal;
}

void journal_copy_appended(struct journal_copy *journal, int64_t sequence)
{
	journal->appended = sequence;
	go_on(journal);
}

void journal_copy_finish(struct journal_copy *journal, void (*done)(void *data), void *data)
{
	journal->finished = done;
	journal->finished_data = data;
	evtimer_del(journal->retry);
	evtimer_del(journal->patience);
	if (journal->note)
		store_cancel(mem_steal(&journal->note));
	if (!journal->call)
		end(journal);
}

void journal_copy_destroy(struct journal_copy *journal)
{
	if (!journal)
		return;
	if (journal->call)
		store_cancel(journal->call);
	if (journal->note)
		store_cancel(journal->note);
	event_free(journal->retry);
	event_free(journal->patience);
	close(journal->fd);
	free(journal->path);
	free(journal->part);
	free(journal->note_name);
	free(journal);
}
