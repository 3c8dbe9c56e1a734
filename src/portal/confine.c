#include "portal/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/mem.h"

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#define X32_BIT 0x40000000u /* the other numbering of x86-64 */
#define NEW_NAMESPACE                                                                              \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET)

/* Not in it, although the portal has no use for them itself: mmap() of code, keyctl(),
 * add_key() and request_key(), which Kerberos' libraries need once a cluster asks for it. */
static const unsigned denied[] = {
	/* other programs, and the memory of other processes */
	SYS_execve,
	SYS_execveat,
#ifndef CONFINE_LETS_TRACE
	SYS_ptrace,
#endif
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_kcmp,
#ifdef SYS_pidfd_getfd
	SYS_pidfd_getfd,
#endif
#ifdef SYS_process_madvise
	SYS_process_madvise,
#endif
	/* namespaces and mounts */
	SYS_unshare,
	SYS_setns,
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
#ifdef SYS_open_tree
	SYS_open_tree,
	SYS_move_mount,
	SYS_fsopen,
	SYS_fsconfig,
	SYS_fsmount,
	SYS_fspick,
#endif
#ifdef SYS_mount_setattr
	SYS_mount_setattr,
#endif
	/* parts of the kernel in which bugs are looked for */
	SYS_bpf,
	SYS_perf_event_open,
	SYS_userfaultfd,
	SYS_name_to_handle_at,
	SYS_open_by_handle_at,
	SYS_fanotify_init,
	SYS_lookup_dcookie,
	SYS_remap_file_pages,
	SYS_migrate_pages,
	SYS_move_pages,
	SYS_mbind,
	SYS_set_mempolicy,
	SYS_vmsplice,
#ifdef SYS_io_uring_setup
	SYS_io_uring_setup,
	SYS_io_uring_enter,
	SYS_io_uring_register,
#endif
#ifdef SYS_modify_ldt
	SYS_modify_ldt,
	SYS_iopl,
	SYS_ioperm,
#endif
	/* the machine, for which privileges are needed anyway */
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_kexec_load,
	SYS_reboot,
	SYS_swapon,
	SYS_swapoff,
	SYS_acct,
	SYS_quotactl,
	SYS_syslog,
	SYS_personality,
	SYS_vhangup,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_clock_adjtime,
	SYS_adjtimex,
	SYS_sethostname,
	SYS_setdomainname,
#ifdef SYS_kexec_file_load
	SYS_kexec_file_load,
#endif
	/* another user */
	SYS_setuid,
	SYS_setgid,
	SYS_setreuid,
	SYS_setregid,
	SYS_setresuid,
	SYS_setresgid,
	SYS_setgroups,
	SYS_setfsuid,
	SYS_setfsgid,
	SYS_capset,
};

/* Beside the files' own. */
static const unsigned families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

/* Keys pressed at the terminal that the portal was started at. */
static const unsigned denied_ioctls[] = {TIOCSTI, TIOCLINUX};

struct program {
	struct sock_filter lines[256];
	unsigned short length;
};

static void add(struct program *program, struct sock_filter line)
{
	if (program->length == array_length(program->lines))
		BUG("the filter has too many lines");
	program->lines[program->length++] = line;
}

static void load(struct program *program, size_t offset)
{
	add(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset));
}

static void answer(struct program *program, unsigned value)
{
	add(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, value));
}

static void refuse(struct program *program, int error)
{
	answer(program, SECCOMP_RET_ERRNO | (unsigned)error);
}

/* The next `count` lines are for this number alone. */
static void when(struct program *program, unsigned number, unsigned char count)
{
	add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, count));
}

/* Of an argument of 64 bits the lower half: the kernel looks at no other of these. */
static size_t argument(size_t number)
{
	size_t at = offsetof(struct seccomp_data, args) + number * sizeof(uint64_t);

	return at + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? sizeof(uint32_t) : 0);
}

static void add_sockets(struct program *program)
{
	when(program, SYS_socket, 2 * array_length(families) + 2);
	load(program, argument(0));
	for (size_t i = 0; i < array_length(families); i++) {
		when(program, families[i], 1);
		answer(program, SECCOMP_RET_ALLOW);
	}
	refuse(program, EAFNOSUPPORT);
}

static void add_ioctls(struct program *program)
{
	when(program, SYS_ioctl, 2 * array_length(denied_ioctls) + 2);
	load(program, argument(1));
	for (size_t i = 0; i < array_length(denied_ioctls); i++) {
		when(program, denied_ioctls[i], 1);
		refuse(program, EPERM);
	}
	answer(program, SECCOMP_RET_ALLOW);
}

/* clone3() has its flags in memory, where a filter cannot see them: the C library takes clone()
 * where there is none. */
static void add_clones(struct program *program)
{
#ifdef SYS_clone3
	when(program, SYS_clone3, 1);
	refuse(program, ENOSYS);
#endif
	when(program, SYS_clone, 4);
	load(program, argument(0));
	add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NEW_NAMESPACE, 0, 1));
	refuse(program, EPERM);
	answer(program, SECCOMP_RET_ALLOW);
}

#ifdef ARCHITECTURE
static void fill(struct program *program)
{
	load(program, offsetof(struct seccomp_data, arch));
	when(program, ARCHITECTURE, 1);
	add(program, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 1));
	answer(program, SECCOMP_RET_KILL_PROCESS);
	load(program, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
	add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1));
	refuse(program, ENOSYS);
#endif
	for (size_t i = 0; i < array_length(denied); i++) {
		when(program, denied[i], 1);
		refuse(program, EPERM);
	}
	add_sockets(program);
	add_ioctls(program);
	add_clones(program);
	answer(program, SECCOMP_RET_ALLOW);
}

int confine_process(struct err *err)
{
	struct program program = {0};

	fill(&program);
	const struct sock_fprog filter = {program.length, program.lines};
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
		return err_set_errno(err, "no seccomp filter");
	return 0;
}
#else
int confine_process(struct err *err)
{
	return err_set(err, ERR_FAILED, "no seccomp filter: not known on this processor");
}
#endif
