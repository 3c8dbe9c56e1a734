/*
 * Lines of this process's log say who did what to a job, or was refused:
 *
 *   2026-11-26T17:02:11.123Z audit am: user=bob address=10.0.0.7 proof=proxy action=view
 *   job=application_1_0001 outcome=refused detail="GET /v1/job"
 *
 * (in one line). Values that are not plain words stand in quotes. Refusals are many where somebody
 * wants them to be: the same one is told once in a minute, with how often it came since, and no
 * more than AUDIT_REFUSALS_MAX are told in a minute.
 */
#ifndef TONY_WEB_AUDIT_H
#define TONY_WEB_AUDIT_H

#include <stdint.h>

#include "base/str.h"

enum { AUDIT_WINDOW_MS = 60 * 1000, AUDIT_REFUSALS_MAX = 60 };

/* NULL: not known, or nothing to say. Texts may come from strangers. */
struct audit_line {
	const char *user;
	const char *address; /* numeric, whence the request came */
	const char *proof;   /* how the user is known: "token", "session", "ticket", ... */
	const char *action;  /* "submit", "kill", "scale", "restart", "view", "login", ... */
	const char *job;
	const char *outcome; /* "done", "refused", "conflict", "failed", "unknown" */
	const char *detail;
};

/* Of something that was done, or would have been. */
void audit_write(const struct audit_line *line);

struct audit_refusals;

struct audit_refusals *audit_refusals_create(void);
void audit_refusals_destroy(struct audit_refusals *refusals); /* NULL is fine */
/* Writes it unless it is one too many. `now_ms` is monotonic. */
void audit_refuse(struct audit_refusals *refusals, const struct audit_line *line, int64_t now_ms);

/* The line without its time. False: it is one too many. */
bool audit_tell_refusal(struct audit_refusals *refusals, const struct audit_line *line,
			int64_t now_ms, struct str *text);

#endif
