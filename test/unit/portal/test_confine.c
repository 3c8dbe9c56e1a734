/* The filter of the portal's processes: calls that fail, and calls that work. */
#include "../base/test.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "portal/confine.h"

/* The exit code of a child that does so under the filter. */
static int run(int (*check)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		struct err err = {0};
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		_exit(confine_process(&err) < 0 ? 99 : check());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Counts those that did not fail with this error. */
#define FAILS(call, error) ((call) == -1 && errno == (error) ? 0 : 1)

static int try_what_is_denied(void)
{
	char *arguments[] = {"true", NULL}, character = 'x';
	int wrong = 0;

	wrong += FAILS(execv("/bin/true", arguments), EPERM);
	wrong += FAILS(syscall(SYS_execveat, -1, "/bin/true", arguments, NULL, 0), EPERM);
#ifndef CONFINE_LETS_TRACE
	wrong += FAILS(syscall(SYS_ptrace, 0, 0, 0, 0), EPERM);
#endif
	wrong += FAILS(syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0), EPERM);
	wrong += FAILS(unshare(CLONE_NEWUSER), EPERM);
	wrong += FAILS(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL), EPERM);
	wrong += FAILS(syscall(SYS_clone3, NULL, 0), ENOSYS);
	wrong += FAILS(syscall(SYS_io_uring_setup, 1, NULL), EPERM);
	wrong += FAILS(syscall(SYS_bpf, 0, NULL, 0), EPERM);
	wrong += FAILS(syscall(SYS_mount, NULL, NULL, NULL, 0, NULL), EPERM);
	wrong += FAILS(setuid(getuid()), EPERM);
	wrong += FAILS(socket(AF_PACKET, SOCK_RAW, 0), EAFNOSUPPORT);
	wrong += FAILS(socket(AF_ALG, SOCK_SEQPACKET, 0), EAFNOSUPPORT);
	wrong += FAILS(ioctl(0, TIOCSTI, &character), EPERM);
	return wrong;
}

/* promise: S81 */
static void what_is_denied_fails(void **state)
{
	assert_int_equal(run(try_what_is_denied), 0);
}

/* The errors of calls without a key: Kerberos' libraries keep tickets in the kernel's keyrings. */
struct key_errors {
	int add, request, control;
};

static struct key_errors unconfined; /* a container may refuse them by itself */

static struct key_errors try_keys(void)
{
	struct key_errors errors;

	syscall(SYS_add_key, NULL, NULL, NULL, 0, 0);
	errors.add = errno;
	syscall(SYS_request_key, NULL, NULL, NULL, 0);
	errors.request = errno;
	syscall(SYS_keyctl, -1, 0, 0, 0, 0);
	errors.control = errno;
	return errors;
}

static int try_what_is_needed(void)
{
	static const int families[] = {AF_UNIX, AF_INET, AF_NETLINK};
	int status = 0, wrong = 0, pair[2];

	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
		wrong += socket(families[i], SOCK_DGRAM, 0) < 0;
	wrong += socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0;
	pid_t pid = fork();
	if (pid == 0)
		_exit(7);
	wrong += waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7;
	free(malloc(64 << 20));
	wrong += access("/proc/self/status", R_OK) < 0;
	const struct key_errors errors = try_keys();
	wrong += memcmp(&errors, &unconfined, sizeof(errors)) != 0;
	return wrong;
}

static void what_is_needed_works(void **state)
{
	unconfined = try_keys();
	assert_int_equal(run(try_what_is_needed), 0);
}

/* As in a container whose own filter lets nobody add one. */
static int confine_again(void)
{
	struct sock_filter lines[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = {sizeof(lines) / sizeof(*lines), lines};
	struct err err = {0};

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
		return 98;
	int result = confine_process(&err);
	return result == -1 && strstr(err_message(&err), "no seccomp filter: Invalid argument") ? 0
												: 1;
}

static void a_kernel_without_filters_is_told(void **state)
{
	assert_int_equal(run(confine_again), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_denied_fails),
		cmocka_unit_test(what_is_needed_works),
		cmocka_unit_test(a_kernel_without_filters_is_told),
	};

	return cmocka_run_group_tests_name("portal confine", tests, NULL, NULL);
}
