/* A token is shown to programs of its owner, and of root: another user may listen at a port where
 * somebody else's program is expected. Root plays the other user; another user plays himself. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../base/patience.h"
#include "base/mem.h"
#include "net/http_client.h"
#include "net/socket_owner.h"
#include "peer.h"

enum { STRANGER = 65533 };

#define TOKEN "feed"

/* Listens as a user who is not `wanted()`. */
static int listen_as_stranger(char **address)
{
	bool is_root = geteuid() == 0;

	if (is_root)
		setfsuid(STRANGER);
	int fd = peer_listen(address);
	if (is_root)
		setfsuid(0);
	return fd;
}

static uid_t wanted(void)
{
	return geteuid() == 0 ? 0 : STRANGER;
}

struct call {
	struct event_base *base;
	struct http_client *client;
	bool is_done;
	enum err_kind kind;
	char *text;
};

static void on_done(void *data, const struct http_response *response, const struct err *err)
{
	struct call *call = data;

	call->is_done = true;
	call->kind = err->kind;
	call->text = mem_strdup(err_message(err));
}

static void start(struct call *call, const char *address, const char *token, uid_t owner)
{
	*call = (struct call){.base = event_base_new()};
	call->client = http_client_create(call->base, address, token, NULL);
	http_client_demand_owner(call->client, owner);
	http_client_start(call->client, &(struct http_question){.method = "GET",
								.path = "/",
								.timeout_ms = PATIENCE_MS,
								.done = on_done,
								.data = call});
}

static void finish(struct call *call)
{
	http_client_destroy(call->client);
	event_base_loop(call->base, EVLOOP_NONBLOCK);
	event_base_free(call->base);
	free(call->text);
}

/* promise: S34 */
static void test_nothing_is_sent_to_another_users_listener(void **state)
{
	char *address cleanup_free = NULL, bytes[16];
	int listener cleanup_close = listen_as_stranger(&address);
	struct call call;

	start(&call, address, TOKEN, wanted());
	run_until(call.base, &call.is_done);
	assert_int_equal(call.kind, ERR_DENIED);
	char *expected cleanup_free = mem_printf(
		"%s: is listened on by uid %u, not by uid %u or root: nothing was sent", address,
		geteuid() == 0 ? STRANGER : (unsigned)geteuid(), (unsigned)wanted());
	assert_string_equal(call.text, expected);
	int taken cleanup_close = accept(listener, NULL, NULL);
	assert_int_equal(read(taken, bytes, sizeof(bytes)), 0);
	finish(&call);
}

static void expect_question(const char *token, uid_t owner, const char *part)
{
	char *address cleanup_free = NULL;
	int listener = listen_as_stranger(&address);
	struct peer peer;
	struct call call;

	start(&call, address, token, owner);
	/* The kernel has connected it by then: the listener need not accept for that. */
	run_idle(call.base);
	peer_take(&peer, call.base, accept(listener, NULL, NULL));
	peer_expect(&peer, call.base, part);
	peer_close(&peer);
	finish(&call);
	close(listener);
}

static void test_whoever_is_expected_is_told(void **state)
{
	expect_question(TOKEN, geteuid() == 0 ? STRANGER : geteuid(), "Bearer " TOKEN);
	expect_question(TOKEN, SOCKET_OWNER_ANY, "Bearer " TOKEN);
}

/* A call without a token holds no secret. */
static void test_without_a_token_anybody_is_asked(void **state)
{
	char *address cleanup_free = NULL;
	int listener = listen_as_stranger(&address);
	struct call call = {.base = event_base_new()};
	struct peer peer;

	call.client = http_client_create(call.base, address, NULL, NULL);
	http_client_start(call.client,
			  &(struct http_question){
				  .method = "GET", .path = "/", .done = on_done, .data = &call});
	run_idle(call.base);
	peer_take(&peer, call.base, accept(listener, NULL, NULL));
	peer_expect(&peer, call.base, "GET / HTTP/1.1");
	peer_close(&peer);
	finish(&call);
	close(listener);
}

/* promise: S34 */
static void test_a_token_demands_the_callers_own_user(void **state)
{
	char *address cleanup_free = NULL;
	struct err err cleanup_err = {0};
	int status, listener = listen_as_stranger(&address);

	/* Only root can be another user than the one who listens here. */
	if (geteuid() == 0) {
		assert_int_equal(http_call(&(struct http_target){address, TOKEN, geteuid()}, "GET",
					   "/", NULL, 0, &status, NULL, &err),
				 -1);
		assert_int_equal(err.kind, ERR_DENIED);
	}
	close(listener);
}

/* Sockets of netlink, and files, for this process: errno. */
static int make_kernel_mute(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {.len = array_length(filter), .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* promise: S34 S38 */
static void test_nothing_is_sent_where_the_kernel_does_not_say_who_listens(void **state)
{
	static const char expected[] = "the kernel does not say who listens there";
	char *address cleanup_free = NULL;
	int status, listener cleanup_close = peer_listen(&address);
	struct call call;

	assert_true(listener >= 0);
	start(&call, address, TOKEN, geteuid());
	/* A process does not get rid of its filter. */
	pid_t child = fork();
	if (child == 0) {
		event_reinit(call.base);
		if (make_kernel_mute() < 0)
			_exit(2);
		event_base_dispatch(call.base);
		_exit(call.kind == ERR_UNREACHABLE && strstr(call.text, expected) ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	finish(&call);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_sent_to_another_users_listener),
		cmocka_unit_test(test_nothing_is_sent_where_the_kernel_does_not_say_who_listens),
		cmocka_unit_test(test_whoever_is_expected_is_told),
		cmocka_unit_test(test_without_a_token_anybody_is_asked),
		cmocka_unit_test(test_a_token_demands_the_callers_own_user),
	};

	return cmocka_run_group_tests_name("a token's owner", tests, NULL, NULL);
}
