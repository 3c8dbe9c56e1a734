/*
 * The numbers that a program tells of itself, on their way to the AM: read out of the file that it
 * appends to, and kept until the AM has them. A program that writes more than the AM takes is read
 * no faster than that.
 */
#ifndef TONY_EXECUTOR_NUMBERS_H
#define TONY_EXECUTOR_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "executor/number_line.h"

enum {
	NUMBERS_WAITING_MAX = 8192,
	NUMBERS_NAMES_MAX = 64, /* of a task, with their runs; further ones are passed over */
};

struct numbers;

/* The file need not be there (yet). */
struct numbers *numbers_create(const char *path);
void numbers_destroy(struct numbers *numbers); /* NULL is fine */

/* Reads what was appended. `now_ms`: the time of numbers that say none. */
void numbers_look(struct numbers *numbers, int64_t now_ms);

/* The farthest step that any number was of; 0: none told one. */
int64_t numbers_step(const struct numbers *numbers);

bool numbers_have_room(const struct numbers *numbers);

/* A number that came another way; where there is no room, it is lost. */
void numbers_add(struct numbers *numbers, const struct number *number);

/* The first that the AM may not have, in at most `bytes` of a message. number_list_finish() frees
 * the list; its texts are borrowed. */
void numbers_next(const struct numbers *numbers, size_t bytes, struct number_list *list);

/* The AM has so many, of all that there were. */
void numbers_taken(struct numbers *numbers, int64_t count);

#endif
