/*
 * YARN's words about containers and applications that have failed (ContainerStatus and
 * ApplicationReport, Hadoop 2.10 to 3.5):
 *
 *   Application ID failed 2 times due to AM Container for ATTEMPT exited with  exitCode: 1
 *   Failing this attempt.Diagnostics: [2026-11-23 14:54:28.261]Exception from container-launch.
 *   Container id: container_...
 *   [2026-11-23 14:54:28.264]Container exited with a non-zero exit code 1. Error file: ...
 *   Last 4096 bytes of am.stderr :
 *   ...
 *   For more detailed output, check the application tracking page: ...
 */
#ifndef TONY_SCHEDULER_YARN_DIAGNOSTICS_H
#define TONY_SCHEDULER_YARN_DIAGNOSTICS_H

#include "job/machine.h"

/* The log of an AM, in its container's directory. A NodeManager adds the end of a file named
 * *stderr* to the diagnostics of a container that has failed
 * (yarn.nodemanager.container.stderr.pattern). */
#define YARN_AM_LOG "am.stderr"

/* A row of ContainerExitStatus. */
struct yarn_exit_status {
	int status;
	enum cause_kind kind;
	const char *text; /* "went over its memory" */
};
/* NULL: none that is known, such as a program's own exit code. */
const struct yarn_exit_status *yarn_exit_status_find(int status);

/* YARN's words, to follow the id of the application that they are about: "the application" and "it"
 * in place of the id. The caller frees. */
char *yarn_diagnostics_of(const char *id, const char *text);

/* The lines that say something, printable, without the time in brackets before them and without
 * those of a stack. */
void yarn_diagnostics_lines(const char *diagnostics, struct str_list *lines);

/* Why the AM of an application failed. Its last words are the headline, else those of its node.
 * `has_begun`: it had come so far that it wrote its journal. */
void yarn_diagnostics_judge_am(const char *diagnostics, bool has_begun, struct cause *cause);

/* "the application master was preempted: ...", of an attempt's diagnostics; NULL: YARN does not
 * say. The caller frees. */
char *yarn_diagnostics_am_end(const char *diagnostics);

/* Why an application that was accepted has no AM yet: "the application master waits for a
 * container in queue ml: ...", in YARN's own words after the colon. `diagnostics`: NULL or empty:
 * YARN tells nothing. The caller frees. */
char *yarn_diagnostics_waiting(const char *diagnostics, const char *queue);

/* This ResourceManager itself has told of no more than of a container for the AM that it waits for.
 * Of one that was recovered it says otherwise. */
bool yarn_diagnostics_await_am(const char *diagnostics);

/* "container_...", as a NodeManager names the container that has failed; NULL: it does not. The
 * caller frees. */
char *yarn_diagnostics_container(const char *diagnostics);

#endif
