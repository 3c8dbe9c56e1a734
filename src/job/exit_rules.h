/*
 * tony.<type>.on-exit: what a user wants done about ends of a program, a list of rules
 *
 *   3->retry, 64-78->fail, SIGTERM->ignore, *->retry
 *
 * Codes are 1 to 255, signals have their names; "*" is every end that is the program's own doing.
 * The first rule that fits decides. A signal is also the code that a shell makes of it (128 + its
 * number), and that code the signal.
 */
#ifndef TONY_JOB_EXIT_RULES_H
#define TONY_JOB_EXIT_RULES_H

#include "base/err.h"
#include "job/machine.h"

enum { EXIT_RULES_MAX = 100, EXIT_RULE_CAP = 64 };

enum exit_action {
	EXIT_DEFAULT, /* no rule fits: the policy's table decides */
	EXIT_RETRY,   /* as long as there is a budget for it */
	EXIT_FAIL,    /* never: the job fails */
	EXIT_IGNORE,  /* it counts as success */
};

/* The error is a phrase that begins with the quoted rule and ends with what to write. */
int exit_rule_check(const char *rule, struct err *err);

/* `rules` have been checked. */
enum exit_action exit_rules_find(const struct str_list *rules, const struct cause *cause);

#endif
