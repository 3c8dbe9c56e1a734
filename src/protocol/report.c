#include "protocol/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "job/cause_json.h"

enum { SHOWN_CAP = 4096 /* bytes of what is shown to people */ };

static const char *const activities[] = {"waiting", "running", "exited", NULL};

static const struct job_field beat_fields[] = {
	MESSAGE_FIELD(heartbeat, "epoch", of.epoch, FIELD_INT, MESSAGE_COUNT_MAX),
	MESSAGE_FIELD(heartbeat, "restart", of.restart, FIELD_INT, MESSAGE_COUNT_MAX),
	MESSAGE_FIELD(heartbeat, "state", activity, FIELD_CHOICE, 0, .choices = activities),
	MESSAGE_FIELD(heartbeat, "ui_port", ui_port, FIELD_OPTIONAL_INT, 65535),
	MESSAGE_FIELD(heartbeat, "attempt", of.attempt, FIELD_INT, MESSAGE_COUNT_MAX, .min = 1),
	MESSAGE_FIELD(heartbeat, "seen", seen, FIELD_KNOWN_INT64, INT64_MAX),
	MESSAGE_FIELD(heartbeat, "tokens", tokens, FIELD_OPTIONAL_INT64, INT64_MAX),
};
enum { UI_PORT = 3, ATTEMPT, BEAT_FIELDS = array_length(beat_fields) };

static const struct job_field exit_fields[] = {
	MESSAGE_FIELD(exit_report, "epoch", of.epoch, FIELD_INT, MESSAGE_COUNT_MAX),
	MESSAGE_FIELD(exit_report, "restart", of.restart, FIELD_INT, MESSAGE_COUNT_MAX),
	MESSAGE_FIELD(exit_report, "attempt", of.attempt, FIELD_INT, MESSAGE_COUNT_MAX, .min = 1),
};
enum { EXIT_FIELDS = array_length(exit_fields) };

static const struct job_field use_fields[] = {
	MESSAGE_FIELD(program_use, "ms", ms, FIELD_INT64, MESSAGE_AMOUNT_MAX, .min = 1),
	MESSAGE_FIELD(program_use, "cpu_ms", cpu_ms, FIELD_INT64, MESSAGE_AMOUNT_MAX),
	MESSAGE_FIELD(program_use, "max_rss_bytes", max_rss_bytes, FIELD_KNOWN_INT64,
		      MESSAGE_AMOUNT_MAX),
	MESSAGE_FIELD(program_use, "max_pss_bytes", max_pss_bytes, FIELD_KNOWN_INT64,
		      MESSAGE_AMOUNT_MAX),
};
enum { USE_FIELDS = array_length(use_fields) };

static const struct job_field loss_fields[] = {
	MESSAGE_FIELD(lost_output, "lines", lines, FIELD_INT64, MESSAGE_AMOUNT_MAX),
	MESSAGE_FIELD(lost_output, "bytes", bytes, FIELD_INT64, MESSAGE_AMOUNT_MAX, .min = 1),
	MESSAGE_FIELD(lost_output, "text", text, FIELD_TEXT, INT64_MAX),
};
enum { LOSS_FIELDS = array_length(loss_fields) };

static const struct job_field restart_fields[] = {
	MESSAGE_FIELD(inner_restarts, "count", count, FIELD_INT64, MESSAGE_AMOUNT_MAX, .min = 1),
	MESSAGE_FIELD(inner_restarts, "text", text, FIELD_TEXT, INT64_MAX),
};
enum { RESTART_FIELDS = array_length(restart_fields) };

static const struct job_field storing_fields[] = {
	MESSAGE_FIELD(storing, "files", files, FIELD_INT64, MESSAGE_AMOUNT_MAX),
	MESSAGE_FIELD(storing, "bytes", bytes, FIELD_INT64, MESSAGE_AMOUNT_MAX),
	MESSAGE_FIELD(storing, "wait_ms", wait_ms, FIELD_INT64, MESSAGE_AMOUNT_MAX),
	MESSAGE_FIELD(storing, "trouble_ms", trouble_ms, FIELD_INT64, MESSAGE_AMOUNT_MAX),
};
enum { STORING_FIELDS = array_length(storing_fields) };

