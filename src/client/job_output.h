/*
 * The output of a job's programs, or of tony's own programs for it, as lines: from files of this
 * machine, from the AM that sends what running tasks write, or from what a cluster has kept.
 */
#ifndef TONY_CLIENT_JOB_OUTPUT_H
#define TONY_CLIENT_JOB_OUTPUT_H

#include "client/follow.h"
#include "client/opened.h"
#include "logs/lines.h"
#include "logs/search.h"

struct job_output_choice {
	struct str_list tasks;	   /* "worker:1", or "worker" for all of the type; empty: all */
	struct str_list executors; /* the logs of these tasks' executors instead, named likewise */
	bool am;		   /* the log of the application master instead */
	char *stream;		   /* "stdout" or "stderr"; NULL, "both": both */
	struct log_search search;  /* lines that it does not find may be left out */
	int64_t tail;		   /* begin with so many lines of each log; negative: all */
};

/* ERR_USAGE when the choice contradicts itself. */
int job_output_check(const struct job_output_choice *choice, struct err *err);

/* Of a log, for who visits its lines: all 0 at first. */
struct job_output_mark {
	bool is_passed_over; /* its line, of which the rest follows */
	bool was_shown;	     /* the line that is begun */
	int64_t offset;	     /* of the line that was seen begun last */
	int64_t seen_ms;     /* monotonic: since when; 0: it was not */
};

struct job_output_line {
	const char *job; /* its id, where lines of several jobs come; else NULL */
	/* "worker:1| ", "worker:1 stderr| ", of a job of one task "stderr| ", or "". */
	const char *label;
	const char *task; /* "worker:1"; NULL: it is of the application master */
	const char *log;  /* "stdout", "stderr-1", "executor" or "am" */
	const char *text; /* without newline; what a carriage return overwrote is left out */
	size_t length;
	bool has_overwritten;	    /* there was such */
	struct log_line as_written; /* the same with all bytes */
	struct job_output_mark *mark;
	int64_t time_ms; /* 0: unknown */
	bool is_error;	 /* it was written to standard error */
	/* Its program is the only one of the job: standard output and standard error tell all that
	 * the label does. */
	bool is_alone;
	bool is_only_stream; /* nothing but this stream of one task is asked for */
};
typedef void job_output_visit(void *data, const struct job_output_line *line);

struct job_output;

/* Everything is borrowed. `follow`: the caller waits by it, and calls job_output_turn() after each
 * change until the job is final; NULL: the caller wants the lines that are there now. `visit` sees
 * each line. NULL: `err`. */
struct job_output *job_output_open(struct opened *opened, const struct job_output_choice *choice,
				   struct follow *follow, job_output_visit *visit, void *data,
				   struct err *err);
void job_output_close(struct job_output *output); /* NULL is fine */

/* Before the first turn: its lines come in one stream with those of `first`, which may be itself,
 * and which is closed before it. The turns of `first`, which come before its own, visit them.
 * `name`, which is borrowed, stands before each of them. */
void job_output_join(struct job_output *output, struct job_output *first, const char *name);
/* Adds the logs that there are by now, as a turn does. To be called of each of several before one
 * of them has its turn, so that all lines are in order. `others_go_on`: though the job is final its
 * turn is none at the end, since other jobs are not. */
int job_output_prepare(struct job_output *output, bool others_go_on, struct err *err);

/* Visits the lines that came. When the job is final, or nobody follows, also the last ones without
 * a newline; then -1 tells that logs are missing. */
int job_output_turn(struct job_output *output, struct err *err);

/* After the last turn: a sentence that says of which logs a history has no more than the ends, and
 * why no more is left. NULL: all were whole. The caller frees. */
char *job_output_losses(const struct job_output *output);

/* After a turn that failed: a log is missing since the AM does not answer. */
bool job_output_is_away(const struct job_output *output);

/* Waits for lines that `follow` does not tell of, for at most so long. False, at once: there are
 * none such now. */
bool job_output_wait(struct job_output *output, int64_t timeout_ms);

/* The newest line that was begun and has no newline yet, as a progress bar: false: there is none.
 * Valid until the next call. */
bool job_output_begun(struct job_output *output, struct job_output_line *line);

/* Goes through all such lines; those that `visit` wants taken (true) it gets once more, as
 * pieces of lines that go on. */
typedef bool job_output_visit_begun(void *data, const struct job_output_line *line);
void job_output_each_begun(struct job_output *output, job_output_visit_begun *visit);

#endif
