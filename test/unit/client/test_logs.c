/* tony logs */
#include "../base/patience.h"
#include "../base/scratch.h"
#include "verb_bed.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "client/exit_code.h"

static const char id[] = "tony-20261121-061400-1f3a";

static void assert_exit(void **state, const char *line, int expected_code, const char *expected)
{
	int code = bed_run(state, line);

	if (code != expected_code)
		fail_msg("%s: exit %d: %s", line, code, bed_err());
	assert_string_equal(bed_out(), expected);
}

static void assert_logs(void **state, const char *line, const char *expected)
{
	assert_exit(state, line, 0, expected);
}

/* As grep tells it. */
static void assert_none_found(void **state, const char *line)
{
	assert_exit(state, line, 1, "");
}

static void open_job(struct bed_job *bed)
{
	bed_job_open(bed, id);
	bed_job_state(bed, "running");
	bed_job_task(bed, "worker:0", "running", 1);
	bed_job_task(bed, "worker:1", "running", 2);
	bed_job_task(bed, "chief:0", "running", 1);
}

static void lines_are_merged_by_time_behind_their_tasks(void **state)
{
	struct bed_job bed;

	open_job(&bed);
	bed_job_write(&bed, "worker-0-1/stdout", "one\nfour\n");
	bed_job_write(&bed, "worker-0-1/stdout.times", "1000 0\n4000 4\n");
	bed_job_write(&bed, "worker-1-1/stderr", "two\n");
	bed_job_write(&bed, "worker-1-1/stderr.times", "2000 0\n");
	bed_job_write(&bed, "worker-1-2/stdout", "three\nno end");
	bed_job_write(&bed, "worker-1-2/stdout.times", "3000 0\n5000 6\n");
	static const char expected[] = "worker:0| one\n"
				       "worker:1 stderr| two\n"
				       "worker:1| three\n"
				       "worker:0| four\n"
				       "worker:1| no end\n";
	assert_logs(state, "logs", expected);
	assert_logs(state, "logs --task worker", expected);
	bed_job_close(&bed);
}

static void a_progress_bar_shows_its_last_state(void **state)
{
	struct bed_job bed;

	open_job(&bed);
	bed_job_write(&bed, "worker-0-1/stdout", "a\r 50%\r100%\nof DOS\r\n\r\n");
	bed_job_write(&bed, "worker-0-1/stderr", "10%\r20%\r");
	assert_logs(state, "logs -t worker:0", "100%\nof DOS\n\nstderr| 20%\n");
	assert_none_found(state, "logs -t worker:0 --grep 50");
	bed_job_close(&bed);
}

/* Bytes as they were written: no label, and nothing that a carriage return overwrote is left out.
 */
static void one_stream_of_a_task_is_exact(void **state)
{
	static const char text[] = "a\r 50%\r100%\r\n\x1b[1m\xff\nno end";
	struct bed_job bed;

	open_job(&bed);
	bed_job_write(&bed, "worker-0-1/stderr", text);
	bed_job_write(&bed, "worker-0-1/stdout", "out\n");
	assert_logs(state, "logs -t worker:0 --stream stderr", text);
	assert_logs(state, "logs -t worker:0 --stream stderr --tail 2", "\x1b[1m\xff\nno end");
	assert_logs(state, "logs -t worker:0 --stream stderr --grep end", "no end\n");
	bed_job_close(&bed);
}

static void a_long_line_is_printed_whole(void **state)
{
	struct str line cleanup_str = {0}, written cleanup_str = {0}, expected cleanup_str = {0};
	struct bed_job bed;

	str_append(&line, "x");
	while (line.length < 200000)
		str_append(&line, "é");
	open_job(&bed);
	str_append_format(&written, "%s\nend\n%s", line.text, line.text);
	bed_job_write(&bed, "worker-0-1/stdout", written.text);
	bed_job_write(&bed, "worker-0-1/stdout.times", "1000 0\n3000 100000\n");
	bed_job_write(&bed, "chief-0-1/stdout", "between\n");
	bed_job_write(&bed, "chief-0-1/stdout.times", "2000 0\n");
	str_append_format(&expected,
			  "worker:0| %s\nchief:0| between\nworker:0| end\nworker:0| %s\n",
			  line.text, line.text);
	assert_logs(state, "logs", expected.text);
	assert_logs(state, "logs -t worker:0 --stream stdout", written.text);
	bed_job_close(&bed);
}

