/* Errors, memory and the log. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

static void an_error_names_its_kind_and_text(void **state)
{
	struct err err cleanup_err = {0};

	assert_string_equal(err_message(&err), "no error");
	assert_string_equal(err_message(NULL), "no error");
	assert_int_equal(err_set(&err, ERR_CONFIG, "%s: \"%s\"", "memory", "2q"), -1);
	assert_int_equal(err.kind, ERR_CONFIG);
	assert_string_equal(err_message(&err), "memory: \"2q\"");
}

static void context_comes_first_and_keeps_the_kind(void **state)
{
	struct err err cleanup_err = {0};

	err_set(&err, ERR_INPUT, "not JSON");
	assert_int_equal(err_wrap(&err, "job.json"), -1);
	assert_int_equal(err_wrap(&err, "%s %d", "application", 7), -1);
	assert_int_equal(err.kind, ERR_INPUT);
	assert_string_equal(err_message(&err), "application 7: job.json: not JSON");
}

static void a_copy_says_the_same(void **state)
{
	struct err from cleanup_err = {0}, err cleanup_err = {0};

	err_set(&from, ERR_DENIED, "100%% closed");
	assert_int_equal(err_copy(&err, &from), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	assert_string_equal(err_message(&err), "100% closed");
	assert_string_equal(err_message(&from), "100% closed");
}

static void wrapping_no_error_makes_none(void **state)
{
	struct err err cleanup_err = {0};

	err_wrap(&err, "context");
	assert_int_equal(err.kind, ERR_NONE);
	assert_null(err.message);
}

static void an_error_may_quote_the_one_it_replaces(void **state)
{
	struct err err cleanup_err = {0};

	err_set(&err, ERR_IO, "first");
	err_set(&err, ERR_FAILED, "second, after %s", err_message(&err));
	assert_string_equal(err_message(&err), "second, after first");
}

static void nobody_listening_is_fine(void **state)
{
	assert_int_equal(err_set(NULL, ERR_IO, "x"), -1);
	assert_int_equal(err_set_errno(NULL, "x"), -1);
	assert_int_equal(err_wrap(NULL, "x"), -1);
}

static void errno_is_told_in_words_and_classified(void **state)
{
	static const struct {
		int number;
		enum err_kind kind;
		const char *text;
	} cases[] = {
		{ENOENT, ERR_NOT_FOUND, "/a: No such file or directory"},
		{EACCES, ERR_DENIED, "/a: Permission denied"},
		{EPERM, ERR_DENIED, "/a: Operation not permitted"},
		{ENOSPC, ERR_NO_SPACE, "/a: No space left on device"},
	};

	for (size_t i = 0; i < array_length(cases); i++) {
		struct err err cleanup_err = {0};
		errno = cases[i].number;
		assert_int_equal(err_set_errno(&err, "%s", "/a"), -1);
		assert_int_equal(err.kind, cases[i].kind);
		assert_string_equal(err_message(&err), cases[i].text);
	}
}

static void a_finished_error_can_be_used_again(void **state)
{
	struct err err cleanup_err = {0};

	err_set(&err, ERR_IO, "x");
	err_finish(&err);
	assert_int_equal(err.kind, ERR_NONE);
	err_finish(&err);
	err_set(&err, ERR_STALE, "y");
	assert_string_equal(err_message(&err), "y");
}

/* Runs `action` in a child; what it wrote to standard error goes to `output`, its wait status is
 * returned. */
