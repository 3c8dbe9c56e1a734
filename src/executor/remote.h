/*
 * Commands that one task has another one run, in that one's container, as sshd and ssh would:
 *
 *   tony-agent host                  serves a task; at the task's own port (TONY_PORT)
 *   tony-agent rsh HOST COMMAND...   asks HOST (framework/mpi_host.h) to run a command
 *
 * The connection is the command's life: when whoever asked is gone, everything that the command has
 * started is ended; when the host is gone, whoever asked fails. HTTP as in docs/rest.md, without a
 * bearer token: both prove that they know the job's (remote_proof.h), the host before rsh sends
 * anything of its own, rsh with its command, on one connection. The host refuses a command of
 * another epoch.
 *
 *   POST /v1/host  hello, answered with the welcome
 *   POST /v1/run   sealed: {"epoch": 1, "command": "orted -mca ..."}, held until it has ended
 *                  sealed: {"exit_code": 0}, 128 + signal when it was killed; {"error": "..."}
 */
#ifndef TONY_EXECUTOR_REMOTE_H
#define TONY_EXECUTOR_REMOTE_H

/* Does not return for as long as all is well. A command that was killed by somebody else (for
 * memory, say) is the host's own end, by the same signal: then the task fails, with that cause. */
int remote_host_main(int argc, char **argv);

/* Waits for the host to serve, whoever else listens in its place; the exit code of the command, or
 * 1. */
int remote_rsh_main(int argc, char **argv);

#endif