static void of_a_long_bar_the_last_state_is_printed(void **state)
{
	struct str bar cleanup_str = {0};
	struct bed_job bed;

	for (int i = 0; i < 20000; i++)
		str_append_format(&bar, "\rstep %d", i);
	str_append(&bar, "\r\n");
	open_job(&bed);
	bed_job_write(&bed, "worker-0-1/stdout", bar.text);
	assert_logs(state, "logs", "worker:0| step 19999\n");
	bed_job_close(&bed);
}

static void times_stand_before_lines(void **state)
{
	struct bed_job bed;

	open_job(&bed);
	bed_job_write(&bed, "worker-0-1/stdout", "one\n");
	bed_job_write(&bed, "worker-0-1/stdout.times", "1500 0\n");
	bed_job_write(&bed, "worker-0-1/stderr", "who knows when\n");
	assert_logs(state, "logs --timestamps",
		    "- worker:0 stderr| who knows when\n1970-01-01T00:00:01.500Z worker:0| one\n");
	assert_exit(state, "logs --timestamps --json", 2, "");
	bed_job_close(&bed);
}

static void json_marks_parts_and_bytes_that_are_no_text(void **state)
{
	struct str line cleanup_str = {0}, expected cleanup_str = {0};
	struct bed_job bed;

	for (int i = 0; i < 65537; i++)
		str_append(&line, "x");
	open_job(&bed);
	str_append_format(&expected,
			  "{\"task\":\"worker:0\",\"log\":\"stdout\",\"text\":\"%.65536s\","
			  "\"goes_on\":true}\n"
			  "{\"task\":\"worker:0\",\"log\":\"stdout\",\"text\":\"x\"}\n"
			  "{\"task\":\"worker:0\",\"log\":\"stdout\",\"text\":\"?\","
			  "\"changed\":true}\n",
			  line.text);
	str_append(&line, "\n\xff\n");
	bed_job_write(&bed, "worker-0-1/stdout", line.text);
	assert_logs(state, "logs --json", expected.text);
	bed_job_close(&bed);
}

static void one_task_needs_no_name(void **state)
{
	struct bed_job bed;

	open_job(&bed);
	bed_job_write(&bed, "worker-0-1/stdout", "one\n");
	bed_job_write(&bed, "worker-1-2/stdout", "two\n");
	bed_job_write(&bed, "worker-1-2/stderr", "trouble\n");
	assert_logs(state, "logs -t worker:1", "two\nstderr| trouble\n");
	assert_logs(state, "logs -t worker:1 --stream stdout", "two\n");
	assert_logs(state, "logs -t worker:1 --stream both", "two\nstderr| trouble\n");
	assert_logs(state, "logs -t worker:1 -t chief:0 --stream stdout", "worker:1| two\n");
	assert_logs(state, "logs -t chief:0", "");
	bed_job_close(&bed);
}

static void lines_are_chosen_by_expression(void **state)
{
	struct bed_job bed;

	open_job(&bed);
	bed_job_write(&bed, "chief-0-1/stdout", "loss 0.5\nloss 12\naccuracy 1\n");
	assert_logs(state, "logs --grep ^loss..", "chief:0| loss 0.5\nchief:0| loss 12\n");
	assert_logs(state, "logs --grep (5|y.1)$", "chief:0| loss 0.5\nchief:0| accuracy 1\n");
	/* An expression ends with its line. */
	assert_none_found(state, "logs --grep loss.0.5.loss");
	assert_none_found(state, "logs --grep ^LOSS..");
	assert_logs(state, "logs -i --grep ^LOSS..", "chief:0| loss 0.5\nchief:0| loss 12\n");
	assert_logs(state, "logs --grep ^loss.. --count", "2\n");
	assert_exit(state, "logs --grep none -c", 1, "0\n");
	assert_exit(state, "logs -c", 2, "");
	assert_exit(state, "logs -i", 2, "");
	bed_job_close(&bed);
}

static void lines_are_chosen_by_time(void **state)
{
	struct bed_job bed;
	int64_t now = clock_wall_ms();

	open_job(&bed);
	char *index cleanup_free =
		mem_printf("1000 0\n%lld 4\n", (long long)now - 60000); /* a minute ago */
	bed_job_write(&bed, "chief-0-1/stdout", "old\nnew\n");
	bed_job_write(&bed, "chief-0-1/stdout.times", index);
	bed_job_write(&bed, "worker-0-1/stdout", "who knows when\n");
	assert_logs(state, "logs --since 1h",
		    "worker:0| who knows when\n"
		    "chief:0| new\n");
	assert_logs(state, "logs -t chief --since 30s", "");
	assert_logs(state, "logs -t chief:0 --since 1970-01-01T00:00:01Z", "old\nnew\n");
	assert_logs(state, "logs -t chief:0 --since 1970-01-01T00:00:02.5", "new\n");
	bed_job_close(&bed);
}

