#include "protocol/registration.h"

#include <limits.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"

enum { HOST_MAX = 255, LOG_DIR_MAX = 4095 };

static const struct job_field fields[] = {
	MESSAGE_FIELD(registration, "epoch", of.epoch, FIELD_INT, MESSAGE_COUNT_MAX),
	MESSAGE_FIELD(registration, "host", host, FIELD_TEXT, HOST_MAX, .min = 1),
	MESSAGE_FIELD(registration, "port", port, FIELD_INT, 65535, .min = 1),
	MESSAGE_FIELD(registration, "pid", pid, FIELD_OPTIONAL_INT, MESSAGE_PID_MAX, .min = 1),
	MESSAGE_FIELD(registration, "log_dir", log_dir, FIELD_OPTIONAL_TEXT, LOG_DIR_MAX),
	MESSAGE_FIELD(registration, "door", door, FIELD_OPTIONAL_INT, 65535),
	MESSAGE_FIELD(registration, "process_epoch", process_epoch, FIELD_OPTIONAL_INT,
		      MESSAGE_COUNT_MAX),
	MESSAGE_FIELD(registration, "attempt", of.attempt, FIELD_INT, MESSAGE_COUNT_MAX, .min = 1),
};

static const struct job_field answer_fields[] = {
	MESSAGE_FIELD(registered, "am_attempt", am_attempt, FIELD_INT, INT_MAX),
	MESSAGE_FIELD(registered, "beat_interval_ms", heartbeat_interval_ms, FIELD_INT64,
		      MESSAGE_AMOUNT_MAX, .min = 1),
	MESSAGE_FIELD(registered, "give_up_ms", give_up_ms, FIELD_INT64, MESSAGE_AMOUNT_MAX),
};

char *registration_encode(const struct registration *registration)
{
	json_t *body = json_object();

	job_fields_write(fields, array_length(fields), registration, body);
	new_tokens_set_member(body, &registration->tokens);
	return message_text(body);
}

/* The host goes into every task's cluster spec and environment. */
static int check(const struct registration *registration, struct err *err)
{
	for (const char *at = registration->host; *at; at++)
		if (*at <= ' ' || *at > '~' || strchr("/\"\\,@", *at))
			return err_set(err, ERR_INPUT, "host: is neither a name nor an address");
	if (registration->log_dir && registration->log_dir[0] != '/')
		return err_set(err, ERR_INPUT, "log_dir: is not an absolute path");
	return 0;
}

int registration_decode(struct registration *registration, const char *bytes, size_t length,
			struct err *err)
{
	json_t *body cleanup_json = message_parse(bytes, length, err);

	*registration = (struct registration){0};
	if (body && job_fields_read(fields, array_length(fields), body, registration, err) == 0 &&
	    new_tokens_read_member(body, &registration->tokens, err) == 0 &&
	    check(registration, err) == 0)
		return 0;
	registration_finish(registration);
	return -1;
}

void registration_finish(struct registration *registration)
{
	job_fields_finish(fields, array_length(fields), registration);
	new_tokens_finish(&registration->tokens);
}

char *registered_encode(const struct registered *registered)
{
	json_t *body = json_object();

	job_fields_write(answer_fields, array_length(answer_fields), registered, body);
	return message_text(body);
}

int registered_decode(struct registered *registered, const char *bytes, size_t length,
		      struct err *err)
{
	json_t *body cleanup_json = message_parse(bytes, length, err);

	if (!body)
		return -1;
	return job_fields_read(answer_fields, array_length(answer_fields), body, registered, err);
}
