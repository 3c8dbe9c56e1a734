/*
 * The AM's REST interface (docs/rest.md) on top of the machine and the journal. It owns what only
 * the wire knows: held beats, the executors' last reports, metrics, the key-value store. Everything
 * else it asks its host for, so that tests drive it without an AM.
 */
#ifndef TONY_AM_API_H
#define TONY_AM_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "job/job.h"
#include "job/machine.h"
#include "net/http_server.h"

struct api;

/* The AM, as the interface sees it. `job`, `machine` and texts are borrowed and outlive the api. */
struct api_host {
	void *data;
	const struct job *job;
	const struct machine *machine;
	const char *journal_path;
	int am_attempt;
	/* machine_handle() and everything that follows from it, api_order_changed() included. */
	bool (*deliver)(void *data, const struct machine_event *event);
	/* Path of a task's "stdout" or "stderr" now, or NULL; the caller frees. */
	char *(*log_path)(void *data, size_t task, const char *name);
};

struct api_options {
	const char *address; /* where it listens: "127.0.0.1:0" */
	const char *host;    /* the name by which others reach that address; NULL: itself */
	const char *token;
	struct http_limits limits; /* 0: as documented; connections: by the number of tasks */
};

struct api *api_create(struct event_base *base, const struct api_host *host,
		       const struct api_options *options, struct err *err);
void api_destroy(struct api *api); /* NULL is fine */

const char *api_address(const struct api *api); /* for others: "127.0.0.1:4000", "node-7:4000" */

/* Where the task's logs are, as its executor said when it registered; NULL: not known. */
const char *api_log_dir(const struct api *api, size_t task);

/* machine_order() of this task may be another one: answers its held beat if so. */
void api_order_changed(struct api *api, size_t task);

/* Addresses changed: the cluster spec is built anew when next needed. */
void api_cluster_changed(struct api *api);

/* Tasks are about to be told to start: the cluster changed, and a ring that forms anew finds a
 * fresh rendezvous where the framework asks for one. -1: there is no port for it. */
int api_cluster_formed(struct api *api, struct err *err);

/* To be called after each append: those who follow the events get it at once. */
void api_journal_appended(struct api *api);

/* The journal has its last line: ends the answers that follow events and logs once they have
 * delivered all, takes no new requests, and calls `done` when all is delivered, at the latest after
 * timeout_ms. */
void api_drain(struct api *api, int64_t timeout_ms, void (*done)(void *data), void *data);

#endif
