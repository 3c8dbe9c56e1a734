/*
 * Use of the GPUs a task owns, asked of nvidia-smi (or what stands in for it) in a child process
 * with a time limit.
 */
#ifndef TONY_EXECUTOR_GPU_H
#define TONY_EXECUTOR_GPU_H

#include <event2/event.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "protocol/metrics.h"

#define GPU_OUTPUT_CAP (64 * 1024)

struct gpu;

/* `command`: a path, or a name looked for in PATH and where drivers put it. `devices`: the content
 * of CUDA_VISIBLE_DEVICES (indexes or UUIDs); NULL: every device. */
struct gpu *gpu_create(struct event_base *base, const char *command, const char *devices);
void gpu_destroy(struct gpu *gpu); /* NULL is fine */

/* Starts a look unless one is under way. After ten failures in a row it does nothing any more. */
void gpu_look(struct gpu *gpu);
bool gpu_child_ended(struct gpu *gpu, pid_t pid, int status); /* false: not its child */
bool gpu_is_child(const struct gpu *gpu, pid_t pid);
void gpu_cancel(struct gpu *gpu); /* ends and reaps a child under way */

/* Gives `metrics`, which has none, the devices of the last good look. `gpu` may be NULL. */
void gpu_add(const struct gpu *gpu, struct metrics *metrics);

/* The answer of --query-gpu=index,uuid,utilization.gpu,memory.used,memory.total,power.draw
 * --format=csv,noheader,nounits: as found->gpus, the devices named by `devices`, at most
 * METRICS_GPUS_MAX. What stands in for nvidia-smi may leave out the power. */
int gpu_parse(const char *bytes, size_t length, const char *devices, struct metrics *found,
	      struct err *err);

#endif
