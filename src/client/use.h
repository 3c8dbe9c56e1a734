/* The present use of a running task (`use` of GET /v1/tasks, a row of GET /v1/use: docs/rest.md),
 * in words. NULL stands for what is not known, also as `use`. The caller frees. */
#ifndef TONY_CLIENT_USE_H
#define TONY_CLIENT_USE_H

#include <jansson.h>
#include <stdint.h>

char *use_cpu(const json_t *use);			/* cores: "1.8" */
char *use_memory(const json_t *use, int64_t limit_mib); /* "1.2 of 2.0 GiB"; 0: no limit */
char *use_gpu(const json_t *use);			/* "93 %" */
char *use_gpu_memory(const json_t *use);		/* "30.1 of 80.0 GiB" */
char *use_step(const json_t *use);			/* "120/1000", "120" */
/* "CPU 1.8, 1.2 of 2.0 GiB, GPU 93 %, 30.1 of 80.0 GiB" */
char *use_text(const json_t *use, int64_t limit_mib);

#endif
