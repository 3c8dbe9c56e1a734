/* What is asked for against what is used: memory, cores, GPUs. */
#include "scene.h"

#include <string.h>

#include "base/mem.h"

/* ---- memory ------------------------------------------------------------------------------- */

static void unused_memory_is_advised_to_be_given_back(void **state)
{
	struct scene scene = scene_begin("worker=2 ps=1");

	scene.job->types[0].memory = 8192;
	scene_end(&scene, JOB_SUCCEEDED, HOUR);
	scene_uses(&scene, "worker", 2, 1000);
	scene_uses(&scene, "ps", 2, 3000);
	scene.input.uses.items[1].max_rss_bytes = 2000 * MIB;
	const struct advice *advice = scene_advice(&scene, "memory-oversized");
	assert_int_equal(advice->severity, ADVICE_INFO);
	/* A quarter on top of the most that any of them used. */
	assert_setting(advice, "tony.worker.memory", "8g", "2560m");
	assert_int_equal(advice->setting_count, 1);
	assert_evidence(advice, "any of 2 containers used: 1000 MiB, or 2.0 GiB with shared pages "
				"counted for each process");
	assert_string_equal(advice->types.items[0], "worker");
	char *xml cleanup_free = advice_xml(advice);
	assert_string_equal(xml, "<property>\n  <name>tony.worker.memory</name>\n"
				 "  <value>2560m</value>\n</property>\n");
	scene_finish(&scene);
}

static void memory_that_a_past_run_used_is_not_given_back(void **state)
{
	struct scene scene = scene_begin("worker=2");

	scene_end(&scene, JOB_SUCCEEDED, HOUR);
	scene_uses(&scene, "worker", 2, 500);
	scene_past(&scene, 900, 100, HOUR);
	scene_past(&scene, 1500, 100, HOUR);
	const struct advice *advice = scene_advice(&scene, "memory-oversized");
	assert_setting(advice, "tony.worker.memory", "4g", "2g");
	assert_evidence(advice, "the most in 2 past runs: 1.5 GiB");
	scene_past(&scene, 3500, 100, HOUR);
	scene_silence(&scene, "memory-oversized");
	scene_finish(&scene);
}

/* Past runs of another size tell nothing, and this job's own record is not a past one. */
static void only_runs_alike_count_as_past(void **state)
{
	struct scene scene = scene_begin("worker=2");

	scene_end(&scene, JOB_SUCCEEDED, HOUR);
	scene_uses(&scene, "worker", 2, 500);
	scene_past(&scene, 3500, 100, HOUR);
	scene.past[0].types[0].instances = 9;
	scene_past(&scene, 3500, 100, HOUR);
	mem_replace(&scene.past[1].id, mem_strdup(scene.job->id));
	scene_advice(&scene, "memory-oversized");
	scene_finish(&scene);
}

static void memory_that_may_yet_be_used_is_left_alone(void **state)
{
	struct scene scene = scene_begin("worker=2");

	scene_run(&scene, 10 * MINUTE);
	scene_uses(&scene, "worker", 2, 500);
	scene_silence(&scene, "memory-oversized");
	scene_finish(&scene);

	/* It did not get to its end. */
	scene = scene_begin("worker=2");
	scene_end(&scene, JOB_FAILED, 10 * MINUTE);
	scene_uses(&scene, "worker", 2, 500);
	scene_silence(&scene, "memory-oversized");
	scene_finish(&scene);

	scene = scene_begin("worker=4");
	scene_end(&scene, JOB_SUCCEEDED, HOUR);
	scene_use(&scene, "worker:0")->max_rss_bytes =
		500 * MIB; /* of the others nothing is known */
	scene_silence(&scene, "memory-oversized");
	scene_finish(&scene);
}

static void a_job_that_runs_for_long_has_shown_its_memory(void **state)
{
	struct scene scene = scene_begin("worker=2");

	scene_run(&scene, HOUR);
	scene_uses(&scene, "worker", 2, 500);
	scene_advice(&scene, "memory-oversized");
	scene_finish(&scene);
}

static void memory_well_asked_for_is_left_alone(void **state)
{
	struct scene scene = scene_begin("worker=2");

	scene_end(&scene, JOB_SUCCEEDED, HOUR);
	scene_uses(&scene, "worker", 2, 3000);
	scene_silence(&scene, "memory-oversized");
	scene_silence(&scene, "memory-tight");
	scene_silence(&scene, "memory-exceeded");
	scene_finish(&scene);
}

