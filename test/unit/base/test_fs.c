/* Paths, whole files, making and removing directories. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/user.h"
#include "scratch.h"

static void joining(void **state)
{
	assert_text_freed(fs_join("a", "b"), "a/b");
	assert_text_freed(fs_join("a/", "b"), "a/b");
	assert_text_freed(fs_join("/", "b"), "/b");
	assert_text_freed(fs_join("a", "/b"), "/b");
	assert_text_freed(fs_join("", "b"), "b");
}

static void taking_apart(void **state)
{
	assert_string_equal(fs_basename("a/b/c.py"), "c.py");
	assert_string_equal(fs_basename("c.py"), "c.py");
	assert_string_equal(fs_basename("/c"), "c");
	assert_string_equal(fs_basename("a/b/"), "b/");
	assert_string_equal(fs_basename("/"), "/");
	assert_text_freed(fs_dirname("a/b/c"), "a/b");
	assert_text_freed(fs_dirname("c"), ".");
	assert_text_freed(fs_dirname(""), ".");
	assert_text_freed(fs_dirname("/c"), "/");
	assert_text_freed(fs_dirname("/"), "/");
	assert_text_freed(fs_dirname("a/b/"), "a");
	assert_text_freed(fs_dirname("a//b"), "a");
}

static void absolute_paths_are_lexical(void **state)
{
	struct err err cleanup_err = {0};
	char *here cleanup_free = getcwd(NULL, 0);
	char *below cleanup_free = mem_printf("%s/x", here);

	assert_text_freed(fs_absolute("/a/./b//../c/", &err), "/a/c");
	assert_text_freed(fs_absolute("/../..", &err), "/");
	assert_text_freed(fs_absolute("/...", &err), "/...");
	assert_text_freed(fs_absolute("x", &err), below);
	assert_text_freed(fs_absolute("y/../x/.", &err), below);
	assert_text_freed(fs_absolute(".", &err), here);
	assert_int_equal(err.kind, ERR_NONE);
}

static void looking(void **state)
{
	scratch_write(state, "file", "x", 0644);
	assert_true(fs_exists(scratch_path(state, "file")));
	assert_false(fs_exists(scratch_path(state, "none")));
	assert_true(fs_is_directory(scratch_path(state, "")));
	assert_false(fs_is_directory(scratch_path(state, "file")));
	assert_false(fs_is_directory(scratch_path(state, "none")));
}

static void a_program_is_the_first_that_can_be_executed(void **state)
{
	scratch_write(state, "a/run", "x", 0644);
	scratch_write(state, "b/run/directory", "x", 0755);
	scratch_write(state, "c/run", "x", 0755);
	scratch_write(state, "d/run", "x", 0755);
	const char *root = scratch_path(state, "");
	char *path cleanup_free = mem_printf("%sa:%sb::%sc:%sd", root, root, root, root);
	char *wanted cleanup_free = mem_printf("%sc/run", root);
	assert_text_freed(fs_find_program("run", path), wanted);
	assert_null(fs_find_program("file", path));
	assert_null(fs_find_program("run", NULL));
}

static void a_file_is_read_whole_up_to_the_cap(void **state)
{
	struct err err cleanup_err = {0};
	size_t length;

	scratch_write(state, "file", "12345", 0644);
	const char *path = scratch_path(state, "file");
	char *text cleanup_free = fs_read_file(path, 5, &length, &err);
	assert_string_equal(text, "12345");
	assert_int_equal(length, 5);
	assert_null(fs_read_file(path, 4, &length, &err));
	assert_int_equal(err.kind, ERR_INPUT);
	assert_message_has(&err, path);
	assert_message_has(&err, "larger than 4 bytes");
}

static void empty_and_kernel_files_can_be_read(void **state)
{
	struct err err cleanup_err = {0};
	size_t length;

	scratch_write(state, "empty", "", 0644);
	assert_text_freed(fs_read_file(scratch_path(state, "empty"), 0, &length, &err), "");
	assert_int_equal(length, 0);
	char *stat cleanup_free = fs_read_file("/proc/self/stat", 4096, &length, &err);
	assert_non_null(stat);
	assert_true(length > 10);
	assert_null(fs_read_file("/proc/self/stat", 5, NULL, &err));
}

static void what_is_no_file_is_not_read(void **state)
{
	const char *fifo = scratch_path(state, "fifo");
	struct err err cleanup_err = {0};

	assert_null(fs_read_file(scratch_path(state, "none"), 10, NULL, &err));
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_message_has(&err, "/none: No such file");
	assert_null(fs_read_file(scratch_path(state, ""), 10, NULL, &err));
	assert_message_has(&err, "is a directory");
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_null(fs_read_file(fifo, 10, NULL, &err)); /* and does not wait for a writer */
	assert_message_has(&err, "not a regular file");
}

