/*
 * Logs that the AM cannot read itself: the real interface, and the real sender of an executor whose
 * directory only it knows. (The bed's AM can read the logs of worker:0 only.)
 */
#include "api_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../net/peer.h"
#include "am/api_internal.h"
#include "am/log_relay.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "executor/link.h"
#include "executor/log_send.h"
#include "logs/count.h"
#include "logs/frame.h"

#define LOGS "/v1/tasks/worker:1/logs/"

/* An executor, as far as its messages go. */
struct far {
	struct api_bed *bed;
	struct link *link;
	struct log_send *sender;
	char *log_dir;
	int pieces; /* sent so far */
	bool done;
};

static void on_state(void *data, struct heartbeat *heartbeat)
{
	struct far *far = data;

	heartbeat->of.attempt = bed_look(far->bed->bed, "worker:1")->attempt;
	heartbeat->log_count = log_send_numbers(far->sender, heartbeat->logs);
}

static void on_order(void *data, const struct orders *orders)
{
	struct far *far = data;

	if (log_send_order(far->sender, orders->logs, orders->log_count))
		link_changed(far->link);
}

static void on_reported(void *data)
{
}

static void on_ended(void *data, enum link_end how, const char *text)
{
	fail_msg("%s", text);
}

static void on_sent(void *data)
{
	struct far *far = data;

	far->pieces++;
	link_changed(far->link);
}

static void on_done(void *data)
{
	struct far *far = data;

	far->done = true;
}

static void connect_far(struct far *far)
{
	const struct task *task = bed_look(far->bed->bed, "worker:1");
	struct link_options link = {
		.base = far->bed->base,
		.address = api_address(far->bed->api),
		.token = BED_TOKEN,
		.task = "worker:1",
		.events = {.state = on_state,
			   .order = on_order,
			   .reported = on_reported,
			   .ended = on_ended,
			   .data = far},
	};
	struct log_send_options sender = {
		.base = far->bed->base,
		.address = api_address(far->bed->api),
		.token = BED_TOKEN,
		.task = "worker:1",
		.attempt = task->attempt,
		.log_dir = far->log_dir,
		.sent = on_sent,
		.done = on_done,
		.data = far,
	};
	const struct registration registration = {
		.of.attempt = task->attempt, .host = "127.0.0.1", .port = 4001};
	size_t before = far->bed->delivered;

	far->link = link_create(&link, NULL);
	far->sender = log_send_create(&sender, NULL);
	link_register(far->link, &registration);
	while (far->bed->delivered == before)
		event_base_loop(far->bed->base, EVLOOP_ONCE);
}

static void disconnect_far(struct far *far)
{
	log_send_destroy(far->sender);
	link_destroy(far->link);
}

/* Its first one; the next is asked for. */
static void lose_container(struct far *far)
{
	disconnect_far(far);
	assert_true(bed_lose(far->bed->bed, "worker:1", CAUSE_NODE_LOST));
	api_bed_apply(far->bed);
	while (bed_look(far->bed->bed, "worker:1")->attempt == 1) {
		bed_pass(far->bed->bed, 1000);
		api_bed_apply(far->bed);
	}
}

static void may_lose(struct bed *bed)
{
	bed->job->infrastructure_retry_count = 3;
}

static int set_up(void **state)
{
	struct far *far = mem_alloc(sizeof(*far));

	far->bed = api_bed_create("worker=2", may_lose);
	far->log_dir = fs_join(far->bed->directory, "far");
	assert_int_equal(fs_make_directories(far->log_dir, 0700, NULL), 0);
	api_bed_allocate(far->bed, "worker:0");
	api_bed_allocate(far->bed, "worker:1");
	connect_far(far);
	*state = far;
	return 0;
}

static int tear_down(void **state)
{
	struct far *far = *state;

	disconnect_far(far);
	api_bed_destroy(far->bed);
	free(far->log_dir);
	free(far);
	return 0;
}

