#include "../base/scratch.h"
#include "../base/test.h"

#include <stdio.h>

#include "base/json.h"
#include "scheduler/gang.h"
#include "scheduler/gpus.h"

static const char *root_of(void **state)
{
	return scratch_path(state, "");
}

static void lay_out(void **state, const char *kib)
{
	char text[128];

	snprintf(text, sizeof(text), "MemTotal:       %s kB\nMemFree:  1 kB\n", kib);
	scratch_write(state, "proc/meminfo", text, 0600);
}

static void add_gpu(void **state, const char *bus, const char *uuid)
{
	char name[128], text[256];

	snprintf(name, sizeof(name), "proc/driver/nvidia/gpus/%s/information", bus);
	snprintf(text, sizeof(text), "Model: \t\t NVIDIA H100\nIRQ: 1\nGPU UUID: \t %s\n", uuid);
	scratch_write(state, name, text, 0600);
}

static void find(void **state, const char *config, struct capacity *capacity)
{
	struct err err = {0};
	json_t *object = config ? json_parse(config, strlen(config), &err) : NULL;

	assert_success(capacity_find(root_of(state), 0, object, capacity, &err), &err);
	json_decref(object);
}

static void assert_gpus(const struct capacity *capacity, const char *expected)
{
	assert_text_freed(str_list_join(&capacity->gpus, ","), expected);
}

static void reads_the_machine(void **state)
{
	struct capacity capacity cleanup_capacity = {0};

	lay_out(state, "24684092");
	find(state, NULL, &capacity);
	assert_int_equal(capacity.memory, 24105 + 1024);
	assert_int_equal(capacity.vcores, 0);
	assert_true(capacity.cores >= 1);
	assert_int_equal(capacity.gpus.count, 0);
	assert_false(capacity.has_gpus);
}

static void four_default_workers_run_on_a_laptop(void **state)
{
	struct capacity capacity cleanup_capacity = {0};
	struct share need = {.memory = 4 * 2048, .vcores = 400}, more = {.memory = 5 * 2048};
	const char *resource;

	lay_out(state, "7800000"); /* sold as 8 GiB */
	find(state, NULL, &capacity);
	assert_null(capacity_refusal(&capacity, &need, &resource));
	assert_text_freed(capacity_refusal(&capacity, &more, &resource),
			  "10.0 GiB; this machine has 8.4 GiB (tony.local.memory)");
}

static void keys_override_the_machine(void **state)
{
	struct capacity capacity cleanup_capacity = {0};
	struct share fits = {.memory = 1024, .vcores = 3, .gpus = 2};
	struct share memory = {.memory = 1025}, vcores = {.vcores = 4}, gpus = {.gpus = 3};
	const char *resource;

	lay_out(state, "24684092");
	find(state,
	     "{\"tony.local.memory\": {\"value\": \"1g\"}, \"tony.local.vcores\": {\"value\": "
	     "\"3\"}, \"tony.local.gpus\": {\"value\": \"2\", \"origin\": \"x\"}}",
	     &capacity);
	assert_gpus(&capacity, "0,1");
	assert_false(capacity.has_gpus);
	assert_null(capacity_refusal(&capacity, &fits, &resource));
	assert_text_freed(capacity_refusal(&capacity, &memory, &resource),
			  "1025 MiB; this machine has 1024 MiB (tony.local.memory)");
	assert_string_equal(resource, "memory");
	assert_text_freed(capacity_refusal(&capacity, &vcores, &resource),
			  "4 vcores; this machine has 3 (tony.local.vcores)");
	assert_string_equal(resource, "vcores");
	assert_text_freed(capacity_refusal(&capacity, &gpus, &resource),
			  "3 GPUs; this machine has 2 (tony.local.gpus)");
	assert_string_equal(resource, "gpus");
}

