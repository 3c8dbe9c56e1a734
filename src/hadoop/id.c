#include "hadoop/id.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

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
