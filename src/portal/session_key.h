/*
 * The key that signs the cookies of the portal's sessions, so that these outlive it: a file of mode
 * 0600 in the portal's folder, which all portals of this folder share. Another key ends all
 * sessions. Its name is that of the cookie's guard, not of the token, which opens more.
 */
#ifndef TONY_PORTAL_SESSION_KEY_H
#define TONY_PORTAL_SESSION_KEY_H

#include <stdbool.h>

#include "base/err.h"
#include "base/file_version.h"

/* Puts a new key in the place of the one in `folder`, which is there. */
int session_key_renew(const char *folder, struct err *err);

struct session_key {
	const char *folder;
	bool is_taken;
	struct file_version version;
};

/* The key, made where there is none, when it is another one than at the last call; NULL: it is not.
 * The caller frees it as a secret. Where it can neither be read nor kept that is told, and the key
 * lives as long as this process. */
char *session_key_take(struct session_key *key);

#endif
