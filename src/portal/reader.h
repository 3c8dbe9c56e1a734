/*
 * One job, open for those who look at it: a process of its own that answers as the job's AM does
 * (docs/rest.md), on a port of this machine and for the portal alone, which knows the token. Of a
 * job that has ended it answers out of the store; of one that goes on it is the way to its AM. So
 * whatever takes time or memory, and whatever a hostile store does, concerns nobody else.
 */
#ifndef TONY_PORTAL_READER_H
#define TONY_PORTAL_READER_H

#include "base/err.h"

struct event_base;
struct job_door;
struct portal_job;
struct scheduler_client_ops;

struct reader_setup {
	/* As scheduler_client_ops.find(), on all schedulers. */
	const struct scheduler_client_ops *(*find_job)(const char *id, struct job_door *door,
						       char **full_id, struct err *err);
	int starter;		/* of TensorBoard (starter.h) */
	const char *index_path; /* of the index of all jobs */
	const char *token;
	struct tls_context *tls; /* the portal's, for doors to what programs serve; NULL: none */
};

struct reader;
struct tls_context;

/* Listens, and does nothing else yet: `job` is what the index says (index.h). All texts are copied,
 * but for those of `setup`, which outlives the reader. */
struct reader *reader_create(const struct reader_setup *setup, const char *id,
			     const struct portal_job *job, struct err *err);
const char *reader_address(const struct reader *reader);
void reader_destroy(struct reader *reader);

/* In a child process: answers until it is ended by a signal. */
_Noreturn void reader_run(struct reader *reader);

#endif