/* Containers that differ may differ more the next time. */
static void head_room_grows_with_the_spread(void **state)
{
	struct scene scene = scene_begin("worker=3");

	scene.job->types[0].memory = 16384;
	scene_end(&scene, JOB_SUCCEEDED, HOUR);
	scene_uses(&scene, "worker", 2, 1000);
	scene.input.uses.items[2].max_rss_bytes = 4000 * MIB;
	assert_setting(scene_advice(&scene, "memory-oversized"), "tony.worker.memory", "16g", "7g");
	scene_finish(&scene);
}

static void the_task_of_a_job_without_types_has_the_masters_keys(void **state)
{
	struct scene scene = scene_begin("driver=1");

	json_object_set_new(scene.job->config, "tony.am.memory",
			    json_pack("{ssss}", "value", "4g", "origin", "default"));
	scene_end(&scene, JOB_SUCCEEDED, HOUR);
	scene_uses(&scene, "driver", 2, 30);
	assert_setting(scene_advice(&scene, "memory-oversized"), "tony.am.memory", "4g", "192m");
	scene_finish(&scene);
}

static void the_task_of_a_job_without_types_has_its_own_keys_too(void **state)
{
	struct scene scene = scene_begin("driver=1");

	json_object_set_new(scene.job->config, "tony.am.memory",
			    json_pack("{ssss}", "value", "4g", "origin", "default"));
	json_object_set_new(scene.job->config, "tony.driver.memory",
			    json_pack("{ssss}", "value", "4096m", "origin", "tony.xml:3"));
	scene_end(&scene, JOB_SUCCEEDED, HOUR);
	scene_uses(&scene, "driver", 2, 30);
	assert_setting(scene_advice(&scene, "memory-oversized"), "tony.driver.memory", "4096m",
		       "192m");
	scene_finish(&scene);
}

static void what_the_user_wrote_is_shown_as_written(void **state)
{
	struct scene scene = scene_begin("worker=1");

	json_object_set_new(scene.job->config, "tony.worker.memory",
			    json_pack("{ssss}", "value", "4096m", "origin", "tony.xml:3"));
	scene_end(&scene, JOB_SUCCEEDED, HOUR);
	scene_uses(&scene, "worker", 2, 30);
	assert_setting(scene_advice(&scene, "memory-oversized"), "tony.worker.memory", "4096m",
		       "192m");
	scene_finish(&scene);
}

static void kills_for_memory_raise_it(void **state)
{
	struct scene scene = scene_begin("worker=2");

	scene_failure(&scene, "worker:1", CAUSE_OUT_OF_MEMORY, MINUTE, 5 * MINUTE);
	scene_end(&scene, JOB_SUCCEEDED, HOUR);
	scene_uses(&scene, "worker", 2, 1000);
	const struct advice *advice = scene_advice(&scene, "memory-exceeded");
	assert_int_equal(advice->severity, ADVICE_CRITICAL);
	assert_setting(advice, "tony.worker.memory", "4g", "6g");
	assert_evidence(advice, "limit of 4.0 GiB: 1 time");
	scene_silence(&scene, "memory-oversized");
	scene_past(&scene, 8000, 100, HOUR);
	assert_setting(scene_advice(&scene, "memory-exceeded"), "tony.worker.memory", "4g", "10g");
	scene_finish(&scene);
}

static void memory_that_is_almost_used_up_is_raised(void **state)
{
	struct scene scene = scene_begin("worker=2");

	scene_run(&scene, 5 * MINUTE);
	scene_uses(&scene, "worker", 2, 3800);
	const struct advice *advice = scene_advice(&scene, "memory-tight");
	assert_setting(advice, "tony.worker.memory", "4g", "4864m");
	assert_evidence(advice, "used up to 3.7 GiB of 4.0 GiB (92%)");
	/* Most of it is shared. */
	scene.input.uses.items[0].max_pss_bytes = 1000 * MIB;
	scene.input.uses.items[1].max_pss_bytes = 1000 * MIB;
	scene_silence(&scene, "memory-tight");
	scene_finish(&scene);
}

/* ---- cores -------------------------------------------------------------------------------- */

