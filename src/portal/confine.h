/*
 * The portal's processes may ask little of the kernel. They show what others have written; a bug
 * there is to find no way on: no program, no process of the user's beside it, no namespace, no part
 * of the kernel that they have no use for.
 */
#ifndef TONY_PORTAL_CONFINE_H
#define TONY_PORTAL_CONFINE_H

#include "base/err.h"

/* A build with AddressSanitizer stops its other threads by ptrace() when it looks for leaks. */
#if defined(__SANITIZE_ADDRESS__)
#define CONFINE_LETS_TRACE
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CONFINE_LETS_TRACE
#endif
#endif

/* From here on the calls that confine.c lists fail with EPERM, in this process and all that it
 * forks; needs no_new_privs. -1 with `err`: the kernel, or what this process runs in, does not have
 * seccomp filters. */
int confine_process(struct err *err);

#endif
