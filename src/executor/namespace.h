/*
 * tony.<type>.isolation=pid-namespace: the program lives in a pid namespace with a /proc of its
 * own. When the namespace's first process ends, the kernel ends every process in it, whatever it
 * did to get away. Works for root and, where the kernel allows user namespaces, for others.
 */
#ifndef TONY_EXECUTOR_NAMESPACE_H
#define TONY_EXECUTOR_NAMESPACE_H

#include <stdbool.h>
#include <sys/types.h>

/* As fork(), but the child is the first process of a new pid and mount namespace. *own_users tells
 * the child that it is in a new user namespace, too. */
pid_t namespace_fork(bool *own_users);

/* In the child: maps this user onto itself (when it has a user namespace) and mounts /proc. -1 with
 * errno. */
int namespace_enter(bool own_users, uid_t uid, gid_t gid);

/* The first process's life: reaps orphans until `program` ends, writes its wait status to `fd`, and
 * with that ends the namespace. */
_Noreturn void namespace_run_init(pid_t program, int fd);

#endif
