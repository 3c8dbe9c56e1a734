/* A job's sweep, as the keys tony.sweep.* describe it. */
#ifndef TONY_CLIENT_SWEEP_CONFIG_H
#define TONY_CLIENT_SWEEP_CONFIG_H

#include <jansson.h>

#include "sweep/plan.h"

struct sweep_config {
	struct sweep_plan plan;
	char *program;		    /* of SWEEP_ASKED; for `bash -c` */
	int64_t program_timeout_ms; /* for an answer of it; 0: no limit */
	int64_t parallel;	    /* trials at a time */
	int64_t time_ms;	    /* of all of it; 0: no limit */
	int64_t core_time_ms;	    /* cores times how long, of all trials; 0: no limit */
	int64_t retries;	    /* of a trial whose job is lost */
	int64_t max_failures;	    /* trials that may fail; 0: no limit */
};
void sweep_config_finish(struct sweep_config *config);
#define cleanup_sweep_config __attribute__((cleanup(sweep_config_finish)))

/* `config` as struct job's: does it ask for a sweep? */
bool sweep_is_configured(const json_t *config);

/* May a sweep of the one take over trials of the other? *key: by which they differ. */
bool sweep_is_same(const json_t *one, const json_t *other, const char **key);

/* Fills a zeroed `sweep`. The keys' values are of their types. *key: that of the error. */
int sweep_config_read(const json_t *config, struct sweep_config *sweep, const char **key,
		      struct err *err);

#endif
