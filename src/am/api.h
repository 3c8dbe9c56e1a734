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
#include "history/summary.h"
#include "job/job.h"
#include "job/machine.h"
#include "job/record.h"
#include "net/http_server.h"
#include "protocol/numbers.h"

struct api;
struct scheduler_child;
struct scheduler_tokens;

/* The AM, as the interface sees it. `job`, `machine` and texts are borrowed and outlive the api. */
struct api_host {
	void *data;
	const struct job *job;
	const struct machine *machine;
	const char *journal_path;
	const char *diff_path; /* source.diff, once it is there; NULL: it never is */
	int am_attempt;
	bool one_host; /* all executors are on this machine */
	/* machine_handle() and everything that follows from it, api_order_changed() included. */
	bool (*deliver)(void *data, const struct machine_event *event);
	/* Output of the task's present container is lost. */
	void (*output_lost)(void *data, size_t task, const struct lost_output *lost);
	/* A launcher inside of its program went on after failures, `count` of them by now; `text`
	 * tells the last. NULL: it does not. */
	void (*restarted_inside)(void *data, size_t task, int64_t count, const char *text);
	/* The use by its present program, which was stopped. */
	void (*used)(void *data, size_t task, const struct program_use *use);
	/* Its checkpoints cannot be stored since then (wall-clock), `text` says why; NULL: they can
	 * again, and could not since then. */
	void (*checkpoint_trouble)(void *data, size_t task, const char *text, int64_t since_ms);
	/* Its program has told numbers, new from that one on. */
	void (*numbers)(void *data, size_t task, const struct number_list *numbers, size_t first);
	/* One of split_list_file and split_state_file has changed. NULL: it need not be told. */
	void (*file_written)(void *data, const char *path);
	/* The job may begin, as far as its user held it. False: it was not held. */
	bool (*release)(void *data);
	/* As scheduler_ops.start_child(); ERR_NOT_FOUND where the scheduler has none. */
	pid_t (*start_child)(void *data, const struct scheduler_child *child, struct err *err);
	/* The job's processes are to have these tokens: as scheduler_ops.take_tokens(). */
	int (*take_tokens)(void *data, const void *bytes, size_t length, struct err *err);
	/* Those that they have; `tokens` is {0}. *are_renewed: as scheduler_traits.renews_tokens
	 * has it. */
	void (*look_at_tokens)(void *data, struct scheduler_tokens *tokens, bool *are_renewed);
	/* As scheduler_ops.find_secret(). */
	char *(*find_secret)(void *data, const char *identity, char **user);
	/* Path of a task's "stdout" or "stderr" now, or NULL; the caller frees. */
	char *(*log_path)(void *data, size_t task, const char *name);
};

struct api_options {
	const char *address; /* where it listens: "127.0.0.1:0" */
	int listener;	     /* net_listen()'s, in place of `address`; 0: none */
	int pages_listener;  /* likewise, of the port for browsers that a job with TLS has */
	struct tls_context *proxy_tls; /* scheduler_place.proxy_tls; NULL: none */
	const char *host; /* the name by which others reach that address; NULL: itself */
	const char *token;
	const char *kv_file; /* the store is kept there for the AM that follows; NULL: it is not */
	const char *split_list_file, *split_state_file; /* likewise, of the queues of splits */
	const char *rendezvous_file; /* likewise, of the ring that forms; NULL: it is not */
	const char *ring_file;	     /* for the AM that follows (api_ring.h); NULL: none */
	struct http_limits limits;   /* 0: as documented; connections: by the number of tasks */
};

struct api *api_create(struct event_base *base, const struct api_host *host,
		       const struct api_options *options, struct err *err);
void api_destroy(struct api *api); /* NULL is fine */

const char *api_address(const struct api *api); /* for others: "127.0.0.1:4000", "node-7:4000" */
/* Where browsers may look, and where an elastic ring of Horovod's meets: the same, but for a job
 * with TLS, of which neither speaks it. */
const char *api_pages_address(const struct api *api);

