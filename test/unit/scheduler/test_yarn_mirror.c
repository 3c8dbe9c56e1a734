/* What this machine keeps of a job on YARN, against a NameNode with a script. */
#include "../base/scratch.h"
#include "../base/test.h"
#include "../hadoop/web_server.h"
#include "../history/job_bed.h"
#include "web_words.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "hadoop/webhdfs.h"
#include "job/journal.h"
#include "scheduler/journal_note.h"
#include "scheduler/yarn_reports.h"

#define ID	"application_1_0001"
#define STATUS	JSON("200", "{\"FileStatus\":" FILE_OF("", "%s") "}")
#define MISSING EXCEPTION("404", "FileNotFoundException")

#define NOT_PUBLISHED                                                                              \
	{                                                                                          \
		"/application_1_0001?op=GETFILESTATUS", MISSING                                    \
	}

/* Nothing of any day. */
#define NO_DAYS                                                                                    \
	{"/history?op=LISTSTATUS", MISSING}, {"/history/finished?op=LISTSTATUS", MISSING},         \
	{                                                                                          \
		"/history?op=LISTSTATUS", MISSING                                                  \
	}
#define DIRECTORY_OF(owner)                                                                        \
	JSON("200", "{\"FileStatus\":{\"accessTime\":0,\"group\":\"g\",\"length\":0,"              \
		    "\"modificationTime\":5,\"owner\":\"" owner "\",\"pathSuffix\":\"\","          \
		    "\"permission\":\"755\",\"type\":\"DIRECTORY\"}}")
/* Whose the entry is, and whose the store. */
#define ENTRY_OF(owner)                                                                            \
	{"/application_1_0001?op=GETFILESTATUS", DIRECTORY_OF(owner)},                             \
	{                                                                                          \
		"/history?op=GETFILESTATUS", DIRECTORY_OF("hdfs")                                  \
	}

/* Whether the store tells inodes, asked before the first file is read: it does not. */
#define NO_INODES                                                                                  \
	{                                                                                          \
		"/history?op=GETFILESTATUS", DIRECTORY_OF("hdfs")                                  \
	}

/* Asked once more behind each file that was read. */
#define STILL_OF(owner)                                                                            \
	{                                                                                          \
		"/application_1_0001?op=GETFILESTATUS", DIRECTORY_OF(owner)                        \
	}

static struct hadoop_cluster *make_cluster(const char *url)
{
	struct hadoop_cluster *cluster = mem_alloc(sizeof(*cluster));

	cluster->user = mem_strdup("alice");
	str_list_add(&cluster->hdfs.webhdfs, url);
	cluster->retry_interval_ms = 10;
	cluster->hdfs.user = mem_strdup("alice");
	cluster->hdfs.fs = mem_strdup("hdfs://nn:8020");
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

/* A file's answers: its length, and where it is; what is read there. */
struct content {
	char *status, *bytes;
};

static struct content content_of(const char *text)
{
	char *length cleanup_free = mem_printf("%zu", strlen(text));

