/* Any bytes as a journal, and every line of them as a record of one: a journal that opens can be
 * appended to and read again; a record that is folded in leaves a view that can be told. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "job/view.h"

static const char job_text[] =
	"{\"format\":1,\"id\":\"fuzz\",\"name\":\"\",\"user\":\"\",\"framework\":\"generic\","
	"\"mode\":\"gang\",\"submitted_ms\":0,\"fail_fast\":false,\"stop_after_chief\":false,"
	"\"retry_count\":0,\"infrastructure_retry_count\":0,\"retry_delay_ms\":0,"
	"\"application_timeout_ms\":0,\"allocation_timeout_ms\":0,\"registration_timeout_ms\":0,"
	"\"execution_timeout_ms\":0,\"executor_give_up_ms\":0,\"heartbeat_interval_ms\":1,"
	"\"max_missed_heartbeats\":1,\"metrics_interval_ms\":0,\"gpu_metrics\":false,"
	"\"error_lines\":0,\"log_rotate_bytes\":0,\"log_keep\":0,\"types\":[{\"name\":\"worker\","
	"\"instances\":2,\"processes\":1,\"memory\":0,\"vcores\":0,\"gpus\":0,\"command\":\"\","
	"\"role\":\"tracked\",\"stop_on_failure\":false,\"max_restarts\":0,\"hold_port\":false,"
	"\"isolation\":\"none\",\"stop_grace_ms\":0,\"frozen_timeout_ms\":0}]}";

static int count(void *data, const struct journal_line *line, struct err *err)
{
	++*(int64_t *)data;
	return 0;
}

static void as_file(const uint8_t *bytes, size_t length)
{
	int fd cleanup_close = memfd_create("journal", MFD_CLOEXEC);
	char *path cleanup_free = mem_printf("/proc/self/fd/%d", fd);
	int64_t lines = 0;

	if (write(fd, bytes, length) != (ssize_t)length)
		abort();
	int good = journal_read(path, 1, count, &lines, NULL);
	struct journal *journal = journal_open(path, NULL);
	if ((journal != NULL) != (good == 0))
		abort();
	if (!journal)
		return;
	if (journal_sequence(journal) != lines ||
	    journal_append(journal, json_object(), 1, false, NULL) < 0)
		abort();
	journal_close(journal);
	int64_t after = 0;
	if (journal_read(path, 1, count, &after, NULL) < 0 || after != lines + 1)
		abort();
}

/* Frames the members as the journal would. */
static void fold(struct job_view *view, const char *members, size_t length)
{
	struct str text cleanup_str = {0};
	struct journal_line line;

	str_append_format(&text, "{\"seq\":%lld,\"t\":1,", (long long)view->sequence + 1);
	str_append_bytes(&text, members, length);
	str_append_format(&text, ",\"crc\":\"%08x\"}", crc32c(text.text, text.length));
	if (journal_parse_line(text.text, text.length, &line, NULL) < 0)
		abort();
	job_view_add(view, &line, NULL);
}

/* Fails when a text in it is not UTF-8. */
static void write_out(json_t *value)
{
	free(json_text(value));
	json_decref(value);
}

static void tell(const struct job_view *view)
{
	size_t sum = 0;

	for (int i = 0; i < TASK_STATE_COUNT; i++)
		sum += view->tasks_in[i];
	if (sum != view->task_count)
		abort();
	write_out(job_view_to_json(view));
	for (size_t i = 0; i < view->task_count; i++)
		write_out(task_view_to_json(view, i));
}

static void as_records(const char *bytes, size_t length)
{
	struct job *job = job_from_text(job_text, strlen(job_text), NULL);
	struct job_view *view = job_view_create(job);

	while (length > 0) {
		const char *newline = memchr(bytes, '\n', length);
		size_t members = newline ? (size_t)(newline - bytes) : length;
		fold(view, bytes, members);
		members += newline != NULL;
		bytes += members;
		length -= members;
	}
	tell(view);
	job_view_destroy(view);
	job_destroy(job);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	log_open("fuzz", LOG_LEVEL_ERROR);
	as_file(bytes, length);
	as_records((const char *)bytes, length);
	return 0;
}
