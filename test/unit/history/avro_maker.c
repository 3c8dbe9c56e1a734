#include "avro_maker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/mem.h"

#define RECORD(name, fields) "{\"type\":\"record\",\"name\":\"" name "\",\"fields\":[" fields "]}"
#define FIELD(name, type)    "{\"name\":\"" name "\",\"type\":" type "}"
#define STRING		     "{\"type\":\"string\",\"avro.java.string\":\"String\"}"
#define CONTAINER	     "{\"name\":\"containerID\",\"type\":[\"null\",\"string\"],\"default\":null}"
#define METRICS                                                                                    \
	FIELD("metrics",                                                                           \
	      "{\"type\":\"array\",\"items\":" RECORD(                                             \
		      "Metric", FIELD("name", STRING) "," FIELD("value", "\"double\"")) "}")
#define INITED                                                                                     \
	RECORD("ApplicationInited",                                                                \
	       FIELD("applicationId", STRING) "," FIELD("numTasks", "\"int\"") "," FIELD(          \
		       "host", STRING) "," CONTAINER)
#define FINISHED                                                                                   \
	RECORD("ApplicationFinished",                                                              \
	       FIELD("applicationId", STRING) "," FIELD("finishedTasks", "\"int\"") "," FIELD(     \
		       "failedTasks", "\"int\"") "," METRICS)
#define STARTED                                                                                    \
	RECORD("TaskStarted",                                                                      \
	       FIELD("taskType", STRING) "," FIELD("taskIndex", "\"int\"") "," FIELD(              \
		       "host", STRING) "," CONTAINER)
#define TASK_FINISHED                                                                              \
	RECORD("TaskFinished",                                                                     \
	       FIELD("taskType", STRING) "," FIELD("taskIndex", "\"int\"") "," FIELD(              \
		       "status",                                                                   \
		       STRING) ",{\"name\":\"metrics\",\"type\":{\"type\":\"array\",\"items\":"    \
			       "\"Metric\"}},"                                                     \
			       "{\"name\":\"containerDiagnostic\",\"type\":[\"null\",\"string\"]," \
			       "\"default\":null}")

const char tony_schema[] =
	"{\"type\":\"record\",\"name\":\"Event\",\"namespace\":\"com.linkedin.tony.events\","
	"\"fields\":[{\"name\":\"type\",\"type\":{\"type\":\"enum\",\"name\":\"EventType\","
	"\"symbols\":[\"APPLICATION_INITED\",\"APPLICATION_FINISHED\",\"TASK_STARTED\","
	"\"TASK_FINISHED\"]}},"
	"{\"name\":\"event\",\"type\":[" INITED "," FINISHED "," STARTED "," TASK_FINISHED "]}"
	",{\"name\":\"timestamp\",\"type\":\"long\"}]}";

void put_long(struct str *out, int64_t value)
{
	uint64_t bits = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);

	for (; bits > 0x7f; bits >>= 7)
		str_append_char(out, (char)(bits | 0x80));
	str_append_char(out, (char)bits);
}

void put_double(struct str *out, double value)
{
	str_append_bytes(out, &value, sizeof(value));
}

void put_text(struct str *out, const char *text)
{
	put_long(out, (int64_t)strlen(text));
	str_append(out, text);
}

static void put_deflated(struct str *out, const struct str *bytes)
{
	z_stream stream = {.next_in = (Bytef *)bytes->text, .avail_in = (uInt)bytes->length};
	char *packed cleanup_free = mem_alloc(bytes->length + 1024);

	assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
			 Z_OK);
	stream.next_out = (Bytef *)packed;
	stream.avail_out = (uInt)bytes->length + 1024;
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	put_long(out, (int64_t)stream.total_out);
	str_append_bytes(out, packed, stream.total_out);
	deflateEnd(&stream);
}

void put_file(struct str *out, const char *schema, bool deflate, int64_t count,
	      const struct str *records)
{
	static const char sync[] = "0123456789abcdef";

	str_append_bytes(out, "Obj\1", 4);
	put_long(out, deflate ? 2 : 1);
	if (deflate) {
		put_text(out, "avro.codec");
		put_text(out, "deflate");
	}
	put_text(out, "avro.schema");
	put_text(out, schema);
	put_long(out, 0);
	str_append(out, sync);
	put_long(out, count);
	if (deflate) {
		put_deflated(out, records);
	} else {
		put_long(out, (int64_t)records->length);
		str_append_bytes(out, str_text(records), records->length);
	}
	str_append(out, sync);
}

/* ---- events ------------------------------------------------------------------------------- */

/* The enum's symbols and the union's branches are in the same order. */
static void begin(struct str *out, int kind)
{
	put_long(out, kind);
	put_long(out, kind);
}

void put_inited(struct str *out, int64_t time_ms, const char *id, int tasks)
{
	begin(out, 0);
	put_text(out, id);
	put_long(out, tasks);
	put_text(out, "am-host");
	put_long(out, 0);
	put_long(out, time_ms);
}

void put_started(struct str *out, int64_t time_ms, const char *type, int index, const char *host)
{
	begin(out, 2);
	put_text(out, type);
	put_long(out, index);
	put_text(out, host);
	put_long(out, 1);
	put_text(out, "container_1_0001_01_000002");
	put_long(out, time_ms);
}

static void put_metric(struct str *out, const char *name, double value)
{
	if (value < 0)
		return;
	put_long(out, 1);
	put_text(out, name);
	put_double(out, value);
}

void put_task_finished(struct str *out, int64_t time_ms, const struct finished_task *task)
{
	begin(out, 3);
	put_text(out, task->type);
	put_long(out, task->index);
	put_text(out, task->status);
	put_metric(out, "MAX_MEMORY_BYTES", task->memory);
	put_metric(out, "AVG_GPU_UTILIZATION", task->gpu);
	put_long(out, 0);
	put_long(out, task->diagnostic ? 1 : 0);
	if (task->diagnostic)
		put_text(out, task->diagnostic);
	put_long(out, time_ms);
}

void put_finished(struct str *out, int64_t time_ms, const char *id, int finished, int failed)
{
	begin(out, 1);
	put_text(out, id);
	put_long(out, finished);
	put_long(out, failed);
	put_long(out, 0);
	put_long(out, time_ms);
}