static void rename_in(struct far *far, const char *from, const char *to)
{
	char *source cleanup_free = mem_printf("%s/%s", far->log_dir, from);
	char *target cleanup_free = mem_printf("%s/%s", far->log_dir, to);

	assert_int_equal(rename(source, target), 0);
}

static void write_log(struct far *far, const char *name, const char *text)
{
	char *path cleanup_free = mem_printf("far/%s", name);

	api_bed_log(far->bed, path, text);
}

static void expect_text(struct far *far, const char *path, const char *text)
{
	struct reply reply;

	ask_stream(far->bed, &reply, path, NULL);
	reply_wait(&reply);
	assert_int_equal(reply.status, 200);
	assert_string_equal(str_text(&reply.text), text);
	reply_finish(&reply);
}

/* ---- reading ------------------------------------------------------------------------------ */

static void they_are_read_where_they_are(void **state)
{
	struct far *far = *state;

	expect_text(far, LOGS "stdout", ""); /* not there yet */
	write_log(far, "stdout", "0123456789");
	write_log(far, "stderr-1", "of the second process");
	write_log(far, "executor.log", "started");
	expect_text(far, LOGS "stdout", "0123456789");
	expect_text(far, LOGS "stdout?offset=4", "456789");
	expect_text(far, LOGS "stdout?offset=4&limit=2", "45");
	expect_text(far, LOGS "stdout?offset=-3", "789");
	expect_text(far, LOGS "stdout?offset=300", "");
	expect_text(far, LOGS "stderr-1", "of the second process");
	expect_text(far, LOGS "executor?attempt=1", "started");
}

static void they_are_followed_over_rotation_and_truncation(void **state)
{
	struct far *far = *state;
	struct reply reply;

	ask_stream(far->bed, &reply, LOGS "stdout?follow=1", NULL);
	write_log(far, "stdout", "one ");
	reply_wait_text(&reply, "one ");
	write_log(far, "stdout", "two ");
	rename_in(far, "stdout", "stdout.1");
	write_log(far, "stdout", "three ");
	reply_wait_text(&reply, "one two three ");
	char *path cleanup_free = fs_join(far->log_dir, "stdout");
	assert_int_equal(truncate(path, 0), 0);
	write_log(far, "stdout", "4 ");
	reply_wait_text(&reply, "one two three 4 ");
	reply_finish(&reply);
}

static void what_is_larger_than_a_piece_comes_whole(void **state)
{
	struct far *far = *state;
	struct str text cleanup_str = {0};

	for (int i = 0; i < 60000; i++)
		str_append_format(&text, "line %d\n", i);
	write_log(far, "stdout", text.text);
	expect_text(far, LOGS "stdout", text.text);
	assert_true((size_t)far->pieces >= text.length / LOG_PIECE_MAX);
}

static void frames_tell_times_and_ends(void **state)
{
	struct far *far = *state;
	struct reply reply;
	struct log_span span;

	write_log(far, "stdout.1", "a\n");
	write_log(far, "stdout.1.times", "1000 0\n");
	write_log(far, "stdout", "b\nc\n");
	write_log(far, "stdout.times", "2000 0\n3000 2\n");
	ask_stream(far->bed, &reply, LOGS "stdout?from=oldest&frames=1&follow=1", NULL);
	reply_wait_text(&reply, "\n0 0 0 0\n");
	const char *rest = reply.text.text;
	size_t length = reply.text.length;
	const int64_t times[] = {1000, 2000, 3000};
	for (int i = 0; i < 3; i++) {
		assert_int_equal(log_frame_next(&rest, &length, &span), 1);
		assert_int_equal(span.time_ms, times[i]);
		assert_int_equal(span.length, 2);
		assert_int_equal(span.bytes[0], 'a' + i);
	}
	/* Where it was broken off, it goes on. */
	char *from cleanup_free = mem_printf(LOGS "stdout?from=at:%llx:%lld",
					     (unsigned long long)span.part, (long long)span.offset);
	expect_text(far, from, "c\n");
	expect_text(far, LOGS "stdout?from=tail:2", "b\nc\n");
	expect_text(far, LOGS "stdout?from=tail:3", "a\nb\nc\n");
	reply_finish(&reply);
}