static void the_tail_is_that_of_each_file(void **state)
{
	struct bed_job bed;

	open_job(&bed);
	bed_job_write(&bed, "worker-0-1/stdout.1", "a\nb\n");
	bed_job_write(&bed, "worker-0-1/stdout", "c\n");
	bed_job_write(&bed, "chief-0-1/stdout", "x\ny\nz\n");
	assert_logs(state, "logs --tail 2", "worker:0| b\nworker:0| c\nchief:0| y\nchief:0| z\n");
	assert_logs(state, "logs --tail 0", "");
	bed_job_close(&bed);
}

static void processes_of_a_task_have_files_of_their_own(void **state)
{
	struct bed_job bed;

	open_job(&bed);
	bed_job_write(&bed, "chief-0-1/stdout-1", "of a job that says it has one process\n");
	assert_logs(state, "logs", "");
	bed_job_close(&bed);
}

static void a_job_without_logs_prints_nothing(void **state)
{
	struct bed_job bed;

	bed_job_open(&bed, id);
	assert_logs(state, "logs", "");
	assert_logs(state, "logs --tail 5", "");
	bed_job_close(&bed);
}

static void lost_output_is_not_told_as_none(void **state)
{
	struct bed_job bed;

	open_job(&bed);
	bed_job_record(&bed,
		       json_pack("{s:s, s:s, s:i, s:i, s:i, s:s}", "ev", "output", "task",
				 "worker:0", "attempt", 1, "lines", 3, "bytes", 30, "text",
				 "3 lines of its output were lost"),
		       3000);
	assert_logs(state, "logs", "");
	assert_text_has(bed_err(), "tony: warning: worker:0: 3 lines of its output were lost");
	assert_null(strstr(bed_err(), "has written nothing"));
	assert_none_found(state, "logs --grep x");
	assert_text_has(bed_err(), "has written nothing so far of what is asked for");
	bed_job_close(&bed);
}

/* The follower must see lines, files and attempts that come later, and end with the job. */
static void following_ends_with_the_job(void **state)
{
	struct bed_job bed;

	open_job(&bed);
	bed_job_write(&bed, "chief-0-1/stdout", "not this\nbut this\n");
	fflush(NULL);
	pid_t writer = fork();
	if (writer == 0) {
		bed_job_write(&bed, "worker-0-1/stdout", "hello\nagain\n");
		bed_job_task(&bed, "worker:0", "running", 2);
		bed_job_write(&bed, "worker-0-2/stdout", "second attempt");
		let_pass(100);
		bed_job_end(&bed, "succeeded", "all tasks succeeded");
		_exit(0);
	}
	assert_int_equal(bed_run(state, "logs -f --tail 1"), 0);
	waitpid(writer, NULL, 0);
	assert_text_has(bed_out(), "chief:0| but this\n");
	assert_null(strstr(bed_out(), "not this"));
	assert_text_has(bed_out(), "worker:0| again\n");
	assert_text_has(bed_out(), "worker:0| second attempt\n");
	bed_job_close(&bed);
}

static void logs_of_more_jobs_than_files_may_be_open(void **state)
{
	struct str expected cleanup_str = {0};
	struct bed_crowd crowd;

	bed_crowd_open(&crowd);
	char *logs cleanup_free = mem_printf("logs --count --grep line%s", crowd.words);
	for (int i = 0; i < BED_CROWD; i++)
		bed_job_write(&crowd.jobs[i], "worker-0-1/stdout", "a line\n");
	str_append_format(&expected, "%d\n", BED_CROWD);
	assert_logs(state, logs, str_text(&expected));
	bed_crowd_close(&crowd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		verb_test(lines_are_merged_by_time_behind_their_tasks),
		verb_test(a_progress_bar_shows_its_last_state),
		verb_test(one_stream_of_a_task_is_exact),
		verb_test(a_long_line_is_printed_whole),
		verb_test(of_a_long_bar_the_last_state_is_printed),
		verb_test(times_stand_before_lines),
		verb_test(json_marks_parts_and_bytes_that_are_no_text),
		verb_test(one_task_needs_no_name),
		verb_test(lines_are_chosen_by_expression),
		verb_test(lines_are_chosen_by_time),
		verb_test(the_tail_is_that_of_each_file),
		verb_test(processes_of_a_task_have_files_of_their_own),
		verb_test(a_job_without_logs_prints_nothing),
		verb_test(lost_output_is_not_told_as_none),
		verb_test(following_ends_with_the_job),
		verb_test(logs_of_more_jobs_than_files_may_be_open),
	};

	return cmocka_run_group_tests_name("logs", tests, NULL, NULL);
}
