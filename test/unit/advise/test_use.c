/* metrics.jsonl becomes figures. */
#include "scene.h"

#include <string.h>

#include "base/mem.h"

#define LINE                                                                                       \
	"{\"task\":\"worker:1\",\"attempt\":2,\"samples\":5000,\"max_rss_bytes\":900,"             \
	"\"series\":["                                                                             \
	"{\"name\":\"cpu_percent\",\"unit\":\"percent\",\"gpu\":null,\"t\":[1000,2000,3000],"      \
	"\"v\":[100,300,null]},"                                                                   \
	"{\"name\":\"rss_bytes\",\"gpu\":null,\"t\":[1000,2000,4000],\"v\":[100,700.5,200]},"      \
	"{\"name\":\"net_receive_bytes_per_s\",\"t\":[1000],\"v\":[10]},"                          \
	"{\"name\":\"net_send_bytes_per_s\",\"t\":[1000],\"v\":[5]},"                              \
	"{\"name\":\"gpu_utilization_percent\",\"gpu\":3,\"t\":[1000,2000],\"v\":[10,30]},"        \
	"{\"name\":\"gpu_memory_used_bytes\",\"gpu\":3,\"t\":[1000],\"v\":[6]},"                   \
	"{\"name\":\"gpu_memory_total_bytes\",\"gpu\":3,\"t\":[1000],\"v\":[12]}],"                \
	"\"user\":[{\"name\":\"loss\",\"run\":\"\",\"t\":[1000],\"step\":[1],\"v\":[0.5]},"        \
	"{\"name\":\"input_wait_percent\",\"run\":\"\",\"t\":[1,2],\"step\":[],\"v\":[20,40]},"    \
	"{\"name\":\"acc\",\"run\":\"\",\"t\":[1000,2000,3000,4000],\"step\":[5,9,7,8],"           \
	"\"v\":[0,0,0,0]}]}\n"

static void a_line_becomes_figures(void **state)
{
	struct scene scene = scene_begin("worker=2");
	struct advise_uses *uses = &scene.input.uses;

	assert_int_equal(advise_uses_read(uses, scene.job, LINE, strlen(LINE)), 0);
	assert_int_equal(uses->count, 1);
	const struct advise_use *use = &uses->items[0];
	assert_int_equal(use->task, 1);
	assert_int_equal(use->attempt, 2);
	assert_int_equal(use->from_ms, 1000);
	assert_int_equal(use->to_ms, 4000);
	assert_int_equal(use->samples, 5000);
	assert_int_equal(use->max_rss_bytes, 900);
	assert_int_equal(use->max_pss_bytes, -1);
	assert_float_equal(use->average_cores, 2, 0.001);
	assert_float_equal(use->high_cores, 3, 0.001);
	assert_float_equal(use->network_rate, 15, 0.001);
	assert_float_equal(use->read_rate, -1, 0.001);
	assert_float_equal(use->input_wait_percent, 30, 0.001);
	assert_int_equal(use->gpu_count, 1);
	assert_int_equal(use->gpus[0].index, 3);
	assert_float_equal(use->gpus[0].average_percent, 20, 0.001);
	assert_float_equal(use->gpus[0].used_bytes, 6, 0.001);
	assert_float_equal(use->gpus[0].memory_bytes, 12, 0.001);
	scene_finish(&scene);
}

static void a_step_back_begins_a_stretch(void **state)
{
	struct scene scene = scene_begin("worker=2");
	struct advise_uses *uses = &scene.input.uses;

	advise_uses_read(uses, scene.job, LINE, strlen(LINE));
	const struct advise_use *use = &uses->items[0];
	assert_int_equal(use->stretch_count, 2);
	assert_int_equal(use->stretches[0].first_step, 5);
	assert_int_equal(use->stretches[0].last_step, 9);
	assert_int_equal(use->stretches[0].last_ms, 2000);
	assert_int_equal(use->stretches[1].first_step, 7);
	assert_int_equal(use->stretches[1].points, 2);
	scene_finish(&scene);
}

static void uses_of_a_task_stand_together(void **state)
{
	static const char lines[] = "{\"task\":\"worker:1\",\"attempt\":2}\n"
				    "{\"task\":\"worker:0\",\"attempt\":1}\n\n"
				    "{\"task\":\"worker:1\",\"attempt\":1}";
	struct scene scene = scene_begin("worker=2");
	struct advise_uses *uses = &scene.input.uses;

	assert_int_equal(advise_uses_read(uses, scene.job, lines, strlen(lines)), 0);
	assert_int_equal(uses->count, 3);
	assert_int_equal(uses->items[0].task, 0);
	assert_int_equal(uses->items[1].attempt, 1);
	assert_int_equal(uses->items[2].attempt, 2);
	assert_int_equal(uses->items[2].max_rss_bytes, -1);
	scene_finish(&scene);
}

static void they_stand_in_order_whatever_order_they_come_in(void **state)
{
	enum { TASKS = 7, ATTEMPTS = 3 };
	struct advise_uses uses cleanup_advise_uses = {0};

	for (size_t i = 0; i < (size_t)TASKS * ATTEMPTS; i++) {
		size_t number = i * 8 % (TASKS * ATTEMPTS); /* each once */
		advise_uses_add(&uses, number / ATTEMPTS, (int)(number % ATTEMPTS) + 1)->samples =
			(int64_t)number;
	}
	assert_int_equal(uses.count, TASKS * ATTEMPTS);
	for (size_t i = 0; i < uses.count; i++) {
		assert_int_equal(uses.items[i].samples, i);
		assert_int_equal(uses.items[i].task, i / ATTEMPTS);
		assert_int_equal(uses.items[i].attempt, i % ATTEMPTS + 1);
	}
}

