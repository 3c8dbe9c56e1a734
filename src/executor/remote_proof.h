/*
 * How `tony-agent rsh` and `tony-agent host` prove to each other that they know the job's token,
 * and show it to nobody: another user's program may listen at the port of a host, or stand between
 * the two. Pure functions; randomness is passed in.
 *
 *   rsh   {"address": A, "nonce": R}
 *   host  {"nonce": H, "proof": P1}                P1 = proof("host", "", "")
 *   rsh   {"text": T, "proof": P2}                 P2 = proof("rsh", P1, T)
 *   host  {"text": U, "proof": P3}                 P3 = proof("host", P2, U)
 *
 * A is the address that rsh has dialled, R and H are 256 random bits each, in hex. proof(side,
 * before, text) is HMAC-SHA256, in hex, under a key that is derived from the token, of side, R, H,
 * A, before and text, each with its length. So a proof holds for one connection, one address, one
 * direction and one place in the conversation, and a relay between the two can pass it on or break
 * it.
 */
#ifndef TONY_EXECUTOR_REMOTE_PROOF_H
#define TONY_EXECUTOR_REMOTE_PROOF_H

#include <stddef.h>

#include "base/err.h"

enum remote_side { REMOTE_HOST, REMOTE_RSH };

/* One conversation, as one of the two sees it. */
struct remote_session {
	char *key;
	char *address, *rsh_nonce, *host_nonce;
	char *last; /* proof of the conversation so far; NULL: nothing is proven yet */
};

/* Of one's own `nonce` (secret_create()). `address`: what rsh dials; NULL for the host. */
void remote_session_init(struct remote_session *session, enum remote_side side, const char *token,
			 const char *address, const char *nonce);
void remote_session_finish(struct remote_session *session);

/* All texts that are returned are the caller's to free. Of what is taken: -1 or NULL with ERR_INPUT
 * (it is not of this form) or ERR_DENIED (it proves nothing); the session is as it was then. */

char *remote_hello(const struct remote_session *session);
int remote_take_hello(struct remote_session *session, const char *bytes, size_t length,
		      struct err *err);

char *remote_welcome(struct remote_session *session);
int remote_take_welcome(struct remote_session *session, const char *bytes, size_t length,
			struct err *err);

/* After the welcome: a message of this side's, out of `text` (UTF-8), and its text. */
char *remote_seal(struct remote_session *session, enum remote_side side, const char *text);
char *remote_unseal(struct remote_session *session, enum remote_side side, const char *bytes,
		    size_t length, struct err *err);

#endif
