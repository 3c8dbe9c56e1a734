#include "../base/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "client/stage.h"
#include "client/stage_cache.h"
#include "scheduler/local_job.h"
#include "scheduler/local_sources.h"

struct scene {
	char *base;
	struct description description;
	struct stage stage;
	struct err err;
};

static char *in(const struct scene *scene, const char *name)
{
	return fs_join(scene->base, name);
}

static void write_file(const struct scene *scene, const char *name, const char *text)
{
	char *path cleanup_free = in(scene, name);
	char *directory cleanup_free = fs_dirname(path);

	assert_int_equal(fs_make_directories(directory, 0755, NULL), 0);
	assert_int_equal(fs_write_file(path, text, strlen(text), 0644, NULL), 0);
}

/* A tar of the directory `name`, as name.tar. */
static char *pack(const struct scene *scene, const char *name)
{
	char *path cleanup_free = mem_printf("%s/%s.tar", scene->base, name);
	char *command cleanup_free = mem_printf("tar -cf %s -C %s/%s .", path, scene->base, name);

	assert_int_equal(system(command), 0);
	return mem_steal(&path);
}

static int open_scene(void **state)
{
	struct scene *scene = mem_alloc(sizeof(*scene));
	char template[] = "/tmp/tony-stage-XXXXXX";
	struct job *job = mem_alloc(sizeof(*job));

	assert_non_null(mkdtemp(template));
	scene->base = mem_strdup(template);
	setenv("TONY_STATE_DIR", template, 1);
	job->id = mem_strdup("tony-20261121-061400-1f3a");
	job->type_count = 2;
	job->types = mem_alloc_array(2, sizeof(*job->types));
	job->types[0].name = mem_strdup("worker");
	job->types[1].name = mem_strdup("ps");
	scene->description.job = job;
	scene->description.resources = mem_alloc_array(2, sizeof(struct resource_list));
	*state = scene;
	return 0;
}

static int close_scene(void **state)
{
	struct scene *scene = *state;

	description_finish(&scene->description);
	stage_finish(&scene->stage);
	err_finish(&scene->err);
	fs_remove_tree(scene->base, NULL);
	free(scene->base);
	free(scene);
	return 0;
}

static void add_resource(struct scene *scene, size_t type, const char *text)
{
	struct resource_spec spec = {0};

	assert_success(resource_parse(text, &spec, &scene->err), &scene->err);
	resource_list_take(&scene->description.resources[type], &spec);
}

static void plan(struct scene *scene)
{
	assert_success(stage_plan(&scene->description, &scene->stage, &scene->err), &scene->err);
}

static bool never(void)
{
	return false;
}

static bool always(void)
{
	return true;
}

static const struct job_file *resolved(struct scene *scene, size_t type, size_t file)
{
	return &scene->description.job->types[type].files.items[file];
}

static void files_are_linked_and_the_source_is_copied(void **state)
{
	struct scene *scene = *state;
	char *data cleanup_free = in(scene, "data");
	char *job_dir cleanup_free = in(scene, "jobs/tony-20261121-061400-1f3a");
	char *copy cleanup_free = fs_join(job_dir, "files/src/deep/train.py");
	char *checkpoint cleanup_free = fs_join(job_dir, "checkpoint");

	write_file(scene, "data", "1");
	write_file(scene, "code/deep/train.py", "old");
	char *named cleanup_free = mem_printf("%s::renamed", data);
	add_resource(scene, 0, named);
	scene->description.src_dir = in(scene, "code");
	plan(scene);
	assert_success(stage_resolve(&scene->stage, scene->description.job, &scene->err),
		       &scene->err);
	assert_int_equal(scene->description.job->types[0].files.count, 2);
	assert_int_equal(scene->description.job->types[1].files.count, 1);
	assert_int_equal(resolved(scene, 0, 0)->kind, JOB_FILE_CONTENT);
	assert_string_equal(resolved(scene, 0, 0)->name, ".");
	assert_string_equal(resolved(scene, 0, 0)->source, resolved(scene, 1, 0)->source);
	assert_int_equal(resolved(scene, 0, 1)->kind, JOB_FILE_LINK);
	assert_string_equal(resolved(scene, 0, 1)->source, data);
	assert_string_equal(resolved(scene, 0, 1)->name, "renamed");
	assert_string_equal(scene->description.job->checkpoint_dir, checkpoint);

	assert_success(fs_make_directories(job_dir, 0700, &scene->err), &scene->err);
	assert_success(
		stage_copy(&scene->stage, scene->description.job, job_dir, never, &scene->err),
		&scene->err);
	write_file(scene, "code/deep/train.py", "new");
	assert_text_freed(fs_read_file(copy, 100, NULL, NULL), "old");
	assert_true(fs_is_directory(checkpoint));
}

