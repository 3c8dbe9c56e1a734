/* What this machine keeps of a job on YARN, against a NameNode with a script. */
#include "../base/scratch.h"
#include "../base/test.h"
#include "../hadoop/web_server.h"
#include "../history/job_bed.h"
#include "web_words.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "scheduler/yarn_client.h"

#define ID	"application_1_0001"
#define STATUS	JSON("200", "{\"FileStatus\":" FILE_OF("", "%s") "}")
#define MISSING EXCEPTION("404", "FileNotFoundException")

/* Nor is it one of TonY's. */
#define NOT_PUBLISHED                                                                              \
	{"/events.jsonl?op=GETFILESTATUS", MISSING}, {"/summary.json?op=GETFILESTATUS", MISSING},  \
	{                                                                                          \
		"/application_1_0001?op=LISTSTATUS", MISSING                                       \
	}

static struct hadoop_cluster *make_cluster(const char *url)
{
	struct hadoop_cluster *cluster = mem_alloc(sizeof(*cluster));

	cluster->user = mem_strdup("alice");
	str_list_add(&cluster->webhdfs, url);
	cluster->retry_interval_ms = 10;
	cluster->fs = mem_strdup("hdfs://nn:8020");
	cluster->home = mem_strdup("/user/alice");
	cluster->job_dir = mem_strdup("/j");
	cluster->history_dir = mem_strdup("/history");
	return cluster;
}

/* That the job was killed. */
static Hadoop__ApplicationReportProto killed(void)
{
	Hadoop__ApplicationReportProto report = HADOOP__APPLICATION_REPORT_PROTO__INIT;

	report.has_yarn_application_state = true;
	report.yarn_application_state = HADOOP__YARN_APPLICATION_STATE_PROTO__KILLED;
	return report;
}

/* Its directory is gone, with all that its AM had kept, since the history had nothing of it. */
static void a_job_that_others_publish_meanwhile_is_what_they_published(void **state)
{
	struct job *job = bed_job();
	char *description cleanup_free = job_to_text(job);
	bed_journal(state, job, true);
	char *journal cleanup_free = scratch_read(state, "journal.jsonl");
	char *content cleanup_free = mem_printf("200 X\r\nConnection: close\r\n\r\n%s", journal);
	char *length cleanup_free = mem_printf("%zu", strlen(journal));
	char *status cleanup_free = mem_printf(STATUS, length);
	const struct web_step steps[] = {
		NOT_PUBLISHED,
		{"/history?op=LISTSTATUS", MISSING},
		{"/history/finished?op=LISTSTATUS", MISSING},
		{"/history?op=LISTSTATUS", MISSING},
		NOT_PUBLISHED,
		{"/j?op=GETXATTRS", MISSING},
		{"/j?op=LISTSTATUS", MISSING},
		{"/events.jsonl?op=GETFILESTATUS", status},
		{"/events.jsonl?op=OPEN", LOCATION},
		{"/data", content},
	};
	Hadoop__ApplicationReportProto report = killed();
	struct web_server server;
	struct err err cleanup_err = {0};

	setenv("TONY_STATE_DIR", scratch_path(state, "state"), 1);
	web_server_start(&server, steps, array_length(steps));
	struct hadoop_cluster *cluster = make_cluster(server.url);
	char *mirror cleanup_free = yarn_mirror(ID, &err);
	assert_success(yarn_mirror_write(mirror, "job.json", description, &err), &err);
	assert_success(yarn_mirror_settle(mirror, cluster, ID, &report, &err), &err);
	web_server_stop(&server);
	web_server_finish(&server);
	hadoop_cluster_destroy(cluster);
	job_destroy(job);
	assert_true(yarn_mirror_is_final(mirror));
	char *path cleanup_free = fs_join(mirror, "journal.jsonl");
	char *kept cleanup_free = fs_read_file(path, 4096, NULL, &err);
	assert_string_equal(kept, journal);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(a_job_that_others_publish_meanwhile_is_what_they_published),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