static int in_child(void (*action)(void), char *output, size_t size)
{
	int pipe_fds[2], status;
	size_t length = 0;
	ssize_t got;

	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	pid_t child = fork();
	if (child == 0) {
		signal(SIGABRT, SIG_DFL);
		dup2(pipe_fds[1], STDERR_FILENO);
		action();
		_exit(0);
	}
	close(pipe_fds[1]);
	while (length < size - 1 &&
	       (got = read(pipe_fds[0], output + length, size - 1 - length)) > 0)
		length += (size_t)got;
	output[length] = '\0';
	close(pipe_fds[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void hit_bug(void)
{
	BUG("state %d", 7);
}

static void a_bug_says_where_and_aborts(void **state)
{
	char output[4096];
	int status = in_child(hit_bug, output, sizeof(output));

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	assert_text_has(output, "test_err.c:");
	assert_text_has(output, "state 7");
}

/* Under AddressSanitizer, too, a failed allocation is the program's business. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void ask_for_everything(void)
{
	mem_alloc_array(SIZE_MAX / 2, 4);
}

static void ask_for_everything_again(void)
{
	mem_realloc_array(NULL, SIZE_MAX / 2, 4);
}

static void sizes_that_overflow_are_out_of_memory(void **state)
{
	void (*const actions[])(void) = {ask_for_everything, ask_for_everything_again};
	char output[4096];

	for (size_t i = 0; i < array_length(actions); i++) {
		int status = in_child(actions[i], output, sizeof(output));
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGABRT);
		assert_text_has(output, "out of memory");
	}
}

static void nothing_is_still_something(void **state)
{
	void *a cleanup_free = mem_alloc(0);
	void *b cleanup_free = mem_alloc_array(0, 8);
	void *c cleanup_free = mem_realloc_array(NULL, 0, 8);

	assert_non_null(a);
	assert_non_null(b);
	assert_non_null(c);
	assert_null(mem_strdup(NULL));
}

static void memory_is_zeroed(void **state)
{
	unsigned char *bytes cleanup_free = mem_alloc_array(100, 3);

	for (size_t i = 0; i < 300; i++)
		assert_int_equal(bytes[i], 0);
}

static void replacing_a_text_with_itself_keeps_it(void **state)
{
	char *text cleanup_free = mem_strdup("kept");

	mem_replace(&text, text);
	assert_string_equal(text, "kept");
	mem_replace(&text, mem_strdup("new"));
	assert_string_equal(text, "new");
	mem_replace(&text, NULL);
	assert_null(text);
}

static void what_is_stolen_is_not_cleaned_up(void **state)
{
	char *text cleanup_free = mem_strdup("a");
	char *stolen cleanup_free = mem_steal(&text);
	int fd cleanup_close = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int stolen_fd = mem_steal_fd(&fd);

	assert_null(text);
	assert_string_equal(stolen, "a");
	assert_int_equal(fd, -1);
	assert_true(fcntl(stolen_fd, F_GETFD) >= 0);
	mem_cleanup_close(&stolen_fd);
	assert_int_equal(fcntl(stolen_fd, F_GETFD), -1);
}

static void log_at_two_levels(void)
{
	errno = EBADF;
	log_info("not by default");
	log_open("exec worker:0", LOG_LEVEL_INFO);
	log_info("port %d", 2222);
	log_debug("too much");
	log_error("two\nlines\033[2J");
	if (errno != EBADF)
		_exit(1);
}

static void the_log_writes_one_line_a_message(void **state)
{
	char output[4096];
	int year, part;

	assert_int_equal(in_child(log_at_two_levels, output, sizeof(output)), 0);
	assert_null(strstr(output, "not by default"));
	assert_null(strstr(output, "too much"));
	assert_text_has(output, "Z info exec worker:0: port 2222\n");
	assert_text_has(output, "Z error exec worker:0: two lines?[2J\n");
	assert_int_equal(sscanf(output, "%d-%*d-%*dT%*d:%*d:%*d.%dZ", &year, &part), 2);
	assert_true(year >= 2024);
	assert_int_equal(strchr(strchr(output, '\n') + 1, '\n')[1], '\0');
}

static void a_descriptor_is_named_as_its_file_wherever_it_stands(void **state)
{
	struct err err cleanup_err = {0};

	err_set(&err, ERR_IO, "copy to /proc/self/fd/9/a: /proc/self/fd/9/a: no space");
	assert_int_equal(err_rename(&err, "/proc/self/fd/9", "history"), -1);
	assert_string_equal(err_message(&err), "copy to history/a: history/a: no space");
	assert_int_equal(err.kind, ERR_IO);
	assert_int_equal(err_rename(NULL, "a", "b"), -1);
}

static void clocks_count_milliseconds(void **state)
{
	int64_t before = clock_monotonic_ms();

	assert_true(clock_monotonic_ms() >= before);
	assert_true(clock_wall_ms() > 1700000000000);
	assert_true(clock_wall_ms() < 10000000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_error_names_its_kind_and_text),
		cmocka_unit_test(context_comes_first_and_keeps_the_kind),
		cmocka_unit_test(a_copy_says_the_same),
		cmocka_unit_test(wrapping_no_error_makes_none),
		cmocka_unit_test(an_error_may_quote_the_one_it_replaces),
		cmocka_unit_test(nobody_listening_is_fine),
		cmocka_unit_test(errno_is_told_in_words_and_classified),
		cmocka_unit_test(a_finished_error_can_be_used_again),
		cmocka_unit_test(a_bug_says_where_and_aborts),
		cmocka_unit_test(sizes_that_overflow_are_out_of_memory),
		cmocka_unit_test(nothing_is_still_something),
		cmocka_unit_test(memory_is_zeroed),
		cmocka_unit_test(replacing_a_text_with_itself_keeps_it),
		cmocka_unit_test(what_is_stolen_is_not_cleaned_up),
		cmocka_unit_test(the_log_writes_one_line_a_message),
		cmocka_unit_test(a_descriptor_is_named_as_its_file_wherever_it_stands),
		cmocka_unit_test(clocks_count_milliseconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
