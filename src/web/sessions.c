#include "web/sessions.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/str.h"
#include "web/cookie.h"

struct entry {
	char *secret;  /* NULL: none */
	char *peer;    /* of a session */
	char *user;    /* of a session; NULL: it was opened by a link */
	int ui_port;   /* of a session; 0: not said */
	bool controls; /* it may do more than look */
	char *control; /* of a session that controls; else NULL */
	int64_t until_ms;
};

struct web_sessions {
	char *cookie;
	bool is_secure;
	char *key; /* signs cookies; NULL: none is */
	struct entry invitations[WEB_INVITATIONS_MAX], sessions[WEB_SESSIONS_MAX];
};

static void clear(struct entry *entry)
{
	mem_free_secret(entry->secret);
	mem_free_secret(entry->control);
	free(entry->peer);
	free(entry->user);
	*entry = (struct entry){0};
}

struct web_sessions *web_sessions_create(const char *cookie, bool is_secure)
{
	struct web_sessions *sessions = mem_alloc(sizeof(*sessions));

	sessions->cookie = mem_strdup(cookie);
	sessions->is_secure = is_secure;
	return sessions;
}

static void clear_all(struct web_sessions *sessions)
{
	for (size_t i = 0; i < array_length(sessions->invitations); i++)
		clear(&sessions->invitations[i]);
	for (size_t i = 0; i < array_length(sessions->sessions); i++)
		clear(&sessions->sessions[i]);
	mem_free_secret(sessions->key);
	sessions->key = NULL;
}

void web_sessions_destroy(struct web_sessions *sessions)
{
	if (!sessions)
		return;
	clear_all(sessions);
	free(sessions->cookie);
	free(sessions);
}

/* A free one, or else the one that ends first: cleared. */
static struct entry *make_room(struct entry *entries, size_t count)
{
	struct entry *first = entries;

	for (size_t i = 1; i < count; i++)
		if (entries[i].until_ms < first->until_ms)
			first = &entries[i];
	clear(first);
	return first;
}

/* Of this user's (NULL: any user's) sessions, the one that ends first, and how many there are. */
static struct entry *find_first(struct web_sessions *sessions, const char *user, size_t *count)
{
	struct entry *first = NULL;

	*count = 0;
	for (size_t i = 0; i < array_length(sessions->sessions); i++) {
		struct entry *entry = &sessions->sessions[i];
		if (!entry->user || (user && !str_equal(entry->user, user)))
			continue;
		++*count;
		if (!first || entry->until_ms < first->until_ms)
			first = entry;
	}
	return first;
}

static bool has_free(const struct web_sessions *sessions, int64_t now_ms)
{
	for (size_t i = 0; i < array_length(sessions->sessions); i++)
		if (sessions->sessions[i].until_ms <= now_ms)
			return true;
	return false;
}

/* So that no user ends the sessions of others, or of links, while there is another way. */
static void make_room_for_user(struct web_sessions *sessions, const char *user, int64_t now_ms)
{
	size_t count;
	struct entry *own = find_first(sessions, user, &count);

	if (count >= WEB_SESSIONS_OF_USER) {
		clear(own);
	} else if (!has_free(sessions, now_ms)) {
		struct entry *first = find_first(sessions, NULL, &count);
		if (first)
			clear(first);
	}
}

/* All are looked at, each in constant time: how long it takes tells nothing of what is there. */
static const struct entry *find(const struct entry *entries, size_t count, const char *secret,
				int64_t now_ms)
{
	const struct entry *found = NULL;

	for (size_t i = 0; i < count; i++) {
		const char *own = entries[i].secret;
		if (own && now_ms < entries[i].until_ms && strlen(own) == strlen(secret) &&
		    CRYPTO_memcmp(own, secret, strlen(own)) == 0)
			found = &entries[i];
	}
	return found;
}

char *web_sessions_invite(struct web_sessions *sessions, bool controls, int64_t now_ms)
{
	char *code cleanup_secret = secret_create();
	struct entry *entry = make_room(sessions->invitations, array_length(sessions->invitations));
	entry->secret = mem_strdup(code);
	entry->controls = controls;
	entry->until_ms = now_ms + WEB_INVITATION_MS;
	return mem_steal(&code);
}

