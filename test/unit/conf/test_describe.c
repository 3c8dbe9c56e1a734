/* What becomes of the keys of types, files and times. */
#include "describe_bed.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/user.h"

static void test_a_job_of_tony(void **state)
{
	struct bed *bed = *state;

	fixture_write(
		"tony.xml",
		XML(PROPERTY("tony.worker.instances", "4") PROPERTY("tony.worker.memory", "4g")
			    PROPERTY("tony.worker.gpus", "1") PROPERTY("tony.ps.instances", "2")
				    PROPERTY("tony.ps.command",
					     "serve") PROPERTY("tony.containers.command", "train")
					    PROPERTY("tony.am.retry-count", "2")
						    PROPERTY("tony.application.timeout", "60000")));
	const struct job *job = bed_describe(bed);
	assert_string_equal(job->framework, "tensorflow");
	assert_string_equal(job->name, "TensorFlowApplication");
	assert_string_equal(job->queue, "default");
	assert_int_equal(job->mode, JOB_MODE_GANG);
	assert_int_equal(job->type_count, 2);
	assert_int_equal(job->retry_count, 2);
	assert_int_equal(job->infrastructure_retry_count, 10);
	assert_int_equal(job->retry_delay_ms, 200);
	assert_int_equal(job->application_timeout_ms, 60000);
	assert_int_equal(job->allocation_timeout_ms, 0);
	assert_int_equal(job->registration_timeout_ms, 900000);
	assert_int_equal(job->execution_timeout_ms, 0);
	assert_int_equal(job->heartbeat_interval_ms, 1000);
	assert_int_equal(job->max_missed_heartbeats, 25);
	assert_int_equal(job->executor_give_up_ms, 25000);
	assert_int_equal(job->metrics_interval_ms, 5000);
	assert_int_equal(job->error_lines, 20);
	assert_int_equal(job->log_rotate_bytes, 1 << 30);
	assert_true(job->gpu_metrics);
	assert_string_equal(job->gpu_command, "nvidia-smi");
	assert_null(job->checkpoint_dir);
	assert_null(job->tensorboard_log_dir);
	const struct job_type *worker = bed_type(bed, "worker"), *ps = bed_type(bed, "ps");
	assert_int_equal(worker->instances, 4);
	assert_int_equal(worker->memory, 4096);
	assert_int_equal(worker->gpus, 1);
	assert_int_equal(worker->vcores, 1);
	assert_int_equal(worker->processes, 1);
	assert_int_equal(worker->role, JOB_ROLE_TRACKED);
	assert_false(worker->stop_on_failure);
	assert_true(worker->hold_port);
	assert_int_equal(worker->stop_grace_ms, 10000);
	assert_string_equal(worker->command, "train");
	assert_string_equal(ps->command, "serve");
	assert_int_equal(ps->memory, 2048);
	assert_int_equal(ps->role, JOB_ROLE_UNTRACKED);
	assert_true(ps->stop_on_failure);
	assert_int_equal(bed_warnings(bed)->count, 1);
	assert_line_has(bed_warnings(bed), "tony.application.timeout: \"60000\" has no unit and "
					   "counts milliseconds (1 m 00 s)");
	assert_string_equal(bed->description.scheduler, "local");
}