	return (struct content){
		.status = mem_printf(STATUS, length),
		.bytes = mem_printf("200 X\r\nConnection: close\r\n\r\n%s", text),
	};
}

static void content_free(struct content *content)
{
	free(content->status);
	free(content->bytes);
}
#define cleanup_content __attribute__((cleanup(content_free)))

/* `description` NULL: the mirror has none. Returns the mirror; the caller frees. */
static char *settle(void **state, const struct web_step *steps, size_t count,
		    const char *description, const Hadoop__ApplicationReportProto *report,
		    int expected)
{
	struct web_server server;
	struct err err cleanup_err = {0};

	setenv("TONY_STATE_DIR", scratch_path(state, "state"), 1);
	setenv("TONY_CONF_DIR", scratch_path(state, "conf"), 1);
	web_server_start(&server, steps, count);
	struct hadoop_cluster *cluster = make_cluster(server.url);
	char *mirror = yarn_mirror(ID, &err);
	if (description)
		assert_success(yarn_mirror_write(mirror, "job.json", description, &err), &err);
	int result = yarn_mirror_settle(mirror, cluster, ID, report, &err);
	web_server_stop(&server);
	web_server_finish(&server);
	hadoop_cluster_destroy(cluster);
	if (result != expected)
		fail_msg("%d: %s", result, err_message(&err));
	return mirror;
}

/* Its directory is gone, with all that its AM had kept, since the history had nothing of it. */
static void a_job_that_others_publish_meanwhile_is_what_they_published(void **state)
{
	struct job *job = bed_job();
	char *description cleanup_free = job_to_text(job);
	bed_journal(state, job, true);
	char *journal cleanup_free = scratch_read(state, "journal.jsonl");
	struct content content cleanup_content = content_of(journal);
	const struct web_step steps[] = {
		NOT_PUBLISHED,
		NO_DAYS,
		{"/j?op=GETXATTRS", MISSING},
		{"/j?op=LISTSTATUS", MISSING},
		ENTRY_OF("alice"),
		NO_INODES,
		{"/events.jsonl?op=GETFILESTATUS", content.status},
		{"/events.jsonl?op=OPEN", LOCATION},
		{"/data", content.bytes},
		STILL_OF("alice"),
	};
	Hadoop__ApplicationReportProto report = killed();
	char *mirror cleanup_free =
		settle(state, steps, array_length(steps), description, &report, 0);

	job_destroy(job);
	assert_true(yarn_mirror_is_final(mirror));
	char *path cleanup_free = fs_join(mirror, "journal.jsonl");
	char *kept cleanup_free = fs_read_file(path, 4096, NULL, NULL);
	assert_string_equal(kept, journal);
}

/* An AM that could not publish has left what it kept, though it may still be at work. */
static void what_an_am_kept_is_known_while_it_may_publish(void **state)
{
	struct job *job = bed_job();
	char *description cleanup_free = job_to_text(job);
	bed_journal(state, job, true);
	char *journal cleanup_free = scratch_read(state, "journal.jsonl");
	struct str value cleanup_str = {0};
	assert_int_equal(journal_note_encode(0, journal, strlen(journal), &value), 0);
	char *hex cleanup_free = webhdfs_attribute_encode(value.text, value.length);
	char *notes cleanup_free =
		mem_printf(JSON("200", "{\"XAttrs\":[{\"name\":\"user.tony.journal-1\","
				       "\"value\":\"%s\"}]}"),
			   hex);
	const struct web_step steps[] = {
		NOT_PUBLISHED,
		{"/j?op=GETXATTRS", notes},
		{"/j?op=LISTSTATUS", LIST()},
	};
	Hadoop__ApplicationReportProto report = killed();
	report.yarn_application_state = HADOOP__YARN_APPLICATION_STATE_PROTO__FINISHED;
	report.finishtime = clock_wall_ms();
	char *mirror cleanup_free =
		settle(state, steps, array_length(steps), description, &report, 0);

	job_destroy(job);
	assert_true(yarn_mirror_is_final(mirror));
}

/* Also on a machine that has followed the AM before, and stopped. */
static void what_an_am_kept_is_known_while_the_next_one_waits(void **state)
{
	struct err err cleanup_err = {0};
	struct job *job = bed_job();
	char *description cleanup_free = job_to_text(job);
	bed_journal(state, job, false);
	char *journal cleanup_free = scratch_read(state, "journal.jsonl");
	struct str value cleanup_str = {0};
	assert_int_equal(journal_note_encode(0, journal, strlen(journal), &value), 0);
	char *hex cleanup_free = webhdfs_attribute_encode(value.text, value.length);
	char *notes cleanup_free =
		mem_printf(JSON("200", "{\"XAttrs\":[{\"name\":\"user.tony.journal-1\","
				       "\"value\":\"%s\"}]}"),
			   hex);
	const struct web_step steps[] = {
		{"/j?op=GETXATTRS", notes},
		{"/j?op=LISTSTATUS", LIST()},
	};
	Hadoop__ApplicationReportProto report = killed();
	Hadoop__ApplicationAttemptIdProto second = HADOOP__APPLICATION_ATTEMPT_ID_PROTO__INIT;
	second.attemptid = 2;
	report.currentapplicationattemptid = &second;
	report.yarn_application_state = HADOOP__YARN_APPLICATION_STATE_PROTO__ACCEPTED;
	setenv("TONY_STATE_DIR", scratch_path(state, "state"), 1);
	char *followed cleanup_free = yarn_mirror(ID, &err);
	assert_success(yarn_mirror_begin(followed, 1, true, &err), &err);
	char *mirror cleanup_free =
		settle(state, steps, array_length(steps), description, &report, 0);

	job_destroy(job);
	char *path cleanup_free = fs_join(mirror, "journal.jsonl");
	char *kept cleanup_free = fs_read_file(path, 4096, NULL, NULL);
	assert_string_equal(kept, journal);
}

/* promise: S44 */
static void the_end_of_a_job_is_not_read_from_another_users_entry(void **state)
{
	struct job *job = bed_job();
	mem_replace(&job->user, mem_strdup("bob"));
	char *description cleanup_free = job_to_text(job);
	const struct web_step steps[] = {
		ENTRY_OF("mallory"),	      NO_DAYS,
		{"/j?op=GETXATTRS", MISSING}, {"/j?op=LISTSTATUS", MISSING},
		ENTRY_OF("mallory"),	      NO_DAYS,
	};
	Hadoop__ApplicationReportProto report = killed();
	report.user = (char *)"bob";
	char *mirror cleanup_free =
		settle(state, steps, array_length(steps), description, &report, 0);

	job_destroy(job);
	/* No more is known than the ResourceManager says. */
	assert_true(yarn_mirror_is_final(mirror));
	char *path cleanup_free = fs_join(mirror, "journal.jsonl");
	char *kept cleanup_free = fs_read_file(path, 4096, NULL, NULL);
	assert_non_null(strstr(kept, "\"killed\""));
	assert_null(strstr(kept, "worker:1"));
}

/* The steps of a description that is nowhere but in the history, as far as whose it is. */
#define PUBLISHED_BY(owner, content)                                                               \
	{"/j/job.json?op=OPEN", MISSING}, ENTRY_OF(owner), NO_INODES,                              \
		{"/summary.json?op=GETFILESTATUS", (content).status},                              \
		{"/summary.json?op=OPEN", LOCATION}, {"/data", (content).bytes}, STILL_OF(owner)

/* Of bob, whose description says that it is alice's, and names a cluster. */
static struct content forged_description(void)
{
	struct job *job = bed_job();