/* ---- cookies that are signed ---------------------------------------------------------------- */

/* SECRET.UNTIL.UI_PORT.USER.ACCESS.PROOF: until when, in wall-clock ms; "u" and the user in base
 * 64; "control" or "look". */
enum { NONCE, UNTIL, UI_PORT, USER, ACCESS, PROOF, PARTS };

/* Of all but the proof, and of the address that the cookie is good from. The caller frees. */
static char *prove(const char *key, char *const *parts, const char *peer)
{
	const char *const proved[] = {parts[NONCE], parts[UNTIL],  parts[UI_PORT],
				      parts[USER],  parts[ACCESS], peer};

	return secret_prove(key, proved, array_length(proved));
}

static char control_access[] = "control", look_access[] = "look";

/* The caller frees. */
static char *sign(const char *key, const struct entry *entry, int64_t until_wall_ms)
{
	const char *user = entry->user ? entry->user : "";
	char *nonce cleanup_secret = secret_create();
	char *until cleanup_free = mem_printf("%lld", (long long)until_wall_ms);
	char *port cleanup_free = mem_printf("%d", entry->ui_port);
	char *encoded cleanup_free = base64_encode(user, strlen(user));
	char *name cleanup_free = mem_printf("u%s", encoded);
	char *access = entry->controls ? control_access : look_access;
	char *parts[] = {[NONCE] = nonce,
			 [UNTIL] = until,
			 [UI_PORT] = port,
			 [USER] = name,
			 [ACCESS] = access};
	char *proof cleanup_secret = prove(key, parts, entry->peer);

	return mem_printf("%s.%s.%s.%s.%s.%s", nonce, until, port, name, access, proof);
}

/* The same for as long as the session has this cookie, which does not tell it. The caller frees. */
static char *derive_control(const char *key, const char *cookie)
{
	const char *const proved[] = {control_access, cookie};

	return secret_prove(key, proved, array_length(proved));
}

/* sign() has written it: it is well-formed. */
static struct entry read_signed(char *const *parts, int64_t now_ms, int64_t wall_ms)
{
	int64_t until = 0, ui_port = 0;
	size_t length = 0;

	str_parse_int(parts[UNTIL], 0, INT64_MAX, &until);
	str_parse_int(parts[UI_PORT], 0, 65535, &ui_port);
	char *user cleanup_free = base64_decode(parts[USER] + 1, strlen(parts[USER] + 1), &length);
	/* A clock that was set back gives no more time. */
	int64_t left_ms = until - wall_ms < WEB_SESSION_MS ? until - wall_ms : WEB_SESSION_MS;
	return (struct entry){.user = length > 0 ? mem_strndup(user, length) : NULL,
			      .ui_port = (int)ui_port,
			      .controls = str_equal(parts[ACCESS], control_access),
			      .until_ms = now_ms + left_ms};
}

void web_sessions_sign(struct web_sessions *sessions, const char *key)
{
	clear_all(sessions);
	sessions->key = mem_strdup(key);
}

/* ---- sessions ----------------------------------------------------------------------------- */

static void give_control(const struct web_sessions *sessions, struct entry *session)
{
	if (session->controls)
		session->control = sessions->key ? derive_control(sessions->key, session->secret)
						 : secret_create();
}

/* Its cookie; the caller frees. */
static char *add_session(struct web_sessions *sessions, const struct entry *session,
			 int64_t wall_ms)
{
	struct entry *entry = make_room(sessions->sessions, array_length(sessions->sessions));

	*entry = *session;
	entry->secret = sessions->key ? sign(sessions->key, entry, wall_ms + WEB_SESSION_MS)
				      : secret_create();
	give_control(sessions, entry);
	return mem_printf("%s=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Lax%s", sessions->cookie,
			  entry->secret, WEB_SESSION_MS / 1000,
			  sessions->is_secure ? "; Secure" : "");
}

