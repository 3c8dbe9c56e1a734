/* A program's own numbers (docs/metrics.md): the member "numbers" of docs/rest.md. */
#ifndef TONY_PROTOCOL_NUMBERS_H
#define TONY_PROTOCOL_NUMBERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { NUMBERS_MAX = 10000, NUMBER_NAME_MAX = 128 /* bytes of a name, or of a run */ };

struct number {
	const char *name, *run; /* printable, `run` may be "" */
	int64_t time_ms;	/* 0: not said */
	int64_t step;		/* -1: not said */
	double value;		/* NAN: told as NaN, or infinite */
};

struct number_list {
	int64_t from; /* how many came before the first, of this container */
	struct number *items;
	size_t count;
	json_t *texts; /* of decoded ones; NULL: they are borrowed */
};

/* May it be the name of a number, or of its run, of at least `min` bytes? It is shown to people. */
bool number_is_name(const char *text, size_t min);

void number_list_set_member(json_t *body, const struct number_list *numbers);
int number_list_read_member(const json_t *body, struct number_list *numbers, struct err *err);
void number_list_finish(struct number_list *numbers);

#endif