/* promise: S80 */
static void a_copy_of_the_source_has_no_secret(void **state)
{
	struct scene *scene = *state;
	char *job_dir cleanup_free = in(scene, "jobs/j");
	char *look cleanup_free = mem_printf("cd %s/files/src && test \"$(ls)\" = \"$(printf "
					     "'sub\\ntrain.py')\" && test -z \"$(ls sub)\"",
					     job_dir);
	char *sub cleanup_free = in(scene, "code/sub"), *link cleanup_free = fs_join(sub, "link");

	write_file(scene, "code/train.py", "print(1)");
	write_file(scene, "code/token", "canary");
	write_file(scene, "key", "canary");
	assert_int_equal(fs_make_directories(sub, 0755, NULL), 0);
	assert_int_equal(symlink("../../key", link), 0);
	scene->description.src_dir = in(scene, "code");
	for (size_t i = 0; i < 3; i++) {
		static const char *const names[] = {"code/token", "key", "not-there"};
		str_list_take(&scene->description.secret_files, in(scene, names[i]));
	}
	plan(scene);
	assert_success(stage_resolve(&scene->stage, scene->description.job, &scene->err),
		       &scene->err);
	assert_success(fs_make_directories(job_dir, 0700, &scene->err), &scene->err);
	assert_success(
		stage_copy(&scene->stage, scene->description.job, job_dir, never, &scene->err),
		&scene->err);
	assert_int_equal(system(look), 0);
}

static void an_archive_is_unpacked_once_for_all(void **state)
{
	struct scene *scene = *state;

	write_file(scene, "venv/bin/python", "#!/bin/sh\n");
	char *archive cleanup_free = pack(scene, "venv");
	char *as_resource cleanup_free = mem_printf("%s::lib#archive", archive);
	scene->description.python_venv = mem_strdup(archive);
	add_resource(scene, 1, as_resource);
	plan(scene);
	assert_int_equal(scene->stage.types[1].items[1].kind, STAGE_UNPACK);
	assert_success(stage_resolve(&scene->stage, scene->description.job, &scene->err),
		       &scene->err);
	assert_string_equal(resolved(scene, 0, 0)->name, "venv");
	assert_string_equal(resolved(scene, 1, 1)->name, "lib");
	assert_string_equal(resolved(scene, 0, 0)->source, resolved(scene, 1, 1)->source);
	char *program cleanup_free = fs_join(resolved(scene, 0, 0)->source, "bin/python");
	assert_true(fs_exists(program));
}

static void a_source_may_be_an_archive(void **state)
{
	struct scene *scene = *state;
	char *job_dir cleanup_free = in(scene, "jobs/j");
	char *copied cleanup_free = fs_join(job_dir, "files/src/train.py");

	write_file(scene, "code/train.py", "print(1)");
	scene->description.src_dir = pack(scene, "code");
	plan(scene);
	assert_success(stage_resolve(&scene->stage, scene->description.job, &scene->err),
		       &scene->err);
	assert_success(fs_make_directories(job_dir, 0700, &scene->err), &scene->err);
	assert_success(
		stage_copy(&scene->stage, scene->description.job, job_dir, never, &scene->err),
		&scene->err);
	assert_true(fs_exists(copied));
}

static void a_source_may_be_elsewhere(void **state)
{
	struct scene *scene = *state;

	scene->description.src_dir = mem_strdup("hdfs:///projects/code");
	plan(scene);
	assert_int_equal(scene->stage.types[1].items[0].kind, STAGE_SOURCE_REMOTE);
	assert_true(stage_is_source(&scene->stage.types[1].items[0]));
	assert_success(stage_resolve(&scene->stage, scene->description.job, &scene->err),
		       &scene->err);
	assert_int_equal(resolved(scene, 0, 0)->kind, JOB_FILE_CONTENT);
	assert_true(str_ends_with(resolved(scene, 0, 0)->source, "/files/src"));
}