static void test_own_keys(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1");
	bed_conf(bed, "tony.application.framework=generic");
	bed_conf(bed, "tony.worker.processes=4");
	bed_conf(bed, "tony.worker.max-restarts=3");
	bed_conf(bed, "tony.worker.hold-port=false");
	bed_conf(bed, "tony.worker.isolation=PID-namespace");
	bed_conf(bed, "tony.worker.stop-grace=1s");
	bed_conf(bed, "tony.task.executor.am-timeout=7s");
	bed_conf(bed, "tony.task.executor.registry-timeout-sec=5");
	bed_conf(bed, "tony.application.checkpoint-dir=checkpoints");
	bed_conf(bed, "tony.application.distributed-mode=fcfs");
	bed_conf(bed, "tony.application.tags=a, b");
	bed_conf(bed, "tony.task.log-rotate-size=0");
	const struct job *job = bed_describe(bed);
	const struct job_type *worker = bed_type(bed, "worker");
	assert_int_equal(worker->processes, 4);
	assert_int_equal(worker->max_restarts, 3);
	assert_false(worker->hold_port);
	assert_int_equal(worker->isolation, JOB_ISOLATION_PID_NAMESPACE);
	assert_int_equal(worker->stop_grace_ms, 1000);
	assert_int_equal(job->executor_give_up_ms, 7000);
	assert_int_equal(job->registration_timeout_ms, 5000);
	assert_int_equal(job->mode, JOB_MODE_FCFS);
	assert_int_equal(job->tags.count, 2);
	assert_int_equal(job->log_rotate_bytes, 0);
	assert_true(job->checkpoint_dir[0] == '/');
	assert_true(str_ends_with(job->checkpoint_dir, "/checkpoints"));
}

static void test_identity(void **state)
{
	struct bed *bed = *state;

	char *me cleanup_free = user_name_of(geteuid());
	setenv("USER", "ada", 1);
	BED_TYPES(bed, "worker=1");
	const struct job *job = bed_describe(bed);
	assert_string_equal(job->user, me);
	assert_int_equal(strlen(job->id), strlen("tony-20261121-061400-1f3a09c4"));
	assert_true(str_starts_with(job->id, "tony-20"));
	assert_int_equal(job->id[strspn(job->id, "tony-0123456789abcdef")], '\0');
	assert_true(job->submitted_ms > INT64_C(1600000000000));
}

static void test_no_command(void **state)
{
	struct bed *bed = *state;

	bed_conf(bed, "tony.worker.instances=1");
	bed_conf(bed, "tony.ps.instances=1");
	bed_conf(bed, "tony.db.instances=0");
	bed_refuse(bed);
	assert_int_equal(bed_errors(bed)->count, 1);
	assert_line_has(bed_errors(bed),
			"no command: write it after --, as in tony submit -- python3 train.py");
}

static void test_no_command_of_one_type(void **state)
{
	struct bed *bed = *state;

	bed_conf(bed, "tony.worker.instances=1");
	bed_conf(bed, "tony.ps.instances=1");
	bed_conf(bed, "tony.ps.command=serve");
	bed_refuse(bed);
	assert_int_equal(bed_errors(bed)->count, 1);
	assert_line(bed_errors(bed),
		    "task type worker has no command; write -- COMMAND, --executes COMMAND, "
		    "tony.worker.command or tony.containers.command");
}

static void test_chief_without_instances_is_no_chief(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1");
	bed_conf(bed, "tony.chief.gpus=1");
	bed_conf(bed, "tony.wroker.vcores=1");
	const struct job *job = bed_describe(bed);
	assert_int_equal(job_find_type(job, "chief"), -1);
	assert_line(bed_warnings(bed), "--conf: tony.chief.gpus: has no effect: "
				       "tony.chief.instances is not set");
	assert_line(bed_warnings(bed), "--conf: tony.wroker.vcores: has no effect: "
				       "tony.wroker.instances is not set; did you mean worker?");
}

static void test_types_of_a_site_warn_of_nothing(void **state)
{
	struct bed *bed = *state;

	fixture_write("site/tony-site.xml",
		      XML(PROPERTY("tony.ps.memory", "4g") PROPERTY("tony.am.memory", "4g")));
	BED_TYPES(bed, "worker=1");
	bed_conf(bed, "tony.ps.max-instances=3");
	bed_describe(bed);
	assert_no_lines(bed_warnings(bed));
}