	job->engine = json_pack("{s:[s]}", "rm", "127.0.0.1:1");
	job->stores = json_pack("{s:{s:s}}", "hdfs", "fs", "hdfs://127.0.0.1:1");
	char *text cleanup_free = job_to_text(job);
	job_destroy(job);
	return content_of(text);
}

static Hadoop__ApplicationReportProto running(const char *user)
{
	Hadoop__ApplicationReportProto report = killed();

	report.yarn_application_state = HADOOP__YARN_APPLICATION_STATE_PROTO__RUNNING;
	report.starttime = 1795241640000;
	report.user = (char *)user;
	return report;
}

/* promise: S44 */
static void a_job_is_not_described_by_another_users_entry(void **state)
{
	const struct web_step steps[] = {
		{"/j/job.json?op=OPEN", MISSING},
		ENTRY_OF("mallory"),
		NOT_PUBLISHED, /* on the day before */
		NO_DAYS,
	};
	Hadoop__ApplicationReportProto report = running("alice");
	char *mirror cleanup_free = settle(state, steps, array_length(steps), NULL, &report, -1);
	char *path cleanup_free = fs_join(mirror, "job.json");

	assert_false(fs_exists(path));
}

/* promise: S44 */
static void another_users_job_says_nothing_of_how_the_cluster_is_reached(void **state)
{
	struct content content cleanup_content = forged_description();
	const struct web_step steps[] = {
		PUBLISHED_BY("bob", content),
		{"/job.json?op=GETFILESTATUS", content.status},
		{"/job.json?op=OPEN", LOCATION},
		{"/data", content.bytes},
		STILL_OF("bob"),
	};
	Hadoop__ApplicationReportProto report = running("bob");
	char *mirror cleanup_free = settle(state, steps, array_length(steps), NULL, &report, 0);
	char *path cleanup_free = fs_join(mirror, "job.json");
	struct job *kept = job_read_file(path, NULL);

	assert_non_null(kept);
	assert_string_equal(kept->user, "bob");
	assert_null(kept->engine);
	assert_null(kept->stores);
	job_destroy(kept);
}

static void a_copy_without_a_journal_is_not_final(void **state)
{
	struct err err cleanup_err = {0};

	setenv("TONY_STATE_DIR", scratch_path(state, "state"), 1);
	char *mirror cleanup_free = yarn_mirror("application_1_0001", &err);
	assert_non_null(mirror);
	assert_false(yarn_mirror_is_final(mirror));
	char *journal cleanup_free = fs_join(mirror, "journal.jsonl");
	assert_success(yarn_mirror_write(mirror, "journal.jsonl", "{\"seq\":1,torn", &err), &err);
	assert_false(yarn_mirror_is_final(mirror));
	/* What a killed reader has left is cut off. */
	char *left cleanup_free = fs_read_file(journal, 4096, NULL, &err);
	assert_string_equal(left, "");
}

static void each_attempt_of_the_am_has_its_own_journal(void **state)
{
	struct err err cleanup_err = {0};

	setenv("TONY_STATE_DIR", scratch_path(state, "state"), 1);
	char *mirror cleanup_free = yarn_mirror("application_1_0001", &err);
	char *journal cleanup_free = fs_join(mirror, "journal.jsonl");
	assert_success(yarn_mirror_begin(mirror, 1, true, &err), &err);
	assert_success(yarn_mirror_write(mirror, "journal.jsonl", "{}\n", &err), &err);
	assert_success(yarn_mirror_begin(mirror, 1, true, &err), &err);
	assert_true(fs_exists(journal));
	assert_success(yarn_mirror_write(mirror, "address", "h0:4000", &err), &err);
	/* The next one may wait long for its container. */
	assert_success(yarn_mirror_begin(mirror, 2, false, &err), &err);
	assert_null(yarn_mirror_address(mirror, NULL));
	assert_int_equal(yarn_mirror_attempt(mirror), 1);
	assert_true(fs_exists(journal));
	assert_success(yarn_mirror_begin(mirror, 2, true, &err), &err);
	assert_false(fs_exists(journal));
}

/* Two processes asked, and the one that was answered first comes last. */
static void what_is_known_of_the_next_am_stays(void **state)
{
	struct err err cleanup_err = {0};

	setenv("TONY_STATE_DIR", scratch_path(state, "state"), 1);
	char *mirror cleanup_free = yarn_mirror("application_1_0001", &err);
	char *journal cleanup_free = fs_join(mirror, "journal.jsonl");
	assert_success(yarn_mirror_begin(mirror, 2, true, &err), &err);
	assert_success(yarn_mirror_write(mirror, "journal.jsonl", "{}\n", &err), &err);
	assert_success(yarn_mirror_begin(mirror, 1, true, &err), &err);
	assert_int_equal(yarn_mirror_attempt(mirror), 2);
	assert_true(fs_exists(journal));
}

/* ---- what is listed ----------------------------------------------------------------------- */

static Hadoop__ApplicationReportProto with_am(const char *address)
{
	Hadoop__ApplicationReportProto report = HADOOP__APPLICATION_REPORT_PROTO__INIT;
	static Hadoop__ApplicationAttemptIdProto first = HADOOP__APPLICATION_ATTEMPT_ID_PROTO__INIT;

	first.attemptid = 1;
	report.currentapplicationattemptid = &first;
	report.has_yarn_application_state = report.has_rpc_port = true;
	report.yarn_application_state = HADOOP__YARN_APPLICATION_STATE_PROTO__RUNNING;
	report.host = (char *)"127.0.0.1";
	report.rpc_port = atoi(strchr(address, ':') + 1);
	return report;
}

static void keep_description(const char *mirror)
{
	struct err err cleanup_err = {0};
	struct job *job = bed_job();
	char *description cleanup_free = job_to_text(job);

	assert_success(yarn_mirror_write(mirror, "job.json", description, &err), &err);
	job_destroy(job);
}

/* As far as its AM was followed from here. */
static void keep_journal(const char *mirror)
{
	struct err err cleanup_err = {0};
	char *path cleanup_free = fs_join(mirror, "journal.jsonl");
	json_t *record = json_pack("{ss,ss,ss,si,si}", "ev", "job", "from", "running", "to",
				   "reforming", "retries", 0, "infrastructure_retries", 1);

	struct journal *journal = journal_open(path, &err);
	assert_success(journal_append(journal, record, 1, true, &err), &err);
	journal_close(journal);
}

/* `report` is of application 1 and of no other. */
static void assert_listed(const Hadoop__ApplicationReportProto *report, enum job_state expected,
			  const char *waiting)
{
	const Hadoop__ApplicationReportProto *items[] = {report};
	const struct yarn_reports reports = {.items = items, .count = 1};
	struct hadoop_cluster *cluster = make_cluster("http://127.0.0.1:1");
	struct job_summary job = {.id = mem_strdup(ID), .state = yarn_job_state(report)};

	yarn_running_ask(cluster, &reports, &job);
	assert_int_equal(job.state, expected);
	assert_true(str_equal(job.waiting, waiting));
	job_summary_finish(&job);
	hadoop_cluster_destroy(cluster);
}

static void a_job_is_listed_as_its_am_says(void **state)
{
	static const char waiting[] = "waits for 1 of 4 containers (worker x 1) of queue ml";
	const struct web_step steps[] = {
		{"GET /v1/job ", "200 X\r\nConnection: close\r\n\r\n{\"state\":\"forming\","
				 "\"waiting\":\"waits for 1 of 4 containers (worker x 1) of "
				 "queue ml\"}"},
		{"GET /v1/job ", "503 X\r\nConnection: close\r\n\r\n"},
	};
	struct web_server server;
	struct err err cleanup_err = {0};

	setenv("TONY_STATE_DIR", scratch_path(state, "state"), 1);
	char *mirror cleanup_free = yarn_mirror(ID, &err);
	assert_success(yarn_mirror_write(mirror, "token", "secret", &err), &err);
	web_server_start(&server, steps, array_length(steps));
	Hadoop__ApplicationReportProto report = with_am(server.address);
	/* Where the description does not say that the AM speaks no TLS, it is not shown the token.
	 */
	assert_listed(&report, JOB_RUNNING, NULL);
	keep_description(mirror);
	assert_listed(&report, JOB_FORMING, waiting);
	keep_journal(mirror);
	assert_listed(&report, JOB_REFORMING, NULL);
	web_server_stop(&server);
	web_server_finish(&server);
	/* Nor is a job that waits for its next AM one that was just submitted. */
	report.yarn_application_state = HADOOP__YARN_APPLICATION_STATE_PROTO__ACCEPTED;
	assert_listed(&report, JOB_REFORMING, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(a_job_that_others_publish_meanwhile_is_what_they_published),
		scratch_test(what_an_am_kept_is_known_while_it_may_publish),
		scratch_test(what_an_am_kept_is_known_while_the_next_one_waits),
		scratch_test(the_end_of_a_job_is_not_read_from_another_users_entry),
		scratch_test(a_job_is_not_described_by_another_users_entry),
		scratch_test(another_users_job_says_nothing_of_how_the_cluster_is_reached),
		scratch_test(a_copy_without_a_journal_is_not_final),
		scratch_test(each_attempt_of_the_am_has_its_own_journal),
		scratch_test(what_is_known_of_the_next_am_stays),
		scratch_test(a_job_is_listed_as_its_am_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
