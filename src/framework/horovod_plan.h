/*
 * What the user's own driver of Horovod says (tony.horovod.driver.mode.debug): where its rendezvous
 * is, and which process gets which rank. TonY's form, as the driver's file and the AM's store hold
 * it.
 */
#ifndef TONY_FRAMEWORK_HOROVOD_PLAN_H
#define TONY_FRAMEWORK_HOROVOD_PLAN_H

#include <stddef.h>

#include "base/err.h"
#include "framework/environment.h"

#define HOROVOD_PLAN_CAP ((size_t)1 << 20) /* bytes of a driver's file */

/* The port in the name of a driver's file, "4711____HOROVOD_RENDEZVOUS_SERVER____"; 0: this is no
 * such file. */
int horovod_plan_port(const char *file_name);

/* The content of that file, [{"hostname", "rank", "localRank", "crossRank", "size", "localSize",
 * "crossSize"}, ...] with numbers or numerals, together with where the driver is:
 * {"port", "host", "slotInfos"} as text. The caller frees. NULL: it is not of that form. */
char *horovod_plan_make(int port, const char *host, const char *bytes, size_t length,
			struct err *err);

/* Puts what such a text says of one process into its variables: the process that HOROVOD_HOSTNAME
 * and HOROVOD_LOCAL_RANK name so far takes the slot of that place on its host. */
int horovod_plan_apply(const char *bytes, size_t length, struct environment *variables,
		       struct err *err);

/* Where the driver of an epoch has it in the AM's store. The caller frees. */
char *horovod_plan_path(const char *epoch);

#endif