static void test_roles(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1", "ps=1", "board=1", "both=1");
	bed_conf(bed, "tony.application.untracked.jobtypes=both");
	bed_conf(bed, "tony.application.sidecar.jobtypes=board,both,wroker");
	bed_conf(bed, "tony.application.stop-on-failure-jobtypes=worker");
	bed_describe(bed);
	assert_int_equal(bed_type(bed, "ps")->role, JOB_ROLE_TRACKED);
	assert_int_equal(bed_type(bed, "board")->role, JOB_ROLE_SIDECAR);
	assert_int_equal(bed_type(bed, "both")->role, JOB_ROLE_SIDECAR);
	assert_true(bed_type(bed, "worker")->stop_on_failure);
	assert_false(bed_type(bed, "ps")->stop_on_failure);
	assert_line(bed_warnings(bed),
		    "--conf: tony.application.sidecar.jobtypes: \"wroker\" is no task type of this "
		    "job; did you mean worker?");
}

static void test_nothing_tracked(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "ps=1", "worker=0");
	bed_refuse(bed);
	assert_line_has(bed_errors(bed),
			"--conf: tony.ps.instances: tasks of type ps serve others");
}

static void test_nothing_tracked_by_the_users_list(void **state)
{
	struct bed *bed = *state;

	bed_conf(bed, "tony.application.untracked.jobtypes=ps");
	BED_TYPES(bed, "ps=1", "worker=0");
	bed_refuse(bed);
	assert_line(bed_errors(bed),
		    "--conf: tony.application.untracked.jobtypes: every task is untracked or a "
		    "sidecar, so "
		    "the job would end at once; take one type, such as worker, out of it or add "
		    "one");
}

static void test_single_node(void **state)
{
	struct bed *bed = *state;

	fixture_write("tony.xml", XML(PROPERTY("tony.am.memory", "3g") PROPERTY("tony.am.gpus", "2")
					      PROPERTY("tony.am.vcores", "4")));
	bed->options.executes = mem_strdup("run");
	const struct job *job = bed_describe(bed);
	assert_int_equal(job->type_count, 1);
	const struct job_type *driver = bed_type(bed, "driver");
	assert_int_equal(driver->instances, 1);
	assert_int_equal(driver->memory, 3072);
	assert_int_equal(driver->gpus, 2);
	assert_int_equal(driver->vcores, 4);
	assert_string_equal(driver->command, "run");
	assert_int_equal(driver->role, JOB_ROLE_TRACKED);
	assert_string_equal(job->framework, "generic");
	assert_null(json_object_get(job->config, "tony.driver.instances"));
	assert_no_lines(bed_warnings(bed));
}

static void test_single_node_prefers_the_am_command(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=0");
	bed_conf(bed, "tony.am.command=own");
	bed_conf(bed, "tony.application.framework=PyTorch");
	const struct job *job = bed_describe(bed);
	assert_int_equal(job->type_count, 1);
	assert_string_equal(bed_type(bed, "driver")->command, "own");
	assert_string_equal(job->framework, "pytorch");
	assert_line_has(bed_warnings(bed), "--executes: has no effect");
}

static void test_keys_of_the_one_task(void **state)
{
	struct bed *bed = *state;

	fixture_write("tony.xml",
		      XML(PROPERTY("tony.driver.memory", "3g") PROPERTY("tony.driver.gpus", "2")
				  PROPERTY("tony.driver.command", "own")
					  PROPERTY("tony.am.memory", "1g")
						  PROPERTY("tony.driver.vcores", "4")));
	bed_conf(bed, "tony.am.vcores=3");
	const struct job *job = bed_describe(bed);
	const struct job_type *driver = bed_type(bed, "driver");
	assert_int_equal(job->type_count, 1);
	assert_int_equal(driver->memory, 3072);
	assert_int_equal(driver->gpus, 2);
	assert_int_equal(driver->vcores, 3);
	assert_string_equal(driver->command, "own");
	assert_int_equal(bed_warnings(bed)->count, 1);
	assert_line(bed_warnings(bed),
		    "tony.xml:4: tony.am.memory: has no effect: tony.driver.memory is set, too");
}

static void test_am_keys_beside_types(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1");
	bed_conf(bed, "tony.am.gpus=1");
	bed_conf(bed, "tony.am.memory=2g");
	bed_describe(bed);
	assert_int_equal(bed_warnings(bed)->count, 1);
	assert_line(bed_warnings(bed),
		    "--conf: tony.am.gpus: has no effect: on the local scheduler "
		    "it is for jobs without task types");
}