static void directories_need_no_unpacking(void **state)
{
	struct scene *scene = *state;

	write_file(scene, "model/weights", "1");
	char *text cleanup_free = mem_printf("%s/model#archive", scene->base);
	add_resource(scene, 0, text);
	plan(scene);
	assert_int_equal(scene->stage.types[0].items[0].kind, STAGE_LINK);
	assert_string_equal(scene->stage.types[0].items[0].name, "model");
}

static void all_that_is_wrong_is_told_together(void **state)
{
	struct scene *scene = *state;

	write_file(scene, "plain", "text");
	char *text cleanup_free = mem_printf("%s/plain#archive", scene->base);
	char *venv cleanup_free = mem_printf("%s/plain::venv", scene->base);
	add_resource(scene, 0, text);
	add_resource(scene, 1, text);
	add_resource(scene, 1, venv);
	write_file(scene, "dir/x", "x");
	scene->description.python_venv = in(scene, "dir");
	scene->description.src_dir = in(scene, "plain");
	assert_int_equal(stage_plan(&scene->description, &scene->stage, &scene->err), -1);
	assert_int_equal(scene->err.kind, ERR_CONFIG);
	assert_message_has(&scene->err, "src_dir: ");
	assert_message_has(&scene->err, "resource: ");
	assert_message_has(&scene->err, "would both appear as \"venv\"");
	const char *first = strstr(err_message(&scene->err), "resource: ");
	assert_null(strstr(first + 1, "resource: "));
}

static void nothing_is_written_before_the_job_is_there(void **state)
{
	struct scene *scene = *state;
	char *jobs cleanup_free = in(scene, "jobs"), *cache cleanup_free = in(scene, "cache");

	write_file(scene, "code/train.py", "print(1)");
	scene->description.src_dir = pack(scene, "code");
	plan(scene);
	assert_false(fs_exists(cache));
	assert_success(stage_resolve(&scene->stage, scene->description.job, &scene->err),
		       &scene->err);
	assert_false(fs_exists(jobs));
}

static void a_hostile_archive_leaves_nothing_in_the_cache(void **state)
{
	struct scene *scene = *state;
	char *cache cleanup_free = in(scene, "cache");
	char *archive cleanup_free = in(scene, "evil.tar");
	char *command cleanup_free =
		mem_printf("cd %s && ln -s /etc evil && tar -cf evil.tar evil", scene->base);

	assert_int_equal(system(command), 0);
	assert_null(stage_cache_unpack(cache, archive, &scene->err));
	assert_message_has(&scene->err, "entry \"evil\"");
	char *look cleanup_free = mem_printf("test $(ls -d %s/*/ 2>/dev/null | wc -l) = 0", cache);
	assert_int_equal(system(look), 0);
}

static int copy_from(struct scene *scene, char *source, bool (*interrupted)(void))
{
	char *job_dir cleanup_free = in(scene, "code/state/jobs/j");

	scene->description.src_dir = source;
	plan(scene);
	assert_success(stage_resolve(&scene->stage, scene->description.job, &scene->err),
		       &scene->err);
	assert_success(fs_make_directories(job_dir, 0700, &scene->err), &scene->err);
	return stage_copy(&scene->stage, scene->description.job, job_dir, interrupted, &scene->err);
}

static void a_directory_that_holds_the_jobs_is_refused_before_it_is_copied(void **state)
{
	struct scene *scene = *state;
	char *copy cleanup_free = in(scene, "code/state/jobs/j/files/src");

	write_file(scene, "code/train.py", "print(1)");
	assert_int_equal(copy_from(scene, in(scene, "code"), never), -1);
	assert_int_equal(scene->err.kind, ERR_CONFIG);
	assert_message_has(&scene->err, "would be copied into itself");
	assert_false(fs_exists(copy));
}

