/* Order, group timeouts and limits. */
#include "describe_bed.h"

#include "base/mem.h"

static void check_dependencies(const struct bed *bed, const char *type, const char *expected)
{
	char *found cleanup_free = bed_dependencies(bed, type);

	assert_string_equal(found, expected);
}

static void test_stages(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "dbwriter=1", "db=1", "ps=1", "worker=2");
	bed_conf(bed, "tony.application.untracked.jobtypes=db,ps");
	bed_conf(bed, "tony.application.prepare-stage=dbwriter, db");
	bed_conf(bed, "tony.application.training-stage=ps,worker");
	bed_describe(bed);
	check_dependencies(bed, "worker", "dbwriter:finish");
	check_dependencies(bed, "ps", "dbwriter:finish");
	check_dependencies(bed, "db", "");
	check_dependencies(bed, "dbwriter", "");
	assert_no_lines(bed_warnings(bed));
}

static void test_training_stage_is_filled_in(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "db=1", "worker=1", "ps=1");
	bed->options.sidecar_tensorboard_log_dir = mem_strdup("/logs");
	bed_conf(bed, "tony.application.prepare-stage=db");
	bed_describe(bed);
	check_dependencies(bed, "worker", "db:finish");
	check_dependencies(bed, "tensorboard", "");
	assert_line(bed_warnings(bed), "tony.application.training-stage: is not set and taken as "
				       "\"worker, ps\"");
}

static void test_prepare_stage_is_filled_in(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "db=1", "worker=1");
	bed_conf(bed, "tony.application.training-stage=worker");
	bed_describe(bed);
	check_dependencies(bed, "worker", "db:finish");
	assert_line(bed_warnings(bed), "tony.application.prepare-stage: is not set and taken as "
				       "\"db\"");
}

static void test_stages_that_do_not_add_up(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "db=1", "worker=1", "extra=1");
	bed_conf(bed, "tony.application.prepare-stage=db,wroker");
	bed_conf(bed, "tony.application.training-stage=worker,db");
	bed_refuse(bed);
	assert_int_equal(bed_errors(bed)->count, 3);
	assert_line(bed_errors(bed),
		    "--conf: tony.application.prepare-stage: \"wroker\" is no task type of this "
		    "job; did you mean worker?; write tony.wroker.instances or take it out");
	assert_line(bed_errors(bed), "--conf: tony.application.training-stage: \"db\" is in the "
				     "prepare stage too; write it in one");
	assert_line(bed_errors(bed),
		    "--conf: tony.application.training-stage: the task type extra is in no stage; "
		    "add it to this one or to tony.application.prepare-stage");
}

static void test_depends_on(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "db=1", "cache=1", "ps=1", "worker=4", "report=1");
	bed_conf(bed, "tony.worker.depends-on=db, cache:start, ps");
	bed_conf(bed, "tony.report.depends-on=worker:finish,db:start,db:finish");
	bed_describe(bed);
	check_dependencies(bed, "worker", "db:finish,cache:start,ps:start");
	check_dependencies(bed, "report", "db:finish,worker:finish");
}

static void test_depends_on_errors(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1", "ps=1");
	bed_conf(bed, "tony.worker.depends-on=ps:finish,wroker,db");
	bed_refuse(bed);
	assert_int_equal(bed_errors(bed)->count, 3);
	assert_line(bed_errors(bed),
		    "--conf: tony.worker.depends-on: \"ps:finish\" would wait for ever: ps is "
		    "untracked or a sidecar, and only ends with the job; write ps:start");
	assert_line(bed_errors(bed),
		    "--conf: tony.worker.depends-on: \"wroker\" is no task type of "
		    "this job; did you mean worker?");
	assert_line(bed_errors(bed), "--conf: tony.worker.depends-on: \"db\" is no task type of "
				     "this job; write the name of one");
}

