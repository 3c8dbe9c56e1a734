#include "scheduler/local_end.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "scheduler/copies.h"
#include "scheduler/local_sources.h"

void local_end_stdin(const char *job_dir)
{
	char *path cleanup_free = local_sources_stdin(job_dir);

	if (unlink(path) < 0 && errno != ENOENT && errno != ENOTDIR)
		log_warning("the job's standard input stays as %s: %s", path, strerror(errno));
}

void local_end_files(const struct job *job, const char *job_dir)
{
	struct err err cleanup_err = {0};

	local_end_stdin(job_dir);
	copies_take_back_all(job, job_dir);
	if (local_sources_share(job_dir, &err) < 0)
		log_warning("the job's sources stay in its own directory: %s", err_message(&err));
}