/* Where the scheduler's web proxy comes, and nobody else can; NULL: it comes to the pages. */
const char *api_proxy_address(const struct api *api);

/* What comes from these hosts (names or numeric addresses), or where there is such an address to
 * that one alone, comes through the scheduler's web proxy: it may be read by everybody, or with
 * `prove` by the owner and whom the view ACL names. */
void api_trust_proxies(struct api *api, const struct str_list *hosts, bool prove);
/* As scheduler_ops.administrators() has them. */
void api_name_administrators(struct api *api, const char *acl);

/* How much of the job is done, 0 to 1: what its tracked tasks say of themselves, on average. */
double api_progress(const struct api *api);

/* Where the task's logs are, as its executor said when it registered; NULL: not known. */
const char *api_log_dir(const struct api *api, size_t task);
/* The use by the task's program, while the machine is being told that it has ended; NULL: it is not
 * known. */
const struct program_use *api_program_use(const struct api *api, size_t task);
/* As it said to an earlier AM. */
void api_set_log_dir(struct api *api, size_t task, const char *log_dir);
/* Likewise: its checkpoints cannot be stored since then. */
void api_set_checkpoint_trouble(struct api *api, size_t task, int64_t since_ms);
/* The store takes nothing of what an AM that follows needs since then (wall-clock); 0: it does. */
void api_set_store_trouble(struct api *api, int64_t since_ms);

/* machine_order() of this task may be another one: answers its held beat if so. */
void api_order_changed(struct api *api, size_t task);

/* Tasks may have come or gone. */
void api_tasks_changed(struct api *api);

/* The id of the job's run at a tracking server, of which programs are told that start from now on.
 */
void api_set_tracking_run(struct api *api, const char *run);

/* Addresses changed: the cluster spec is built anew when next needed. */
void api_cluster_changed(struct api *api);

/* Tasks are about to be told to start: the cluster changed, and a ring that forms anew finds a
 * fresh rendezvous where the framework asks for one. -1: there is no port for it. */
int api_cluster_formed(struct api *api, struct err *err);

/* To be called after each append, with the last line's number: those who follow the events get it
 * at once. */
void api_journal_appended(struct api *api, int64_t sequence);
/* Executors that report exits, and who ends a job or restarts a task, are not answered before an AM
 * that follows would know of them, that is before it finds the journal up to this line. INT64_MAX,
 * as in the beginning: it does. */
void api_journal_kept(struct api *api, int64_t sequence);

/* Writes what is kept of the metrics (metrics.jsonl: a line for each task of which there are some)
 * of `count` tasks from *next on, which is moved on. 1: that was the last; 0: there are more. */
int api_write_metrics(const struct api *api, size_t *next, size_t count, int fd, struct err *err);
/* Takes what an earlier AM has written of them, before anything is measured: what is no good is
 * passed over. -1: the file cannot be read. */
int api_restore_metrics(struct api *api, const char *path, struct err *err);
/* The present use by all running tasks together; NAN: not known. */
struct api_use {
	double cpu_cores, memory_mib;
	double gpu_percent, gpu_memory_mib; /* of the tasks' GPUs; the first is their mean */
	double done;			    /* 0 to 1: as api_progress(), where programs tell it */
};
void api_measure_use(const struct api *api, struct api_use *use);

/* Fills in what the types have used. */
void api_measure(const struct api *api, struct history_summary *summary);

/* The journal has its last line: answers that follow events and logs end once they have delivered
 * all. New requests are answered until api_drain(). */
void api_conclude(struct api *api);

/* After api_conclude(): calls `done` once the browsers that were about to ask for the events have
 * asked, at the latest after timeout_ms; at once when there are none. */
void api_linger(struct api *api, int64_t timeout_ms, void (*done)(void *data), void *data);

/* After api_conclude(): takes no new requests, and calls `done` when all is delivered, at the
 * latest after timeout_ms. */
void api_drain(struct api *api, int64_t timeout_ms, void (*done)(void *data), void *data);

#endif