static void test_tensorboard(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "chief=1", "worker=2");
	bed->options.sidecar_tensorboard_log_dir = mem_strdup("/tmp/logs");
	const struct job *job = bed_describe(bed);
	const struct job_type *board = bed_type(bed, "tensorboard");
	assert_string_equal(job->tensorboard_log_dir, "/tmp/logs");
	assert_int_equal(board->instances, 1);
	assert_int_equal(board->vcores, 2);
	assert_int_equal(board->role, JOB_ROLE_SIDECAR);
	assert_string_equal(board->command,
			    "exec python3 -m tensorboard.main --logdir \"$TB_LOG_DIR\" --port "
			    "\"$TB_PORT\" --host \"$TONY_HOST\"");
	assert_int_equal(board->max_restarts, 3);
	const json_t *shown = json_object_get(job->config, "tony.tensorboard.instances");
	assert_string_equal(json_string_value(json_object_get(shown, "origin")),
			    "tony.application.tensorboard-log-dir");
}

static void test_tensorboard_is_what_the_user_says(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=2", "tensorboard=0");
	bed_conf(bed, "tony.application.tensorboard-log-dir=/tmp/logs");
	bed_describe(bed);
	assert_int_equal(bed_type(bed, "tensorboard")->instances, 0);
	assert_no_lines(bed_warnings(bed));
}

static void test_tensorboard_by_key_beside_one_task(void **state)
{
	struct bed *bed = *state;

	bed->options.executes = mem_strdup("train.py");
	bed->options.python_binary_path = mem_strdup("bin/my python");
	bed->options.python_venv = mem_strdup("venv.zip");
	fixture_write("venv.zip", "");
	bed_conf(bed, "tony.application.tensorboard-log-dir=/xml");
	bed_conf(bed, "tony.tensorboard.memory=1g");
	const struct job *job = bed_describe(bed);
	assert_int_equal(job->type_count, 2);
	assert_string_equal(bed_type(bed, "driver")->command, "venv/bin/my python train.py");
	assert_true(str_starts_with(bed_type(bed, "tensorboard")->command,
				    "exec 'venv/bin/my python' -m tensorboard.main"));
	assert_int_equal(bed_type(bed, "tensorboard")->memory, 1024);
	assert_no_lines(bed_warnings(bed));
	assert_string_equal(bed->description.interpreter, "venv/bin/my python");
	assert_true(str_ends_with(bed->description.python_venv, "/venv.zip"));
}

static void test_frameworks(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1");
	bed_conf(bed, "tony.application.framework=tensorfow");
	bed_refuse(bed);
	assert_line(bed_errors(bed), "--conf: tony.application.framework: \"tensorfow\" is not a "
				     "known framework; write tensorflow");
}

static void test_standalone_is_one_task(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1", "slave=1");
	bed_conf(bed, "tony.application.framework=STANDALONE");
	bed_refuse(bed);
	assert_line_has(bed_errors(bed), "standalone");
}

static void test_fail_fast(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1");
	bed_conf(bed, "tony.application.framework=pytorch");
	assert_true(bed_describe(bed)->fail_fast);
}

static void test_fail_fast_as_the_user_says(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1");
	bed_conf(bed, "tony.application.framework=pytorch");
	bed_conf(bed, "tony.application.fail-on-worker-failure-enabled=false");
	assert_false(bed_describe(bed)->fail_fast);
}

static void test_stop_after_chief(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "chief=1", "worker=1");
	assert_true(bed_describe(bed)->stop_after_chief);
}

static void test_stop_after_chief_leaves_time_to_groups(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "chief=1", "worker=1");
	bed_conf(bed, "tony.application.group.A=chief");
	bed_conf(bed, "tony.application.dependency.worker.timeout.after.A=10");
	assert_false(bed_describe(bed)->stop_after_chief);
}