static void only_lines_that_have_the_text_are_sent(void **state)
{
	struct far *far = *state;
	struct reply all, found, late;

	ask_stream(far->bed, &all, LOGS "stdout?follow=1", NULL);
	ask_stream(far->bed, &found, LOGS "stdout?follow=1&match=loss", NULL);
	ask_stream(far->bed, &late, LOGS "stderr?follow=1&match=x", NULL);
	write_log(far, "stdout", "loss 1\nstep\nloss");
	reply_wait_text(&all, "loss 1\nstep\nloss");
	reply_wait_text(&found, "loss 1\n");
	expect_text(far, LOGS "stdout?match=LOSS&ignore_case=1", "loss 1\nloss");
	write_log(far, "stdout", " 2\nend of loss");
	write_log(far, "stderr", "y\nx");
	reply_wait_text(&found, "loss 1\nloss 2\n");
	log_send_end(far->sender);
	reply_wait_text(&found, "loss 1\nloss 2\nend of loss");
	reply_wait_text(&late, "x");
	reply_finish(&all);
	reply_finish(&found);
	reply_finish(&late);
}

/* Bytes in all; the last span's length is 0 if the answer says that there is no more. */
static size_t count_bytes(const struct str *frames, struct log_span *last)
{
	const char *rest = frames->text;
	size_t length = frames->length, bytes = 0;

	while (log_frame_next(&rest, &length, last) > 0)
		bytes += last->length;
	assert_int_equal(length, 0);
	return bytes;
}

static void a_limit_says_nothing_of_the_end(void **state)
{
	struct far *far = *state;
	struct reply reply;
	struct log_span last;

	write_log(far, "stdout", "loss 1\nloss 2\nloss 3\n");
	ask_stream(far->bed, &reply, LOGS "stdout?match=loss&frames=1&limit=10", NULL);
	reply_wait(&reply);
	assert_int_equal(count_bytes(&reply.text, &last), 10);
	assert_int_equal(last.offset, 7);
	assert_int_equal(last.length, 3);
	reply_finish(&reply);
	ask_stream(far->bed, &reply, LOGS "stdout?frames=1&limit=4", NULL);
	reply_wait(&reply);
	assert_int_equal(count_bytes(&reply.text, &last), 4);
	assert_int_equal(last.length, 4);
	reply_finish(&reply);
}

/* Whether a piece is full with it or not. */
static void a_last_line_without_a_newline_is_sent_once(void **state)
{
	enum { LINE = 20, LINES = 2300, LEAST = 2030, MOST = 2110 }; /* in a piece: some 2050 */
	struct far *far = *state;
	struct str text cleanup_str = {0};
	struct log_span last;
	struct reply reply;

	for (int i = 0; i < LINES; i++)
		str_append_format(&text, "needle number %05d\n", i);
	write_log(far, "stdout", text.text);
	write_log(far, "stdout", "needle");
	for (int lines = LEAST; lines < MOST; lines++) {
		char *path cleanup_free = mem_printf(
			LOGS "stdout?match=needle&frames=1&from=offset:%d", LINE * (LINES - lines));
		ask_stream(far->bed, &reply, path, NULL);
		reply_wait(&reply);
		assert_int_equal(count_bytes(&reply.text, &last), LINE * lines + 6);
		assert_int_equal(last.length, 0);
		reply_finish(&reply);
	}
}

