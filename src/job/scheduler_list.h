/*
 * The schedulers, in the order in which jobs are looked for. The tables of both programs, the
 * choices of tony.application.scheduler and the help are made of this list. A program of the tests
 * has one more (test/null).
 */
#ifndef TONY_JOB_SCHEDULER_LIST_H
#define TONY_JOB_SCHEDULER_LIST_H

#ifndef TONY_MORE_SCHEDULERS
#define TONY_MORE_SCHEDULERS(ROW)
#endif

#define SCHEDULER_LIST(FIRST_ROW, ROW) FIRST_ROW(local) ROW(yarn) TONY_MORE_SCHEDULERS(ROW)

#endif
