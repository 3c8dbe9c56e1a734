/* How the remote stores of one job are reached: job->stores of job.json. The client finds it out at
 * submission, so that no process of the job reads site files or guesses. */
#ifndef TONY_STORE_ACCESS_H
#define TONY_STORE_ACCESS_H

#include "hadoop/hdfs_access.h"
#include "store/s3_access.h"

struct store_access {
	bool has_hdfs;
	struct hdfs_access hdfs;
	bool has_s3;
	struct s3_access s3;
};

void store_access_finish(struct store_access *access);
#define cleanup_store_access __attribute__((cleanup(store_access_finish)))

/* Reads and checks, as if written by an enemy. `stores` NULL: the job has none. -1: `err`
 * (ERR_INPUT), and `access` is empty. */
int store_access_from_json(const json_t *stores, struct store_access *access, struct err *err);

/* Is the place in a remote store that `stores` says how to reach? Of any other the programs know
 * what it is. */
bool store_access_reaches(const json_t *stores, const char *place);

#endif
