/*
 * How the code of a job differed from its commit, for this AM and the history: the client writes it
 * into the job's directory in the store, while YARN starts the AM. So it is looked for until it is
 * there; at the end of the job only as long as a client may take that still writes.
 */
#include <event2/event.h>
#include <stdlib.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/timer.h"
#include "history/layout.h"
#include "net/backoff.h"
#include "scheduler/yarn_internal.h"
#include "scheduler/yarn_store.h"

enum {
	FIRST_RETRY_MS = 200,
	RETRY_CAP_MS = 60000,
	CLIENT_WRITES_MS = 10000, /* after the start of the AM, at most */
	FILE_MODE = 0600,
};

struct yarn_diff {
	struct store *store; /* the job's directory */
	struct event *retry;
	struct backoff backoff;
	int64_t written_by; /* monotonic */
	char *path;
	bool is_over;		  /* it is there, or nobody looks for it any more */
	void (*done)(void *data); /* NULL: nobody waits */
	void *data;
};

static void conclude(struct yarn_diff *diff, const struct err *err)
{
	diff->is_over = true;
	if (err)
		log_warning("how the code differs from its commit is not kept: %s",
			    err_message(err));
	if (diff->done)
		diff->done(diff->data);
}

static void try_again(struct yarn_diff *diff)
{
	timer_start(diff->retry, backoff_next(&diff->backoff, random_u64()));
}

static void on_read(void *data, const struct store_answer *answer, const struct err *err)
{
	struct yarn_diff *diff = data;
	struct err failure cleanup_err = {0};

	if (answer &&
	    fs_write_file(diff->path, answer->bytes, answer->length, FILE_MODE, &failure) < 0)
		conclude(diff, &failure);
	else if (answer)
		conclude(diff, NULL);
	else if (diff->done && clock_monotonic_ms() >= diff->written_by)
		conclude(diff, err);
	else
		try_again(diff);
}

static void look(evutil_socket_t fd, short what, void *data)
{
	struct yarn_diff *diff = data;

	store_start(diff->store, store_read(HISTORY_DIFF, HISTORY_DIFF_CAP), on_read, diff);
}

void yarn_diff_open(struct yarn *yarn)
{
	struct err err cleanup_err = {0};

	if (job_diff_bytes(yarn->job) == 0)
		return;
	struct store *store =
		yarn_store_open(yarn->cluster, yarn->cluster->job_dir, yarn->base, &err);
	if (!store) {
		log_warning("how the code differs from its commit is not kept: %s",
			    err_message(&err));
		return;
	}
	struct yarn_diff *diff = mem_alloc(sizeof(*diff));
	*diff = (struct yarn_diff){
		.store = store,
		.retry = evtimer_new(yarn->base, look, diff),
		.backoff = {.first_ms = FIRST_RETRY_MS, .cap_ms = RETRY_CAP_MS},
		.written_by = clock_monotonic_ms() + CLIENT_WRITES_MS,
		.path = fs_join(yarn->job_dir, HISTORY_DIFF),
	};
	yarn->diff = diff;
	try_again(diff);
}

bool yarn_diff_await(struct scheduler *scheduler, void (*done)(void *data), void *data)
{
	struct yarn_diff *diff = ((struct yarn *)scheduler)->diff;

	if (!diff || diff->is_over)
		return true;
	diff->done = done;
	diff->data = data;
	backoff_reset(&diff->backoff);
	/* Else the answer of a call is on its way. */
	if (evtimer_pending(diff->retry, NULL)) {
		evtimer_del(diff->retry);
		look(-1, 0, diff);
	}
	return false;
}

void yarn_diff_destroy(struct yarn_diff *diff)
{
	if (!diff)
		return;
	store_close(diff->store);
	event_free(diff->retry);
	free(diff->path);
	free(diff);
}
