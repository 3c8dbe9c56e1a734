/*
 * A job that is submitted again: the configuration that it had, with the sources that it had. These
 * are named by the places where they were kept: the job's snapshot and the cache of archives on
 * this machine, files by content in HDFS.
 */
#ifndef TONY_CLIENT_REPEAT_H
#define TONY_CLIENT_REPEAT_H

#include <jansson.h>
#include <stdbool.h>

#include "client/job_options.h"
#include "client/opened.h"

struct repeat {
	const struct opened *opened; /* the earlier job */
	json_t *config; /* as struct job's, with values of variables and places of sources */
	json_t *placed; /* the values of `config` that name such places, by key */
	bool resumes;	/* goes on where the earlier job was */
};
void repeat_finish(struct repeat *repeat);
#define cleanup_repeat __attribute__((cleanup(repeat_finish)))

/* How a user wants the repetition to differ. */
struct repeat_choice {
	bool resumes; /* goes on from the checkpoints of the earlier job */
	bool has_stdin;
};

/* Fills a zeroed `repeat` and makes `options`, which win, load its configuration. ERR_NOT_FOUND:
 * something that the earlier job had is gone; the message says what, and what to type instead. */
int repeat_plan(struct repeat *repeat, const struct opened *opened,
		const struct repeat_choice *choice, struct job_options *options, struct err *err);

/* Writes into the new job's description which job it repeats. Its configuration names sources as
 * the user did, and not by the places where they were kept. */
void repeat_note(const struct repeat *repeat, struct job *job);

/* The sources are those of the earlier job. */
bool repeat_has_sources(const struct repeat *repeat);

/* Warns of files that changed since the earlier job, if the new one runs in the same directory. To
 * be called before the start, since programs may write there. */
void repeat_warn_of_changes(const struct repeat *repeat, const struct job *job);
/* Warns if the commits differ. To be called after the start, when the new job's is known. */
void repeat_warn_of_commit(const struct repeat *repeat, const struct job *job);

/* For repeat_plan() alone (repeat_sources.c): puts the places of sources into `repeat`. */
int repeat_place_sources(struct repeat *repeat, const struct job_options *options, struct err *err);

/* A value of repeat->config; NULL takes the key out. */
void repeat_set_value(struct repeat *repeat, const char *key, const char *value);

#endif