static void test_circle(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "a=1", "b=1", "c=1", "d=1");
	bed_conf(bed, "tony.a.depends-on=b");
	bed_conf(bed, "tony.b.depends-on=c:start");
	bed_conf(bed, "tony.c.depends-on=a");
	bed_conf(bed, "tony.d.depends-on=d,a");
	bed_refuse(bed);
	assert_int_equal(bed_errors(bed)->count, 2);
	assert_line(bed_errors(bed), "--conf: tony.c.depends-on: task types wait for each other: a "
				     "-> b -> c -> a; take one of these out");
	assert_line(bed_errors(bed), "--conf: tony.d.depends-on: task types wait for each other: d "
				     "-> d; take one of these out");
}

static void test_circle_through_a_stage(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "db=1", "worker=1");
	bed_conf(bed, "tony.application.prepare-stage=db");
	bed_conf(bed, "tony.db.depends-on=worker");
	bed_refuse(bed);
	assert_line(bed_errors(bed), "--conf: tony.db.depends-on: task types wait for each other: "
				     "db -> worker -> db; take one of these out");
}

static void test_group_timeouts(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "chief=1", "worker=3", "evaluator=1");
	bed_conf(bed, "tony.application.group.A=chief,worker,nobody");
	bed_conf(bed, "tony.application.dependency.evaluator.timeout.after.A=3600");
	bed_conf(bed, "tony.application.dependency.evaluator.timeout.after.A.ignored=true");
	bed_conf(bed, "tony.application.dependency.worker.timeout.after.A=2m");
	const struct job *job = bed_describe(bed);
	assert_int_equal(job->group_timeout_count, 2);
	const struct job_group_timeout *first = &job->group_timeouts[0];
	assert_string_equal(job->types[first->type].name, "evaluator");
	assert_string_equal(first->group, "A");
	assert_int_equal(first->timeout_ms, 3600000);
	assert_true(first->ignored);
	assert_int_equal(first->member_count, 2);
	assert_string_equal(job->types[first->members[1]].name, "worker");
	assert_int_equal(job->group_timeouts[1].timeout_ms, 120000);
	assert_false(job->group_timeouts[1].ignored);
	assert_line_has(bed_warnings(bed),
			"tony.application.group.A: \"nobody\" is no task type of "
			"this job and is left out");
}

static void test_group_timeouts_left_out(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1");
	bed_conf(bed, "tony.application.group.A=worker");
	bed_conf(bed, "tony.application.dependency.nobody.timeout.after.A=1s");
	bed_conf(bed, "tony.application.dependency.worker.timeout.after.B=1s");
	bed_conf(bed, "tony.application.dependency.worker.timeout.after.A=0");
	bed_conf(bed, "tony.application.dependency.worker.timeout.after.C.ignored=true");
	bed_conf(bed, "tony.application.group.D=worker");
	assert_int_equal(bed_describe(bed)->group_timeout_count, 0);
	assert_int_equal(bed_warnings(bed)->count, 5);
	assert_line(bed_warnings(bed), "--conf: tony.application.group.D: has no effect: no "
				       "tony.application.dependency.<type>.timeout names it");
	assert_line(bed_warnings(bed),
		    "--conf: tony.application.dependency.nobody.timeout.after.A: "
		    "has no effect: no task type is called nobody");
	assert_line(bed_warnings(bed),
		    "--conf: tony.application.dependency.worker.timeout.after.B: "
		    "has no effect: no task type of the job is in the group B");
	assert_line_has(bed_warnings(bed), "after.A: has no effect: 0 is no limit for A");
	assert_line_has(bed_warnings(bed), "C.ignored: has no effect: the timeout itself is not "
					   "set");
}

static void test_limit_of_instances(void **state)
{
	struct bed *bed = *state;

	fixture_write("site/tony-site.xml", XML("\n" FINAL("tony.foo.max-instances", "1") FINAL(
						    "tony.task.max-total-instances", "3")));
	BED_TYPES(bed, "foo=2", "bar=2");
	bed_refuse(bed);
	assert_int_equal(bed_errors(bed)->count, 2);
	assert_line(bed_errors(bed), "--conf: tony.foo.instances: \"2\" is more than the limit 1 "
				     "(site/tony-site.xml:2: tony.foo.max-instances); write 1 or "
				     "less");
	assert_line(bed_errors(bed),
		    "site/tony-site.xml:3: tony.task.max-total-instances: the job asks for 4 "
		    "instances over all tasks, and 3 is the limit; ask for less");
}

