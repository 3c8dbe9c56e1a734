/* Logs as the AM tells them: the client's end, against the real interface in a process of its own.
 */
#include "../am/api_bed.h"
#include "../base/test.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "logs/live.h"
#include "logs/merge.h"

static const struct log_search everything = {0};

/* An AM whose only task is worker:0, which has a container. */
struct far {
	pid_t pid;
	char directory[128], address[64];
	struct http_target door;
	struct log_live *live;
};

static void on_drained(void *data)
{
	_exit(0);
}

static void on_end(evutil_socket_t signal, short what, void *data)
{
	struct api_bed *bed = data;

	api_conclude(bed->api);
	api_drain(bed->api, 60 * 1000, on_drained, bed);
}

static _Noreturn void be_am(int report)
{
	struct far far = {0};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	struct api_bed *bed = api_bed_create("worker=1", NULL);
	api_bed_allocate(bed, "worker:0");
	struct event *end = evsignal_new(bed->base, SIGTERM, on_end, bed);
	event_add(end, NULL);
	snprintf(far.directory, sizeof(far.directory), "%s", bed->directory);
	snprintf(far.address, sizeof(far.address), "%s", api_address(bed->api));
	if (write(report, &far, sizeof(far)) != sizeof(far))
		_exit(1);
	event_base_dispatch(bed->base);
	_exit(1);
}

static int set_up(void **state)
{
	struct far *far = mem_alloc(sizeof(*far));
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0)
		be_am(ends[1]);
	assert_int_equal(read(ends[0], far, sizeof(*far)), sizeof(*far));
	close(ends[0]);
	close(ends[1]);
	far->pid = pid;
	far->door.address = far->address;
	far->door.token = BED_TOKEN;
	far->door.owner = geteuid();
	far->live = log_live_create();
	*state = far;
	return 0;
}

static int tear_down(void **state)
{
	struct far *far = *state;

	kill(far->pid, SIGKILL);
	waitpid(far->pid, NULL, 0);
	fs_remove_tree(far->directory, NULL);
	log_live_destroy(far->live);
	free(far);
	return 0;
}

static void append(const struct far *far, const char *name, const char *text)
{
	char *path cleanup_free = fs_join(far->directory, name);
	FILE *file = fopen(path, "ae");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* Reads lines as they come until there are `count` of them; they hold their own numbers. */
static void await_numbers(struct far *far, struct log_lines *lines, int count)
{
	struct log_line line;
	char number[16];

	for (int i = 0; i < count;) {
		while (i < count && log_lines_next(lines, false, &line)) {
			snprintf(number, sizeof(number), "%d", i++);
			assert_true(line.length >= strlen(number));
			assert_memory_equal(line.text + line.length - strlen(number), number,
					    strlen(number));
		}
		if (i < count)
			log_live_wait(far->live, 1000);
	}
}

static void a_log_is_followed_until_the_job_ends(void **state)
{
	struct far *far = *state;
	struct log_source *source = log_live_follow(far->live, "worker:0", "stdout", &everything);
	struct log_lines *lines = log_lines_create(source);
	struct log_line line;

	log_live_ask(far->live, &far->door);
	append(far, "stdout", "0\n1\n");
	await_numbers(far, lines, 2);
	append(far, "stdout", "last");
	kill(far->pid, SIGTERM);
	while (log_live_wait(far->live, 1000))
		continue;
	assert_true(log_lines_next(lines, true, &line));
	assert_int_equal(line.length, 4);
	assert_false(log_lines_next(lines, true, &line));
	assert_null(source->problem);
	log_lines_destroy(lines);
}

/* Bytes that the AM has read from files so far. */
static long long read_by_am(const struct far *far)
{
	char path[64], line[64];
	long long bytes = 0;

	snprintf(path, sizeof(path), "/proc/%d/io", (int)far->pid);
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	assert_int_equal(sscanf(line, "rchar: %lld", &bytes), 1);
	fclose(file);
	return bytes;
}

static void a_log_that_is_read_slowly_is_sent_slowly(void **state)
{
	enum { LINES = 400000 }; /* 40 MB */
	struct far *far = *state;
	char *path cleanup_free = fs_join(far->directory, "stdout");
	FILE *file = fopen(path, "we");
	struct log_lines *lines =
		log_lines_create(log_live_follow(far->live, "worker:0", "stdout", &everything));
	struct log_lines *other =
		log_lines_create(log_live_follow(far->live, "worker:0", "stderr", &everything));

	for (int i = 0; i < LINES; i++)
		fprintf(file, "%0100d\n", i);
	fclose(file);
	log_live_ask(far->live, &far->door);
	/* While another log is read, as much of this one comes as there is room for. */
	for (int i = 0; i < 100; i++) {
		char text[16];
		snprintf(text, sizeof(text), "%d\n", i);
		append(far, "stderr", text);
	}
	await_numbers(far, other, 100);
	for (int i = 0; i < 1000; i++)
		log_live_wait(far->live, 1);
	/* The kernel's buffers hold some megabytes. */
	assert_true(read_by_am(far) < 100 * LINES / 2);
	await_numbers(far, lines, LINES);
	log_lines_destroy(lines);
	log_lines_destroy(other);
}

/* What each has written already is merged by time, however it arrives. */
static void what_is_there_is_merged_by_time(void **state)
{
	enum { LINES = 20000 }; /* of each: more than is sent at once */
	struct far *far = *state;
	struct log_merge *merge = log_merge_create();
	static const char *const names[] = {"stdout", "stderr"};
	struct log_line line;
	const void *label;
	int count = 0;

	for (int which = 0; which < 2; which++) {
		struct str text cleanup_str = {0}, times cleanup_str = {0};
		char *index cleanup_free = mem_printf("%s.times", names[which]);
		for (int i = 0; i < LINES; i++) {
			str_append_format(&times, "%d %zu\n", 1000 + 2 * i + which, text.length);
			str_append_format(&text, "%d\n", 2 * i + which);
		}
		append(far, index, times.text);
		append(far, names[which], text.text);
		log_merge_add(merge,
			      log_live_follow(far->live, "worker:0", names[which], &everything), "",
			      -1);
	}
	log_live_ask(far->live, &far->door);
	while (count < 2 * LINES) {
		while (log_merge_next(merge, false, &line, &label)) {
			char number[16];
			snprintf(number, sizeof(number), "%d", count++);
			assert_int_equal(line.length, strlen(number));
			assert_memory_equal(line.text, number, line.length);
		}
		if (count < 2 * LINES)
			log_live_wait(far->live, 1000);
	}
	log_merge_destroy(merge);
}

#define on_far(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_far(a_log_is_followed_until_the_job_ends),
		on_far(a_log_that_is_read_slowly_is_sent_slowly),
		on_far(what_is_there_is_merged_by_time),
	};

	return cmocka_run_group_tests_name("logs from the AM", tests, NULL, NULL);
}
