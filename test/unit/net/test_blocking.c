/* A signal ends the wait for a library that waits by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/blocking.h"

/* Waits until a byte is in the pipe. */
struct waiting {
	int from, forgotten; /* pipes */
	char got;
};

static void wait_for_byte(void *data)
{
	struct waiting *waiting = data;

	if (read(waiting->from, &waiting->got, 1) != 1)
		waiting->got = 0;
}

static void forget(void *data)
{
	struct waiting *waiting = data;
	const char got = waiting->got;
	const int to = waiting->forgotten;

	free(waiting);
	if (write(to, &got, 1) != 1)
		abort();
}

static struct waiting *make_waiting(int in[2], int out[2])
{
	struct waiting *waiting = mem_alloc(sizeof(*waiting));

	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	*waiting = (struct waiting){.from = in[0], .forgotten = out[1]};
	return waiting;
}

static void block(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(how, &set, NULL);
}

static void close_all(const int *in, const int *out)
{
	for (int i = 0; i < 2; i++) {
		close(in[i]);
		close(out[i]);
	}
}

static void a_call_that_returns_is_done(void **state)
{
	for (int is_blocked = 0; is_blocked < 2; is_blocked++) {
		int in[2], out[2];
		struct waiting *waiting = make_waiting(in, out);

		block(is_blocked ? SIG_BLOCK : SIG_UNBLOCK);
		assert_int_equal(write(in[1], "a", 1), 1);
		assert_true(blocking_run(wait_for_byte, forget, waiting));
		assert_int_equal(waiting->got, 'a');
		free(waiting);
		close_all(in, out);
	}
	block(SIG_UNBLOCK);
}

static void a_signal_ends_the_wait_and_the_call_goes_on(void **state)
{
	int in[2], out[2], number;
	struct waiting *waiting = make_waiting(in, out);
	sigset_t pending;
	char got;

	block(SIG_BLOCK);
	raise(SIGTERM);
	assert_false(blocking_run(wait_for_byte, forget, waiting));
	/* It is not taken: who began the wait does that. */
	sigpending(&pending);
	assert_true(sigismember(&pending, SIGTERM));
	assert_int_equal(write(in[1], "b", 1), 1);
	assert_int_equal(read(out[0], &got, 1), 1);
	assert_int_equal(got, 'b');
	sigemptyset(&pending);
	sigaddset(&pending, SIGTERM);
	assert_int_equal(sigwait(&pending, &number), 0);
	block(SIG_UNBLOCK);
	close_all(in, out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_that_returns_is_done),
		cmocka_unit_test(a_signal_ends_the_wait_and_the_call_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
