/*
 * From the sources that a configuration names to what a task finds in its working directory. On one
 * machine nothing is packed or sent: files and directories are linked where they are, archives are
 * unpacked once per content, and src_dir is snapshotted, since its owner goes on editing it.
 *
 *   stage_plan()     what is to be done; nothing is written
 *   stage_resolve()  unpacks archives and fills job->types[].files
 *   ... the scheduler makes the job's directory ...
 *   stage_copy()     takes the snapshot of src_dir
 *
 * Where containers are on other machines, stage_send.h stands for the last two.
 */
#ifndef TONY_CLIENT_STAGE_H
#define TONY_CLIENT_STAGE_H

#include "client/describe.h"

enum stage_kind {
	STAGE_LINK,	      /* a symbolic link to the source */
	STAGE_UNPACK,	      /* a symbolic link to the archive's content in the cache */
	STAGE_SOURCE,	      /* the content of a directory, by way of a snapshot */
	STAGE_SOURCE_ARCHIVE, /* the content of an archive, likewise */
	STAGE_SOURCE_REMOTE,  /* the content of a directory or an archive in HDFS, likewise */
	STAGE_REMOTE,	      /* a file (or those in a directory) of the cluster's file system */
	STAGE_REMOTE_UNPACK,  /* the content of an archive there */
};

struct stage_file {
	enum stage_kind kind;
	char *source;  /* absolute; of remote ones a URI */
	char *name;    /* in the working directory */
	bool optional; /* a remote one that may be missing */
};
struct stage_files {
	struct stage_file *items;
	size_t count;
};
struct stage {
	struct stage_files *types; /* as job->types */
	size_t type_count;
	struct str_list left_out; /* absolute: files that no copy of the sources gets */
	bool has_stdin;		  /* standard input is read to its end, for the one task */
	size_t stdin_type;
};

/* Fills a zeroed `stage`. `err` (ERR_CONFIG) has a line for every source that is not what it is
 * said to be, or in the way of another. */
int stage_plan(const struct description *description, struct stage *stage, struct err *err);
/* Adds standard input. Of tasks that are no sidecars there must be one (ERR_USAGE). */
int stage_plan_stdin(const struct job *job, struct stage *stage, struct err *err);
void stage_finish(struct stage *stage);
#define cleanup_stage __attribute__((cleanup(stage_finish)))

/* Gives the job its checkpoint directory too, where the user chose none. */
int stage_resolve(const struct stage *stage, struct job *job, struct err *err);

/* Into the directory that the scheduler has made; reads standard input, if it was planned. Makes
 * the checkpoint directory too. `interrupted`: as stage_clone() has it. */
int stage_copy(const struct stage *stage, const struct job *job, const char *job_dir,
	       bool (*interrupted)(void), struct err *err);

/* Has any type src_dir, of whichever kind? */
bool stage_has_source(const struct stage *stage);
/* Is it src_dir, of whichever kind? */
bool stage_is_source(const struct stage_file *file);

const char *stage_kind_name(enum stage_kind kind); /* "link", "unpacked archive" ... */

#endif