char *web_sessions_login(struct web_sessions *sessions, const char *user, const char *peer,
			 int64_t now_ms, int64_t wall_ms)
{
	make_room_for_user(sessions, user, now_ms);
	return add_session(sessions,
			   &(struct entry){.user = mem_strdup(user),
					   .peer = mem_strdup(peer),
					   .until_ms = now_ms + WEB_SESSION_MS},
			   wall_ms);
}

char *web_sessions_open(struct web_sessions *sessions, const char *code, const char *peer,
			int ui_port, int64_t now_ms, int64_t wall_ms)
{
	const struct entry *invitation =
		find(sessions->invitations, array_length(sessions->invitations), code, now_ms);

	if (!invitation)
		return NULL;
	bool controls = invitation->controls;
	clear(&sessions->invitations[invitation - sessions->invitations]);
	return add_session(sessions,
			   &(struct entry){.peer = mem_strdup(peer),
					   .ui_port = ui_port,
					   .controls = controls,
					   .until_ms = now_ms + WEB_SESSION_MS},
			   wall_ms);
}

/* A session that made way for others ends before these do, so it does not come back. */
static bool fits_in(struct web_sessions *sessions, const struct entry *session, int64_t now_ms)
{
	size_t count = 0;

	for (size_t i = 0; i < array_length(sessions->sessions) && session->user; i++)
		if (now_ms < sessions->sessions[i].until_ms &&
		    str_equal(sessions->sessions[i].user, session->user))
			count++;
	return now_ms < session->until_ms && count < WEB_SESSIONS_OF_USER &&
	       has_free(sessions, now_ms);
}

void web_sessions_resume(struct web_sessions *sessions, const char *cookies, const char *peer,
			 int64_t now_ms, int64_t wall_ms)
{
	char *secret cleanup_secret = web_cookie_find(cookies, sessions->cookie);
	struct str_list parts cleanup_str_list = {0};

	if (!secret || !sessions->key ||
	    find(sessions->sessions, array_length(sessions->sessions), secret, now_ms))
		return;
	str_split(&parts, secret, '.');
	char *proof cleanup_secret =
		parts.count == PARTS ? prove(sessions->key, parts.items, peer) : NULL;
	if (!proof || !secret_equal(parts.items[PROOF], proof))
		return;
	struct entry session = read_signed(parts.items, now_ms, wall_ms);
	if (fits_in(sessions, &session, now_ms)) {
		session.secret = mem_strdup(secret);
		session.peer = mem_strdup(peer);
		give_control(sessions, &session);
		*make_room(sessions->sessions, array_length(sessions->sessions)) = session;
	} else {
		clear(&session);
	}
}

static const struct entry *find_session(const struct web_sessions *sessions, const char *cookies,
					const char *peer, int64_t now_ms)
{
	char *secret cleanup_secret = web_cookie_find(cookies, sessions->cookie);
	const struct entry *entry =
		secret ? find(sessions->sessions, array_length(sessions->sessions), secret, now_ms)
		       : NULL;

	return entry && strcmp(entry->peer, peer) == 0 ? entry : NULL;
}

bool web_sessions_has(const struct web_sessions *sessions, const char *cookies, const char *peer,
		      int64_t now_ms)
{
	return find_session(sessions, cookies, peer, now_ms) != NULL;
}

bool web_sessions_claims(const struct web_sessions *sessions, const char *cookies)
{
	char *secret cleanup_secret = web_cookie_find(cookies, sessions->cookie);

	return secret != NULL;
}

const char *web_sessions_user(const struct web_sessions *sessions, const char *cookies,
			      const char *peer, int64_t now_ms)
{
	const struct entry *session = find_session(sessions, cookies, peer, now_ms);

	return session ? session->user : NULL;
}

const char *web_sessions_control(const struct web_sessions *sessions, const char *cookies,
				 const char *peer, int64_t now_ms)
{
	const struct entry *session = find_session(sessions, cookies, peer, now_ms);

	return session ? session->control : NULL;
}

int web_sessions_ui_port(const struct web_sessions *sessions, const char *cookies, const char *peer,
			 int64_t now_ms)
{
	const struct entry *session = find_session(sessions, cookies, peer, now_ms);

	return session ? session->ui_port : 0;
}
