/* GPU use, as nvidia-smi tells it. */
#include "../base/scratch.h"
#include "../base/test.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "executor/gpu.h"

/* As nvidia-smi words it, for four devices, the last without a utilization counter (MIG). */
static const char answer_of_four[] =
	"0, GPU-4b0a1c52-7b7e-3f0a-9b52-0c0c1e1d2a31, 87, 30211, 40960\n"
	"1, GPU-9e1f0c11-2f4a-8a3b-1c5d-6f7e8d9c0b1a, 0, 3, 40960\n"
	"2, GPU-d0c1b2a3-9484-7565-a6b7-c8d9eafb0c1d, 100, 40001, 40960\n"
	"3, GPU-00112233-4455-6677-8899-aabbccddeeff, [N/A], 12, 40960\n";

static void assert_parsed(const char *text, const char *devices, const char *expected)
{
	struct err err = {0};
	struct metrics found;

	if (gpu_parse(text, strlen(text), devices, &found, &err) < 0)
		fail_msg("%s", err_message(&err));
	json_t *metrics cleanup_json = metrics_to_json(&found);
	assert_text_freed(json_text(json_object_get(metrics, "gpus")), expected);
	metrics_finish(&found);
}

static void only_own_devices_are_told(void **state)
{
	assert_parsed(answer_of_four, "1",
		      "[{\"index\":1,\"utilization_percent\":0,\"memory_used_mib\":3,"
		      "\"memory_total_mib\":40960}]");
	assert_parsed(answer_of_four, "0, GPU-00112233",
		      "[{\"index\":0,\"utilization_percent\":87,\"memory_used_mib\":30211,"
		      "\"memory_total_mib\":40960},"
		      "{\"index\":3,\"memory_used_mib\":12,\"memory_total_mib\":40960}]");
	assert_parsed(answer_of_four, "", "[]");
	assert_parsed(answer_of_four, "7", "[]");
	/* "2" is not the beginning of a UUID. */
	assert_parsed("12, GPU-2, 1, 2, 3\n", "2", "[]");
}

static void power_is_told_in_whole_watts(void **state)
{
	assert_parsed("0, GPU-4b0a, 87, 1, 2, 65.52\n1, GPU-9e1f, 0, 1, 2, [N/A]\n", "0,1",
		      "[{\"index\":0,\"utilization_percent\":87,\"memory_used_mib\":1,"
		      "\"memory_total_mib\":2,\"power_watts\":66},"
		      "{\"index\":1,\"utilization_percent\":0,\"memory_used_mib\":1,"
		      "\"memory_total_mib\":2}]");
}

static void without_a_selection_all_are_told(void **state)
{
	struct err err = {0};
	struct metrics found;

	assert_int_equal(gpu_parse(answer_of_four, strlen(answer_of_four), NULL, &found, &err), 0);
	assert_int_equal(found.gpu_count, 4);
	metrics_finish(&found);
}

static void what_is_no_answer_is_an_error(void **state)
{
	static const char *const wrong[] = {
		"",
		"\n\n",
		"No devices were found\n",
		"0, GPU-1, 2, 3\n",
		"zero, GPU-1, 2, 3, 4\n",
		"-1, GPU-1, 2, 3, 4\n",
		"0, GPU-1, 2, 3, 4, 5, 6\n",
		"1024, GPU-1, 2, 3, 4\n",
		"0, GPU-1, 2, 3, 4\n\xff\xfe\n",
		"index, uuid, utilization.gpu [%], memory.used [MiB], memory.total [MiB]\n",
	};

	for (size_t i = 0; i < array_length(wrong); i++) {
		struct err err = {0};
		struct metrics found;
		assert_int_equal(gpu_parse(wrong[i], strlen(wrong[i]), NULL, &found, &err), -1);
		assert_int_equal(err.kind, ERR_INPUT);
		err_finish(&err);
	}
}

