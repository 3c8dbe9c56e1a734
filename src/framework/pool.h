/*
 * Frameworks whose program is a driver: it hands out work through a server (Dask's scheduler, Ray's
 * head), and workers do it. tony adds the server and the driver and says what server and workers
 * run; the driver runs the user's program and is the only task that the job waits for. Every type
 * whose name ends in "worker" is a pool of workers, so that they may differ in what they have.
 */
#ifndef TONY_FRAMEWORK_POOL_H
#define TONY_FRAMEWORK_POOL_H

#include "framework/framework.h"

#define POOL_DRIVER "driver"

struct pool {
	const char *framework; /* as in messages: "Dask" */
	const char *server;    /* its task type */
	/* What the interpreter is given, for bash -c. */
	const char *server_arguments, *worker_arguments;
};

bool pool_is_worker(const char *type);

void pool_defaults(const struct pool *pool, const struct framework_shape *shape,
		   struct str_list *pairs);

int pool_check(const struct pool *pool, const struct job *job, struct err *err);

/* Only workers may come and go, which their server sees to: the driver goes on. */
const char *pool_fixed(const struct job_type *type);
bool pool_lives_through_changes(const struct job *job);

/* The server's address in this formation; NULL and `err` when it has none. */
const struct cluster_address *pool_server(const struct pool *pool,
					  const struct framework_task *task, struct err *err);

#endif
