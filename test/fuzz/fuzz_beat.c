/*
 * What executors send, as an enemy with the token would. The first byte chooses the message; what
 * is taken must lie within the bounds that the AM relies on.
 */
#include <stdint.h>
#include <string.h>

#include "am/message.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const tries[])(const char *, size_t, struct err *) = {try_register, try_beat,
									    try_exit, try_kill};
	struct err err cleanup_err = {0};

	if (size < 1)
		return 0;
	tries[data[0] % array_length(tries)]((const char *)data + 1, size - 1, &err);
	return 0;
}
