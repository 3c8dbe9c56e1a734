/* An AM made for the test of an executor, and that executor in a process of its own: the test's own
 * program, started with "exec" as its first argument. */
#ifndef TONY_TEST_UNIT_EXECUTOR_FAKE_AM_H
#define TONY_TEST_UNIT_EXECUTOR_FAKE_AM_H

#include <event2/event.h>
#include <stdbool.h>
#include <sys/types.h>

#include "job/job.h"
#include "net/http_server.h"
#include "protocol/report.h"

#define AM_TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* The AM: what it orders, and what it has heard. It answers a beat at once when that differs from
 * the order, and holds it otherwise. */
struct am {
	void **state;
	struct event_base *base;
	struct event *tick; /* wakes await(), so that it looks at its condition again */
	struct http_server *server;
	struct job *job;
	pid_t executor;

	int am_attempt;
	struct order order;
	bool opens_port;   /* its orders say so */
	bool in_container; /* of YARN, its executor is */
	bool stale, deaf;  /* answers 409; answers nothing */
	int refusals;	   /* so many messages more are answered 503 */
	int stale_exits;   /* so many exit reports more are answered 409 */

	struct http_request *held;
	int registrations, exits, beats;
	int unheard; /* exits that were reported to deaf ears */
	int registered_epoch, port, door;
	struct heartbeat told; /* the last one; exited: none yet */
	struct exit_report exit;
};

/* `state` is a scratch directory; the job has one worker that runs `command`. The caller may change
 * am->job before the start. */
void am_init(struct am *am, void **state, const char *command);
void am_start(struct am *am);
void am_start_with_token(struct am *am, const char *token_file); /* "token", "wrong-token" */
void am_finish(struct am *am);

/* The AM dies, and the next is at another address; nobody knows that yet. */
void am_move(struct am *am);
/* The status that the executor's door answers to this. */
int am_call_door(struct am *am, int am_attempt, const char *token);

/* Orders from now on, and answers a held beat with it. */
void am_order(struct am *am, enum order_kind kind, int epoch, int restart);

/* Lets the AM work until something has come to pass. */
#define await(am, condition)                                                                       \
	do {                                                                                       \
		while (!(condition))                                                               \
			event_base_loop((am)->base, EVLOOP_ONCE);                                  \
	} while (0)

/* Whether the executor has ended; its exit code. Fails when it left something behind. */
bool am_executor_has_left(const struct am *am);
int am_await_leave(struct am *am);

#endif
