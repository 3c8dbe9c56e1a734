/* Everything that is known of a job, in one archive: for a ticket. */
#ifndef TONY_CLIENT_BUNDLE_H
#define TONY_CLIENT_BUNDLE_H

#include "client/opened.h"

struct bundle_options {
	int fd;	      /* the archive is written to it, as tar.gz */
	int64_t tail; /* lines of each log at most, the last ones; negative: all */
};

/* The archive has one directory, called as the job. A part that cannot be had is left out:
 * `missing` gets a line for each, which is in the archive's README.txt as well. Secrets and the
 * values of environment variables are masked; logs and events are as programs wrote them. */
int bundle_write(struct opened *opened, const struct bundle_options *options,
		 struct str_list *missing, struct err *err);

#endif