/* TonY multiplies each type's instances with themselves here. */
static void test_limit_of_instances_is_no_square(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=4", "ps=2");
	bed_conf(bed, "tony.task.max-total-instances=6");
	bed_describe(bed);
}

static void test_limits_of_resources(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=3", "ps=1");
	bed_conf(bed, "tony.worker.gpus=1");
	bed_conf(bed, "tony.ps.gpus=3");
	bed_conf(bed, "tony.worker.vcores=2");
	bed_conf(bed, "tony.task.max-total-gpus=5");
	bed_conf(bed, "tony.task.max-total-vcores=6");
	bed_conf(bed, "tony.task.max-total-memory=7g");
	bed_refuse(bed);
	assert_int_equal(bed_errors(bed)->count, 3);
	assert_line_has(bed_errors(bed), "tony.task.max-total-gpus: the job asks for 6 gpus over "
					 "all tasks, and 5 is the limit");
	assert_line_has(bed_errors(bed), "tony.task.max-total-vcores: the job asks for 7 vcores");
	assert_line_has(bed_errors(bed), "tony.task.max-total-memory: the job asks for 8.0 GiB of "
					 "memory over all tasks, and 7.0 GiB is the limit");
}

static void test_limits_that_are_just_met(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=2");
	bed_conf(bed, "tony.worker.max-instances=2");
	bed_conf(bed, "tony.worker.gpus=5");
	bed_conf(bed, "tony.task.max-total-gpus=10");
	bed_conf(bed, "tony.task.max-total-memory=4g");
	bed_describe(bed);
}

static void test_limit_of_nothing_for_no_tasks(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1", "ps=0");
	bed_conf(bed, "tony.ps.max-instances=0");
	bed_conf(bed, "tony.ps.gpus=4");
	bed_conf(bed, "tony.task.max-total-gpus=0");
	bed_describe(bed);
}

static void test_too_many_tasks(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=100000", "ps=1");
	bed_refuse(bed);
	assert_line(bed_errors(bed), "tony.<type>.instances: the job asks for 100001 tasks, and "
				     "100000 is the most; ask for fewer");
}

/* Sums of what no machine has must not wrap around. */
static void test_sums_do_not_overflow(void **state)
{
	struct bed *bed = *state;

	for (int i = 0; i < 200; i++) {
		str_list_add_format(&bed->options.conf, "tony.t%d.instances=100000", i);
		str_list_add_format(&bed->options.conf, "tony.t%d.memory=1048576t", i);
	}
	bed->options.executes = mem_strdup("true");
	bed_conf(bed, "tony.task.max-total-memory=1t");
	bed_refuse(bed);
	assert_line_has(bed_errors(bed), "tony.task.max-total-memory: the job asks for ");
	assert_line_has(bed_errors(bed), "the job asks for 20000000 tasks");
}

/* Nothing else is said: the types are not looked at, of which there may be many more. */
static void test_too_many_types(void **state)
{
	struct bed *bed = *state;

	for (int i = 0; i < 1001; i++)
		str_list_add_format(&bed->options.conf, "tony.t%d.instances=1", i);
	bed->options.executes = mem_strdup("true");
	bed_refuse(bed);
	assert_int_equal(bed_errors(bed)->count, 1);
	assert_line(bed_errors(bed), "tony.<type>.instances: the job has 1001 task types, and 1000 "
				     "is the most; write fewer");
}

static void test_on_exit(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1", "ps=1");
	bed_conf(bed, "tony.worker.on-exit=3->retry, 64-78->fail,SIGTERM->ignore");
	bed_describe(bed);
	char *rules cleanup_free = str_list_join(&bed_type(bed, "worker")->on_exit, "; ");
	assert_string_equal(rules, "3->retry; 64-78->fail; SIGTERM->ignore");
	assert_int_equal(bed_type(bed, "ps")->on_exit.count, 0);
}