static void copying_ends_when_the_user_wants_it_to(void **state)
{
	struct scene *scene = *state;

	write_file(scene, "program/train.py", "print(1)");
	assert_int_equal(copy_from(scene, in(scene, "program"), always), -1);
	assert_message_has(&scene->err, "interrupted");
}

static void flaws_of_the_users_files_are_the_users_to_mend(void **state)
{
	struct scene *scene = *state;
	char *job_dir cleanup_free = in(scene, "jobs/j");
	char *pipe cleanup_free = in(scene, "code/pipe");

	write_file(scene, "code/train.py", "print(1)");
	assert_int_equal(mkfifo(pipe, 0600), 0);
	scene->description.src_dir = in(scene, "code");
	scene->description.python_venv = in(scene, "cut.tar.gz");
	write_file(scene, "cut.tar.gz", "\x1f\x8b\x08");
	plan(scene);
	assert_int_equal(stage_resolve(&scene->stage, scene->description.job, &scene->err), -1);
	assert_int_equal(scene->err.kind, ERR_CONFIG);
	assert_message_has(&scene->err, "cut.tar.gz");
	err_finish(&scene->err);
	assert_success(fs_make_directories(job_dir, 0700, &scene->err), &scene->err);
	assert_int_equal(
		stage_copy(&scene->stage, scene->description.job, job_dir, never, &scene->err), -1);
	assert_int_equal(scene->err.kind, ERR_CONFIG);
	assert_message_has(&scene->err, "src_dir: ");
	assert_message_has(&scene->err, "pipe");
}

