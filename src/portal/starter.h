/*
 * Starts TensorBoards for readers. These may start no program (confine.h), so a process does it
 * that the portal forked before it gave that up. It starts one program only, whatever it is told.
 */
#ifndef TONY_PORTAL_STARTER_H
#define TONY_PORTAL_STARTER_H

#include "base/err.h"

/* Forks it. Returns the socket to ask it by, which readers share; the process ends when all of them
 * are closed. -1: `err`. */
int starter_open(const char *program, struct err *err);

/* PROGRAM --logdir LOG_DIR --host 127.0.0.1 --port PORT, with its standard output and error to
 * `output`. Returns a socket: it is at its end once the program has ended. The program is killed
 * when the socket is closed or shut down. -1: `err`. */
int starter_run(int starter, const char *log_dir, int port, int output, struct err *err);

#endif
