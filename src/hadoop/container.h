/*
 * What a program finds in a YARN container, by the environment that the NodeManager gives it
 * (Hadoop's ApplicationConstants): LOG_DIRS, NM_HOST, CONTAINER_ID, HADOOP_TOKEN_FILE_LOCATION.
 * What was localised lies in the current directory.
 */
#ifndef TONY_HADOOP_CONTAINER_H
#define TONY_HADOOP_CONTAINER_H

#include <stdbool.h>

#include "base/err.h"

struct credentials;
struct job;

/* Secrets in the credentials: the job's bearer token, and its job.json. What comes with them needs
 * no file that each job writes and each node fetches. */
#define HADOOP_SECRET_TOKEN "tony.token"
#define HADOOP_SECRET_JOB   "tony.job"

/* Bytes of a job.json. The ResourceManager keeps credentials in its store with the application:
 * ZooKeeper's limit is 1 MiB for all of it. */
#define HADOOP_JOB_CAP (512u << 10)

struct hadoop_container {
	char *id;	/* "container_e17_1700000000000_0001_01_000002" */
	int am_attempt; /* the application's attempt that it belongs to, from 1 */
	char *work_dir;
	char *log_dir; /* the first of them: what is written there is kept by log aggregation */
	char *host;    /* its node's name or numeric address, by which others reach it */
};

/* Is this process in a container? */
bool hadoop_container_is_here(void);

int hadoop_container_read(struct hadoop_container *container, struct err *err);
void hadoop_container_finish(struct hadoop_container *container);

/* The credentials file that the container was started with. */
int hadoop_container_credentials(struct credentials *credentials, struct err *err);

/* The job's bearer token out of it; the caller frees. */
char *hadoop_container_token(struct err *err);
/* The job's description out of it; the caller destroys. */
struct job *hadoop_container_job(struct err *err);

#endif
