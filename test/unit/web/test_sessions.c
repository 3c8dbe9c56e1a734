/* What web/sessions.h and web/cookie.h promise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "web/cookie.h"
#include "web/sessions.h"

#define PEER "10.0.0.7"

static int set_up(void **state)
{
	*state = web_sessions_create("tony-test", false);
	return 0;
}

static int tear_down(void **state)
{
	web_sessions_destroy(*state);
	return 0;
}

/* The cookie, as a browser sends it back. */
static char *open_session(struct web_sessions *sessions, int64_t now_ms)
{
	char *code cleanup_free = web_sessions_invite(sessions, now_ms);
	char *header cleanup_free = web_sessions_open(sessions, code, PEER, 0, now_ms);

	assert_int_equal(strlen(code), 64);
	assert_non_null(header);
	assert_non_null(strstr(header, "; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax"));
	return mem_strndup(header, strcspn(header, ";"));
}

/* promise: S7 */
static void an_invitation_is_good_once_and_for_a_minute(void **state)
{
	struct web_sessions *sessions = *state;
	char *code cleanup_free = web_sessions_invite(sessions, 0);
	char *late cleanup_free = web_sessions_invite(sessions, 0);

	assert_null(web_sessions_open(sessions, "", PEER, 0, 1));
	assert_null(web_sessions_open(sessions, "0123", PEER, 0, 1));
	char *header cleanup_free = web_sessions_open(sessions, code, PEER, 0, 59999);
	assert_non_null(header);
	assert_null(strstr(header, code));
	assert_null(web_sessions_open(sessions, code, PEER, 0, 59999));
	assert_null(web_sessions_open(sessions, late, PEER, 0, 60000));
}

/* promise: S96 */
static void a_session_is_its_users_alone(void **state)
{
	struct web_sessions *sessions = *state;
	char *owners cleanup_free = open_session(sessions, 0);
	char *header cleanup_free = web_sessions_login(sessions, "alice", PEER, 0);
	char *alices cleanup_free = mem_strndup(header, strcspn(header, ";"));

	assert_true(web_sessions_has(sessions, alices, PEER, 1));
	assert_string_equal(web_sessions_user(sessions, alices, PEER, 1), "alice");
	assert_null(web_sessions_user(sessions, owners, PEER, 1));
	assert_null(web_sessions_user(sessions, alices, "10.0.0.8", 1));
	assert_null(web_sessions_user(sessions, alices, PEER, WEB_SESSION_MS));
	assert_null(web_sessions_user(sessions, NULL, PEER, 1));
}

/* promise: S96 */
static void a_user_who_comes_often_ends_nobody_elses_session(void **state)
{
	struct web_sessions *sessions = *state;
	char *owners cleanup_free = open_session(sessions, 0);
	char *header cleanup_free = web_sessions_login(sessions, "bob", PEER, 0);
	char *bobs cleanup_free = mem_strndup(header, strcspn(header, ";"));
	size_t left = 0;
	char *cookies[3 * WEB_SESSIONS_OF_USER];

	for (size_t i = 0; i < array_length(cookies); i++) {
		cookies[i] = web_sessions_login(sessions, "alice", PEER, (int64_t)i);
		cookies[i][strcspn(cookies[i], ";")] = '\0';
	}
	for (size_t i = 0; i < array_length(cookies); i++) {
		bool is_there = web_sessions_has(sessions, cookies[i], PEER, 100);
		assert_int_equal(is_there, i >= array_length(cookies) - WEB_SESSIONS_OF_USER);
		left += is_there;
		free(cookies[i]);
	}
	assert_int_equal(left, WEB_SESSIONS_OF_USER);
	assert_true(web_sessions_has(sessions, bobs, PEER, 100));
	for (int i = 0; i < WEB_SESSIONS_MAX; i++) {
		char *user cleanup_free = mem_printf("user%d", i);
		free(web_sessions_login(sessions, user, PEER, 200));
	}
	assert_true(web_sessions_has(sessions, owners, PEER, 300));
	assert_false(web_sessions_has(sessions, bobs, PEER, 300));
	assert_true(web_sessions_claims(sessions, bobs));
	assert_false(web_sessions_claims(sessions, "other=1"));
}

/* promise: S9 S12 */
static void a_session_lasts_for_its_time_and_its_address(void **state)
{
	struct web_sessions *sessions = *state;
	char *cookie cleanup_free = open_session(sessions, 5000);
	char *among cleanup_free = mem_printf("a=1; %s; b=2", cookie);
	char *other cleanup_free = mem_printf("x%s", cookie);
	char *shorter cleanup_free = mem_strndup(cookie, strlen(cookie) - 1);

	assert_true(web_sessions_has(sessions, cookie, PEER, 5001));
	assert_true(web_sessions_has(sessions, among, PEER, 5000 + WEB_SESSION_MS - 1));
	assert_false(web_sessions_has(sessions, cookie, PEER, 5000 + WEB_SESSION_MS));
	assert_false(web_sessions_has(sessions, cookie, "10.0.0.8", 5001));
	assert_false(web_sessions_has(sessions, other, PEER, 5001));
	assert_false(web_sessions_has(sessions, shorter, PEER, 5001));
	assert_false(web_sessions_has(sessions, "tony-test=", PEER, 5001));
	assert_false(web_sessions_has(sessions, NULL, PEER, 5001));
}

static void the_oldest_make_way(void **state)
{
	struct web_sessions *sessions = *state;
	char *first cleanup_free = open_session(sessions, 0);
	char *second cleanup_free = open_session(sessions, 1);
	char *invitation cleanup_free = web_sessions_invite(sessions, 1);

	for (int i = 0; i < WEB_SESSIONS_MAX - 1; i++)
		free(open_session(sessions, 2));
	assert_false(web_sessions_has(sessions, first, PEER, 3));
	assert_true(web_sessions_has(sessions, second, PEER, 3));
	for (int i = 0; i < WEB_INVITATIONS_MAX; i++)
		free(web_sessions_invite(sessions, 2));
	assert_null(web_sessions_open(sessions, invitation, PEER, 0, 3));
}

static void cookies_are_told_apart(void **state)
{
	char *found cleanup_free = web_cookie_find("a=1;  b=2=3 ;c", "b");
	char *left cleanup_free = web_cookie_without("tony-a=1; b=2; tony-c=3; d", "tony-");

	assert_string_equal(found, "2=3");
	assert_null(web_cookie_find("aa=1; b", "a"));
	assert_null(web_cookie_find("aa=1; b", "b"));
	assert_string_equal(left, "b=2; d");
	assert_null(web_cookie_without("tony-a=1", "tony-"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define with_sessions(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
		with_sessions(an_invitation_is_good_once_and_for_a_minute),
		with_sessions(a_session_lasts_for_its_time_and_its_address),
		with_sessions(the_oldest_make_way),
		with_sessions(a_session_is_its_users_alone),
		with_sessions(a_user_who_comes_often_ends_nobody_elses_session),
		cmocka_unit_test(cookies_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
