/*
 * An executor that runs nothing: it speaks docs/rest.md to a real AM over one connection at a time,
 * and says what one says whose program runs. Its owner is told what it is told.
 */
#ifndef TONY_BENCH_FAKE_EXECUTOR_H
#define TONY_BENCH_FAKE_EXECUTOR_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdint.h>

#include "net/address.h"
#include "net/backoff.h"
#include "net/wire.h"

struct fake_executor;

/* Called from the loop. */
struct fake_executor_events {
	void (*registered)(struct fake_executor *executor);
	void (*run)(struct fake_executor *executor);
	/* No process runs any more; it says nothing until fake_executor_register(). */
	void (*stopped)(struct fake_executor *executor);
	void (*quit)(struct fake_executor *executor); /* it is disconnected, and may be finished */
	void (*beaten)(struct fake_executor *executor,
		       int64_t late_us); /* beyond the time for which a beat is held */
	void (*spec)(struct fake_executor *executor,
		     uint64_t bytes); /* the answer had a cluster spec */
	/* A connection broke (0), or an answer was not 200; it tries again. */
	void (*retries)(struct fake_executor *executor, int status, const char *answer);
};

/* The AM of its job. The texts are borrowed. */
struct fake_am {
	struct net_address address;
	const char *host, *token; /* HOST:PORT */
	struct tls_context *tls;  /* NULL: without TLS */
};

enum {
	FAKE_EXECUTOR_FRONT = 256
}; /* bytes of an answer's body: an order is near its front, compressed or not */

enum fake_executor_step { FAKE_REGISTERING, FAKE_BEATING, FAKE_REPORTING };

struct fake_executor {
	/* Set before fake_executor_init(); texts are borrowed, and so is *am. */
	struct event_base *base;
	const struct fake_executor_events *events;
	void *data; /* its owner's */
	const struct fake_am *am;
	const char *task; /* "worker:7" */
	int attempt;
	const char *host, *log_dir;
	int port, door; /* that it says it has; door 0: none */

	bool is_connected;
	struct wire wire;
	struct event retry;
	struct backoff backoff;
	enum fake_executor_step step;
	int am_attempt;	     /* of the last order */
	int64_t interval_us; /* between two beats, as the AM says */
	int epoch;	     /* of the last stop order obeyed */
	int running_epoch;   /* 0: no process */
	bool exited;
	int exit_code;
	int64_t sent_us;
	/* The answer in progress. */
	bool has_head;
	int status;
	uint64_t left;
	char front[FAKE_EXECUTOR_FRONT + 1];
	size_t front_length;
};

int64_t fake_executor_now_us(void);

/* A descriptor for each: as many as may be. */
void fake_executor_allow_files(void);

void fake_executor_init(struct fake_executor *executor);
void fake_executor_finish(struct fake_executor *executor);

/* On a new connection, also while it says something else: another AM may be there. */
void fake_executor_register(struct fake_executor *executor);
/* Its process has ended. */
void fake_executor_exit(struct fake_executor *executor, int code);

#endif
