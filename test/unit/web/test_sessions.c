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
	char *code cleanup_free = web_sessions_invite(sessions, false, now_ms);
	char *header cleanup_free = web_sessions_open(sessions, code, PEER, 0, now_ms, 0);

	assert_int_equal(strlen(code), 64);
	assert_non_null(header);
	assert_non_null(strstr(header, "; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax"));
	return mem_strndup(header, strcspn(header, ";"));
}

/* promise: S7 */
static void an_invitation_is_good_once_and_for_a_minute(void **state)
{
	struct web_sessions *sessions = *state;
	char *code cleanup_free = web_sessions_invite(sessions, false, 0);
	char *late cleanup_free = web_sessions_invite(sessions, false, 0);

	assert_null(web_sessions_open(sessions, "", PEER, 0, 1, 0));
	assert_null(web_sessions_open(sessions, "0123", PEER, 0, 1, 0));
	char *header cleanup_free = web_sessions_open(sessions, code, PEER, 0, 59999, 0);
	assert_non_null(header);
	assert_null(strstr(header, code));
	assert_null(web_sessions_open(sessions, code, PEER, 0, 59999, 0));
	assert_null(web_sessions_open(sessions, late, PEER, 0, 60000, 0));
}

/* promise: S96 */
static void a_session_is_its_users_alone(void **state)
{
	struct web_sessions *sessions = *state;
	char *owners cleanup_free = open_session(sessions, 0);
	char *header cleanup_free = web_sessions_login(sessions, "alice", PEER, 0, 0);
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
	char *header cleanup_free = web_sessions_login(sessions, "bob", PEER, 0, 0);
	char *bobs cleanup_free = mem_strndup(header, strcspn(header, ";"));
	size_t left = 0;
	char *cookies[3 * WEB_SESSIONS_OF_USER];

	for (size_t i = 0; i < array_length(cookies); i++) {
		cookies[i] = web_sessions_login(sessions, "alice", PEER, (int64_t)i, 0);
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
		free(web_sessions_login(sessions, user, PEER, 200, 0));
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
	char *invitation cleanup_free = web_sessions_invite(sessions, false, 1);

	for (int i = 0; i < WEB_SESSIONS_MAX - 1; i++)
		free(open_session(sessions, 2));
	assert_false(web_sessions_has(sessions, first, PEER, 3));
	assert_true(web_sessions_has(sessions, second, PEER, 3));
	for (int i = 0; i < WEB_INVITATIONS_MAX; i++)
		free(web_sessions_invite(sessions, false, 2));
	assert_null(web_sessions_open(sessions, invitation, PEER, 0, 3, 0));
}

/* A server that starts anew, with the key that signed cookies before. */
static struct web_sessions *start_anew(const char *key)
{
	struct web_sessions *sessions = web_sessions_create("tony-test", false);

	web_sessions_sign(sessions, key);
	return sessions;
}

static bool resumes(struct web_sessions *sessions, const char *cookie, const char *peer,
		    int64_t now_ms, int64_t wall_ms)
{
	web_sessions_resume(sessions, cookie, peer, now_ms, wall_ms);
	return web_sessions_has(sessions, cookie, peer, now_ms);
}

#define WALL 1795000000000

/* promise: S9 S103 */
static void a_signed_session_outlives_its_server_for_its_time_and_address(void **state)
{
	struct web_sessions *before = start_anew("key");
	char *header cleanup_free = web_sessions_login(before, "alice", PEER, 700, WALL);
	char *code cleanup_free = web_sessions_invite(before, false, 700);
	char *opened cleanup_free = web_sessions_open(before, code, PEER, 4001, 700, WALL);
	char *alices cleanup_free = mem_strndup(header, strcspn(header, ";"));
	char *owners cleanup_free = mem_strndup(opened, strcspn(opened, ";"));
	struct web_sessions *after = start_anew("key"), *other = start_anew("another");
	char *longer cleanup_free = mem_printf("%s0", owners);

	assert_true(web_sessions_has(before, alices, PEER, 701));
	assert_false(web_sessions_has(after, alices, PEER, 1));
	assert_false(resumes(other, alices, PEER, 1, WALL));
	assert_false(resumes(after, alices, "10.0.0.8", 1, WALL));
	assert_false(resumes(after, longer, PEER, 1, WALL));
	assert_false(resumes(after, alices, PEER, 1, WALL + WEB_SESSION_MS));
	assert_true(resumes(after, alices, PEER, 1, WALL + WEB_SESSION_MS - 10));
	assert_string_equal(web_sessions_user(after, alices, PEER, 1), "alice");
	assert_false(web_sessions_has(after, alices, PEER, 11));
	assert_true(resumes(after, owners, PEER, 1, WALL));
	assert_null(web_sessions_user(after, owners, PEER, 1));
	assert_int_equal(web_sessions_ui_port(after, owners, PEER, 1), 4001);
	web_sessions_sign(after, "another");
	assert_false(resumes(after, owners, PEER, 1, WALL));
	web_sessions_destroy(before);
	web_sessions_destroy(after);
	web_sessions_destroy(other);
}

static void a_signed_session_that_controls_does_so_at_the_next_server(void **state)
{
	struct web_sessions *before = start_anew("key"), *after = start_anew("key");
	char *code cleanup_free = web_sessions_invite(before, true, 0);
	char *opened cleanup_free = web_sessions_open(before, code, PEER, 0, 0, WALL);
	char *looks cleanup_free = web_sessions_invite(before, false, 0);
	char *looker cleanup_free = web_sessions_open(before, looks, PEER, 0, 0, WALL);

	opened[strcspn(opened, ";")] = looker[strcspn(looker, ";")] = '\0';
	const char *control = web_sessions_control(before, opened, PEER, 1);
	assert_non_null(control);
	assert_null(strstr(opened, control));
	assert_true(resumes(after, opened, PEER, 1, WALL));
	assert_string_equal(web_sessions_control(after, opened, PEER, 1), control);
	assert_true(resumes(after, looker, PEER, 1, WALL));
	assert_null(web_sessions_control(after, looker, PEER, 1));
	web_sessions_destroy(before);
	web_sessions_destroy(after);
}

/* promise: S103 */
static void what_is_in_a_signed_cookie_cannot_be_changed(void **state)
{
	struct web_sessions *before = start_anew("key"), *after = start_anew("key");
	char *header cleanup_free = web_sessions_login(before, "alice", PEER, 0, WALL);

	header[strcspn(header, ";")] = '\0';
	for (char *c = strchr(header, '=') + 1; *c; c++) {
		char right = *c;
		*c = right == '1' ? '2' : '1';
		assert_false(resumes(after, header, PEER, 1, WALL));
		*c = right;
	}
	assert_true(resumes(after, header, PEER, 1, WALL));
	assert_false(resumes(after, "tony-test=1.2.3", PEER, 1, WALL));
	assert_false(resumes(after, "tony-test=1.2.3.4.5.6", PEER, 1, WALL));
	assert_false(resumes(after, NULL, PEER, 1, WALL));
	web_sessions_destroy(before);
	web_sessions_destroy(after);
}

/* promise: S96 */
static void a_session_that_made_way_does_not_come_back(void **state)
{
	struct web_sessions *before = start_anew("key");
	char *cookies[WEB_SESSIONS_OF_USER + 1];

	for (size_t i = 0; i < array_length(cookies); i++) {
		cookies[i] = web_sessions_login(before, "alice", PEER, (int64_t)i, WALL);
		cookies[i][strcspn(cookies[i], ";")] = '\0';
	}
	assert_false(resumes(before, cookies[0], PEER, 100, WALL + 100));
	for (size_t i = 1; i < array_length(cookies); i++)
		assert_true(web_sessions_has(before, cookies[i], PEER, 100));
	for (size_t i = 0; i < array_length(cookies); i++)
		free(cookies[i]);
	web_sessions_destroy(before);
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
		cmocka_unit_test(a_signed_session_outlives_its_server_for_its_time_and_address),
		cmocka_unit_test(a_signed_session_that_controls_does_so_at_the_next_server),
		cmocka_unit_test(what_is_in_a_signed_cookie_cannot_be_changed),
		cmocka_unit_test(a_session_that_made_way_does_not_come_back),
		cmocka_unit_test(cookies_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