/* ---- encoding ----------------------------------------------------------------------------- */

static void set_use(json_t *body, const struct program_use *use)
{
	if (use->ms > 0)
		json_object_set_new(body, "used", program_use_to_json(use));
}

static void set_loss(json_t *body, const struct lost_output *lost)
{
	if (lost->bytes == 0)
		return;
	json_t *object = json_object();
	job_fields_write(loss_fields, LOSS_FIELDS, lost, object);
	json_object_set_new(body, "output_lost", object);
}

static void set_restarts(json_t *body, const struct inner_restarts *restarts)
{
	if (restarts->count == 0)
		return;
	json_t *object = json_object();
	job_fields_write(restart_fields, RESTART_FIELDS, restarts, object);
	json_object_set_new(body, "restarts_inside", object);
}

static void set_storing(json_t *body, const struct heartbeat *heartbeat)
{
	if (!heartbeat->has_storing)
		return;
	json_t *object = json_object();
	job_fields_write(storing_fields, STORING_FIELDS, &heartbeat->storing, object);
	json_object_set_new(body, "storing", object);
}

char *heartbeat_encode(const struct heartbeat *heartbeat)
{
	const struct program_account *account = &heartbeat->account;
	json_t *body = json_object(), *pids = json_array(), *logs = json_array();

	for (size_t i = 0; i < heartbeat->pid_count; i++)
		json_array_append_new(pids, json_integer(heartbeat->pids[i]));
	for (size_t i = 0; i < heartbeat->log_count; i++)
		json_array_append_new(logs, json_integer(heartbeat->logs[i]));
	job_fields_write(beat_fields, UI_PORT, heartbeat, body);
	json_object_set_new(body, "pids", pids);
	job_fields_write(beat_fields + UI_PORT, 1, heartbeat, body);
	if (heartbeat->log_count > 0)
		json_object_set(body, "logs", logs);
	json_decref(logs);
	if (account->has_metrics)
		metrics_set_member(body, &account->metrics);
	number_list_set_member(body, &account->numbers);
	set_loss(body, &account->lost);
	set_restarts(body, &account->restarts);
	set_use(body, &account->use);
	json_set_text(body, "checkpoint_trouble", heartbeat->checkpoint_trouble);
	set_storing(body, heartbeat);
	job_fields_write(beat_fields + ATTEMPT, BEAT_FIELDS - ATTEMPT, heartbeat, body);
	return message_text(body);
}

char *exit_report_encode(const struct exit_report *report)
{
	const struct program_account *account = &report->account;
	json_t *body = json_object();

	job_fields_write(exit_fields, EXIT_FIELDS - 1, report, body);
	cause_set_json(body, "cause", &report->cause);
	if (account->has_metrics)
		metrics_set_member(body, &account->metrics);
	set_use(body, &account->use);
	number_list_set_member(body, &account->numbers);
	set_loss(body, &account->lost);
	set_restarts(body, &account->restarts);
	job_fields_write(exit_fields + EXIT_FIELDS - 1, 1, report, body);
	return message_text(body);
}

/* ---- decoding ----------------------------------------------------------------------------- */

static int read_object(const json_t *body, const char *name, const struct job_field *fields,
		       size_t count, void *target, struct err *err)
{
	const json_t *object = json_object_get(body, name);

	if (object && job_fields_read(fields, count, object, target, err) < 0)
		return err_wrap(err, "%s", name);
	return 0;
}

static void make_shown(char **text)
{
	str_cut(*text, SHOWN_CAP);
	if (*text)
		mem_replace(text, str_printable(*text, strlen(*text)));
}

static int read_account(const json_t *body, int attempt, struct program_account *account,
			struct err *err)
{
	if (metrics_read_member(body, &account->has_metrics, &account->metrics, err) < 0 ||
	    number_list_read_member(body, &account->numbers, err) < 0 ||
	    read_object(body, "output_lost", loss_fields, LOSS_FIELDS, &account->lost, err) < 0 ||
	    read_object(body, "restarts_inside", restart_fields, RESTART_FIELDS, &account->restarts,
			err) < 0 ||
	    read_object(body, "used", use_fields, USE_FIELDS, &account->use, err) < 0)
		return -1;
	make_shown(&account->lost.text);
	make_shown(&account->restarts.text);
	account->lost.attempt = attempt;
	return 0;
}