static void test_no_chief_ends_nothing(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "chief=0", "worker=2");
	assert_false(bed_describe(bed)->stop_after_chief);
}

static void test_files(void **state)
{
	struct bed *bed = *state;

	fixture_write("a.zip", "");
	fixture_write("b.zip", "");
	fixture_write("src/main.py", "");
	BED_TYPES(bed, "worker=1", "ps=1");
	bed_conf(bed, "tony.worker.resources=a.zip::x#archive,,a.zip");
	bed_conf(bed, "tony.containers.resources=b.zip");
	bed_conf(bed, "tony.containers.resources=b.zip");
	bed->options.src_dir = mem_strdup("src");
	bed_describe(bed);
	const struct resource_list *worker = &bed->description.resources[0];
	assert_int_equal(worker->count, 3);
	assert_string_equal(worker->items[0].name, "x");
	assert_true(worker->items[0].archive);
	assert_string_equal(worker->items[1].name, "a.zip");
	assert_string_equal(worker->items[2].source, "b.zip");
	assert_int_equal(bed->description.resources[1].count, 1);
	assert_true(bed->description.src_dir[0] == '/');
	assert_true(str_ends_with(bed->description.src_dir, "/src"));
	assert_no_lines(bed_warnings(bed));
}

static void test_the_current_directory_as_source(void **state)
{
	struct bed *bed = *state;
	char *here cleanup_free = getcwd(NULL, 0);

	BED_TYPES(bed, "worker=1");
	bed->options.src_dir = mem_strdup(".");
	bed_describe(bed);
	assert_string_equal(bed->description.src_dir, here);
}

/* In a job file it starts there; elsewhere it is the submitting user's. */
static void expect_source(struct bed *bed, const char *expected)
{
	fixture_write("job/tony.xml", XML(PROPERTY("tony.application.src-dir", ".")));
	BED_TYPES(bed, "worker=1");
	bed->options.conf_file = mem_strdup("job/tony.xml");
	bed_describe(bed);
	char *path cleanup_free = fs_absolute(expected, NULL);
	assert_string_equal(bed->description.src_dir, path);
}

static void test_the_source_of_a_job_file(void **state)
{
	expect_source(*state, "job");
}

static void test_another_source_than_the_job_files(void **state)
{
	struct bed *bed = *state;

	fixture_write("src/main.py", "");
	bed_conf(bed, "tony.application.src-dir=src");
	expect_source(bed, "src");
}

static void test_the_option_for_the_source_wins(void **state)
{
	struct bed *bed = *state;

	fixture_write("${src}/main.py", "");
	bed_conf(bed, "tony.application.src-dir=nowhere");
	bed->options.src_dir = mem_strdup("${src}");
	expect_source(bed, "${src}");
}

static void test_a_missing_source_of_a_job_file(void **state)
{
	struct bed *bed = *state;

	fixture_write("tony.xml", XML(PROPERTY("tony.application.src-dir", "src")));
	BED_TYPES(bed, "worker=1");
	bed_refuse(bed);
	assert_line(bed_errors(bed),
		    "tony.xml:1: tony.application.src-dir: \"./src\": No such file "
		    "or directory; write the path of a directory or an archive");
}

static void test_an_environment_within_the_source(void **state)
{
	struct bed *bed = *state;

	fixture_write("src/.venv/pyvenv.cfg", "");
	BED_TYPES(bed, "worker=1");
	bed->options.src_dir = mem_strdup("src");
	bed_describe(bed);
	assert_line_has(bed_warnings(bed), "/src/.venv is a virtual environment, and would be");
}