static void bad_keys_are_named(void **state)
{
	static const char *const configs[] = {
		"{\"tony.local.memory\": {\"value\": \"lots\"}}",
		"{\"tony.local.vcores\": {\"value\": \"-1\"}}",
		"{\"tony.local.gpus\": {\"value\": \"1.5\"}}",
	};
	static const char *const messages[] = {"tony.local.memory: \"lots\"",
					       "tony.local.vcores: \"-1\"",
					       "tony.local.gpus: \"1.5\""};

	lay_out(state, "24684092");
	for (size_t i = 0; i < 3; i++) {
		struct err err = {0};
		struct capacity capacity = {0};
		json_t *config = json_parse(configs[i], strlen(configs[i]), &err);
		assert_int_equal(capacity_find(root_of(state), 0, config, &capacity, &err), -1);
		assert_int_equal(err.kind, ERR_CONFIG);
		assert_message_has(&err, messages[i]);
		err_finish(&err);
		json_decref(config);
	}
}

static void flawed_configuration_is_no_configuration(void **state)
{
	struct capacity capacity cleanup_capacity = {0};

	lay_out(state, "24684092");
	find(state, "{\"tony.local.memory\": {\"value\": 7}, \"tony.local.gpus\": 3}", &capacity);
	assert_int_equal(capacity.memory, 24105 + 1024);
}

/* ---- cgroups of the caller ---------------------------------------------------------------- */

static void version_1_limits_count(void **state)
{
	struct capacity capacity cleanup_capacity = {0};

	lay_out(state, "24684092");
	scratch_write(state, "proc/self/cgroup",
		      "5:cpu,cpuacct:/x\n4:memory:/docker/abc/in\n0::/\n", 0600);
	scratch_write(
		state, "proc/self/mountinfo",
		"30 1 0:2 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
		"31 1 0:3 /docker/abc /sys/fs/cgroup/memory rw shared:1 - cgroup cgroup rw,memory\n"
		"32 1 0:4 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
		0600);
	scratch_write(state, "sys/fs/cgroup/memory/in/memory.limit_in_bytes",
		      "9223372036854771712\n", 0600);
	scratch_write(state, "sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n", 0600);
	find(state, NULL, &capacity);
	assert_int_equal(capacity.memory, 1024);
}

static void version_2_limits_count(void **state)
{
	struct capacity capacity cleanup_capacity = {0};

	lay_out(state, "24684092");
	scratch_write(state, "proc/self/cgroup", "0::/user.slice/a\n", 0600);
	scratch_write(state, "proc/self/mountinfo",
		      "32 1 0:4 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", 0600);
	scratch_write(state, "sys/fs/cgroup/user.slice/a/memory.max", "max\n", 0600);
	scratch_write(state, "sys/fs/cgroup/user.slice/memory.max", "2147483648\n", 0600);
	find(state, NULL, &capacity);
	assert_int_equal(capacity.memory, 2048);
}

static void limits_above_the_machine_do_not_count(void **state)
{
	struct capacity capacity cleanup_capacity = {0};

	lay_out(state, "1048576");
	scratch_write(state, "proc/self/cgroup", "0::/../outside\n", 0600);
	scratch_write(state, "proc/self/mountinfo",
		      "32 1 0:4 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\nnonsense\n - \n", 0600);
	scratch_write(state, "sys/fs/cgroup/memory.max", "1\n", 0600);
	find(state, NULL, &capacity);
	assert_int_equal(capacity.memory, 1024 + 128);
}

/* ---- GPUs --------------------------------------------------------------------------------- */

static void gpus_come_in_bus_order(void **state)
{
	struct capacity capacity cleanup_capacity = {0};

	lay_out(state, "24684092");
	add_gpu(state, "0000:b1:00.0", "GPU-bbbb");
	add_gpu(state, "0000:07:00.0", "GPU-aaaa");
	unsetenv("CUDA_VISIBLE_DEVICES");
	find(state, NULL, &capacity);
	assert_gpus(&capacity, "0,1");
	assert_true(capacity.has_gpus);
}

