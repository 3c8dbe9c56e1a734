/*
 * The door to the pages of one program: a port, and so an origin, of their own. A program's scripts
 * may read what has the origin of its pages. So nothing but these pages is behind a door, neither
 * the dashboard nor another program's pages, and what opens it is a session that opens nothing
 * else.
 */
#ifndef TONY_WEB_UI_DOOR_H
#define TONY_WEB_UI_DOOR_H

#include <stdbool.h>

#include "base/err.h"

struct event_base;
struct tls_context;
struct http_request;
struct ui_door;
struct web_sessions;

struct ui_door_setup {
	const char *beside; /* where the dashboard listens: the door does at another port of it */
	const char *cookie; /* web_sessions_create()'s */
	struct tls_context *tls; /* the dashboard's, shared; NULL: it speaks plain HTTP */
	/* Takes a request of a raw route that begins with /ui/NAME/ (its parameter "name"). */
	void (*pass)(void *data, struct http_request *request);
	void *data;
};

struct ui_door *ui_door_open(struct event_base *base, const struct ui_door_setup *setup,
			     struct err *err);
void ui_door_close(struct ui_door *door); /* NULL is fine */

const char *ui_door_address(const struct ui_door *door); /* with the port bound */

/* Where a request below the dashboard's own /ui/ is answered. */
enum ui_way {
	UI_WAY_HERE, /* right there */
	UI_WAY_DOOR, /* at the door: ui_door_lead() */
	UI_WAY_NONE, /* it was answered: why, and `remedy`, a sentence */
};

/* Programs show the token, which no page can: they are answered there. So is everybody where the
 * origin is shared. A browser with a session is led to the door, unless it came through another
 * proxy, which gives it no second port. */
enum ui_way ui_door_choose(struct http_request *request, const struct web_sessions *sessions,
			   bool is_shared, const char *remedy);

/* Leads a browser that has one of these `sessions`, the dashboard's, to the same path behind the
 * door, and gives it a session there. */
void ui_door_lead(struct ui_door *door, struct http_request *request,
		  const struct web_sessions *sessions);

#endif
