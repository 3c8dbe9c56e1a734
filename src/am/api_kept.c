/* Answers that wait until an AM that follows would know of what they say. Who reports the exit of a
 * program has nothing more to say, and may leave: the task would count as lost. Who ends or scales
 * a job, or restarts a task, takes it for done: one who asked an AM that stood still, and has a
 * successor by now, gets no answer before it leaves, and asks again. (Orders to start a program:
 * api_tasks.c.)
 */
#include <stdlib.h>

#include "am/api_internal.h"
#include "base/mem.h"

struct api_waiter {
	LIST_ENTRY(api_waiter) link;
	struct http_request *request;
	json_t *answer;
	int64_t sequence; /* the line that must be kept */
};

static void forget(struct api_waiter *waiting)
{
	LIST_REMOVE(waiting, link);
	json_decref(waiting->answer);
	free(waiting);
}

/* It will come again, on another connection. */
static void on_closed(void *data)
{
	forget(data);
}

void api_answer_when_kept(struct api *api, struct http_request *request, json_t *answer)
{
	if (api->appended <= api->kept) {
		http_answer_json(request, 200, answer);
		return;
	}
	struct api_waiter *waiting = mem_alloc(sizeof(*waiting));
	waiting->request = request;
	waiting->answer = answer;
	waiting->sequence = api->appended;
	LIST_INSERT_HEAD(&api->waiters, waiting, link);
	http_request_hold(request, on_closed, waiting);
}

void api_answer_kept(struct api *api)
{
	struct api_waiter *waiting = LIST_FIRST(&api->waiters);

	while (waiting) {
		struct api_waiter *next = LIST_NEXT(waiting, link);
		if (waiting->sequence <= api->kept) {
			http_answer_json(waiting->request, 200, json_incref(waiting->answer));
			forget(waiting);
		}
		waiting = next;
	}
}