static void visible_devices_are_honoured(void **state)
{
	static const char *const rows[][2] = {
		{"1", "1"},	    {"2,0", "2,0"},
		{"GPU-bb", "1"},    {"GPU-cccc,GPU-aaaa", "2,0"},
		{"", ""},	    {"-1", ""},
		{"0,7,1", "0"},	    {"NoDevFiles", ""},
		{"0,0", "0"},	    {"MIG-1234,1", "MIG-1234,1"},
		{" 0 , 2 ", "0,2"}, {"GPU-unknown", "GPU-unknown"},
	};

	add_gpu(state, "0000:07:00.0", "GPU-aaaa");
	add_gpu(state, "0000:08:00.0", "GPU-bbbb");
	add_gpu(state, "0000:09:00.0", "GPU-cccc");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str_list names = {0};
		assert_true(gpus_find(root_of(state), rows[i][0], &names));
		assert_text_freed(str_list_join(&names, ","), rows[i][1]);
		str_list_finish(&names);
	}
}

static void devices_are_counted_without_the_proc_tree(void **state)
{
	struct str_list names = {0};

	scratch_write(state, "dev/nvidia0", "", 0600);
	scratch_write(state, "dev/nvidia3", "", 0600);
	scratch_write(state, "dev/nvidiactl", "", 0600);
	scratch_write(state, "dev/nvidia-uvm", "", 0600);
	assert_true(gpus_find(root_of(state), NULL, &names));
	assert_text_freed(str_list_join(&names, ","), "0,1");
	str_list_finish(&names);
}

static void the_key_limits_the_gpus(void **state)
{
	struct capacity capacity cleanup_capacity = {0};

	lay_out(state, "24684092");
	add_gpu(state, "0000:07:00.0", "GPU-aaaa");
	add_gpu(state, "0000:08:00.0", "GPU-bbbb");
	setenv("CUDA_VISIBLE_DEVICES", "1,0", 1);
	find(state, "{\"tony.local.gpus\": {\"value\": \"1\"}}", &capacity);
	unsetenv("CUDA_VISIBLE_DEVICES");
	assert_gpus(&capacity, "1");
}

/* ---- a job that can never run ------------------------------------------------------------- */

static char worker[] = "worker", ps[] = "ps", evaluator[] = "evaluator";

static void gangs_are_refused_with_the_numbers(void **state)
{
	const struct capacity capacity = {.memory = 25129};
	struct job_dependency after = {.type = 0};
	struct job_type types[] = {
		{.name = worker, .instances = 4, .memory = 4096},
		{.name = ps, .instances = 2, .memory = 4096},
		{.name = evaluator,
		 .instances = 1,
		 .memory = 4096,
		 .dependencies = &after,
		 .dependency_count = 1},
	};
	struct job job = {.mode = JOB_MODE_GANG, .types = types, .type_count = 3};

	assert_null(gang_refusal_of_job(&job, &capacity, false));
	types[1].instances = 3;
	assert_text_freed(gang_refusal_of_job(&job, &capacity, false),
			  "7 tasks that run together (worker x 4, ps x 3) need 28.0 GiB; this "
			  "machine has 24.5 GiB (tony.local.memory); ask for fewer, or "
			  "lower tony.TYPE.memory");
	job.mode = JOB_MODE_FCFS;
	assert_null(gang_refusal_of_job(&job, &capacity, false));
	types[2].memory = 65536;
	assert_text_freed(gang_refusal_of_job(&job, &capacity, false),
			  "evaluator:0 needs 64.0 GiB; this machine has 24.5 GiB "
			  "(tony.local.memory); lower tony.evaluator.memory");
	types[1].gpus = 1;
	assert_text_freed(
		gang_refusal_of_job(&job, &capacity, false),
		"ps:0 needs 1 GPU; this machine has 0 (tony.local.gpus); lower tony.ps.gpus");
}