static void a_range_is_read_whole_or_not_at_all(void **state)
{
	struct err err cleanup_err = {0};
	char bytes[8] = {0};

	scratch_write(state, "file", "0123456", 0600);
	const char *path = scratch_path(state, "file");
	int fd cleanup_close = open(path, O_RDONLY | O_CLOEXEC);
	int unreadable cleanup_close = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(fs_read_at(fd, "f", 2, bytes, 5, &err), 0);
	assert_string_equal(bytes, "23456");
	assert_int_equal(fs_read_at(fd, "f", 2, bytes, 6, &err), -1);
	assert_string_equal(err_message(&err), "f ends at byte 7");
	err_finish(&err);
	assert_int_equal(fs_read_at(unreadable, "f", 0, bytes, 1, &err), -1);
	assert_message_has(&err, "f: Bad file descriptor");
}

static size_t count_entries(void **state)
{
	struct str command cleanup_str = {0};
	char line[64];

	str_append_format(&command, "ls -A '%s' | wc -l", scratch_path(state, ""));
	FILE *output = popen(command.text, "re");
	assert_non_null(fgets(line, sizeof(line), output));
	pclose(output);
	return strtoul(line, NULL, 10);
}

static void writing_replaces_the_whole_file(void **state)
{
	const char *path = scratch_path(state, "file");
	struct err err cleanup_err = {0};
	struct stat info;
	mode_t old = umask(077);

	assert_success(fs_write_file(path, "long content", 12, 0644, &err), &err);
	assert_success(fs_write_volatile(path, "short", 5, 0644, &err), &err);
	assert_success(fs_write_file(path, "a\0b", 3, 0604, &err), &err);
	umask(old);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0604);
	assert_int_equal(info.st_size, 3);
	assert_int_equal(count_entries(state), 1);
}

static void a_private_file_is_its_owners_and_no_link(void **state)
{
	const char *path = scratch_path(state, "file"), *link = scratch_path(state, "link");
	struct err err cleanup_err = {0};
	struct stat info;
	mode_t old = umask(0);

	assert_success(fs_write_private(path, "long content", 12, &err), &err);
	assert_success(fs_write_private(path, "a\0b", 3, &err), &err);
	umask(old);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(fs_write_private(link, "other", 5, &err), -1);
	assert_message_has(&err, "cannot write ");
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0600);
	assert_int_equal(info.st_size, 3);
}

static void an_open_reader_keeps_the_old_content(void **state)
{
	const char *path = scratch_path(state, "file");
	struct err err cleanup_err = {0};
	char byte;

	assert_success(fs_write_file(path, "1", 1, 0600, &err), &err);
	int fd cleanup_close = open(path, O_RDONLY | O_CLOEXEC);
	assert_success(fs_write_file(path, "2", 1, 0600, &err), &err);
	assert_int_equal(read(fd, &byte, 1), 1);
	assert_int_equal(byte, '1');
	assert_text_freed(scratch_read(state, "file"), "2");
}