static void unused_cores_are_advised_to_be_given_back(void **state)
{
	struct scene scene = scene_begin("worker=2");

	scene.job->types[0].vcores = 8;
	scene_end(&scene, JOB_SUCCEEDED, HOUR);
	scene_uses(&scene, "worker", 1.2, 3000);
	const struct advice *advice = scene_advice(&scene, "cpu-oversized");
	assert_setting(advice, "tony.worker.vcores", "8", "2");
	assert_evidence(advice, "others could have: 12 cores");
	/* One of them needs more now and then; a past run did on average. */
	scene.input.uses.items[1].high_cores = 5;
	scene_silence(&scene, "cpu-oversized");
	scene.input.uses.items[1].high_cores = 1.2;
	scene_past(&scene, 1000, 500, HOUR);
	scene_silence(&scene, "cpu-oversized");
	scene_finish(&scene);
}

static void cores_of_a_short_run_are_left_alone(void **state)
{
	struct scene scene = scene_begin("worker=2");

	scene_end(&scene, JOB_SUCCEEDED, 2 * MINUTE);
	scene_uses(&scene, "worker", 0.1, 3000);
	scene_silence(&scene, "cpu-oversized");
	scene_finish(&scene);

	scene = scene_begin("worker=2");
	scene_end(&scene, JOB_SUCCEEDED, 2 * MINUTE);
	scene_uses(&scene, "worker", 9, 3000);
	scene_silence(&scene, "cpu-short");
	scene_finish(&scene);
}

static void cores_that_were_not_asked_for_are(void **state)
{
	struct scene scene = scene_begin("worker=2");

	scene_run(&scene, 20 * MINUTE);
	scene_uses(&scene, "worker", 6.3, 3000);
	const struct advice *advice = scene_advice(&scene, "cpu-short");
	assert_setting(advice, "tony.worker.vcores", "4", "7");
	assert_evidence(advice, "asked for: 4; used on average: 6.3");
	scene_finish(&scene);

	scene = scene_begin("worker=2");
	scene_run(&scene, 20 * MINUTE);
	scene_uses(&scene, "worker", 4.1, 3000);
	scene_silence(&scene, "cpu-short");
	scene_silence(&scene, "cpu-oversized");
	scene_finish(&scene);
}

/* ---- GPUs --------------------------------------------------------------------------------- */

/* Two workers with GPUs that were in use so many percent. */
static struct scene with_gpus(int gpus, const double *percent, double memory_percent, double cores)
{
	struct scene scene = scene_begin("worker=2");

	scene.job->types[0].gpus = gpus;
	scene_end(&scene, JOB_SUCCEEDED, HOUR);
	scene_uses(&scene, "worker", cores, 3000);
	for (size_t i = 0; i < 2; i++)
		for (int k = 0; k < gpus; k++)
			scene_gpu(&scene.input.uses.items[i], percent[k],
				  percent[k] > 0 ? memory_percent : 0);
	return scene;
}

static void idle_gpus_are_told_with_a_guess_why(void **state)
{
	struct scene scene = with_gpus(1, (double[]){0}, 0, 2);
	const struct advice *advice = scene_advice(&scene, "gpu-idle");

	assert_setting(advice, "tony.worker.gpus", "1", "0");
	assert_non_null(strstr(advice->remedy, "built for GPUs"));
	scene_finish(&scene);

	scene = with_gpus(1, (double[]){2}, 90, 2);
	advice = scene_advice(&scene, "gpu-idle");
	assert_non_null(strstr(advice->remedy, "holds their memory"));
	/* One of the two workers uses its own. */
	scene.input.uses.items[1].gpus[0].average_percent = 60;
	scene_silence(&scene, "gpu-idle");
	scene_finish(&scene);

	scene = with_gpus(1, (double[]){80}, 90, 2);
	scene_silence(&scene, "gpu-idle");
	scene_silence(&scene, "gpu-starved-of-cpu");
	scene_silence(&scene, "gpu-waits-for-data");
	scene_finish(&scene);
}

static void gpus_that_are_not_measured_are_left_alone(void **state)
{
	struct scene scene = with_gpus(1, (double[]){-1}, 0, 2);

	scene_silence(&scene, "gpu-idle");
	scene_finish(&scene);

	scene = scene_begin("worker=2");
	scene.job->types[0].gpus = 1;
	scene_end(&scene, JOB_SUCCEEDED, HOUR);
	scene_uses(&scene, "worker", 2, 3000);
	scene_silence(&scene, "gpu-idle");
	scene_finish(&scene);
}