static void test_on_exit_errors(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1");
	bed_conf(bed, "tony.worker.on-exit=0->fail,3=retry,300->retry,4->again,5->fail");
	bed_refuse(bed);
	assert_int_equal(bed_errors(bed)->count, 4);
	assert_line(bed_errors(bed),
		    "--conf: tony.worker.on-exit: \"0->fail\": 0 is success, which "
		    "needs no rule; take it out");
	assert_line(bed_errors(bed),
		    "--conf: tony.worker.on-exit: \"3=retry\" is not a rule; write "
		    "CODE->ACTION, such as 3->retry");
	assert_line(bed_errors(bed), "--conf: tony.worker.on-exit: \"4->again\": \"again\" is not "
				     "known; write retry, fail or ignore");
}

/* promise: S36 */
static void test_strict_ports_follow_the_framework(void **state)
{
	static const struct {
		const char *framework, *type;
		bool is_strict;
	} rows[] = {
		{"tensorflow", "worker", true}, {"tensorflow", "tensorboard", false},
		{"jax", "worker", true},	{"mpi", "worker", true},
		{"mpi", "launcher", true},	{"xgboost", "tracker", true},
		{"xgboost", "worker", true},	{"dask", "worker", true},
		{"dask", "driver", true},	{"dask", "scheduler", false},
		{"ray", "worker", true},	{"ray", "driver", true},
		{"ray", "head", false},		{"pytorch", "worker", false},
		{"torchrun", "worker", false},	{"lightgbm", "worker", false},
		{"mxnet", "worker", true},	{"mxnet", "server", true},
		{"mxnet", "scheduler", false},	{"horovod", "worker", true},
		{"generic", "worker", false},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		struct bed *bed = *state;
		char *key cleanup_free =
			mem_printf("tony.application.framework=%s", rows[i].framework);
		bed_conf(bed, key);
		BED_TYPES(bed, "worker=1", "tensorboard=1");
		bed_describe(bed);
		assert_int_equal(bed_type(bed, rows[i].type)->strict_port, rows[i].is_strict);
		bed_leave(state);
		bed_enter(state);
	}
}

/* Without the framework's name the programs may be any. */
static void test_no_port_is_strict_by_default(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1");
	assert_string_equal(bed_describe(bed)->framework, "tensorflow");
	assert_false(bed_type(bed, "worker")->strict_port);
}

static void test_listener_uids(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1", "ps=1");
	bed_conf(bed, "tony.worker.listener-uids=daemon,0100999,any");
	bed_conf(bed, "tony.worker.strict-port=true");
	bed_conf(bed, "tony.ps.strict-port=true");
	bed_describe(bed);
	char *uids cleanup_free = str_list_join(&bed_type(bed, "worker")->listener_uids, " ");
	assert_string_equal(uids, "1 100999 any");
	assert_false(bed_type(bed, "worker")->strict_port);
	assert_true(bed_type(bed, "ps")->strict_port);
}

static void test_listener_uids_of_nobody(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1");
	bed_conf(bed, "tony.worker.listener-uids=no-such-user,-1");
	bed_refuse(bed);
	assert_int_equal(bed_errors(bed)->count, 2);
	assert_line(bed_errors(bed),
		    "--conf: tony.worker.listener-uids: \"no-such-user\" is no user "
		    "of this machine; write a name, a number, or any");
}

/* promise: R21 */
static void test_hang_timeout_of_who_waits_for_others(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1", "ps=1");
	bed_conf(bed, "tony.worker.hang-timeout=10m");
	bed_conf(bed, "tony.ps.hang-timeout=10m");
	bed_describe(bed);
	assert_int_equal(bed_type(bed, "worker")->hang_timeout_ms, 600000);
	assert_int_equal(bed_warnings(bed)->count, 1);
	assert_line(bed_warnings(bed),
		    "--conf: tony.ps.hang-timeout: ps is untracked, and such a type may wait for "
		    "others for long without doing anything: it would be taken for hung");
}

