/* What goes to a cluster: the files of the job, packed and named. */
#include "../base/scratch.h"
#include "../base/test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "client/archive.h"
#include "client/archive_pack.h"
#include "client/bar.h"
#include "client/stage_send.h"

/* ---- packing ------------------------------------------------------------------------------ */

static void make_tree(void **state)
{
	scratch_write(state, "tree/run.sh", "#!/bin/sh\n", 0755);
	scratch_write(state, "tree/data/table", "1,2\n", 0640);
	assert_int_equal(mkdir(scratch_path(state, "tree/empty"), 0700), 0);
	assert_int_equal(symlink("data/table", scratch_path(state, "tree/link")), 0);
	assert_int_equal(symlink("/usr/bin/python3", scratch_path(state, "tree/python")), 0);
}

static void pack(void **state, const char *source, const char *target)
{
	struct err err cleanup_err = {0};
	int fd cleanup_close =
		open(scratch_path(state, target), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_success(archive_pack(scratch_path(state, source), fd, &err), &err);
}

static void expect_tree(void **state, const char *archive)
{
	struct err err cleanup_err = {0};
	char *before cleanup_free = fs_hash_tree(scratch_path(state, "tree"), &err);

	assert_success(archive_unpack(scratch_path(state, archive), scratch_path(state, "out"),
				      NULL, &err),
		       &err);
	char *after cleanup_free = fs_hash_tree(scratch_path(state, "out"), &err);
	assert_string_equal(before, after);
}

static void a_packed_directory_comes_out_as_it_was(void **state)
{
	make_tree(state);
	pack(state, "tree", "tree.tar.gz");
	expect_tree(state, "tree.tar.gz");
}

static void an_archive_of_another_form_is_packed_again(void **state)
{
	char *command cleanup_free =
		mem_printf("tar -cJf %s -C %s .", scratch_path(state, "tree.tar.xz"),
			   scratch_path(state, "tree"));
	unsigned char magic[2];

	make_tree(state);
	assert_int_equal(system(command), 0);
	pack(state, "tree.tar.xz", "tree.tar.gz");
	int fd cleanup_close = open(scratch_path(state, "tree.tar.gz"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, magic, sizeof(magic)), sizeof(magic));
	assert_memory_equal(magic, "\x1f\x8b", sizeof(magic));
	expect_tree(state, "tree.tar.gz");
}

static void what_is_no_file_is_named(void **state)
{
	struct err err cleanup_err = {0};
	int fd cleanup_close = open(scratch_path(state, "x"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(mkdir(scratch_path(state, "tree"), 0700), 0);
	assert_int_equal(mkfifo(scratch_path(state, "tree/pipe"), 0600), 0);
	assert_int_equal(archive_pack(scratch_path(state, "tree"), fd, &err), -1);
	assert_message_has(&err, "tree/pipe: it is neither a file, a directory nor a link");
}

/* ---- sending ------------------------------------------------------------------------------ */

/* What the scheduler was given. */
static struct {
	struct str names;
	bool source_is_a_snapshot;
	char *input; /* the content of what is to be standard input */
	bool goes_on;
} sent;

static int take(struct job *job, const struct scheduler_staging *staging, struct err *err)
{
	for (size_t i = 0; i < staging->count; i++) {
		const struct scheduler_file *file = &staging->files[i];
		str_append_format(&sent.names, "%zu:%s%s%s ", file->type, file->name,
				  file->archive ? "/" : "", file->optional ? "?" : "");
		if (str_equal(file->name, "tony-src")) {
			char *script cleanup_free = fs_join(file->source, "train.py");
			char *real cleanup_free = realpath(file->source, NULL);
			sent.source_is_a_snapshot =
				real && strstr(real, "tony-src-") && fs_exists(script);
		}
		if (str_equal(file->name, "tony-stdin"))
			sent.input = fs_read_file(file->source, 100, NULL, err);
	}
	sent.goes_on = staging->progress(staging->data, "x", 1, 2);
	return 0;
}

static bool no(void)
{
	return false;
}
static bool once_it_sends(void)
{
	return sent.names.length > 0;
}

static void send_all(void **state, bool (*interrupted)(void), struct job *job)
{
	const struct scheduler_client_ops ops = {.stage = take};
	struct stage_file files[] = {
		{STAGE_SOURCE, (char *)scratch_path(state, "src"), (char *)"."},
		{STAGE_UNPACK, (char *)"/data/venv.zip", (char *)"venv"},
		{STAGE_LINK, (char *)"/data/table", (char *)"data/table"},
		{STAGE_REMOTE, (char *)"hdfs:///x", (char *)"x"},
		{STAGE_REMOTE_UNPACK, (char *)"hdfs:///y.zip", (char *)"y"},
	};
	struct stage_file remote[] = {
		{STAGE_SOURCE_REMOTE, (char *)"hdfs:///src", (char *)"."},
		{STAGE_REMOTE, (char *)"hdfs:///y", (char *)"y", .optional = true},
	};
	struct stage_files types[] = {
		{files, array_length(files)}, {files, 1}, {remote, array_length(remote)}};
	const struct stage stage = {types, array_length(types)};
	struct err err cleanup_err = {0};

	scratch_write(state, "src/train.py", "pass\n", 0644);
	assert_success(stage_send(&stage, job, &ops, interrupted, &err), &err);
}

static struct job *make_job(void)
{
	struct job *job = mem_alloc(sizeof(*job));

	job->type_count = 3;
	job->types = mem_alloc_array(3, sizeof(*job->types));
	return job;
}

static void files_are_handed_over_as_they_are_to_appear(void **state)
{
	struct job *job = make_job();

	sent.names = (struct str){0};
	setenv("TMPDIR", scratch_path(state, "."), 1);
	send_all(state, no, job);
	unsetenv("TMPDIR");
	assert_string_equal(
		str_text(&sent.names),
		"0:tony-src/ 0:venv/ 0:data/table 0:x 0:y/ 1:tony-src/ 2:tony-src/ 2:y? ");
	assert_true(sent.source_is_a_snapshot);
	assert_true(sent.goes_on);
	assert_int_equal(job->types[0].files.count, 1);
	assert_int_equal(job->types[0].files.items[0].kind, JOB_FILE_CONTENT);
	assert_string_equal(job->types[0].files.items[0].source, "container:tony-src");
	assert_string_equal(job->types[1].files.items[0].name, ".");
	assert_string_equal(job->types[2].files.items[0].source, "container:tony-src");
	str_finish(&sent.names);
	job_destroy(job);
}

static void standard_input_goes_to_the_one_task(void **state)
{
	const struct scheduler_client_ops ops = {.stage = take};
	struct job *job = make_job();
	struct stage_files types[3] = {0};
	const struct stage stage = {types, 3, .has_stdin = true, .stdin_type = 1};
	struct err err cleanup_err = {0};
	int before cleanup_close = dup(STDIN_FILENO);

	scratch_write(state, "input", "data\n", 0600);
	int fd cleanup_close = open(scratch_path(state, "input"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
	sent.names = (struct str){0};
	setenv("TMPDIR", scratch_path(state, "."), 1);
	assert_success(stage_send(&stage, job, &ops, no, &err), &err);
	unsetenv("TMPDIR");
	dup2(before, STDIN_FILENO);
	assert_string_equal(str_text(&sent.names), "1:tony-stdin ");
	assert_text_freed(sent.input, "data\n");
	assert_string_equal(job->types[1].stdin_file, "container:tony-stdin");
	str_finish(&sent.names);
	job_destroy(job);
}

static void who_is_interrupted_stops(void **state)
{
	struct job *job = make_job();

	send_all(state, once_it_sends, job);
	assert_false(sent.goes_on);
	str_finish(&sent.names);
	job_destroy(job);
}

static void a_bar_says_how_long_it_will_take(void **state)
{
	const int64_t gib = 1 << 30;

	assert_text_freed(bar_line("copying", "src", 100, gib, 10 * gib, 80),
			  "copying src [###                           ] 10.0 GiB");
	assert_text_freed(bar_line("copying", "src", 2000, 5 * gib, 10 * gib, 80),
			  "copying src [###############               ] 10.0 GiB, 3.0 s left");
	assert_text_freed(bar_line("copying", "src", 2000, 2 * gib, gib, 80),
			  "copying src [##############################] 1.0 GiB");
	/* In a narrow terminal. */
	assert_text_freed(bar_line("copying", "src", 2000, 5 * gib, 10 * gib, 39),
			  "copying src [##  ] 10.0 GiB, 3.0 s left");
	assert_text_freed(bar_line("reading", "standard input", 2000, 2 * gib, 0, 80),
			  "reading standard input, 2.0 GiB so far");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(a_packed_directory_comes_out_as_it_was),
		scratch_test(an_archive_of_another_form_is_packed_again),
		scratch_test(what_is_no_file_is_named),
		scratch_test(files_are_handed_over_as_they_are_to_appear),
		scratch_test(standard_input_goes_to_the_one_task),
		scratch_test(who_is_interrupted_stops),
		scratch_test(a_bar_says_how_long_it_will_take),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