/* Where its next search goes on, too; and how many lines there are, in steps. */
static void what_an_executor_finds_has_a_place(void **state)
{
	struct far *far = *state;
	struct str text cleanup_str = {0};
	struct log_span span;
	struct reply reply;

	write_log(far, "stdout", "loss 1\nstep\nlo");
	ask_stream(far->bed, &reply, LOGS "stdout?match=lo&frames=1", NULL);
	reply_wait(&reply);
	const char *rest = reply.text.text;
	size_t length = reply.text.length;
	const int64_t places[] = {0, 12, 12};
	const size_t lengths[] = {7, 2, 0};
	for (int i = 0; i < 3; i++) {
		assert_int_equal(log_frame_next(&rest, &length, &span), 1);
		assert_int_equal(span.offset, places[i]);
		assert_int_equal(span.length, lengths[i]);
	}
	assert_int_equal(length, 0);
	reply_finish(&reply);
	char *next cleanup_free =
		mem_printf(LOGS "stdout?match=loss&from=at:%llx:12", (unsigned long long)span.part);
	write_log(far, "stdout", "ss 2\n");
	expect_text(far, next, "loss 2\n");
	for (int i = 0; i < LOG_COUNT_STEP / 4; i++)
		str_append_format(&text, "abc\n");
	write_log(far, "stderr", text.text);
	write_log(far, "stderr", "more");
	ask_stream(far->bed, &reply, LOGS "stderr?from=oldest&frames=1&count_lines=1", NULL);
	reply_wait(&reply);
	rest = reply.text.text;
	length = reply.text.length;
	assert_int_equal(log_frame_next(&rest, &length, &span), 1);
	assert_int_equal(span.time_ms, LOG_COUNT_STEP / 4);
	assert_int_equal(span.offset, LOG_COUNT_STEP);
	assert_string_equal(rest, "0 0 0 0\n");
	reply_finish(&reply);
}

/* The lines between two that are found are read once, and do not travel. */
static void a_large_log_is_searched_where_it_is(void **state)
{
	struct far *far = *state;
	struct str text cleanup_str = {0};

	for (int i = 0; i < 200000; i++)
		str_append_format(&text, "line %d\n", i);
	write_log(far, "stdout", text.text);
	expect_text(far, LOGS "stdout?match=e%20199999%0Ae%2077777", "line 77777\nline 199999\n");
	assert_true(far->pieces <= 2);
}

/* A follower that does not wait comes to one that does: the order has another number. The executor
 * does not search the same bytes again, as a change there shows. */
static void another_follower_does_not_restart_a_search(void **state)
{
	struct far *far = *state;
	struct reply first, second;
	char *path cleanup_free = fs_join(far->log_dir, "stdout");
	int64_t number = 0, renewed;

	write_log(far, "stdout", "nothing\n");
	assert_int_equal(truncate(path, 512 << 20), 0);
	write_log(far, "stdout", "\nneedle\n");
	ask_stream(far->bed, &first, LOGS "stdout?follow=1&match=needle", NULL);
	while (log_send_numbers(far->sender, &number) == 0)
		event_base_loop(far->bed->base, EVLOOP_ONCE);
	for (int i = 0; i < 50; i++)
		event_base_loop(far->bed->base, EVLOOP_ONCE);
	int fd cleanup_close = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "needles", 7, 0), 7);
	ask_stream(far->bed, &second, LOGS "stdout?follow=1&match=needle&frames=1", NULL);
	do {
		event_base_loop(far->bed->base, EVLOOP_ONCE);
		log_send_numbers(far->sender, &renewed);
	} while (renewed == number);
	assert_int_equal(first.text.length, 0);
	reply_wait_text(&first, "needle");
	assert_string_equal(first.text.text, "needle\n");
	reply_wait_text(&second, "needle\n0 "); /* and where a next search goes on */
	reply_finish(&first);
	reply_finish(&second);
}

/* ---- many, and slow ones ------------------------------------------------------------------ */

static void followers_of_one_log_share_what_is_sent(void **state)
{
	enum { COUNT = 20 };
	struct far *far = *state;
	struct reply replies[COUNT];

	for (int i = 0; i < COUNT; i++)
		ask_stream(far->bed, &replies[i], LOGS "stdout?follow=1", NULL);
	write_log(far, "stdout", "one ");
	for (int i = 0; i < COUNT; i++)
		reply_wait_text(&replies[i], "one ");
	int pieces = far->pieces;
	write_log(far, "stdout", "two ");
	for (int i = 0; i < COUNT; i++)
		reply_wait_text(&replies[i], "one two ");
	assert_true(far->pieces <= pieces + 1);
	for (int i = 0; i < COUNT; i++)
		reply_finish(&replies[i]);
}

