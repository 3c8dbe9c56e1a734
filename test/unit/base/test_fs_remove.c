/* Mounts in a tree that is removed, also on Linux before 5.8, where statx() tells no mount's id. */
#include "test.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "scratch.h"

enum kernel {
	KERNEL_TODAY,
	KERNEL_WITHOUT_IDS, /* in statx() */
	KERNEL_WITHOUT_PROC,
};

static void refuse_statx(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_statx, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {array_length(filter), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(100);
}

/* Whether it is refused because something is mounted; in a process of its own, which gives up what
 * the kernel is not to have. */
static bool is_refused(void **state, const char *name, enum kernel kernel)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		struct err err cleanup_err = {0};
		if (kernel == KERNEL_WITHOUT_PROC && mount("none", "/proc", "tmpfs", 0, NULL) < 0)
			_exit(100);
		if (kernel != KERNEL_TODAY)
			refuse_statx();
		int failed = fs_remove_tree(scratch_path(state, name), &err);
		_exit(failed && strstr(err_message(&err), "unmount it first") ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (kernel == KERNEL_WITHOUT_PROC)
		umount2("/proc", MNT_DETACH);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 100);
	return WEXITSTATUS(status) == 1;
}

static void assert_spared(void **state, const char *name, const char *file, enum kernel kernel)
{
	assert_true(is_refused(state, name, kernel));
	assert_text_freed(scratch_read(state, file), "mine");
}

/* promise: S140 */
static void what_is_mounted_below_is_no_part_of_a_tree(void **state)
{
	scratch_write(state, "tree/file", "x", 0600);
	scratch_write(state, "data/kept", "mine", 0600);
	scratch_bind(state, "tree/mounted", "data");
	for (enum kernel kernel = KERNEL_TODAY; kernel <= KERNEL_WITHOUT_IDS; kernel++)
		assert_spared(state, "tree", "data/kept", kernel);
}

/* promise: S140 */
static void tree_whose_root_is_a_mount_stays(void **state)
{
	scratch_write(state, "data/kept", "mine", 0600);
	scratch_bind(state, "tree", "data");
	for (enum kernel kernel = KERNEL_TODAY; kernel <= KERNEL_WITHOUT_IDS; kernel++)
		assert_spared(state, "tree", "data/kept", kernel);
}

/* Without any id the device tells, unless the mount is of the same file system. */
static void another_file_system_is_spared_without_ids(void **state)
{
	scratch_write(state, "tree/file", "x", 0600);
	scratch_mount(state, "tree/mounted", 128);
	scratch_write(state, "tree/mounted/kept", "mine", 0600);
	for (enum kernel kernel = KERNEL_TODAY; kernel <= KERNEL_WITHOUT_PROC; kernel++) {
		assert_spared(state, "tree", "tree/mounted/kept", kernel);
		assert_spared(state, "tree/mounted", "tree/mounted/kept", kernel);
	}
}

static void older_kernel_removes_what_has_no_mount(void **state)
{
	scratch_write(state, "tree/a/b/file", "x", 0600);
	assert_false(is_refused(state, "tree", KERNEL_WITHOUT_IDS));
	assert_false(fs_exists(scratch_path(state, "tree")));
}

static void a_mount_below_is_found_before_anything_goes(void **state)
{
	struct err err cleanup_err = {0};

	scratch_write(state, "tree/file", "x", 0600);
	scratch_write(state, "tree sibling/file", "x", 0600);
	assert_success(fs_check_unmounted(scratch_path(state, "tree"), &err), &err);
	scratch_mount(state, "tree/a disk", 128);
	assert_success(fs_check_unmounted(scratch_path(state, "tree sibling"), &err), &err);
	assert_int_equal(fs_check_unmounted(scratch_path(state, "tree"), &err), -1);
	assert_message_has(&err, "tree/a disk; unmount it first");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(what_is_mounted_below_is_no_part_of_a_tree),
		scratch_test(tree_whose_root_is_a_mount_stays),
		scratch_test(another_file_system_is_spared_without_ids),
		scratch_test(older_kernel_removes_what_has_no_mount),
		scratch_test(a_mount_below_is_found_before_anything_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
