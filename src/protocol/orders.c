#include "protocol/orders.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "logs/names.h"
#include "logs/position.h"
#include "protocol/message.h"

static const char *const order_names[] = {[ORDER_WAIT] = "wait",
					  [ORDER_RUN] = "run",
					  [ORDER_STOP] = "stop",
					  [ORDER_QUIT] = "quit",
					  NULL};

static const struct job_field fields[] = {
	MESSAGE_FIELD(orders, "am_attempt", am_attempt, FIELD_INT, INT_MAX),
	MESSAGE_FIELD(orders, "order", order.kind, FIELD_CHOICE, 0, .choices = order_names),
	MESSAGE_FIELD(orders, "epoch", order.epoch, FIELD_OPTIONAL_INT, INT_MAX),
	MESSAGE_FIELD(orders, "restart", order.restart, FIELD_OPTIONAL_INT, INT_MAX),
	MESSAGE_FIELD(orders, "port_open", order.port_open, FIELD_OPTIONAL_BOOL, 0),
	MESSAGE_FIELD(orders, "preempted", preempted, FIELD_OPTIONAL_BOOL, 0),
	MESSAGE_FIELD(orders, "numbers", numbers, FIELD_KNOWN_INT64, INT64_MAX),
};

static const struct job_field log_fields[] = {
	MESSAGE_FIELD(log_order, "log", log, FIELD_TEXT, INT_MAX),
	MESSAGE_FIELD(log_order, "number", number, FIELD_INT64, INT64_MAX, .min = 1),
	MESSAGE_FIELD(log_order, "from", from, FIELD_TEXT, INT_MAX),
	MESSAGE_FIELD(log_order, "wait", waits, FIELD_BOOL, 0),
	MESSAGE_FIELD(log_order, "match", search.text, FIELD_OPTIONAL_TEXT, LOG_SEARCH_MAX),
	MESSAGE_FIELD(log_order, "ignore_case", search.any_case, FIELD_OPTIONAL_BOOL, 0),
	MESSAGE_FIELD(log_order, "begun", search.takes_begun, FIELD_OPTIONAL_BOOL, 0),
	MESSAGE_FIELD(log_order, "count_lines", search.counts, FIELD_OPTIONAL_BOOL, 0),
};

static void append_logs(const struct orders *orders, struct str *text)
{
	json_t *list cleanup_json = json_array();

	for (size_t i = 0; i < orders->log_count; i++) {
		json_t *log = json_object();
		job_fields_write(log_fields, array_length(log_fields), &orders->logs[i], log);
		json_array_append_new(list, log);
	}
	char *logs cleanup_free = json_text(list);
	str_append_format(text, ",\"logs\":%s", logs);
}

static void append_sessions(const struct orders *orders, struct str *text)
{
	str_append(text, ",\"sessions\":[");
	for (size_t i = 0; i < orders->session_count; i++)
		str_append_format(text, "%s\"%s\"", i > 0 ? "," : "", orders->sessions[i]);
	str_append(text, "]");
}

/* As the last members of an object that has others. */
static void append_tokens(const struct new_tokens *tokens, struct str *text)
{
	json_t *object cleanup_json = json_object();

	new_tokens_set_member(object, tokens);
	char *member = json_text(object);
	str_append_format(text, ",%.*s", (int)strlen(member) - 2, member + 1);
	mem_free_secret(member);
}

void orders_encode(const struct orders *orders, bool has_cluster, struct str *front,
		   struct str *rear)
{
	str_append_format(front,
			  "{\"am_attempt\":%d,\"order\":\"%s\",\"epoch\":%d,\"restart\":%d%s",
			  orders->am_attempt, order_names[orders->order.kind], orders->order.epoch,
			  orders->order.restart, has_cluster ? ",\"cluster\":" : "");
	if (orders->log_count > 0)
		append_logs(orders, rear);
	if (orders->session_count > 0)
		append_sessions(orders, rear);
	if (orders->order.port_open)
		str_append(rear, ",\"port_open\":true");
	if (orders->preempted)
		str_append(rear, ",\"preempted\":true");
	if (orders->numbers >= 0)
		str_append_format(rear, ",\"numbers\":%" PRId64, orders->numbers);
	if (orders->tokens.bytes)
		append_tokens(&orders->tokens, rear);
	str_append(rear, "}");
}

/* A log that makes no sense to this executor costs nobody the other orders. */
static void read_log(const json_t *object, struct orders *orders)
{
	struct log_order *log = &orders->logs[orders->log_count];
	bool is_good =
		job_fields_read(log_fields, array_length(log_fields), object, log, NULL) == 0;
	char *file cleanup_free = is_good ? log_file_name(log->log) : NULL;

	if (file && log_position_is_valid(log->from) &&
	    (!log->search.text || log_search_is_valid(log->search.text))) {
		orders->log_count++;
		return;
	}
	log_error("an order for a log that makes no sense");
	job_fields_finish(log_fields, array_length(log_fields), log);
}

/* A word that is no name is left out: names are parts of paths. */
static void read_session(const json_t *item, struct orders *orders)
{
	const char *id = json_string_value(item);

	if (id && strlen(id) == SESSION_ID_LENGTH && id[strspn(id, "0123456789abcdef")] == '\0')
		orders->sessions[orders->session_count++] = mem_strdup(id);
	else
		log_error("an order for a session that makes no sense");
}

int orders_decode(struct orders *orders, const char *bytes, size_t length, struct err *err)
{
	json_t *body cleanup_json = message_parse(bytes, length, err);
	json_t *logs = json_object_get(body, "logs");
	json_t *sessions = json_object_get(body, "sessions");

	*orders = (struct orders){.numbers = -1};
	if (!body || job_fields_read(fields, array_length(fields), body, orders, err) < 0 ||
	    new_tokens_read_member(body, &orders->tokens, err) < 0) {
		orders_finish(orders);
		return -1;
	}
	orders->cluster = json_incref(json_object_get(body, "cluster"));
	for (size_t i = 0; i < json_array_size(logs) && orders->log_count < LOG_ORDERS_MAX; i++)
		read_log(json_array_get(logs, i), orders);
	for (size_t i = 0; i < json_array_size(sessions) && i < SESSION_ORDERS_MAX; i++)
		read_session(json_array_get(sessions, i), orders);
	return 0;
}

void orders_finish(struct orders *orders)
{
	json_decref(orders->cluster);
	new_tokens_finish(&orders->tokens);
	for (size_t i = 0; i < orders->log_count; i++)
		job_fields_finish(log_fields, array_length(log_fields), &orders->logs[i]);
	for (size_t i = 0; i < orders->session_count; i++)
		free(orders->sessions[i]);
	*orders = (struct orders){.numbers = -1};
}
