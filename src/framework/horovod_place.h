/*
 * The place of a process in an elastic ring of Horovod's. It asks the application master for it
 * (src/am/horovod/ring.h) by its name, which it has as its host (HOROVOD_HOSTNAME): first before it
 * is started, later through Horovod itself. A process that follows another has another name.
 */
#ifndef TONY_FRAMEWORK_HOROVOD_PLACE_H
#define TONY_FRAMEWORK_HOROVOD_PLACE_H

#include "framework/environment.h"
#include "framework/slots.h"

struct horovod_process {
	const char *host, *type;
	int slot, process;
	int attempt, epoch, restart;
};

/* The caller frees. */
char *horovod_process_name(const struct horovod_process *process);

/* Where the process of this name asks: "/rank_and_size/NAME:RANK". The caller frees. */
char *horovod_place_path(const char *name);

/* The answer, as Horovod reads it. The caller frees. */
char *horovod_place_text(const struct slot *slot, size_t ring_size);

/* The variables that the answer gives. */
int horovod_place_apply(const char *text, struct environment *variables, struct err *err);

#endif