static void one_gpu_of_several_is_enough(void **state)
{
	struct scene scene = with_gpus(4, (double[]){90, 0, 0, 0}, 50, 2);
	const struct advice *advice = scene_advice(&scene, "gpu-partly-used");

	assert_setting(advice, "tony.worker.gpus", "4", "1");
	assert_string_equal(advice->title, "worker uses 1 of its 4 GPUs");
	assert_non_null(strstr(advice->remedy, "tony.worker.processes"));
	scene_silence(&scene, "gpu-idle");
	/* Held, if not used: it may be for later. */
	scene.input.uses.items[0].gpus[3].used_bytes = 80;
	scene_silence(&scene, "gpu-partly-used");
	scene_finish(&scene);

	scene = with_gpus(2, (double[]){90, 88}, 50, 2);
	scene_silence(&scene, "gpu-partly-used");
	scene_finish(&scene);
}

static void gpus_wait_for_processors(void **state)
{
	struct scene scene = with_gpus(1, (double[]){30}, 50, 3.9);
	const struct advice *advice = scene_advice(&scene, "gpu-starved-of-cpu");

	assert_setting(advice, "tony.worker.vcores", "4", "8");
	assert_evidence(advice, "cores in use on average: 3.9 of 4");
	scene_silence(&scene, "gpu-waits-for-data");
	scene_finish(&scene);

	scene = with_gpus(1, (double[]){30}, 50, 2);
	scene_silence(&scene, "gpu-starved-of-cpu");
	scene_finish(&scene);
}

static void gpus_wait_for_data(void **state)
{
	struct scene scene = with_gpus(1, (double[]){30}, 50, 1);

	/* Nothing tells why. */
	scene_silence(&scene, "gpu-waits-for-data");
	scene.input.uses.items[0].read_rate = scene.input.uses.items[1].read_rate = 150e6;
	const struct advice *advice = scene_advice(&scene, "gpu-waits-for-data");
	assert_evidence(advice, "comes in at 150 MB/s");
	assert_int_equal(advice->setting_count, 0);
	/* What workers send each other is no input. */
	scene.input.uses.items[0].read_rate = scene.input.uses.items[1].read_rate = 0;
	scene.input.uses.items[0].network_rate = scene.input.uses.items[1].network_rate = 150e6;
	scene_silence(&scene, "gpu-waits-for-data");
	scene_finish(&scene);
}

/* ---- parameter servers -------------------------------------------------------------------- */

static void workers_wait_for_parameter_servers(void **state)
{
	struct scene scene = scene_begin("worker=8 ps=2");

	scene_end(&scene, JOB_SUCCEEDED, HOUR);
	scene_uses(&scene, "worker", 1, 3000);
	scene_uses(&scene, "ps", 3.8, 3000);
	const struct advice *advice = scene_advice(&scene, "ps-saturated");
	assert_setting(advice, "tony.ps.instances", "2", "4");
	assert_evidence(advice, "ps used 95% of the cores");
	assert_evidence(advice, "worker used 25% of theirs");
	scene_finish(&scene);

	scene = scene_begin("worker=8 ps=2"); /* all are busy */
	scene_end(&scene, JOB_SUCCEEDED, HOUR);
	scene_uses(&scene, "worker", 3.9, 3000);
	scene_uses(&scene, "ps", 3.8, 3000);
	scene_silence(&scene, "ps-saturated");
	scene_silence(&scene, "ps-idle");
	scene_finish(&scene);

	scene = scene_begin("worker=2 ps=2"); /* as many as workers: the servers are too weak */
	scene_end(&scene, JOB_SUCCEEDED, HOUR);
	scene_uses(&scene, "worker", 1, 3000);
	scene_uses(&scene, "ps", 3.8, 3000);
	assert_setting(scene_advice(&scene, "ps-saturated"), "tony.ps.vcores", "4", "8");
	scene_finish(&scene);
}

static void parameter_servers_have_nothing_to_do(void **state)
{
	struct scene scene = scene_begin("worker=8 ps=4");

	scene_end(&scene, JOB_SUCCEEDED, HOUR);
	scene_uses(&scene, "worker", 3, 3000);
	scene_uses(&scene, "ps", 0.02, 3000);
	assert_setting(scene_advice(&scene, "ps-idle"), "tony.ps.instances", "4", "2");
	/* One of them sends. */
	scene.input.uses.items[9].network_rate = 50e6;
	scene_silence(&scene, "ps-idle");
	scene_finish(&scene);

	scene = scene_begin("worker=8 ps=1"); /* the last one is needed */
	scene_end(&scene, JOB_SUCCEEDED, HOUR);
	scene_uses(&scene, "worker", 3, 3000);
	scene_uses(&scene, "ps", 0.02, 3000);
	scene_silence(&scene, "ps-idle");
	scene_finish(&scene);
}

