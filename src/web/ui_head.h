/*
 * Heads of messages on their way through the door to a task's web interface (ui_proxy.h),
 * rewritten: what concerns only one of the two connections stays behind, and so does what is tony's
 * own. Pure functions over parsed heads.
 */
#ifndef TONY_WEB_UI_HEAD_H
#define TONY_WEB_UI_HEAD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/str.h"
#include "net/http_message.h"

/* The user whose order one who has the token passes on. */
#define UI_ORDERER_HEADER "X-Tony-Orderer"

struct ui_place {
	const char *prefix;   /* below which browsers see the interface: "/ui/tensorboard" */
	const char *address;  /* HOST:PORT where it really is */
	bool keep_path;	      /* it knows of the prefix: paths are passed on as they are */
	const char *base;     /* stands before the path instead of the prefix; NULL: nothing */
	const char *token;    /* that the program asks for; NULL: none */
	bool is_sealed;	      /* it speaks TLS alone, by the token (net/tls.h) */
	const char *identity; /* by which it finds the token; NULL: it is its own */
	const char *orderer;  /* told in UI_ORDERER_HEADER, which no browser's does; NULL: nobody */
	/* Whose program it is, and who else may listen for it (dial_demand_owner()): another
	 * machine's executor has looked there. `listener_uids` outlives the request. */
	uid_t owner;
	const struct str_list *listener_uids;
	/* Told once the status of the answer; 0: the caller was gone before. NULL: nobody is. */
	void (*answered)(void *data, int status);
	void *answered_data;
};

/* "Connection: Upgrade", and an Upgrade to something. */
bool ui_wants_upgrade(const struct http_head *question);

/* The head that the program gets, its empty line included. The target of `question` is below the
 * prefix. `peer` is the browser's address; with shows_token the Authorization is tony's. */
void ui_head_of_question(struct str *head, const struct http_head *question, const char *peer,
			 bool shows_token, const struct ui_place *place);

/* The head that the browser gets. `target` is that of the question; `host` the header Host that it
 * had (NULL: none). Places of the program's own become relative to the question's, so that they
 * hold below whatever prefix the browser sees. */
void ui_head_of_answer(struct str *head, const struct http_head *answer, const char *target,
		       const char *host, const struct ui_place *place);

#endif