static void test_missing_files(void **state)
{
	struct bed *bed = *state;

	fixture_write("d/a.zip", "");
	fixture_write("e/a.zip", "");
	BED_TYPES(bed, "worker=1");
	bed_conf(bed, "tony.worker.resources=no/such,s3://h/x,d/a.zip,e/a.zip");
	bed->options.src_dir = mem_strdup("nowhere");
	bed->options.python_venv = mem_strdup("s3://venv.zip");
	bed_refuse(bed);
	assert_int_equal(bed_errors(bed)->count, 5);
	assert_line(bed_errors(bed), "--conf: tony.worker.resources: \"no/such\": No such file or "
				     "directory; write the path of a file or directory");
	assert_line(bed_errors(bed),
		    "--conf: tony.worker.resources: \"s3://h/x\" is neither on this machine nor in "
		    "HDFS; copy it to either");
	assert_line(bed_errors(bed),
		    "--conf: tony.worker.resources: \"d/a.zip\" and \"e/a.zip\" would both appear "
		    "as \"a.zip\"; write one of them as SOURCE::NAME");
	assert_line(bed_errors(bed), "--src_dir: \"nowhere\": No such file or directory; write the "
				     "path of a directory or an archive");
	assert_line_has(bed_errors(bed),
			"--python_venv: \"s3://venv.zip\" is neither on this machine");
}

static void test_files_of_a_cluster(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1");
	bed_conf(bed, "tony.application.scheduler=yarn");
	bed_conf(bed, "tony.worker.resources=hdfs://h/x,hdfs:///d/y.zip::z#archive");
	bed_conf(bed, "tony.application.hadoop.location=hdfs:///hadoop.tar.gz#mr");
	bed->options.python_venv = mem_strdup("hdfs:///venv.zip");
	bed->options.src_dir = mem_strdup("hdfs:///src");
	bed_describe(bed);
	assert_string_equal(bed->description.src_dir, "hdfs:///src");
	assert_false(bed->description.resources[0].items[0].optional);
	const struct resource_list *list = &bed->description.resources[0];
	assert_string_equal(bed->description.scheduler, "yarn");
	assert_string_equal(bed->description.python_venv, "hdfs:///venv.zip");
	assert_int_equal(list->count, 3);
	assert_string_equal(list->items[1].name, "z");
	assert_true(list->items[1].remote && list->items[1].archive);
	assert_string_equal(list->items[2].source, "hdfs:///hadoop.tar.gz");
	assert_string_equal(list->items[2].name, "mr");
}

static void test_sources_in_hdfs_of_a_job_on_this_machine(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1");
	bed_conf(bed, "tony.application.src-dir=hdfs://h/src");
	bed_describe(bed);
	assert_string_equal(bed->description.scheduler, "local");
	assert_string_equal(bed->description.src_dir, "hdfs://h/src");
}

static void test_sources_in_no_file_system_that_is_read(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1");
	bed->options.src_dir = mem_strdup("s3a://bucket/src");
	bed_refuse(bed);
	assert_line(bed_errors(bed), "--src_dir: \"s3a://bucket/src\" is neither on this machine "
				     "nor in HDFS; copy it to either");
}

static void test_files_that_no_cluster_has(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1");
	bed_conf(bed, "tony.application.scheduler=yarn");
	bed_conf(bed, "tony.worker.resources=s3a://bucket/x");
	bed_conf(bed, "tony.application.hadoop.location=hdfs:///hadoop.tar.gz");
	bed_refuse(bed);
	assert_line(bed_errors(bed),
		    "--conf: tony.worker.resources: \"s3a://bucket/x\" is neither on "
		    "this machine nor in HDFS; copy it to either");
	assert_line_has(bed_errors(bed), "does not say what it is to be called; write URI#NAME");
}

static void test_errors_of_keys_and_of_the_whole_together(void **state)
{
	struct bed *bed = *state;

	bed_conf(bed, "tony.worker.instances=many");
	bed_conf(bed, "tony.worker.depends-on=db");
	bed_conf(bed, "tony.worker.memory=2q");
	bed_refuse(bed);
	assert_int_equal(bed_errors(bed)->count, 4);
	assert_line_has(bed_errors(bed), "\"many\"");
	assert_line_has(bed_errors(bed), "\"2q\"");
	assert_line_has(bed_errors(bed), "\"db\" is no task type of this job");
	assert_line_has(bed_errors(bed), "no command: write it after --");
	for (size_t i = 0; i < bed_errors(bed)->count; i++)
		assert_non_null(strstr(err_message(&bed->err), bed_errors(bed)->items[i]));
}

