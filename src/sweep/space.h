/*
 * The parameters of a sweep, each with the values that it can have. As text, with blanks between
 * them:
 *
 *   lr=0.1,0.01           a list
 *   layers=1..5           whole numbers; 1..9:2 is every second one, 0..1:0.25 has fractions
 *   batch=32..512:x2      each is twice the one before
 *   rate=uniform(0,1)     any number between the two
 *   lr=loguniform(1e-5,1e-1)   the same, evenly over the orders of magnitude
 *   width=int(16,512)     any whole number between the two, both included
 *
 * The last three have no list of values, so no grid goes over them.
 */
#ifndef TONY_SWEEP_SPACE_H
#define TONY_SWEEP_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum {
	SWEEP_PARAMETERS_MAX = 64,
	SWEEP_VALUES_MAX = 10000, /* of one parameter */
	SWEEP_NAME_MAX = 128,	  /* bytes */
};

enum sweep_kind { SWEEP_VALUES, SWEEP_UNIFORM, SWEEP_LOG_UNIFORM, SWEEP_INTEGER };

struct sweep_parameter {
	char *name; /* [A-Za-z_][A-Za-z0-9_]*, or a key of a job: tony.worker.memory */
	enum sweep_kind kind;
	struct str_list values; /* of SWEEP_VALUES: words that no shell reads anything into */
	bool are_numbers;	/* of SWEEP_VALUES */
	double low, high;	/* of the others */
};

struct sweep_space {
	struct sweep_parameter *items;
	size_t count;
};

/* Fills a zeroed space. The error is a phrase that begins with the quoted parameter and ends with
 * what to write. */
int sweep_space_parse(const char *text, struct sweep_space *space, struct err *err);
void sweep_space_finish(struct sweep_space *space);

/* Is it a key of a job, and no name of a program's? */
bool sweep_parameter_is_key(const struct sweep_parameter *parameter);

/* A word that no shell reads anything into: all values of a space are such. */
bool sweep_space_is_plain(const char *value);

/* The value at `part` (0 <= part < 1) of all that the parameter can have. The caller frees. */
char *sweep_parameter_at(const struct sweep_parameter *parameter, double part);

/* How many combinations there are; 0: a parameter has no list of values. At most INT32_MAX. */
int64_t sweep_space_size(const struct sweep_space *space);

#endif
