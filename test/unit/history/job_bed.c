#include "job_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../base/scratch.h"
#include "base/mem.h"
#include "job/journal.h"
#include "job/record.h"

#define BEGUN_MS 1795241641000

static const char description[] =
	"{\"format\": 1, \"id\": \"" BED_ID "\", \"name\": \"mnist\", \"user\": \"alice\","
	" \"framework\": \"generic\", \"tags\": [\"nightly\"], \"mode\": \"gang\","
	" \"submitted_ms\": 1795241640000, \"fail_fast\": false, \"stop_after_chief\": false,"
	" \"retry_count\": 0, \"infrastructure_retry_count\": 0, \"retry_delay_ms\": 0,"
	" \"application_timeout_ms\": 0, \"allocation_timeout_ms\": 0,"
	" \"registration_timeout_ms\": 0, \"execution_timeout_ms\": 0, \"executor_give_up_ms\": 0,"
	" \"heartbeat_interval_ms\": 1000, \"max_missed_heartbeats\": 25,"
	" \"metrics_interval_ms\": 1000, \"gpu_metrics\": false, \"error_lines\": 5,"
	" \"log_rotate_bytes\": 0, \"log_keep\": 0, \"group_timeouts\": [],"
	" \"config\": {\"tony.application.name\": {\"value\": \"<mnist> & co\", \"origin\": "
	"\"tony.xml:3\"}},"
	" \"types\": [{\"name\": \"worker\", \"instances\": 2, \"processes\": 1, \"memory\": 2048,"
	" \"vcores\": 1, \"gpus\": 0, \"command\": \"true\", \"environment\": [],"
	" \"role\": \"tracked\", \"stop_on_failure\": false, \"max_restarts\": 0,"
	" \"hold_port\": true, \"isolation\": \"none\", \"stop_grace_ms\": 1000,"
	" \"frozen_timeout_ms\": 0, \"files\": [], \"depends_on\": []}]}";

struct job *bed_job(void)
{
	struct err err cleanup_err = {0};
	struct job *job = job_from_text(description, strlen(description), &err);

	assert_string_equal(err_message(&err), "no error");
	return job;
}

static void append(struct journal *journal, json_t *record, int64_t time_ms)
{
	assert_int_equal(journal_append(journal, record, time_ms, false, NULL), 0);
}

void bed_journal(void **state, const struct job *job, bool final)
{
	struct journal *journal = journal_open(scratch_path(state, "journal.jsonl"), NULL);
	struct task task = {.type = 0, .index = 1, .attempt = 2, .host = (char *)"node1"};

	append(journal, record_am(1, 4711, "127.0.0.1:4000", NULL), BEGUN_MS);
	append(journal, record_task(job, &task, TASK_WAITING, TASK_RUNNING, "/logs"),
	       BEGUN_MS + 1000);
	task.cause = (struct cause){
		.kind = CAUSE_EXIT, .exit_code = 1, .text = (char *)"exited with code 1"};
	append(journal, record_task(job, &task, TASK_RUNNING, TASK_FAILED, "/logs"),
	       BEGUN_MS + 2000);
	if (final)
		append(journal, record_final(JOB_FAILED, "worker:1 exited with code 1", NULL),
		       BEGUN_MS + 3000);
	journal_close(journal);
}
