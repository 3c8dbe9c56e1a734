/* What `tony` tells its caller by its exit code: one table, from which tony-exit(7) is made. */
#ifndef TONY_CLIENT_EXIT_CODE_H
#define TONY_CLIENT_EXIT_CODE_H

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"
#include "job/machine.h"

#define EXIT_CODES(row)                                                                            \
	row(OK, 0, "ok", "It worked; of a job that was waited for: it succeeded") row(             \
		JOB_FAILED, 1, "job-failed",                                                       \
		"The job failed") row(USAGE, 2, "usage",                                           \
				      "The words of the command are wrong; nothing was done")      \
		row(CONFIG, 3, "config", "A file is wrong or missing; nothing was started") row(   \
			NOT_FOUND, 4, "not-found",                                                 \
			"There is no such job, task or file, or it runs no program")               \
			row(UNREACHABLE, 5, "unreachable",                                         \
			    "The application master or scheduler does not answer")                 \
				row(DENIED, 6, "denied", "Permission was denied") row(             \
					CAPACITY, 7, "capacity",                                   \
					"The scheduler can never give what the job asks for, or "  \
					"HDFS has no room for it")                                 \
					row(JOB_KILLED, 8, "job-killed",                           \
					    "The job was killed by its user")                      \
						row(TIMEOUT, 9, "timeout",                         \
						    "The time to wait is over; the job goes on")   \
							row(INTERNAL, 70, "internal",              \
							    "Something failed in tony or in the "  \
							    "system under it")                     \
								row(HANGUP, 129, "hangup",         \
								    "The terminal was closed; "    \
								    "the job goes on")             \
									row(INTERRUPTED, 130,      \
									    "interrupted",         \
									    "Ctrl-C or SIGTERM "   \
									    "ended the command")

enum exit_code {
#define EXIT_CODE_ENUM(id, code, name, doc) EXIT_CODE_##id = (code),
	EXIT_CODES(EXIT_CODE_ENUM)
#undef EXIT_CODE_ENUM
};

struct exit_code_row {
	enum exit_code code;
	const char *name;
	const char *doc; /* a sentence without its period */
};
extern const struct exit_code_row exit_code_table[];
extern const size_t exit_code_count;

enum exit_code exit_code_of(enum err_kind kind);
/* Of a verb that waited for a job to end. */
enum exit_code exit_code_of_job(enum job_state state);
/* As the member "exit_code" of a job; null until it has ended. */
void exit_code_set_member(json_t *object, enum job_state state);

#endif
