/*
 * Who looks on from a browser. Users who prove who they are get sessions of their own. Whoever has
 * the token asks for an invitation: a code for a link, good once and for a minute. Who comes with
 * it gets a session: a cookie that lets read, for 12 hours, from the address that it was given to.
 * All of it is in memory, and bounded: the oldest make way. Cookies that a key has signed outlive
 * the memory. Times are monotonic, in ms, but for those of the wall's clock, which say so.
 */
#ifndef TONY_WEB_SESSIONS_H
#define TONY_WEB_SESSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum {
	WEB_INVITATION_MS = 60 * 1000,
	WEB_SESSION_MS = 12 * 3600 * 1000,
	WEB_INVITATIONS_MAX = 32,
	WEB_SESSIONS_MAX = 1024,
	WEB_SESSIONS_OF_USER = 8,
};

struct web_sessions;

/* `cookie`: its name, of letters that a cookie's name may have: no other server's of this machine,
 * since browsers tell cookies apart by host, not by port. `is_secure`: browsers send it over HTTPS
 * alone. */
struct web_sessions *web_sessions_create(const char *cookie, bool is_secure);
void web_sessions_destroy(struct web_sessions *sessions); /* NULL is fine */

/* All links and sessions end, and cookies are signed with this key from now on. */
void web_sessions_sign(struct web_sessions *sessions, const char *key);

/* Opens the session anew that a signed cookie in the header Cookie (NULL: there is none) is of,
 * where it has not ended, came from `peer`, and another one fits in: it makes nobody's way. */
void web_sessions_resume(struct web_sessions *sessions, const char *cookies, const char *peer,
			 int64_t now_ms, int64_t wall_ms);

/* The code. `controls`: the session that it opens may do more than look. The caller frees. */
char *web_sessions_invite(struct web_sessions *sessions, bool controls, int64_t now_ms);

/* The value for Set-Cookie of the session that this code opens to who calls from `peer`; the caller
 * frees. NULL: the code is not good, or not any more. `ui_port`: where this browser reaches the
 * pages of programs; 0: not said. */
char *web_sessions_open(struct web_sessions *sessions, const char *code, const char *peer,
			int ui_port, int64_t now_ms, int64_t wall_ms);

/* The same for a user who has proved who he is by other means, and sees what that user may. He has
 * a few at a time: the oldest of his own make way, and those of links do not. */
char *web_sessions_login(struct web_sessions *sessions, const char *user, const char *peer,
			 int64_t now_ms, int64_t wall_ms);

/* The secret that the caller's session shows to do more than look: one that no cookie holds, and
 * that is in memory alone; of a signed session it follows from the key. `cookies`: also the value
 * for Set-Cookie. NULL: it looks, or there is none. Valid until the next call. */
const char *web_sessions_control(const struct web_sessions *sessions, const char *cookies,
				 const char *peer, int64_t now_ms);
/* Whether the header Cookie (NULL: there is none) has the cookie of a session of this caller. */
bool web_sessions_has(const struct web_sessions *sessions, const char *cookies, const char *peer,
		      int64_t now_ms);
/* It has a cookie of that name, of whatever session. */
bool web_sessions_claims(const struct web_sessions *sessions, const char *cookies);
/* Whose the caller's session is, valid until the next call; NULL: that of who has a link, or there
 * is none. */
const char *web_sessions_user(const struct web_sessions *sessions, const char *cookies,
			      const char *peer, int64_t now_ms);
/* That of the caller's session; 0: not said, or there is no session. */
int web_sessions_ui_port(const struct web_sessions *sessions, const char *cookies, const char *peer,
			 int64_t now_ms);

#endif
