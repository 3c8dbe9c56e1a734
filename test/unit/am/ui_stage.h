/* A job whose worker:0 serves an interface, a browser and the program: both played by hand. */
#ifndef TEST_UI_STAGE_H
#define TEST_UI_STAGE_H

#include <event2/listener.h>

#include "../net/peer.h"
#include "api_bed.h"

#define HOST  "Host: localhost:4000\r\n"
#define TOKEN HOST "Authorization: Bearer " BED_TOKEN "\r\n"

struct stage {
	struct api_bed *bed;
	struct evconnlistener *listener;
	int port;
	struct peer browser, program;
	bool is_called; /* the program: `program` is its connection */
	struct reply beat;
};

/* tune() may adjust the job before. Nothing is served yet. */
struct stage *stage_create(void (*tune)(struct bed *bed));
void stage_destroy(struct stage *stage);

void listen_as_program(struct stage *stage);
/* The task's executor says that something listens there. */
void serve(struct stage *stage);

/* The browser says this, to the AM or to another address. */
void call(struct stage *stage, const char *request);
void call_at(struct stage *stage, const char *address, const char *request);
void hang_up(struct stage *stage); /* the browser, and the program if it was called */

void expect_program(struct stage *stage, const char *text);
void expect_browser(struct stage *stage, const char *text);
void expect_end(struct stage *stage);

#endif
