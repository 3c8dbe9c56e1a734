/* The job as its journal tells it: folded together little by little, so that neither beats wait for
 * it nor who looks for all of it. */
#include <stdlib.h>

#include "am/api_internal.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

enum {
	LINES_AT_ONCE = 200, /* a ms or two */
	PAUSE_MS = 50,	     /* nobody waits: when a cluster forms, there is more to do */
};

/* Who asked. */
struct api_looker {
	TAILQ_ENTRY(api_looker) link;
	struct api *api;
	struct http_request *request;
	int64_t sequence; /* the journal's last line when it asked */
	void (*answer)(struct api *api, struct http_request *request);
};

/* 1: there is more. */
static int fold_some(struct api *api, struct err *err)
{
	struct journal_line line;
	int got = 1;

	if (!api->view.reader)
		api->view.reader = journal_reader_open(api->host.journal_path, 0, err);
	if (!api->view.reader)
		return -1;
	for (int i = 0; i < LINES_AT_ONCE && got > 0; i++) {
		got = journal_reader_next(api->view.reader, &line, err);
		if (got > 0 && job_view_add(api->view.job, &line, err) < 0)
			return -1;
	}
	return got;
}

static void refuse(struct http_request *request, const struct err *err)
{
	log_error("the journal cannot be read: %s", err_message(err));
	http_answer_error(request, 500, "failed", "the journal cannot be read: %s",
			  err_message(err));
}

static void answer_lookers(struct api *api, int got, const struct err *err)
{
	struct api_looker *looker;

	while ((looker = TAILQ_FIRST(&api->view.lookers)) &&
	       (got <= 0 || api->view.job->sequence >= looker->sequence)) {
		TAILQ_REMOVE(&api->view.lookers, looker, link);
		if (got < 0)
			refuse(looker->request, err);
		else
			looker->answer(api, looker->request);
		free(looker);
	}
}

static void on_closed(void *data)
{
	struct api_looker *looker = data;

	TAILQ_REMOVE(&looker->api->view.lookers, looker, link);
	free(looker);
}

static void go_on(evutil_socket_t fd, short what, void *data)
{
	struct api *api = data;
	struct err err cleanup_err = {0};
	int got = fold_some(api, &err);

	answer_lookers(api, got, &err);
	if (got > 0)
		api_view_fold(api);
}

void api_view_fold(struct api *api)
{
	const struct timeval now = {0}, later = clock_timeval(PAUSE_MS);

	if (!TAILQ_EMPTY(&api->view.lookers))
		event_add(&api->view.fold, &now);
	else if (!event_pending(&api->view.fold, EV_TIMEOUT, NULL))
		event_add(&api->view.fold, &later);
}

void api_view_look(struct api *api, struct http_request *request,
		   void (*answer)(struct api *api, struct http_request *request))
{
	struct err err cleanup_err = {0};
	int got = TAILQ_EMPTY(&api->view.lookers) ? fold_some(api, &err) : 1;

	if (got < 0) {
		refuse(request, &err);
	} else if (got == 0) {
		answer(api, request);
	} else {
		struct api_looker *looker = mem_alloc(sizeof(*looker));
		*looker = (struct api_looker){.api = api,
					      .request = request,
					      .sequence = api->appended,
					      .answer = answer};
		http_request_hold(request, on_closed, looker);
		TAILQ_INSERT_TAIL(&api->view.lookers, looker, link);
		api_view_fold(api);
	}
}

void api_view_init(struct api *api)
{
	api->view.job = job_view_create(api->host.job);
	event_assign(&api->view.fold, api->base, -1, 0, go_on, api);
	TAILQ_INIT(&api->view.lookers);
}

void api_view_finish(struct api_view *view)
{
	event_del(&view->fold);
	journal_reader_close(view->reader);
	job_view_destroy(view->job);
}
