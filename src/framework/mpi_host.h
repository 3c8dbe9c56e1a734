/*
 * The names under which mpirun knows a job's workers: letters, digits and hyphens are all that Open
 * MPI takes. The prefix keeps them apart from the names of machines: to a host of its own machine's
 * name mpirun would start nothing, but run the ranks itself.
 */
#ifndef TONY_FRAMEWORK_MPI_HOST_H
#define TONY_FRAMEWORK_MPI_HOST_H

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"

/* "tony-worker-0". The caller frees. */
char *mpi_host_name(const char *type, size_t index);

/* "127.0.0.1:4001" of the task that has this name, in a cluster spec as JSON. The caller frees. */
char *mpi_host_address(const json_t *cluster, const char *name, struct err *err);

#endif
