/*
 * What is wrong with a configuration, collected so that a user sees all of it at once. Each line
 * reads `place: key: "value" is not ...; write ...`.
 */
#ifndef TONY_CONF_PROBLEMS_H
#define TONY_CONF_PROBLEMS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

#define PROBLEMS_CAP 100 /* errors, and warnings, that are told; beyond, one line says so */

/* A user mends the words of a command, or a file (also one that is missing). */
enum problem_source {
	PROBLEM_FILE,
	PROBLEM_TYPED,
};

struct problems {
	struct str_list errors;
	struct str_list warnings;
	bool in_files; /* one error at least is of a file */
};

void problems_error(struct problems *problems, enum problem_source source, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void problems_warning(struct problems *problems, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* No further error would be told: finding the words for it is idle. */
bool problems_are_full(const struct problems *problems);

/* -1 with one line per error when there is any; else 0. ERR_USAGE when all of them were typed, and
 * ERR_CONFIG when one is of a file: then other words alone would not do. */
int problems_to_err(const struct problems *problems, struct err *err);

void problems_finish(struct problems *problems);

#endif