/* Lets the stand-in run to its end, as the program's owner of SIGCHLD would. */
static void look(struct event_base *base, struct gpu *gpu)
{
	pid_t pid = 0;
	int status;

	gpu_look(gpu);
	while (pid == 0) {
		event_base_loop(base, EVLOOP_NONBLOCK);
		pid = waitpid(-1, &status, WNOHANG);
	}
	if (pid > 0)
		assert_true(gpu_child_ended(gpu, pid, status));
	else
		assert_int_equal(errno, ECHILD);
}

static const char *stand_in(void **state, const char *body)
{
	char *script cleanup_free = mem_printf("#!/bin/sh\n%s\n", body);

	scratch_write(state, "nvidia-smi", script, 0755);
	return scratch_path(state, "nvidia-smi");
}

static size_t count_devices(const struct gpu *gpu)
{
	struct metrics metrics = {0};

	gpu_add(gpu, &metrics);
	size_t count = metrics.gpu_count;
	metrics_finish(&metrics);
	return count;
}

static void a_stand_in_is_asked(void **state)
{
	struct event_base *base = event_base_new();
	scratch_write(state, "answer", answer_of_four, 0600);
	char *body cleanup_free =
		mem_printf("test \"$1\" = --query-gpu=index,uuid,utilization.gpu,memory.used,"
			   "memory.total,power.draw || exit 9\n"
			   "test \"$2\" = --format=csv,noheader,nounits || exit 9\n"
			   "cat %s",
			   scratch_path(state, "answer"));
	struct gpu *gpu = gpu_create(base, stand_in(state, body), "2");

	assert_int_equal(count_devices(gpu), 0);
	look(base, gpu);
	assert_int_equal(count_devices(gpu), 1);
	assert_false(gpu_child_ended(gpu, getpid(), 0));
	gpu_destroy(gpu);
	event_base_free(base);
}

static void it_gives_up_after_ten_failures_in_a_row(void **state)
{
	struct event_base *base = event_base_new();
	const char *calls = scratch_path(state, "calls");
	char *body cleanup_free = mem_printf("echo x >>%s; exit 1", calls);
	struct gpu *gpu = gpu_create(base, stand_in(state, body), NULL);

	for (int i = 0; i < 15; i++)
		look(base, gpu);
	assert_text_freed(scratch_read(state, "calls"), "x\nx\nx\nx\nx\nx\nx\nx\nx\nx\n");
	gpu_destroy(gpu);

	gpu = gpu_create(base, scratch_path(state, "not-there"), NULL);
	for (int i = 0; i < 15; i++)
		look(base, gpu);
	assert_int_equal(count_devices(gpu), 0);
	gpu_destroy(gpu);
	event_base_free(base);
}

static void one_under_way_can_be_cancelled(void **state)
{
	struct event_base *base = event_base_new();
	struct gpu *gpu = gpu_create(base, stand_in(state, "exec sleep 1000"), NULL);

	gpu_look(gpu);
	gpu_look(gpu); /* no second one */
	gpu_cancel(gpu);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	gpu_destroy(gpu);
	event_base_free(base);
}

static void endless_output_is_not_kept(void **state)
{
	struct event_base *base = event_base_new();
	struct gpu *gpu =
		gpu_create(base, stand_in(state, "yes 0123456789 | head -c 300000"), NULL);

	look(base, gpu);
	assert_int_equal(count_devices(gpu), 0);
	gpu_destroy(gpu);
	event_base_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_own_devices_are_told),
		cmocka_unit_test(power_is_told_in_whole_watts),
		cmocka_unit_test(without_a_selection_all_are_told),
		cmocka_unit_test(what_is_no_answer_is_an_error),
		scratch_test(a_stand_in_is_asked),
		scratch_test(it_gives_up_after_ten_failures_in_a_row),
		scratch_test(one_under_way_can_be_cancelled),
		scratch_test(endless_output_is_not_kept),
	};

	return cmocka_run_group_tests_name("gpu", tests, NULL, NULL);
}