/* A list of at most `most` numbers from 1 to `max`; absent: of none. */
static int read_list(const json_t *body, const char *name, size_t most, int64_t max,
		     const json_t **list, struct err *err)
{
	const json_t *number;
	size_t i;

	*list = json_object_get(body, name);
	if (*list && (!json_is_array(*list) || json_array_size(*list) > most))
		return err_set(err, ERR_INPUT, "%s: is not a list of at most %zu", name, most);
	json_array_foreach(*list, i, number)
	{
		if (!json_is_integer(number) || json_integer_value(number) < 1 ||
		    json_integer_value(number) > max)
			return err_set(err, ERR_INPUT, "%s[%zu]: is not a number from 1 to %lld",
				       name, i, (long long)max);
	}
	return 0;
}

static int read_lists(const json_t *body, struct heartbeat *heartbeat, struct err *err)
{
	const json_t *pids, *logs;

	if (read_list(body, "pids", HEARTBEAT_PIDS_MAX, MESSAGE_PID_MAX, &pids, err) < 0 ||
	    read_list(body, "logs", LOG_ORDERS_MAX, INT64_MAX, &logs, err) < 0)
		return -1;
	heartbeat->pid_count = json_array_size(pids);
	heartbeat->pids = mem_alloc_array(heartbeat->pid_count, sizeof(*heartbeat->pids));
	for (size_t i = 0; i < heartbeat->pid_count; i++)
		heartbeat->pids[i] = (int)json_integer_value(json_array_get(pids, i));
	heartbeat->log_count = json_array_size(logs);
	for (size_t i = 0; i < heartbeat->log_count; i++)
		heartbeat->logs[i] = json_integer_value(json_array_get(logs, i));
	return 0;
}

int heartbeat_decode(struct heartbeat *heartbeat, const char *bytes, size_t length, struct err *err)
{
	json_t *body cleanup_json = message_parse(bytes, length, err);

	*heartbeat = (struct heartbeat){0};
	if (body && job_fields_read(beat_fields, BEAT_FIELDS, body, heartbeat, err) == 0 &&
	    read_lists(body, heartbeat, err) == 0 &&
	    json_read_text(body, "checkpoint_trouble", &heartbeat->checkpoint_trouble, err) == 0 &&
	    read_object(body, "storing", storing_fields, STORING_FIELDS, &heartbeat->storing,
			err) == 0 &&
	    read_account(body, heartbeat->of.attempt, &heartbeat->account, err) == 0) {
		make_shown(&heartbeat->checkpoint_trouble);
		heartbeat->has_storing = json_object_get(body, "storing") != NULL;
		return 0;
	}
	heartbeat_finish(heartbeat);
	return -1;
}

int exit_report_decode(struct exit_report *report, const char *bytes, size_t length,
		       struct err *err)
{
	json_t *body cleanup_json = message_parse(bytes, length, err);

	*report = (struct exit_report){0};
	if (body && job_fields_read(exit_fields, EXIT_FIELDS, body, report, err) == 0 &&
	    cause_read_json(body, "cause", &report->cause, err) == 0 &&
	    read_account(body, report->of.attempt, &report->account, err) == 0)
		return 0;
	exit_report_finish(report);
	return -1;
}

static void finish_account(struct program_account *account)
{
	metrics_finish(&account->metrics);
	number_list_finish(&account->numbers);
	free(account->lost.text);
	free(account->restarts.text);
}

void heartbeat_finish(struct heartbeat *heartbeat)
{
	finish_account(&heartbeat->account);
	free(heartbeat->pids);
	free(heartbeat->checkpoint_trouble);
	*heartbeat = (struct heartbeat){0};
}

void exit_report_finish(struct exit_report *report)
{
	finish_account(&report->account);
	cause_finish(&report->cause);
	*report = (struct exit_report){0};
}
