/* A job's secrets out of files: neither an argument list nor an environment of tony's shows them.
 */
#ifndef TONY_CLIENT_SECRET_FILE_H
#define TONY_CLIENT_SECRET_FILE_H

#include "base/err.h"
#include "job/job_secret.h"

/* "NAME=FILE": the value is what FILE holds, JOB_SECRET_CAP bytes at most; of a variable without
 * the end of its last line. FILE may be a pipe. ERR_USAGE: `pair` itself is wrong. An error names
 * the variable and the file, and nothing of the value. */
int secret_file_read(const char *pair, bool is_file, struct job_secret *secret, struct err *err);

#endif