static void who_does_not_read_is_not_sent_more(void **state)
{
	enum { LINES = 500000 }; /* 16 MB: more than the sockets' buffers hold */
	struct far *far = *state;
	char *path cleanup_free = fs_join(far->log_dir, "stdout");
	FILE *file = fopen(path, "we");
	struct peer peer;

	for (int i = 0; i < LINES; i++)
		fprintf(file, "%031d\n", i);
	fclose(file);
	peer_open(&peer, far->bed->base, api_address(far->bed->api));
	event_del(&peer.event); /* never reads */
	peer_send(&peer, "GET " LOGS "stdout?offset=0&follow=1 HTTP/1.1\r\nHost: x\r\n"
			 "Authorization: Bearer " BED_TOKEN "\r\n\r\n");
	/* Somebody else's log comes along, however long that one takes. */
	write_log(far, "stderr", "meanwhile");
	for (int last = -1; far->pieces != last;) {
		last = far->pieces;
		expect_text(far, LOGS "stderr", "meanwhile");
		far->pieces -= 1;
		api_bed_run_idle(far->bed);
	}
	assert_true(far->pieces < LINES * 32 / LOG_PIECE_MAX);
	peer_close(&peer);
}

/* ---- ends and beginnings ------------------------------------------------------------------ */

static void the_last_bytes_come_before_the_executor_leaves(void **state)
{
	struct far *far = *state;
	struct reply reply, other;

	ask_stream(far->bed, &reply, LOGS "stdout?follow=1&attempt=1", NULL);
	ask_stream(far->bed, &other, LOGS "stderr?follow=1&attempt=1", NULL);
	write_log(far, "stdout", "begun ");
	reply_wait_text(&reply, "begun ");
	write_log(far, "stdout", "ended");
	log_send_end(far->sender);
	run_until(far->bed->base, &far->done);
	reply_wait(&reply);
	assert_string_equal(str_text(&reply.text), "begun ended");
	reply_wait(&other);
	assert_string_equal(str_text(&other.text), "");
	reply_finish(&reply);
	reply_finish(&other);
}

/* Its executor leaves while it still searches: no end was told. */
static void a_search_that_is_cut_says_so(void **state)
{
	struct far *far = *state;
	struct reply now, followed, all;

	write_log(far, "stdout", "text\n");
	disconnect_far(far);
	ask_stream(far->bed, &now, LOGS "stdout?attempt=1&match=x&frames=1", NULL);
	ask_stream(far->bed, &followed, LOGS "stdout?attempt=1&match=x&frames=1&follow=1", NULL);
	ask_stream(far->bed, &all, LOGS "stdout?attempt=1&frames=1&follow=1", NULL);
	api_bed_run_idle(far->bed);
	connect_far(far);
	lose_container(far);
	reply_wait(&now);
	reply_wait(&followed);
	reply_wait(&all);
	assert_string_equal(str_text(&now.text), "0 1 0 0\n");
	assert_string_equal(str_text(&followed.text), "0 2 1 0\n");
	assert_string_equal(str_text(&all.text), "0 2 1 0\n");
	reply_finish(&now);
	reply_finish(&followed);
	reply_finish(&all);
	api_bed_allocate(far->bed, "worker:1");
	connect_far(far);
}

/* They came too late, and what it wrote is on its node. A follower that has some of it knows where
 * the rest is.
 */