/* promise: R21 */
static void test_hang_timeout_of_a_sidecar(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=1", "board=1");
	bed_conf(bed, "tony.application.sidecar.jobtypes=board");
	bed_conf(bed, "tony.board.hang-timeout=10m");
	bed_describe(bed);
	assert_int_equal(bed_warnings(bed)->count, 1);
	assert_line(bed_warnings(bed),
		    "--conf: tony.board.hang-timeout: board is a sidecar, and such a type may wait "
		    "for others for long without doing anything: it would be taken for hung");
}

static void test_elastic_types(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=4");
	bed_conf(bed, "tony.application.framework=tensorflow");
	bed_conf(bed, "tony.worker.min-instances=2");
	bed_conf(bed, "tony.worker.max-instances=9");
	bed_conf(bed, "tony.application.elastic-settle-time=3s");
	const struct job *job = bed_describe(bed);
	assert_int_equal(job->types[0].min_instances, 2);
	assert_int_equal(job->types[0].max_instances, 9);
	assert_int_equal(job->elastic_settle_ms, 3000);
	assert_int_equal(job_task_count(job), 9);
	assert_no_lines(bed_warnings(bed));
}

static void test_a_number_that_is_fixed_stays(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=4", "ps=2", "chief=2");
	bed_conf(bed, "tony.application.framework=tensorflow");
	bed_conf(bed, "tony.ps.min-instances=1");
	bed_conf(bed, "tony.chief.min-instances=1");
	bed_conf(bed, "tony.worker.min-instances=5");
	bed_refuse(bed);
	assert_line(bed_errors(bed),
		    "--conf: tony.ps.min-instances: ps cannot have fewer or more tasks: each "
		    "parameter server holds a part of the model; take the key out");
	assert_line(bed_errors(bed),
		    "--conf: tony.chief.min-instances: chief cannot have fewer or more "
		    "tasks: every chief is needed; take the key out");
	assert_line(bed_errors(bed), "--conf: tony.worker.min-instances: \"5\" is more than "
				     "tony.worker.instances; write 4 or less");
}

static void test_a_program_that_the_launcher_does_not_start(void **state)
{
	struct bed *bed = *state;

	BED_TYPES(bed, "worker=2", "chief=1");
	bed_conf(bed, "tony.application.framework=torchrun");
	bed_conf(bed, "tony.worker.command=exec python3 -u train.py --epochs 3");
	bed_describe(bed);
	assert_int_equal(bed_warnings(bed)->count, 1);
	assert_line(bed_warnings(bed),
		    "task type worker: train.py would run alone: framework torchrun leaves it to "
		    "torchrun to form the cluster; write torchrun train.py");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TEST(test_stages),
		BED_TEST(test_training_stage_is_filled_in),
		BED_TEST(test_prepare_stage_is_filled_in),
		BED_TEST(test_stages_that_do_not_add_up),
		BED_TEST(test_depends_on),
		BED_TEST(test_depends_on_errors),
		BED_TEST(test_circle),
		BED_TEST(test_on_exit),
		BED_TEST(test_on_exit_errors),
		BED_TEST(test_strict_ports_follow_the_framework),
		BED_TEST(test_no_port_is_strict_by_default),
		BED_TEST(test_listener_uids),
		BED_TEST(test_listener_uids_of_nobody),
		BED_TEST(test_hang_timeout_of_who_waits_for_others),
		BED_TEST(test_hang_timeout_of_a_sidecar),
		BED_TEST(test_a_program_that_the_launcher_does_not_start),
		BED_TEST(test_circle_through_a_stage),
		BED_TEST(test_group_timeouts),
		BED_TEST(test_group_timeouts_left_out),
		BED_TEST(test_elastic_types),
		BED_TEST(test_a_number_that_is_fixed_stays),
		BED_TEST(test_limit_of_instances),
		BED_TEST(test_limit_of_instances_is_no_square),
		BED_TEST(test_limits_of_resources),
		BED_TEST(test_limits_that_are_just_met),
		BED_TEST(test_limit_of_nothing_for_no_tasks),
		BED_TEST(test_too_many_tasks),
		BED_TEST(test_too_many_types),
		BED_TEST(test_sums_do_not_overflow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