static void a_failed_write_leaves_nothing(void **state)
{
	struct err err cleanup_err = {0};

	assert_int_equal(fs_write_file(scratch_path(state, "none/file"), "x", 1, 0600, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	err_finish(&err);
	assert_int_equal(mkdir(scratch_path(state, "dir"), 0700), 0);
	assert_int_equal(fs_write_file(scratch_path(state, "dir"), "x", 1, 0600, &err), -1);
	assert_message_has(&err, "/dir: rename: ");
	assert_int_equal(count_entries(state), 1);
}

struct drain {
	int fd;
	size_t total;
};

static void *drain_pipe(void *argument)
{
	struct drain *drain = argument;
	char buffer[5000];
	ssize_t got;

	while ((got = read(drain->fd, buffer, sizeof(buffer))) > 0)
		drain->total += (size_t)got;
	return NULL;
}

static void short_and_blocked_writes_are_continued(void **state)
{
	enum { LENGTH = 1 << 20 };
	struct err err cleanup_err = {0};
	char *bytes cleanup_free = mem_alloc(LENGTH);
	struct drain drain = {0};
	pthread_t reader;
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	drain.fd = fds[0];
	pthread_create(&reader, NULL, drain_pipe, &drain);
	assert_success(fs_write_all(fds[1], bytes, LENGTH, &err), &err);
	close(fds[1]);
	pthread_join(reader, NULL);
	close(fds[0]);
	assert_int_equal(drain.total, LENGTH);
}

static void a_full_disk_is_said(void **state)
{
	struct err err cleanup_err = {0};
	int fd cleanup_close = open("/dev/full", O_WRONLY | O_CLOEXEC);

	assert_int_equal(fs_write_all(fd, "x", 1, &err), -1);
	assert_int_equal(err.kind, ERR_NO_SPACE);
	assert_message_has(&err, "No space left");
}

static void directories_are_made_with_their_parents(void **state)
{
	const char *deep = scratch_path(state, "a/b//c/");
	struct err err cleanup_err = {0};
	struct stat info;

	assert_success(fs_make_directories(deep, 0700, &err), &err);
	assert_success(fs_make_directories(deep, 0755, &err), &err);
	assert_int_equal(stat(scratch_path(state, "a/b/c"), &info), 0);
	assert_int_equal(info.st_mode & 07777, 0700);
	assert_success(fs_make_directories("/", 0700, &err), &err);
	assert_success(fs_make_directories(".", 0700, &err), &err);
}

static void a_file_in_the_way_is_named(void **state)
{
	struct err err cleanup_err = {0};

	scratch_write(state, "a", "x", 0644);
	assert_int_equal(fs_make_directories(scratch_path(state, "a"), 0700, &err), -1);
	assert_message_has(&err, "/a: is not a directory");
	err_finish(&err);
	assert_int_equal(fs_make_directories(scratch_path(state, "a/b"), 0700, &err), -1);
	assert_message_has(&err, "/a: is not a directory");
}

static void a_tree_is_removed(void **state)
{
	struct err err cleanup_err = {0};

	scratch_write(state, "tree/a", "x", 0400);
	scratch_write(state, "tree/b/c/d", "x", 0644);
	scratch_write(state, "tree/b/e", "x", 0644);
	scratch_write(state, "tree/f/g", "x", 0644);
	assert_int_equal(mkfifo(scratch_path(state, "tree/fifo"), 0600), 0);
	assert_int_equal(mkdir(scratch_path(state, "tree/empty"), 0700), 0);
	assert_success(fs_remove_tree(scratch_path(state, "tree"), &err), &err);
	assert_int_equal(count_entries(state), 0);
	assert_success(fs_remove_tree(scratch_path(state, "tree"), &err), &err);
}

static void files_and_links_are_removed_alone(void **state)
{
	struct err err cleanup_err = {0};

	scratch_write(state, "keep/file", "x", 0644);
	scratch_write(state, "single", "x", 0644);
	scratch_write(state, "tree/b", "x", 0644);
	assert_int_equal(symlink("keep", scratch_path(state, "link")), 0);
	assert_int_equal(symlink("../keep", scratch_path(state, "tree/link")), 0);
	assert_success(fs_remove_tree(scratch_path(state, "single"), &err), &err);
	assert_success(fs_remove_tree(scratch_path(state, "link"), &err), &err);
	assert_success(fs_remove_tree(scratch_path(state, "tree"), &err), &err);
	assert_true(fs_exists(scratch_path(state, "keep/file")));
	assert_int_equal(count_entries(state), 1);
}

/* Deeper than descriptors, stack or PATH_MAX reach. */
static void a_bottomless_tree_is_removed(void **state)
{
	struct err err cleanup_err = {0};
	int fd = open(scratch_path(state, ""), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; i < 3000; i++) {
		assert_int_equal(mkdirat(fd, "directory", 0700), 0);
		int next = openat(fd, "directory", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = next;
	}
	close(fd);
	assert_success(fs_remove_tree(scratch_path(state, "directory"), &err), &err);
	assert_int_equal(count_entries(state), 0);
}

/* More directories than are kept at a time, each with something in it. */
static void a_secret_may_be_written_by_the_private_group_of_its_user(void **state)
{
	struct err err cleanup_err = {0};
	const char *path = scratch_path(state, "key");
	struct stat info;

	scratch_write(state, "key", "x", 0660);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(fs_check_secret(path, "a key", &err) == 0,
			 user_write_remedy(path, &info) == NULL);
	if (geteuid() != 0)
		return;
	assert_success(fs_check_secret(path, "a key", &err), &err);
	assert_int_equal(chown(path, 0, 65533), 0);
	assert_int_equal(fs_check_secret(path, "a key", &err), -1);
	assert_message_has(&err, "its group may write to it: chmod g-w ");
}

static void remedies_can_be_typed_as_they_stand(void **state)
{
	char *path cleanup_free = mem_strdup(scratch_path(state, "my key"));
	char *all cleanup_free = mem_printf(": chmod o= '%s'", path);
	char *found cleanup_free =
		mem_printf("; type \"chmod o-w '%s'\". To read it anyway: --key", path);
	struct err err = {0};

	scratch_write(state, "my key", "x", 0602);
	assert_int_equal(fs_check_secret(path, "a key", &err), -1);
	assert_message_has(&err, all);
	err_finish(&err);
	assert_null(fs_read_own(path, "--key", 64, NULL, &err));
	assert_message_has(&err, found);
	err_finish(&err);
}

static void a_broad_tree_is_removed(void **state)
{
	struct err err cleanup_err = {0};

	for (int i = 0; i < 2500; i++) {
		char *name cleanup_free = mem_printf("tree/%d/file", i);
		scratch_write(state, name, "x", 0600);
	}
	assert_success(fs_remove_tree(scratch_path(state, "tree"), &err), &err);
	assert_int_equal(count_entries(state), 0);
}

/* Only somebody without root's powers is stopped by modes. */
static void read_only_directories_are_removed(void **state)
{
	struct err err cleanup_err = {0};

	scratch_write(state, "tree/locked/file", "x", 0400);
	assert_int_equal(chmod(scratch_path(state, "tree/locked"), 0500), 0);
	assert_int_equal(mkdir(scratch_path(state, "tree/closed"), 0000), 0);
	if (geteuid() == 0) {
		assert_int_equal(chmod(scratch_path(state, ""), 0777), 0);
		assert_int_equal(chown(scratch_path(state, "tree/locked"), 65534, 65534), 0);
		assert_int_equal(chown(scratch_path(state, "tree/closed"), 65534, 65534), 0);
		assert_int_equal(chown(scratch_path(state, "tree"), 65534, 65534), 0);
		assert_int_equal(seteuid(65534), 0);
	}
	int failed = fs_remove_tree(scratch_path(state, "tree"), &err);
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
	assert_success(failed, &err);
	assert_int_equal(count_entries(state), 0);
}

static void *lock(void *path)
{
	int *fd = mem_alloc(sizeof(*fd));

	*fd = fs_lock(path, NULL);
	return fd;
}

static bool is_waited_for(ino_t inode)
{
	char *mark cleanup_free = mem_printf(":%llu ", (unsigned long long)inode);
	FILE *locks cleanup_file = fopen("/proc/locks", "re");
	char line[256];
	bool found = false;

	while (fgets(line, sizeof(line), locks))
		found = found || (strstr(line, "->") && strstr(line, mark));
	return found;
}

/* Who waited for it then holds the lock on a file that others find. */
static void a_lock_may_be_removed_by_who_holds_it(void **state)
{
	const char *path = scratch_path(state, "lock");
	struct stat held, named;
	pthread_t waiter;
	void *got;
	int fd = fs_lock(path, NULL);

	assert_int_equal(fstat(fd, &held), 0);
	assert_int_equal(pthread_create(&waiter, NULL, lock, (void *)path), 0);
	while (!is_waited_for(held.st_ino))
		sched_yield();
	assert_int_equal(unlink(path), 0);
	close(fd);
	assert_int_equal(pthread_join(waiter, &got), 0);
	assert_int_equal(fstat(*(int *)got, &held), 0);
	assert_int_equal(stat(path, &named), 0);
	assert_int_equal(held.st_ino, named.st_ino);
	close(*(int *)got);
	free(got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joining),
		cmocka_unit_test(taking_apart),
		cmocka_unit_test(absolute_paths_are_lexical),
		scratch_test(looking),
		scratch_test(a_program_is_the_first_that_can_be_executed),
		scratch_test(a_file_is_read_whole_up_to_the_cap),
		scratch_test(empty_and_kernel_files_can_be_read),
		scratch_test(what_is_no_file_is_not_read),
		scratch_test(a_range_is_read_whole_or_not_at_all),
		scratch_test(writing_replaces_the_whole_file),
		scratch_test(a_private_file_is_its_owners_and_no_link),
		scratch_test(an_open_reader_keeps_the_old_content),
		scratch_test(a_failed_write_leaves_nothing),
		cmocka_unit_test(short_and_blocked_writes_are_continued),
		cmocka_unit_test(a_full_disk_is_said),
		scratch_test(directories_are_made_with_their_parents),
		scratch_test(a_file_in_the_way_is_named),
		scratch_test(a_tree_is_removed),
		scratch_test(files_and_links_are_removed_alone),
		scratch_test(a_bottomless_tree_is_removed),
		scratch_test(a_secret_may_be_written_by_the_private_group_of_its_user),
		scratch_test(remedies_can_be_typed_as_they_stand),
		scratch_test(a_broad_tree_is_removed),
		scratch_test(read_only_directories_are_removed),
		scratch_test(a_lock_may_be_removed_by_who_holds_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