static void whom_an_executor_never_answered_is_told(void **state)
{
	struct far *far = *state;
	struct reply whole, rest, bytes;

	write_log(far, "stdout", "text\n");
	lose_container(far);
	ask_stream(far->bed, &whole, LOGS "stdout?frames=1&follow=1&from=oldest", NULL);
	ask_stream(far->bed, &rest, LOGS "stdout?frames=1&follow=1&from=at:a:2", NULL);
	ask_stream(far->bed, &bytes, LOGS "stdout?follow=1", NULL);
	reply_wait_text(&whole, "0 2 1 0\n0 0 0 0\n");
	reply_wait_text(&rest, "0 0 0 0\n");
	api_bed_run_idle(far->bed);
	assert_string_equal(str_text(&whole.text), "0 2 1 0\n0 0 0 0\n");
	assert_string_equal(str_text(&rest.text), "0 0 0 0\n");
	assert_string_equal(str_text(&bytes.text), "");
	reply_finish(&whole);
	reply_finish(&rest);
	reply_finish(&bytes);
	api_bed_allocate(far->bed, "worker:1");
	connect_far(far);
}

static void without_followers_nothing_is_waited_for(void **state)
{
	struct far *far = *state;

	write_log(far, "stdout", "text");
	log_send_end(far->sender);
	run_until(far->bed->base, &far->done);
	assert_int_equal(far->pieces, 0);
}

static void an_executor_that_connects_anew_goes_on(void **state)
{
	struct far *far = *state;
	struct reply reply;

	ask_stream(far->bed, &reply, LOGS "stdout?follow=1", NULL);
	write_log(far, "stdout", "one ");
	reply_wait_text(&reply, "one ");
	disconnect_far(far);
	write_log(far, "stdout", "two ");
	connect_far(far);
	reply_wait_text(&reply, "one two ");
	assert_string_equal(str_text(&reply.text), "one two ");
	reply_finish(&reply);
}

static void the_next_container_is_followed_from_its_beginning(void **state)
{
	struct far *far = *state;
	struct reply reply, first;

	ask_stream(far->bed, &reply, LOGS "stdout?follow=1", NULL);
	ask_stream(far->bed, &first, LOGS "stdout?follow=1&attempt=1", NULL);
	write_log(far, "stdout", "first ");
	reply_wait_text(&reply, "first ");
	lose_container(far);
	reply_wait(&first);
	char *path cleanup_free = fs_join(far->log_dir, "stdout");
	assert_int_equal(unlink(path), 0);
	write_log(far, "stdout", "second ");
	api_bed_allocate(far->bed, "worker:1");
	connect_far(far);
	reply_wait_text(&reply, "first second ");
	reply_finish(&reply);
	reply_finish(&first);
}

/* Its program may be over before anybody looks again. */
static void a_container_that_comes_serves_those_who_wait_at_once(void **state)
{
	struct far *far = *state;
	const struct api_task *task = &far->bed->api->tasks[1];
	struct log_order orders[LOG_ORDERS_MAX];
	struct reply reply;

	lose_container(far);
	api_bed_allocate(far->bed, "worker:1");
	ask_stream(far->bed, &reply, LOGS "stdout?follow=1", NULL);
	api_bed_run_idle(far->bed);
	assert_int_equal(log_relays_orders(task->relays, orders), 0);
	connect_far(far);
	api_bed_run_idle(far->bed);
	assert_int_equal(log_relays_orders(task->relays, orders), 1);
	reply_finish(&reply);
}

/* ---- why there is none --------------------------------------------------------------------- */

static void expect_status(struct far *far, int status, const char *path, const char *body)
{
	struct reply reply;

	ask(far->bed, &reply, body ? "POST" : "GET", path, body);
	assert_int_equal(reply.status, status);
	reply_finish(&reply);
}

static void expect_refusal(struct far *far, int status, const char *path, const char *words)
{
	struct reply reply;

	ask(far->bed, &reply, "GET", path, NULL);
	assert_int_equal(reply.status, status);
	assert_non_null(strstr(str_text(&reply.text), words));
	reply_finish(&reply);
}

