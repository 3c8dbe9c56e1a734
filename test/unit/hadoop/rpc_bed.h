/* A client, two servers, and what came of its calls. */
#ifndef TONY_TEST_HADOOP_RPC_BED_H
#define TONY_TEST_HADOOP_RPC_BED_H

#include "fake_rpc.h"
#include "hadoop/rpc.h"

/* What became of one call. */
struct outcome {
	struct bed *bed;
	bool is_done;
	int order; /* 1: the first that was told */
	bool has_response;
	int application; /* of the response */
	enum rpc_error_kind kind;
	char class[64], text[1024];
};

struct bed {
	struct event_base *base;
	struct fake_server first, second;
	struct rpc_options options; /* of the next client; both servers' addresses */
	struct rpc_client *client;
	int told;
	struct outcome outcomes[4];
	struct rpc_call *calls[4];
};

/* Setup and teardown of cmocka. */
int bed_open(void **state);
int bed_close(void **state);

/* The client speaks to the first server only. */
void bed_use_one(struct bed *bed);
/* Makes the client when there is none. */
struct rpc_client *bed_client(struct bed *bed);
/* Calls getNewApplication, for bed->outcomes[number]. */
void bed_call(struct bed *bed, int number);
/* The same for a method that must not be repeated. */
void bed_call_once(struct bed *bed, int number);
void bed_wait(struct bed *bed, int number);
/* bed_call(), bed_wait() */
void bed_run(struct bed *bed, int number);

void assert_application(const struct outcome *outcome, int application);
/* `class`: NULL for none. */
void assert_error(const struct outcome *outcome, enum rpc_error_kind kind, const char *class,
		  const char *part);

/* For fake_server.on_call: application 7. */
void answer_seven(struct fake_connection *connection, const struct fake_call *call);

#endif
