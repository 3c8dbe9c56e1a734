/*
 * A bed for testing the REST interface: the real machine and journal, played by hand, behind a real
 * socket; nothing of the AM's own.
 */
#ifndef TEST_API_BED_H
#define TEST_API_BED_H

#include <event2/event.h>

#include "../job/machine_bed.h"
#include "am/api.h"
#include "base/str.h"
#include "job/journal.h"
#include "net/http_client.h"

#define BED_TOKEN "feedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeed"

struct api_bed {
	struct bed *bed;
	struct event_base *base;
	struct journal *journal;
	struct api *api;
	char *directory, *journal_path;
	size_t losses;		/* of output, told so often */
	int64_t lost_bytes;	/* ... at last */
	size_t restarts_told;	/* inside of programs, told so often */
	int64_t restarts;	/* ... at last */
	size_t uses;		/* by programs that were stopped, told so often */
	struct program_use use; /* ... at last */
	size_t troubles;	/* with checkpoints, told so often */
	char *trouble;		/* ... at last; NULL: none any more */
	int64_t trouble_since_ms;
	char *tokens;	 /* that were taken last; NULL: none */
	bool has_tokens; /* of other services, which the scheduler renews */
	/* Asks as this user, whom the scheduler names, and who proves it by this secret; NULL: with
	 * the token. */
	const char *user, *secret;
	size_t delivered; /* events that the interface gave the machine */
};

/* A job of these types (machine_bed.h), submitted; tune() may adjust the job before. */
struct api_bed *api_bed_create(const char *types, void (*tune)(struct bed *bed));
/* The same, with a port for the scheduler's web proxy (api_options.proxy_tls). */
struct api_bed *api_bed_create_proxied(const char *types, void (*tune)(struct bed *bed),
				       struct tls_context *proxy_tls);
void api_bed_destroy(struct api_bed *bed);

/* Does what the AM does after a bed_...() call: journal, orders. */
void api_bed_apply(struct api_bed *bed);
void api_bed_allocate(struct api_bed *bed, const char *task);
/* In the bed's directory; valid until the next call. */
const char *api_bed_path(struct api_bed *bed, const char *name);
/* Writes or appends to a task's log. */
void api_bed_log(struct api_bed *bed, const char *name, const char *text);

/* An answer, or the part of it that came so far. */
struct reply {
	struct api_bed *bed;
	struct http_client *client;
	bool done;
	int status;	 /* -1: no answer */
	struct str text; /* of the body; of a stream: what came so far */
	json_t *json;	 /* of the body; NULL: is none */
};

/* Asks and waits for the answer. `body` NULL: none. Finish the reply before the next use. */
void ask(struct api_bed *bed, struct reply *reply, const char *method, const char *path,
	 const char *body);
/* Asks, and waits for nothing; the body stays until the answer is there. */
void ask_and_go_on(struct api_bed *bed, struct reply *reply, const char *method, const char *path,
		   const char *body);
/* Asks and waits until it was answered, or was heard by the machine and is held. */
void ask_later(struct api_bed *bed, struct reply *reply, const char *method, const char *path,
	       const char *body);
void ask_stream(struct api_bed *bed, struct reply *reply, const char *path, const char *accept);
void reply_wait(struct reply *reply);
void reply_wait_text(struct reply *reply, const char *text); /* of a stream */
void reply_finish(struct reply *reply);			     /* closes the connection */

const char *reply_member(const struct reply *reply, const char *name); /* a text, or "" */
int64_t reply_number(const struct reply *reply, const char *name);     /* -1: none */

/* Lets everything happen that can without waiting. */
void api_bed_run_idle(struct api_bed *bed);

/* The messages of an executor; the returned text is valid until the next call. */
const char *beat_text(int attempt, int epoch, int restart, const char *state);
const char *register_text(int attempt, int epoch, int port);
const char *exit_text(int attempt, int epoch, int restart, int code);

/* Allocates and registers the task over the wire. */
void bring_in(struct api_bed *bed, const char *task, int port);

#endif