static void a_log_that_is_missing_says_why(void **state)
{
	struct far *far = *state;

	expect_refusal(far, 404, LOGS "stdout-x", "\"not-found\"");
	expect_refusal(far, 404, LOGS "stdout?attempt=2", "\"not-yet\"");
	expect_refusal(far, 404, LOGS "stdout?attempt=2",
		       "\"stdout of worker:1 is not there yet: nothing was written\"");
	lose_container(far);
	expect_refusal(far, 410, LOGS "stdout?attempt=1", "\"gone\"");
	expect_refusal(far, 410, LOGS "stdout?attempt=1",
		       "stdout of worker:1 is not there any more: its container has ended");
	api_bed_allocate(far->bed, "worker:1");
	connect_far(far);
}

/* ---- bad input ---------------------------------------------------------------------------- */

static void bad_questions_are_refused(void **state)
{
	struct far *far = *state;

	expect_status(far, 404, LOGS "stdout-x", NULL);
	expect_status(far, 404, LOGS "executor.log", NULL);
	expect_status(far, 404, LOGS "..%2Fstdout", NULL);
	expect_status(far, 404, LOGS "stdout?attempt=2", NULL);
	expect_status(far, 400, LOGS "stdout?attempt=0", NULL);
	expect_status(far, 400, LOGS "stdout?from=at:x", NULL);
	expect_status(far, 400, LOGS "stdout?from=tail:-1", NULL);
	expect_status(far, 400, LOGS "stdout?frames=2", NULL);
}

static void pieces_that_nobody_wants_or_that_are_none_are_refused(void **state)
{
	struct far *far = *state;
	char *huge cleanup_free = mem_alloc(LOG_PIECE_MAX + 2);

	expect_status(far, 200, LOGS "stdout?attempt=1&number=7&after=oldest", "0 0 0 1\nx");
	expect_status(far, 409, LOGS "stdout?attempt=2&number=7&after=oldest", "0 0 0 1\nx");
	expect_status(far, 400, LOGS "stdout?attempt=1&number=7", "0 0 0 1\nx");
	expect_status(far, 400, LOGS "stdout?attempt=1&number=7&after=up", "0 0 0 1\nx");
	expect_status(far, 400, LOGS "stdout?attempt=1&number=7&after=oldest&end=3", "0 0 0 1\nx");
	expect_status(far, 400, LOGS "stdout?attempt=1&number=7&after=oldest", "0 0 0 2\nx");
	expect_status(far, 400, LOGS "stdout?attempt=1&number=7&after=oldest", "0 0 0 0\n");
	memset(huge, 'x', LOG_PIECE_MAX + 1);
	expect_status(far, 413, LOGS "stdout?attempt=1&number=7&after=oldest", huge);
}

#define on_far(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_far(they_are_read_where_they_are),
		on_far(they_are_followed_over_rotation_and_truncation),
		on_far(what_is_larger_than_a_piece_comes_whole),
		on_far(only_lines_that_have_the_text_are_sent),
		on_far(a_limit_says_nothing_of_the_end),
		on_far(a_last_line_without_a_newline_is_sent_once),
		on_far(what_an_executor_finds_has_a_place),
		on_far(a_large_log_is_searched_where_it_is),
		on_far(another_follower_does_not_restart_a_search),
		on_far(frames_tell_times_and_ends),
		on_far(followers_of_one_log_share_what_is_sent),
		on_far(who_does_not_read_is_not_sent_more),
		on_far(the_last_bytes_come_before_the_executor_leaves),
		on_far(a_search_that_is_cut_says_so),
		on_far(whom_an_executor_never_answered_is_told),
		on_far(without_followers_nothing_is_waited_for),
		on_far(an_executor_that_connects_anew_goes_on),
		on_far(the_next_container_is_followed_from_its_beginning),
		on_far(a_container_that_comes_serves_those_who_wait_at_once),
		on_far(a_log_that_is_missing_says_why),
		on_far(bad_questions_are_refused),
		on_far(pieces_that_nobody_wants_or_that_are_none_are_refused),
	};

	return cmocka_run_group_tests_name("logs relayed", tests, NULL, NULL);
}
