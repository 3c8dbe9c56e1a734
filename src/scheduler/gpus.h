/* The NVIDIA GPUs of this machine. */
#ifndef TONY_SCHEDULER_GPUS_H
#define TONY_SCHEDULER_GPUS_H

#include <stdbool.h>

#include "base/str.h"

/* Appends the names, as CUDA_VISIBLE_DEVICES takes them, of the GPUs that `visible` (an inherited
 * CUDA_VISIBLE_DEVICES; NULL: unset) leaves: the index in PCI order, or the word in `visible` where
 * that names no GPU known here (a MIG slice). Read from the driver's /proc tree, else counted from
 * /dev: nvidia-smi would say the same, but takes a second. Returns whether the machine has any. */
bool gpus_find(const char *root, const char *visible, struct str_list *names);

#endif
