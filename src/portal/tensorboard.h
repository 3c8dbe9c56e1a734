/* A TensorBoard that somebody has asked for, over the files of a job that has ended: a program on a
 * port of this machine, behind the portal's door. It ends with the reader that started it. */
#ifndef TONY_PORTAL_TENSORBOARD_H
#define TONY_PORTAL_TENSORBOARD_H

#include "base/err.h"

struct tensorboard;

/* By the portal's starter (starter.h). ERR_NOT_FOUND: there is no such directory here. */
struct tensorboard *tensorboard_start(int starter, const char *log_dir, struct err *err);
void tensorboard_stop(struct tensorboard *tensorboard); /* NULL is fine; frees */

const char *tensorboard_address(const struct tensorboard *tensorboard);
/* 1: it listens; 0: not yet; -1: it has ended, and `err` has its last words, or another user of the
 * machine has taken its port. */
int tensorboard_look(struct tensorboard *tensorboard, struct err *err);

#endif