static void of_an_elastic_type_the_least_has_to_fit(void **state)
{
	const struct capacity capacity = {.memory = 25129};
	struct job_type types[] = {
		{.name = worker,
		 .instances = 8,
		 .min_instances = 2,
		 .max_instances = 99,
		 .memory = 4096},
	};
	struct job job = {.mode = JOB_MODE_GANG, .types = types, .type_count = 1};

	assert_null(gang_refusal_of_job(&job, &capacity, false));
	assert_text_freed(
		gang_refusal_of_job(&job, &capacity, true),
		"8 tasks that run together (worker x 8) need 32.0 GiB; this machine has "
		"24.5 GiB (tony.local.memory); ask for fewer, or lower tony.worker.memory");
	types[0].min_instances = 7;
	assert_text_freed(
		gang_refusal_of_job(&job, &capacity, false),
		"7 tasks that run together (worker x 7) need 28.0 GiB; this machine has "
		"24.5 GiB (tony.local.memory); ask for fewer, or lower tony.worker.memory");
}

static void a_task_gets_no_more_cores_than_there_are(void **state)
{
	struct capacity capacity = {.memory = 24105, .cores = 2};
	struct job_type types[] = {
		{.name = worker, .instances = 4, .vcores = 2},
		{.name = ps, .instances = 1, .vcores = 3},
	};
	struct job job = {.mode = JOB_MODE_GANG, .types = types, .type_count = 2};

	assert_text_freed(gang_refusal_of_job(&job, &capacity, false),
			  "ps:0 needs 3 vcores; this machine has 2 cores (tony.local.vcores); "
			  "lower tony.ps.vcores");
	capacity.vcores = 11; /* somebody says so */
	assert_null(gang_refusal_of_job(&job, &capacity, false));
	capacity.vcores = 0;
	types[1].vcores = 1; /* four workers take turns */
	assert_null(gang_refusal_of_job(&job, &capacity, false));
}

static void a_default_is_no_reason_to_refuse(void **state)
{
	static const char text[] = "{\"tony.tensorboard.vcores\": {\"value\": \"2\", \"origin\": "
				   "\"default\"}}";
	const struct capacity capacity = {.memory = 24105, .cores = 1};
	static char tensorboard[] = "tensorboard";
	struct job_type type = {.name = tensorboard, .instances = 1, .vcores = 2};
	json_t *config cleanup_json = json_parse(text, strlen(text), NULL);
	struct job job = {.types = &type, .type_count = 1, .config = config};

	assert_null(gang_refusal_of_job(&job, &capacity, false));
	job.config = NULL;
	assert_text_freed(
		gang_refusal_of_job(&job, &capacity, false),
		"tensorboard:0 needs 2 vcores; this machine has 1 core (tony.local.vcores); "
		"lower tony.tensorboard.vcores");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(reads_the_machine),
		scratch_test(four_default_workers_run_on_a_laptop),
		scratch_test(keys_override_the_machine),
		scratch_test(bad_keys_are_named),
		scratch_test(flawed_configuration_is_no_configuration),
		scratch_test(version_1_limits_count),
		scratch_test(version_2_limits_count),
		scratch_test(limits_above_the_machine_do_not_count),
		scratch_test(gpus_come_in_bus_order),
		scratch_test(visible_devices_are_honoured),
		scratch_test(devices_are_counted_without_the_proc_tree),
		scratch_test(the_key_limits_the_gpus),
		cmocka_unit_test(gangs_are_refused_with_the_numbers),
		cmocka_unit_test(of_an_elastic_type_the_least_has_to_fit),
		cmocka_unit_test(a_task_gets_no_more_cores_than_there_are),
		cmocka_unit_test(a_default_is_no_reason_to_refuse),
	};

	unsetenv("CUDA_VISIBLE_DEVICES");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