static void bad_lines_hurt_no_other(void **state)
{
	static const char *const bad[] = {
		"",
		"x",
		"[]",
		"{}",
		"{\"task\":\"worker:0\"}",
		"{\"task\":\"worker:9\",\"attempt\":1}",
		"{\"task\":\"worker:0\",\"attempt\":0}",
		"{\"task\":7,\"attempt\":1}",
	};
	static const char *const odd[] = {
		"{\"task\":\"worker:0\",\"attempt\":1,\"series\":7,\"user\":{}}",
		("{\"task\":\"worker:0\",\"attempt\":1,\"series\":[1,{},{\"name\":\"cpu_percent\"},"
		 "{\"name\":\"cpu_percent\",\"t\":[-5],\"v\":[1]},"
		 "{\"name\":\"cpu_percent\",\"t\":[1],\"v\":[-1,\"x\"]},"
		 "{\"name\":\"gpu_utilization_percent\",\"gpu\":-1,\"t\":[1],\"v\":[1]}]}"),
		("{\"task\":\"worker:0\",\"attempt\":1,\"user\":[{\"step\":[1,-2,\"x\",9e99]},"
		 "{\"t\":[1],\"step\":[1,2,3,4,5]}]}"),
		"{\"task\":\"worker:0\",\"attempt\":1,\"samples\":-7,\"max_rss_bytes\":\"x\"}",
	};
	struct scene scene = scene_begin("worker=2");
	struct advise_uses *uses = &scene.input.uses;
	struct str text cleanup_str = {0};

	for (size_t i = 0; i < array_length(bad); i++)
		str_append_format(&text, "%s\n", bad[i]);
	for (size_t i = 0; i < array_length(odd); i++)
		str_append_format(&text, "%s\n", odd[i]);
	str_append(&text, LINE);
	assert_int_equal(advise_uses_read(uses, scene.job, text.text, text.length),
			 array_length(bad) - 1);
	assert_int_equal(uses->count, array_length(odd) + 1);
	for (size_t i = 0; i < array_length(odd); i++) {
		assert_true(uses->items[i].average_cores < 0);
		assert_int_equal(uses->items[i].gpu_count, 0);
	}
	assert_int_equal(uses->items[array_length(odd)].samples, 5000);
	scene_silence(&scene, "any");
	scene_finish(&scene);
}

static void advice_has_its_form(void **state)
{
	struct scene scene = scene_begin("worker=1");

	scene_end(&scene, JOB_SUCCEEDED, HOUR);
	scene_uses(&scene, "worker", 2, 1000);
	scene_advice(&scene, "memory-oversized");
	json_t *json = advice_list_to_json(&scene.list);
	char *text = json_dumps(json, JSON_COMPACT);
	assert_string_equal(
		text, "{\"advice\":[{\"rule\":\"memory-oversized\",\"severity\":\"info\","
		      "\"title\":\"worker asks for more memory than it uses\",\"evidence\":["
		      "\"asked for: 4.0 GiB for each of 1 task\","
		      "\"the most that any of 1 container used: 1000 MiB\","
		      "\"others could have: 2.8 GiB\"],\"types\":[\"worker\"],\"settings\":"
		      "[{\"key\":\"tony.worker.memory\",\"now\":\"4g\",\"suggested\":\"1280m\"}],"
		      "\"xml\":\"<property>\\n  <name>tony.worker.memory</name>\\n"
		      "  <value>1280m</value>\\n</property>\\n\"}]}");
	free(text);
	json_decref(json);
	scene_finish(&scene);
}
static void expect_nan(const char *values, const char *nans, const char *wanted)
{
	struct scene scene = scene_begin("worker=2");
	struct advise_uses *uses = &scene.input.uses;
	char *line cleanup_free = mem_printf(
		"{\"task\":\"worker:0\",\"attempt\":1,\"user\":[{\"name\":\"loss\",\"t\":[1,2,3,4],"
		"\"step\":[10,20,30,40],\"v\":%s,\"nan\":%s}]}\n",
		values, nans);

	assert_int_equal(advise_uses_read(uses, scene.job, line, strlen(line)), 0);
	if (wanted)
		assert_string_equal(uses->items[0].nan_words, wanted);
	else
		assert_null(uses->items[0].nan_name);
	scene_finish(&scene);
}

static void a_number_that_has_become_nan_is_found(void **state)
{
	expect_nan("[1,null,null,null]", "[false,true,true,true]", "NaN since step 20");
	expect_nan("[1,1,1,null]", "[false,false,false,true]", NULL);
	expect_nan("[null,null,null,1]", "[true,true,true,false]", NULL);
	expect_nan("[null,null,null,null]", "[true,true,true,true]", NULL);
	expect_nan("[1,null,null,null]", "null", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_becomes_figures),
		cmocka_unit_test(a_step_back_begins_a_stretch),
		cmocka_unit_test(uses_of_a_task_stand_together),
		cmocka_unit_test(they_stand_in_order_whatever_order_they_come_in),
		cmocka_unit_test(bad_lines_hurt_no_other),
		cmocka_unit_test(a_number_that_has_become_nan_is_found),
		cmocka_unit_test(advice_has_its_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
