/* Standard input of the client: kept for a program, or noticed and left alone. */
#include "../base/scratch.h"
#include "../base/test.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "client/input.h"

static bool never(void)
{
	return false;
}

static int looks;
static bool at_the_second_look(void)
{
	return ++looks > 1;
}

static int keep(void **state, int fd, int64_t cap, bool (*interrupted)(void), struct err *err)
{
	return input_keep(fd, scratch_path(state, "kept"), cap, interrupted, err);
}

static int open_file(void **state, const char *text, off_t from)
{
	scratch_write(state, "input", text, 0600);
	int fd = open(scratch_path(state, "input"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(lseek(fd, from, SEEK_SET), from);
	return fd;
}

/* The end to read from; nothing more comes unless `more`, which is then open. */
static int open_pipe(const char *text, int *more)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(write(ends[1], text, strlen(text)), strlen(text));
	if (more)
		*more = ends[1];
	else
		close(ends[1]);
	return ends[0];
}

static void files_and_pipes_are_kept_to_their_end(void **state)
{
	struct err err cleanup_err = {0};
	struct stat info;
	int file cleanup_close = open_file(state, "one\ntwo\n", 4),
		 tube cleanup_close = open_pipe("three\n", NULL);

	assert_success(keep(state, file, 4, never, &err), &err);
	assert_text_freed(scratch_read(state, "kept"), "two\n");
	assert_int_equal(stat(scratch_path(state, "kept"), &info), 0);
	assert_int_equal(info.st_mode & 07777, 0600);
	assert_int_equal(unlink(scratch_path(state, "kept")), 0);
	assert_success(keep(state, tube, 6, never, &err), &err);
	assert_text_freed(scratch_read(state, "kept"), "three\n");
}

static void more_than_the_cap_is_refused(void **state)
{
	static const char message[] = "--stdin: standard input is longer than 3 B; put it into a "
				      "file, and let the program open that (see --src_dir and "
				      "tony.containers.resources)";
	struct err of_file cleanup_err = {0}, of_pipe cleanup_err = {0};
	int file cleanup_close = open_file(state, "four", 0),
		 tube cleanup_close = open_pipe("four", NULL);

	assert_int_equal(keep(state, file, 3, never, &of_file), -1);
	assert_message_has(&of_file, message);
	assert_false(fs_exists(scratch_path(state, "kept")));
	assert_int_equal(keep(state, tube, 3, never, &of_pipe), -1);
	assert_message_has(&of_pipe, message);
	assert_int_equal(of_pipe.kind, ERR_USAGE);
}

static void a_user_need_not_wait_for_the_end(void **state)
{
	struct err err cleanup_err = {0};
	int more, tube cleanup_close = open_pipe("", &more);

	looks = 0;
	assert_int_equal(keep(state, tube, 3, at_the_second_look, &err), -1);
	assert_message_has(&err, "interrupted");
	close(more);
}

static void only_what_is_there_is_waiting(void **state)
{
	int more, sockets[2];
	int file cleanup_close = open_file(state, "one", 1);
	int end cleanup_close = open_file(state, "one", 3);
	int written cleanup_close = open(scratch_path(state, "input"), O_WRONLY | O_CLOEXEC);
	int null cleanup_close = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int zero cleanup_close = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	int full cleanup_close = open_pipe("one", NULL), empty cleanup_close = open_pipe("", NULL);
	int silent cleanup_close = open_pipe("", &more);

	assert_true(input_is_waiting(file));
	assert_int_equal(lseek(file, 0, SEEK_CUR), 1);
	assert_true(input_is_waiting(full));
	assert_false(input_is_waiting(end));
	assert_false(input_is_waiting(written));
	assert_false(input_is_waiting(null));
	assert_false(input_is_waiting(zero));
	assert_false(input_is_waiting(empty));
	assert_false(input_is_waiting(silent));
	assert_false(input_is_waiting(-1));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
	assert_false(input_is_waiting(sockets[0]));
	assert_int_equal(write(sockets[1], "one", 3), 3);
	assert_true(input_is_waiting(sockets[0]));
	close(sockets[0]);
	close(sockets[1]);
	close(more);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(files_and_pipes_are_kept_to_their_end),
		scratch_test(more_than_the_cap_is_refused),
		scratch_test(a_user_need_not_wait_for_the_end),
		scratch_test(only_what_is_there_is_waiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
