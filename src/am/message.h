/*
 * What executors say (docs/rest.md, "For executors"): taken apart and checked as if an enemy had
 * sent it. Parsers set `err` to "member: what is wrong" and leave nothing to free on failure.
 */
#ifndef TONY_AM_MESSAGE_H
#define TONY_AM_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "job/machine.h"
#include "job/record.h"

enum {
	MESSAGE_GPUS_MAX = 64,
	MESSAGE_GPU_INDEX_MAX = 1023,
	MESSAGE_PIDS_MAX = 4096,
	MESSAGE_LOGS_MAX = 64,
	MESSAGE_NUMBERS_MAX = 10000,
	MESSAGE_NAME_MAX = 128, /* bytes of a number's name, or of its run */
};

struct message_gpu {
	int index;
	int utilization_percent;
	int64_t memory_used_mib, memory_total_mib;
	int power_watts; /* -1: not told */
};

struct message_metrics {
	int64_t sampled_ms; /* the executor's clock; 0: not told */
	int64_t rss_bytes, pss_bytes, cpu_ms, read_bytes, write_bytes, processes, threads;
	int64_t net_receive_bytes, net_send_bytes; /* -1: not told */
	int64_t step, steps;			   /* how far the program is; -1: not told */
	struct message_gpu *gpus;		   /* owned */
	size_t gpu_count;
};

/* What the program tells of itself. */
struct message_number {
	const char *name, *run; /* `run` may be "" */
	int64_t time_ms;
	int64_t step; /* -1: none */
	double value; /* NAN: none */
};

struct message_numbers {
	int64_t from; /* how many came before the first, of this container */
	struct message_number *items;
	size_t count;
	json_t *list; /* where the texts are */
};

enum message_state {
	MESSAGE_WAITING, /* registered, no process */
	MESSAGE_RUNNING,
	MESSAGE_EXITED,
};

/* Which process of which container. */
struct message_identity {
	int attempt, epoch, restart;
};

struct message_register {
	struct message_identity of; /* without `restart` */
	char *host;
	int port;
	int door;      /* where it hears of another AM; 0: nowhere */
	int pid;       /* of the executor; 0: not given */
	char *log_dir; /* NULL: not given */
};

struct message_beat {
	struct message_identity of;
	enum message_state state;
	json_t *pids; /* an array of numbers, owned; NULL: not given */
	int ui_port;  /* where its web interface listens; 0: it has none, or not yet */
	int64_t logs[MESSAGE_LOGS_MAX]; /* numbers of the orders for logs that it has */
	size_t log_count;
	bool has_metrics;
	struct message_metrics metrics;
	struct message_numbers numbers;
	struct lost_output lost;
	struct program_use use;	  /* by a program that was stopped; 0 ms: not told */
	char *checkpoint_trouble; /* printable; NULL: none */
};

struct message_exit {
	struct message_identity of;
	struct program_use use;
	struct cause cause; /* CAUSE_NONE: exit code 0 */
	bool has_metrics;
	struct message_metrics metrics;
	struct message_numbers numbers;
	struct lost_output lost;
};

int message_parse_register(struct message_register *message, const char *bytes, size_t length,
			   struct err *err);
int message_parse_beat(struct message_beat *message, const char *bytes, size_t length,
		       struct err *err);
int message_parse_exit(struct message_exit *message, const char *bytes, size_t length,
		       struct err *err);
/* {"reason": "..."}; no bytes at all are fine. The text is printable, or NULL; the caller frees. */
int message_parse_kill(char **reason, const char *bytes, size_t length, struct err *err);
/* {"worker": 8}: how many tasks of elastic types are wanted. `wanted` has room for each type of the
 * job; -1: the type is not named. */
int message_parse_scale(const struct job *job, int *wanted, const char *bytes, size_t length,
			struct err *err);

void message_register_finish(struct message_register *message);
void message_beat_finish(struct message_beat *message);
void message_exit_finish(struct message_exit *message);
void message_metrics_finish(struct message_metrics *metrics);
void message_numbers_finish(struct message_numbers *numbers);

json_t *message_metrics_to_json(const struct message_metrics *metrics);
int message_metrics_from_json(const json_t *object, struct message_metrics *metrics,
			      struct err *err);

/* What may be the name of a number, or of its run: of at least `min` bytes. */
bool message_is_name(const json_t *value, size_t min);

#endif
