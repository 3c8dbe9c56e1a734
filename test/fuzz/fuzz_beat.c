/*
 * What executors and people send, as an enemy with the token would. The first byte chooses the
 * message; what is taken must lie within the bounds that the AM relies on.
 */
#include <stdint.h>
#include <string.h>

#include "am/message.h"
#include "am/user_series.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_identity(const struct message_identity *of)
{
	if (of->attempt < 1 || of->epoch < 0 || of->restart < 0)
		BUG("attempt %d, epoch %d, restart %d", of->attempt, of->epoch, of->restart);
}

/* It can be told on. */
static void check_metrics(const struct message_metrics *metrics)
{
	json_t *json cleanup_json = message_metrics_to_json(metrics);
	char *text cleanup_free = json_text(json);

	if (metrics->rss_bytes < 0 || metrics->gpu_count > MESSAGE_GPUS_MAX || strlen(text) == 0)
		BUG("metrics out of range");
}

static void check_numbers(int attempt, const struct message_numbers *numbers)
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
	struct message_register message;

	if (message_parse_register(&message, text, length, err) < 0)
		return;
	check_identity(&message.of);
	if (message.port < 1 || message.port > 65535 || strlen(message.host) == 0)
		BUG("address %s %d", message.host, message.port);
	message_register_finish(&message);
}

static void try_beat(const char *text, size_t length, struct err *err)
{
	struct message_beat message;

	if (message_parse_beat(&message, text, length, err) < 0)
		return;
	check_identity(&message.of);
	check_metrics(&message.metrics);
	check_numbers(message.of.attempt, &message.numbers);
	if (json_array_size(message.pids) > MESSAGE_PIDS_MAX)
		BUG("too many pids");
	message_beat_finish(&message);
}

static void try_exit(const char *text, size_t length, struct err *err)
{
	struct message_exit message;

	if (message_parse_exit(&message, text, length, err) < 0)
		return;
	check_identity(&message.of);
	check_metrics(&message.metrics);
	check_numbers(message.of.attempt, &message.numbers);
	if (message.cause.kind >= CAUSE_KIND_COUNT)
		BUG("cause %d", (int)message.cause.kind);
	message_exit_finish(&message);
}

static void try_kill(const char *text, size_t length, struct err *err)
{
	char *reason cleanup_free = NULL;

	if (message_parse_kill(&reason, text, length, err) == 0 && reason &&
	    !str_is_utf8(reason, strlen(reason)))
		BUG("a reason that is not UTF-8");
}

static void try_scale(const char *text, size_t length, struct err *err)
{
	struct job_type types[] = {
		{.name = "worker", .instances = 4, .min_instances = 2, .max_instances = 9},
		{.name = "ps", .instances = 2},
	};
	const struct job job = {.types = types, .type_count = array_length(types)};
	int wanted[array_length(types)];

	if (message_parse_scale(&job, wanted, text, length, err) < 0)
		return;
	if (wanted[0] < 2 || wanted[0] > 9 || wanted[1] != -1)
		BUG("%d of worker and %d of ps are wanted", wanted[0], wanted[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const tries[])(const char *, size_t, struct err *) = {
		try_register, try_beat, try_exit, try_kill, try_scale};
	struct err err cleanup_err = {0};

	if (size < 1)
		return 0;
	tries[data[0] % array_length(tries)]((const char *)data + 1, size - 1, &err);
	return 0;
}
