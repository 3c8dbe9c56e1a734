/* Job files that are not on this machine's disk: standard input, pipes, HDFS, the web. */
#ifndef TONY_CLIENT_JOB_FILE_H
#define TONY_CLIENT_JOB_FILE_H

#include <stdbool.h>

#include "base/err.h"
#include "conf/conf.h"

/* "-" and "/dev/stdin": standard input. */
bool job_file_is_stdin(const char *location);
/* Of these, or of a pipe of the shell: it is there for one reader, once. */
bool job_file_is_stream(const char *location);

/* Is it standard input, a pipe, or a URL of hdfs, http or https? */
bool job_file_is_elsewhere(const char *location);

/* Reads such a file into the layer of job files. It includes no other file. Messages and origins
 * name "standard input", the pipe or the URL, without its user, password and query. */
int job_file_load(struct conf *conf, const char *location, struct err *err);

#endif
