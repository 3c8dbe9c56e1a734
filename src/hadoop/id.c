#include "hadoop/id.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "hadoop/message.h"

/* ContainerId.id: the number below, the count of the ResourceManager's restarts above. */
#define EPOCH_SHIFT 40
#define NUMBER_MASK ((INT64_C(1) << EPOCH_SHIFT) - 1)

char *hadoop_application_id_text(const Hadoop__ApplicationIdProto *id)
{
	return mem_printf("application_%" PRId64 "_%04d", id->cluster_timestamp, id->id);
}

char *hadoop_attempt_id_text(const Hadoop__ApplicationAttemptIdProto *id)
{
	return mem_printf("appattempt_%" PRId64 "_%04d_%06d", id->application_id->cluster_timestamp,
			  id->application_id->id, id->attemptid);
}

char *hadoop_container_id_text(const Hadoop__ContainerIdProto *id)
{
	const Hadoop__ApplicationAttemptIdProto *attempt = id->app_attempt_id;
	int64_t epoch = id->id >> EPOCH_SHIFT;
	char *text cleanup_free = mem_printf(
		"%" PRId64 "_%04d_%02d_%06" PRId64, attempt->application_id->cluster_timestamp,
		attempt->application_id->id, attempt->attemptid, id->id & NUMBER_MASK);

	return epoch ? mem_printf("container_e%02" PRId64 "_%s", epoch, text)
		     : mem_printf("container_%s", text);
}

/* "17" of "e17_170..."; 0: there is none, and *text is left alone. */
static int64_t take_epoch(const char **text)
{
	int64_t epoch;
	const char *end = **text == 'e' ? strchr(*text, '_') : NULL;
	char *digits cleanup_free = end ? mem_strndup(*text + 1, (size_t)(end - *text - 1)) : NULL;

	if (!digits || str_parse_int(digits, 1, INT64_MAX >> EPOCH_SHIFT, &epoch) < 0)
		return 0;
	*text = end + 1;
	return epoch;
}

Hadoop__ContainerIdProto *hadoop_container_id_parse(const char *text)
{
	static const char prefix[] = "container_";
	Hadoop__ApplicationIdProto application = HADOOP__APPLICATION_ID_PROTO__INIT;
	Hadoop__ApplicationAttemptIdProto attempt = HADOOP__APPLICATION_ATTEMPT_ID_PROTO__INIT;
	Hadoop__ContainerIdProto id = HADOOP__CONTAINER_ID_PROTO__INIT;
	int64_t numbers[4]; /* of the cluster's start, application, attempt, container */
	struct str_list parts cleanup_str_list = {0};

	if (strncmp(text, prefix, sizeof(prefix) - 1) != 0)
		return NULL;
	text += sizeof(prefix) - 1;
	int64_t epoch = take_epoch(&text);
	str_split(&parts, text, '_');
	if (parts.count != array_length(numbers))
		return NULL;
	for (size_t i = 0; i < array_length(numbers); i++)
		if (str_parse_int(parts.items[i], 0, i == 0 ? INT64_MAX : INT32_MAX, &numbers[i]) <
		    0)
			return NULL;
	application.has_cluster_timestamp = application.has_id = true;
	application.cluster_timestamp = numbers[0];
	application.id = (int32_t)numbers[1];
	attempt.application_id = &application;
	attempt.has_attemptid = true;
	attempt.attemptid = (int32_t)numbers[2];
	id.app_attempt_id = &attempt;
	id.has_id = true;
	id.id = epoch << EPOCH_SHIFT | numbers[3];
	return message_copy(&id.base);
}

int hadoop_application_id_parse(const char *text, Hadoop__ApplicationIdProto *id, struct err *err)
{
	static const char prefix[] = "application_";
	int64_t timestamp, number;

	if (!strncmp(text, prefix, sizeof(prefix) - 1)) {
		const char *first = text + sizeof(prefix) - 1;
		const char *second = strchr(first, '_');
		char *digits cleanup_free =
			second ? mem_strndup(first, (size_t)(second - first)) : NULL;

		if (digits && str_parse_int(digits, 0, INT64_MAX, &timestamp) == 0 &&
		    str_parse_int(second + 1, 0, INT32_MAX, &number) == 0) {
			id->has_cluster_timestamp = id->has_id = true;
			id->cluster_timestamp = timestamp;
			id->id = (int32_t)number;
			return 0;
		}
	}
	return err_set(err, ERR_INPUT,
		       "\"%s\" is not an application id such as application_1700000000000_0001",
		       text);
}
