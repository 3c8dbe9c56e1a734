/*
 * Commands that one task has another one run, in that one's container, as sshd and ssh would:
 *
 *   tony-agent host                  serves a task; at the task's own port (TONY_PORT)
 *   tony-agent rsh HOST COMMAND...   asks HOST (framework/mpi_host.h) to run a command
 *
 * The connection is the command's life: when whoever asked is gone, everything that the command has
 * started is ended; when the host is gone, whoever asked fails. HTTP as in docs/rest.md, with the
 * job's token; what comes from another epoch is refused.
 *
 *   GET  /v1/host  {}
 *   POST /v1/run   {"epoch": 1, "command": "orted -mca ..."}, held until it has ended
 *                  {"exit_code": 0}; 128 + signal when it was killed
 */
#ifndef TONY_EXECUTOR_REMOTE_H
#define TONY_EXECUTOR_REMOTE_H

/* Does not return for as long as all is well. A command that was killed by somebody else (for
 * memory, say) is the host's own end, by the same signal: then the task fails, with that cause. */
int remote_host_main(int argc, char **argv);

/* Waits for the host to serve; the exit code of the command, or 1. */
int remote_rsh_main(int argc, char **argv);

#endif
