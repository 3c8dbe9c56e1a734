/* POST /v1/tasks/{task}/register, and its answer (message.h). */
#ifndef TONY_PROTOCOL_REGISTRATION_H
#define TONY_PROTOCOL_REGISTRATION_H

#include "protocol/message.h"
#include "protocol/new_tokens.h"

struct registration {
	struct program_identity of; /* without `restart` */
	int process_epoch;	    /* of the process started since then; 0: none */
	char *host;
	int port;
	int door;		  /* where it hears of another AM; 0: nowhere */
	int pid;		  /* of the executor; 0: not given */
	char *log_dir;		  /* NULL: not given */
	struct new_tokens tokens; /* that an AM before has given it */
};

char *registration_encode(const struct registration *registration);
int registration_decode(struct registration *registration, const char *bytes, size_t length,
			struct err *err);
void registration_finish(struct registration *registration);

struct registered {
	int am_attempt;
	int64_t heartbeat_interval_ms, give_up_ms;
};

char *registered_encode(const struct registered *registered);
int registered_decode(struct registered *registered, const char *bytes, size_t length,
		      struct err *err);

#endif