/* ---- input -------------------------------------------------------------------------------- */

static void programs_that_wait_for_input_are_told(void **state)
{
	struct scene scene = scene_begin("worker=2");

	scene_end(&scene, JOB_SUCCEEDED, HOUR);
	scene_uses(&scene, "worker", 1, 3000);
	scene_silence(&scene, "input-bound"); /* nothing tells */
	scene.input.uses.items[0].input_wait_percent = 50;
	scene.input.uses.items[1].input_wait_percent = 34;
	const struct advice *advice = scene_advice(&scene, "input-bound");
	assert_int_equal(advice->severity, ADVICE_WARNING);
	assert_evidence(advice, "of its time on average: 42%");
	assert_evidence(advice, "cores in use on average: 1.0 of 4");
	assert_int_equal(advice->setting_count, 0);
	assert_non_null(strstr(advice->remedy, "prefetch="));
	scene.input.uses.items[0].input_wait_percent = 20;
	scene_silence(&scene, "input-bound");
	scene_finish(&scene);
}

static void numbers_that_have_become_nan_are_told(void **state)
{
	struct scene scene = scene_begin("worker=2");

	scene_run(&scene, MINUTE);
	scene_uses(&scene, "worker", 1, 3000);
	scene_silence(&scene, "number-nan");
	scene.input.uses.items[1].nan_name = mem_strdup("loss");
	scene.input.uses.items[1].nan_words = mem_strdup("NaN since step 60");
	const struct advice *advice = scene_advice(&scene, "number-nan");
	assert_int_equal(advice->severity, ADVICE_WARNING);
	assert_string_equal(advice->title, "loss of worker has become NaN");
	assert_evidence(advice, "loss of worker:1: NaN since step 60");
	scene_finish(&scene);
}

static void programs_whose_cores_decode_get_more_of_them(void **state)
{
	struct scene scene = scene_begin("worker=1");

	scene_end(&scene, JOB_SUCCEEDED, HOUR);
	scene_use(&scene, "worker:0")->input_wait_percent = 60;
	scene.input.uses.items[0].average_cores = 3.9;
	assert_setting(scene_advice(&scene, "input-bound"), "tony.worker.vcores", "4", "8");
	scene_finish(&scene);

	scene = scene_begin("worker=1");
	scene_end(&scene, JOB_SUCCEEDED, MINUTE);
	scene_use(&scene, "worker:0")->input_wait_percent = 60;
	scene_silence(&scene, "input-bound"); /* it may only have begun */
	scene_finish(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unused_memory_is_advised_to_be_given_back),
		cmocka_unit_test(memory_that_a_past_run_used_is_not_given_back),
		cmocka_unit_test(only_runs_alike_count_as_past),
		cmocka_unit_test(memory_that_may_yet_be_used_is_left_alone),
		cmocka_unit_test(a_job_that_runs_for_long_has_shown_its_memory),
		cmocka_unit_test(memory_well_asked_for_is_left_alone),
		cmocka_unit_test(head_room_grows_with_the_spread),
		cmocka_unit_test(the_task_of_a_job_without_types_has_the_masters_keys),
		cmocka_unit_test(the_task_of_a_job_without_types_has_its_own_keys_too),
		cmocka_unit_test(what_the_user_wrote_is_shown_as_written),
		cmocka_unit_test(kills_for_memory_raise_it),
		cmocka_unit_test(memory_that_is_almost_used_up_is_raised),
		cmocka_unit_test(unused_cores_are_advised_to_be_given_back),
		cmocka_unit_test(cores_of_a_short_run_are_left_alone),
		cmocka_unit_test(cores_that_were_not_asked_for_are),
		cmocka_unit_test(idle_gpus_are_told_with_a_guess_why),
		cmocka_unit_test(gpus_that_are_not_measured_are_left_alone),
		cmocka_unit_test(one_gpu_of_several_is_enough),
		cmocka_unit_test(gpus_wait_for_processors),
		cmocka_unit_test(gpus_wait_for_data),
		cmocka_unit_test(workers_wait_for_parameter_servers),
		cmocka_unit_test(parameter_servers_have_nothing_to_do),
		cmocka_unit_test(programs_that_wait_for_input_are_told),
		cmocka_unit_test(numbers_that_have_become_nan_are_told),
		cmocka_unit_test(programs_whose_cores_decode_get_more_of_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