static void many_at_once_share_one_unpacking(void **state)
{
	enum { PROCESSES = 8 };
	struct scene *scene = *state;
	char *cache cleanup_free = in(scene, "cache");
	pid_t children[PROCESSES];

	for (int i = 0; i < 200; i++) {
		char *name cleanup_free = mem_printf("many/file-%d", i);
		write_file(scene, name, name);
	}
	char *archive cleanup_free = pack(scene, "many");
	for (int i = 0; i < PROCESSES; i++) {
		children[i] = fork();
		if (children[i] == 0) {
			char *directory cleanup_free = stage_cache_unpack(cache, archive, NULL);
			char *last cleanup_free = directory ? fs_join(directory, "file-199") : NULL;
			_exit(last && fs_exists(last) ? 0 : 1);
		}
	}
	for (int i = 0; i < PROCESSES; i++) {
		int status;
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
}

static void what_a_killed_unpacking_left_is_no_harm(void **state)
{
	struct scene *scene = *state;
	char *cache cleanup_free = in(scene, "cache");

	write_file(scene, "code/train.py", "print(1)");
	char *archive cleanup_free = pack(scene, "code");
	char *hash cleanup_free = fs_hash_tree(archive, NULL);
	char *half cleanup_free = mem_printf("cache/%s.part/junk", hash);
	write_file(scene, half, "junk");
	char *directory cleanup_free = stage_cache_unpack(cache, archive, &scene->err);
	assert_non_null(directory);
	char *junk cleanup_free = fs_join(directory, "junk");
	assert_false(fs_exists(junk));
}

/* Unpacks `name`.tar, as if that had been done 40 days ago. */
static char *unpack_long_ago(const struct scene *scene, const char *name)
{
	char *cache cleanup_free = in(scene, "cache");
	char *content cleanup_free = mem_printf("%s/train.py", name);

	write_file(scene, content, name);
	char *archive cleanup_free = pack(scene, name);
	char *directory = stage_cache_unpack(cache, archive, NULL);
	assert_non_null(directory);
	char *lock cleanup_free = mem_printf("%s.lock", directory);
	const time_t then = time(NULL) - 40 * 86400;
	const struct timespec times[] = {{.tv_sec = then}, {.tv_sec = then}};
	assert_int_equal(utimensat(AT_FDCWD, lock, times, 0), 0);
	return directory;
}

static void age_cache(const char *state, int64_t max_age_ms)
{
	struct stage_cache_removal removal = {0};

	stage_cache_age(state, max_age_ms, &removal);
}

static void what_nobody_has_used_for_long_is_removed(void **state)
{
	const int64_t day_ms = 86400000;
	struct scene *scene = *state;
	char *cache cleanup_free = in(scene, "cache"),
		    *jobs cleanup_free = in(scene, "jobs/tony-1");
	char *unused cleanup_free = unpack_long_ago(scene, "unused");
	char *again cleanup_free = unpack_long_ago(scene, "again");
	char *lock cleanup_free = mem_printf("%s.lock", unused);
	char *archive cleanup_free = in(scene, "again.tar");

	age_cache(scene->base, 30 * day_ms);
	assert_true(fs_is_directory(unused)); /* who knows which jobs there are? */
	assert_int_equal(fs_make_directories(jobs, 0700, NULL), 0);
	age_cache(scene->base, 50 * day_ms);
	assert_true(fs_is_directory(unused));
	free(stage_cache_unpack(cache, archive, NULL));
	age_cache(scene->base, 30 * day_ms);
	assert_false(fs_exists(unused));
	assert_false(fs_exists(lock));
	assert_true(fs_is_directory(again));
	age_cache(scene->base, 1);
	assert_true(fs_is_directory(again)); /* of today */
}

static void what_a_live_job_has_stays(void **state)
{
	struct scene *scene = *state;
	struct job *job = scene->description.job;
	/* Not that of other tests, whose processes may run at this moment. */
	char *place cleanup_free = mem_printf("jobs/tony-20261121-061400-%x", getpid());
	char *job_dir cleanup_free = in(scene, place);
	char *path cleanup_free = fs_join(job_dir, "job.json");
	char *used cleanup_free = unpack_long_ago(scene, "used");

	assert_int_equal(fs_make_directories(job_dir, 0700, NULL), 0);
	job->name = mem_strdup("digits");
	job->user = mem_strdup("ada");
	job->framework = mem_strdup("generic");
	job->heartbeat_interval_ms = 1000;
	job->max_missed_heartbeats = 25;
	for (size_t i = 0; i < job->type_count; i++) {
		job->types[i].instances = job->types[i].processes = 1;
		job->types[i].memory = 64;
		job->types[i].command = mem_strdup("true");
	}
	job->types[0].files.count = 1;
	job->types[0].files.items = mem_alloc(sizeof(struct job_file));
	job->types[0].files.items[0] =
		(struct job_file){JOB_FILE_LINK, mem_strdup(used), mem_strdup("used")};
	char *unused cleanup_free = unpack_long_ago(scene, "unused");
	char *text cleanup_free = job_to_text(job);
	assert_int_equal(fs_write_file(path, text, strlen(text), 0600, NULL), 0);
	int claim = local_job_claim(job_dir, &scene->err);
	assert_true(claim >= 0);
	char *other cleanup_free = mem_printf("%s-link", scene->base);
	assert_int_equal(symlink(scene->base, other), 0);
	age_cache(other, 1);
	unlink(other);
	assert_true(fs_is_directory(used));
	age_cache(scene->base, 1);
	assert_true(fs_is_directory(used));
	assert_false(fs_exists(unused));
	close(claim);
	age_cache(scene->base, 1);
	assert_false(fs_exists(used));
}

/* ---- sources of ended jobs ---------------------------------------------------------------- */

static char *share(struct scene *scene, const char *job, const char *text)
{
	char *job_dir = in(scene, job);
	char *name cleanup_free = mem_printf("%s/files/src/sub/train.py", job);

	write_file(scene, name, text);
	assert_success(local_sources_share(job_dir, &scene->err), &scene->err);
	return job_dir;
}

static void assert_sources(const char *job_dir, const char *text)
{
	char *path cleanup_free = fs_join(job_dir, "files/src/sub/train.py");

	assert_text_freed(fs_read_file(path, 100, NULL, NULL), text);
}

static void sources_are_kept_once_for_all_jobs(void **state)
{
	struct scene *scene = *state;
	char *one cleanup_free = share(scene, "jobs/one", "print(1)");
	char *two cleanup_free = share(scene, "jobs/two", "print(1)");
	char *three cleanup_free = share(scene, "jobs/three", "print(3)");
	char *hash cleanup_free = local_sources_shared(one);
	char *same cleanup_free = local_sources_shared(two);
	char *other cleanup_free = local_sources_shared(three);

	assert_string_equal(hash, same);
	assert_string_not_equal(hash, other);
	assert_sources(one, "print(1)");
	assert_sources(two, "print(1)");
	assert_sources(three, "print(3)");
	assert_success(local_sources_share(one, &scene->err), &scene->err); /* once is enough */
	assert_sources(one, "print(1)");
}

/* A file may be empty after a power loss, or a user may have written into what is kept. */
static void kept_sources_that_were_changed_are_left_alone(void **state)
{
	struct scene *scene = *state;
	char *one cleanup_free = share(scene, "jobs/one", "print(1)");
	char *hash cleanup_free = local_sources_shared(one);
	char *changed cleanup_free = mem_printf("cache/%s/sub/train.py", hash);

	write_file(scene, changed, "");
	char *two cleanup_free = share(scene, "jobs/two", "print(1)");
	assert_null(local_sources_shared(two)); /* has its own */
	assert_sources(two, "print(1)");
	assert_sources(one, "");
}

static void sources_are_kept_as_long_as_a_job_that_has_them(void **state)
{
	struct scene *scene = *state;
	char *job_dir cleanup_free = share(scene, "jobs/one", "print(1)");
	char *hash cleanup_free = local_sources_shared(job_dir);
	char *cache cleanup_free = in(scene, "cache"), *kept cleanup_free = fs_join(cache, hash);
	char *lock cleanup_free = mem_printf("%s.lock", kept);
	const struct timespec long_ago[] = {{.tv_sec = 1}, {.tv_sec = 1}};

	assert_int_equal(utimensat(AT_FDCWD, lock, long_ago, 0), 0);
	age_cache(scene->base, 1);
	assert_sources(job_dir, "print(1)");
	assert_success(fs_remove_tree(job_dir, &scene->err), &scene->err);
	age_cache(scene->base, 1);
	assert_false(fs_exists(kept));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, open_scene, close_scene)

static void expect_no_stdin(struct scene *scene, const char *message)
{
	assert_int_equal(stage_plan_stdin(scene->description.job, &scene->stage, &scene->err), -1);
	assert_int_equal(scene->err.kind, ERR_USAGE);
	assert_message_has(&scene->err, message);
	assert_false(scene->stage.has_stdin);
	err_finish(&scene->err);
}

static void standard_input_is_for_a_job_of_one_task(void **state)
{
	struct scene *scene = *state;
	struct job_type *types = scene->description.job->types;

	types[0].instances = 1;
	types[1].instances = 1;
	expect_no_stdin(scene, "--stdin: the job has 2 tasks");
	types[1].instances = 0;
	types[0].min_instances = 1;
	types[0].max_instances = 3;
	expect_no_stdin(scene, "--stdin: the job has 3 tasks");
	types[0] =
		(struct job_type){.name = types[0].name, .instances = 1, .role = JOB_ROLE_SIDECAR};
	types[1].instances = 1;
	assert_success(stage_plan_stdin(scene->description.job, &scene->stage, &scene->err),
		       &scene->err);
	assert_true(scene->stage.has_stdin);
	assert_int_equal(scene->stage.stdin_type, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_are_linked_and_the_source_is_copied),
		TEST(a_copy_of_the_source_has_no_secret),
		TEST(an_archive_is_unpacked_once_for_all),
		TEST(a_source_may_be_an_archive),
		TEST(a_source_may_be_elsewhere),
		TEST(directories_need_no_unpacking),
		TEST(all_that_is_wrong_is_told_together),
		TEST(nothing_is_written_before_the_job_is_there),
		TEST(a_hostile_archive_leaves_nothing_in_the_cache),
		TEST(a_directory_that_holds_the_jobs_is_refused_before_it_is_copied),
		TEST(copying_ends_when_the_user_wants_it_to),
		TEST(flaws_of_the_users_files_are_the_users_to_mend),
		TEST(standard_input_is_for_a_job_of_one_task),
		TEST(many_at_once_share_one_unpacking),
		TEST(what_a_killed_unpacking_left_is_no_harm),
		TEST(what_nobody_has_used_for_long_is_removed),
		TEST(what_a_live_job_has_stays),
		TEST(sources_are_kept_once_for_all_jobs),
		TEST(kept_sources_that_were_changed_are_left_alone),
		TEST(sources_are_kept_as_long_as_a_job_that_has_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
