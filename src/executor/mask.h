/*
 * Puts "***" where a program prints a secret of its job (--secret, --secret-file), or the job's
 * token: each line of a value, without blanks around it, is a word that is looked for, if it has
 * MASK_LEAST bytes. A shorter one may be any word. The mask finds no value that a program has
 * changed (to base64, say).
 */
#ifndef TONY_EXECUTOR_MASK_H
#define TONY_EXECUTOR_MASK_H

#include "base/str.h"
#include "job/job_secret.h"

enum {
	MASK_LEAST = 8,
	/* The mask keeps the beginning of a secret back until more comes; of the token, which every
	 * job has, no less than this, as a word of the program's may begin like it. */
	MASK_TOKEN_LEAST = 16,
};

struct mask_words;

/* `token` NULL: there is none. NULL: there is nothing to look for. */
struct mask_words *mask_words_create(const struct job_secrets *secrets, const char *token);
void mask_words_destroy(struct mask_words *words); /* wipes them; NULL is fine */

/* The whole of a text; NULL as words or text is fine. */
void mask_text(const struct mask_words *words, char **text);

/* A stream that comes in pieces. Initialise with {.words = ...}. */
struct mask {
	const struct mask_words *words;
	struct str held; /* what may be the beginning of a word */
};

/* Appends to `out` as much as is known by now. */
void mask_feed(struct mask *mask, const char *bytes, size_t length, struct str *out);
/* The same of what is left: nothing more comes. */
void mask_end(struct mask *mask, struct str *out);
void mask_finish(struct mask *mask);

#endif
