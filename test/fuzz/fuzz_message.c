/*
 * Messages between the AM and executors, and of people, as an enemy with the token would send them.
 * The first byte chooses the message. A message that is taken lies within the bounds that its
 * reader relies on, and can be encoded and decoded again.
 */
#include <stdint.h>
#include <string.h>

#include "am/command.h"
#include "am/user_series.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "protocol/registration.h"
#include "protocol/report.h"
#include "protocol/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_identity(const struct program_identity *of)
{
	if (of->attempt < 1 || of->epoch < 0 || of->restart < 0)
		BUG("attempt %d, epoch %d, restart %d", of->attempt, of->epoch, of->restart);
}

/* It can be told on. */
static void check_metrics(const struct metrics *metrics)
{
	json_t *json cleanup_json = metrics_to_json(metrics);
	char *text cleanup_free = json_text(json);

	if (metrics->rss_bytes < 0 || metrics->gpu_count > METRICS_GPUS_MAX || strlen(text) == 0)
		BUG("metrics out of range");
}

static void check_numbers(int attempt, const struct number_list *numbers)
{
	struct user_budget budget = user_budget_of(1);
	struct user_series *series = user_series_create(&budget);
	struct str text cleanup_str = {0};

	user_series_add(series, attempt, numbers);
	user_series_write(series, 10, &text);
	json_t *json cleanup_json = json_parse(text.text, text.length, NULL);
	if (!json || user_series_taken(series) < 0)
		BUG("what is told is no JSON: %s", text.text);
	user_series_destroy(series);
}

static void try_register(const char *text, size_t length, struct err *err)
{
	struct registration message;

	if (registration_decode(&message, text, length, err) < 0)
		return;
	check_identity(&message.of);
	if (message.port < 1 || message.port > 65535 || strlen(message.host) == 0)
		BUG("address %s %d", message.host, message.port);
	registration_finish(&message);
}

static void try_beat(const char *text, size_t length, struct err *err)
{
	struct heartbeat message;

	if (heartbeat_decode(&message, text, length, err) < 0)
		return;
	check_identity(&message.of);
	check_metrics(&message.account.metrics);
	check_numbers(message.of.attempt, &message.account.numbers);
	if (message.pid_count > HEARTBEAT_PIDS_MAX)
		BUG("too many pids");
	char *told cleanup_free = heartbeat_encode(&message);
	struct heartbeat again;
	if (heartbeat_decode(&again, told, strlen(told), err) < 0)
		BUG("%s: %s", err_message(err), told);
	heartbeat_finish(&again);
	heartbeat_finish(&message);
}

static void try_exit(const char *text, size_t length, struct err *err)
{
	struct exit_report message;

	if (exit_report_decode(&message, text, length, err) < 0)
		return;
	check_identity(&message.of);
	check_metrics(&message.account.metrics);
	check_numbers(message.of.attempt, &message.account.numbers);
	if (message.cause.kind >= CAUSE_KIND_COUNT)
		BUG("cause %d", (int)message.cause.kind);
	char *told cleanup_free = exit_report_encode(&message);
	struct exit_report again;
	if (exit_report_decode(&again, told, strlen(told), err) < 0)
		BUG("%s: %s", err_message(err), told);
	exit_report_finish(&again);
	exit_report_finish(&message);
}

static void try_registered(const char *text, size_t length, struct err *err)
{
	struct registered message;

	if (registered_decode(&message, text, length, err) == 0 &&
	    message.heartbeat_interval_ms < 1)
		BUG("heartbeats without a pause");
}

static void try_orders(const char *text, size_t length, struct err *err)
{
	struct str front cleanup_str = {0}, rear cleanup_str = {0};
	struct orders orders, again;

	if (orders_decode(&orders, text, length, err) < 0)
		return;
	orders_encode(&orders, false, &front, &rear);
	str_append(&front, rear.text);
	if (orders_decode(&again, front.text, front.length, err) < 0 ||
	    again.log_count != orders.log_count || again.session_count != orders.session_count ||
	    again.numbers != orders.numbers || again.order.kind != orders.order.kind)
		BUG("other orders than before: %s", front.text);
	orders_finish(&orders);
	orders_finish(&again);
}

static void try_kill(const char *text, size_t length, struct err *err)
{
	char *by cleanup_free = NULL, *reason cleanup_free = NULL;

	if (command_parse_kill(&by, &reason, text, length, err) == 0 &&
	    ((by && !str_is_utf8(by, strlen(by))) ||
	     (reason && !str_is_utf8(reason, strlen(reason)))))
		BUG("a name or a reason that is not UTF-8");
}

static void try_scale(const char *text, size_t length, struct err *err)
{
	struct job_type types[] = {
		{.name = "worker", .instances = 4, .min_instances = 2, .max_instances = 9},
		{.name = "ps", .instances = 2},
	};
	const struct job job = {.types = types, .type_count = array_length(types)};
	int wanted[array_length(types)];

	if (command_parse_scale(&job, wanted, text, length, err) < 0)
		return;
	if (wanted[0] < 2 || wanted[0] > 9 || wanted[1] != -1)
		BUG("%d of worker and %d of ps are wanted", wanted[0], wanted[1]);
}

static void try_session(const char *text, size_t length, struct err *err)
{
	struct session_command command, again;

	if (session_command_decode(&command, text, length, err) < 0)
		return;
	char *told cleanup_free = session_command_encode(&command);
	if (session_command_decode(&again, told, strlen(told), err) < 0 ||
	    again.words.count != command.words.count || again.size.rows != command.size.rows)
		BUG("another command than before: %s", told);
	session_command_finish(&again);
	session_command_finish(&command);
}

static void try_size(const char *text, size_t length, struct err *err)
{
	struct session_size size;

	if (session_size_decode(&size, text, length, err) == 0 &&
	    (size.rows < 0 || size.columns < 0))
		BUG("a terminal of %d by %d", size.rows, size.columns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const tries[])(const char *, size_t, struct err *) = {
		try_register,	try_beat,   try_exit,	 try_kill, try_scale,
		try_registered, try_orders, try_session, try_size};
	struct err err cleanup_err = {0};

	if (size < 1)
		return 0;
	tries[data[0] % array_length(tries)]((const char *)data + 1, size - 1, &err);
	return 0;
}
