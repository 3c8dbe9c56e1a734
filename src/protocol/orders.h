/* The AM's answer to a heartbeat (message.h). */
#ifndef TONY_PROTOCOL_ORDERS_H
#define TONY_PROTOCOL_ORDERS_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "job/machine.h"
#include "logs/search.h"
#include "protocol/new_tokens.h"

enum {
	LOG_ORDERS_MAX = 64, /* logs of one container at a time */
	SESSION_ORDERS_MAX = 16,
	SESSION_ID_LENGTH = 64, /* hexadecimal digits: secret_create() */
};

/* To send a piece of a log (docs/rest.md, "Logs"). */
struct log_order {
	char *log, *from;
	int64_t number; /* from 1 on */
	bool waits;
	struct log_search search; /* only lines that it finds */
};

struct orders {
	int am_attempt;
	struct order order;
	json_t *cluster; /* decoded: of ORDER_RUN, for cluster_from_json(); NULL: none was sent */
	bool preempted;	 /* of ORDER_QUIT: the scheduler takes its container back */
	int64_t numbers; /* that the AM has; -1: it does not say */
	struct new_tokens tokens;
	struct log_order logs[LOG_ORDERS_MAX]; /* that are wanted */
	size_t log_count;
	/* Commands of people that are to be started: of each the name of its channel. */
	char *sessions[SESSION_ORDERS_MAX];
	size_t session_count;
};

/* The cluster spec belongs between both: many answers share its text. `has_cluster`: it comes. */
void orders_encode(const struct orders *orders, bool has_cluster, struct str *front,
		   struct str *rear);
int orders_decode(struct orders *orders, const char *bytes, size_t length, struct err *err);
void orders_finish(struct orders *orders);

#endif