/* What the configuration lets pass, job.json must be able to say. */
static void test_extremes_survive_the_way_to_the_am(void **state)
{
	static const char *const pairs[] = {
		"tony.worker.memory=1048576t",
		"tony.worker.vcores=100000",
		"tony.worker.gpus=1024",
		"tony.worker.processes=1024",
		"tony.worker.max-restarts=1000000",
		"tony.worker.stop-grace=1d",
		"tony.am.retry-count=1000000",
		"tony.am.retry-delay=1h",
		"tony.application.timeout=3650d",
		"tony.container.allocation.timeout=3650d",
		"tony.task.log-rotate-size=1024t",
		"tony.task.log-keep=1000",
		"tony.task.heartbeat-interval-ms=1h",
		"tony.task.max-missed-heartbeats=1000000",
		"tony.task.metrics-interval-ms=1h",
		"tony.application.framework=generic",
		"tony.task.executor.execution.error-message-max-depth=1000",
		"tony.task.executor.am-timeout=3650d",
		"tony.am.infrastructure-retry-count=1000000",
		"tony.application.checkpoint-dir=/c",
		"tony.worker.stop-grace=0",
	};
	struct bed *bed = *state;
	struct err err cleanup_err = {0};

	BED_TYPES(bed, "worker=3");
	for (size_t i = 0; i < array_length(pairs); i++)
		bed_conf(bed, pairs[i]);
	char *text cleanup_free = job_to_text(bed_describe(bed));
	struct job *again = job_from_text(text, strlen(text), &err);
	if (!again)
		fail_msg("%s", err_message(&err));
	char *text_again cleanup_free = job_to_text(again);
	assert_string_equal(text, text_again);
	job_destroy(again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TEST(test_a_job_of_tony),
		BED_TEST(test_own_keys),
		BED_TEST(test_identity),
		BED_TEST(test_no_command),
		BED_TEST(test_no_command_of_one_type),
		BED_TEST(test_chief_without_instances_is_no_chief),
		BED_TEST(test_types_of_a_site_warn_of_nothing),
		BED_TEST(test_roles),
		BED_TEST(test_nothing_tracked),
		BED_TEST(test_nothing_tracked_by_the_users_list),
		BED_TEST(test_single_node),
		BED_TEST(test_single_node_prefers_the_am_command),
		BED_TEST(test_keys_of_the_one_task),
		BED_TEST(test_am_keys_beside_types),
		BED_TEST(test_tensorboard),
		BED_TEST(test_tensorboard_is_what_the_user_says),
		BED_TEST(test_tensorboard_by_key_beside_one_task),
		BED_TEST(test_frameworks),
		BED_TEST(test_standalone_is_one_task),
		BED_TEST(test_fail_fast),
		BED_TEST(test_fail_fast_as_the_user_says),
		BED_TEST(test_stop_after_chief),
		BED_TEST(test_stop_after_chief_leaves_time_to_groups),
		BED_TEST(test_no_chief_ends_nothing),
		BED_TEST(test_files),
		BED_TEST(test_the_current_directory_as_source),
		BED_TEST(test_the_source_of_a_job_file),
		BED_TEST(test_another_source_than_the_job_files),
		BED_TEST(test_the_option_for_the_source_wins),
		BED_TEST(test_a_missing_source_of_a_job_file),
		BED_TEST(test_an_environment_within_the_source),
		BED_TEST(test_missing_files),
		BED_TEST(test_files_of_a_cluster),
		BED_TEST(test_sources_in_hdfs_of_a_job_on_this_machine),
		BED_TEST(test_sources_in_no_file_system_that_is_read),
		BED_TEST(test_files_that_no_cluster_has),
		BED_TEST(test_extremes_survive_the_way_to_the_am),
		BED_TEST(test_errors_of_keys_and_of_the_whole_together),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
