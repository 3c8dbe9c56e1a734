/* What is promised: src/am/usage.h, and docs/rest.md of /v1/series. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "am/usage.h"
#include "base/json.h"
#include "base/mem.h"

#define FIRST                                                                                      \
	(struct program_identity)                                                                  \
	{                                                                                          \
		.attempt = 1, .epoch = 1                                                           \
	}
#define RESTARTED                                                                                  \
	(struct program_identity)                                                                  \
	{                                                                                          \
		.attempt = 1, .epoch = 1, .restart = 1                                             \
	}

static const struct series_shape shape = {USAGE_COLUMNS, 32, .has_range = true};

static struct metrics sample(int64_t at, int64_t rss, int64_t cpu_ms)
{
	return (struct metrics){.sampled_ms = at,
				.rss_bytes = rss,
				.cpu_ms = cpu_ms,
				.net_receive_bytes = -1,
				.net_send_bytes = -1};
}

static void add(struct usage *usage, struct program_identity of, struct metrics metrics)
{
	usage_add(usage, &of, &metrics, 1000000 + metrics.sampled_ms);
}

/* What /v1/series would say of this series, as compact JSON; "" when it does not name it. */
static char *written(const struct usage *usage, const char *name)
{
	struct str text cleanup_str = {0};
	struct err err cleanup_err = {0};
	const json_t *row;
	size_t i;

	usage_write_series(usage, 100, &text);
	json_t *all cleanup_json = json_parse(text.text, text.length, &err);
	assert_non_null(all);
	json_array_foreach(all, i, row)
	{
		if (str_equal(json_string_value(json_object_get(row, "name")), name))
			return json_text(row);
	}
	return mem_strdup("");
}

static void expect(const struct usage *usage, const char *name, const char *wanted)
{
	char *found cleanup_free = written(usage, name);

	assert_string_equal(found, wanted);
}

static void test_gauges(void **state)
{
	struct usage *usage = usage_create(&shape, 1000);

	add(usage, FIRST, sample(1000, 3000000000, 0));
	add(usage, FIRST, sample(2000, 7, 0));
	expect(usage, "rss_bytes",
	       "{\"name\":\"rss_bytes\",\"unit\":\"bytes\",\"kind\":\"gauge\",\"gpu\":null,"
	       "\"t\":[1001000,1002000],\"v\":[3000000000,7]}");
	usage_destroy(usage);
}

/* Processor time that grows by 1500 ms in a second is one core and a half. */
static void test_rates(void **state)
{
	struct usage *usage = usage_create(&shape, 1000);
	const char *wanted = "{\"name\":\"cpu_percent\",\"unit\":\"percent\",\"kind\":\"gauge\","
			     "\"gpu\":null,\"t\":[1001000,1002000,1004000],\"v\":[null,150,25]}";

	add(usage, FIRST, sample(1000, 1, 200));
	add(usage, FIRST, sample(2000, 1, 1700));
	add(usage, FIRST, sample(4000, 1, 2200));
	expect(usage, "cpu_percent", wanted);
	assert_float_equal((float)(usage_total(usage)->cpu_ms / usage_total(usage)->cpu_time_ms),
			   (float)(2000.0 / 3000), 1e-6);
	usage_destroy(usage);
}

static void test_process_that_is_another_begins_anew(void **state)
{
	struct usage *usage = usage_create(&shape, 1000);

	add(usage, FIRST, sample(1000, 1, 9000));
	add(usage, RESTARTED, sample(2000, 1, 10000));
	add(usage, RESTARTED, sample(3000, 1, 10100));
	add(usage, RESTARTED, sample(4000, 1, 50)); /* a process of it has gone */
	add(usage, RESTARTED, sample(5000, 1, 150));
	expect(usage, "cpu_percent",
	       "{\"name\":\"cpu_percent\",\"unit\":\"percent\",\"kind\":\"gauge\",\"gpu\":null,"
	       "\"t\":[1001000,1002000,1003000,1004000,1005000],\"v\":[null,null,10,null,10]}");
	usage_destroy(usage);
}

/* A beat repeats the last sample until there is another one. */
static void test_same_sample_counts_once(void **state)
{
	struct usage *usage = usage_create(&shape, 1000);

	add(usage, FIRST, sample(1000, 100, 0));
	for (int i = 0; i < 10; i++)
		add(usage, FIRST, sample(2000, 400, 1000));
	add(usage, FIRST, sample(3000, 100, 2000));
	assert_int_equal(usage_total(usage)->samples, 3);
	assert_int_equal(usage_total(usage)->max_rss_bytes, 400);
	json_t *object cleanup_json = usage_to_json(usage);
	assert_int_equal(json_integer_value(json_object_get(object, "average_rss_bytes")), 200);
	usage_destroy(usage);
}

static void test_steps_go_on_in_the_same_sample(void **state)
{
	struct usage *usage = usage_create(&shape, 1000);
	struct metrics metrics = sample(1000, 100, 0);

	metrics.step = 90;
	metrics.steps = 100;
	add(usage, FIRST, metrics);
	metrics.step = 100;
	add(usage, FIRST, metrics);
	assert_int_equal(usage_last(usage)->step, 100);
	assert_int_equal(usage_total(usage)->samples, 1);
	usage_destroy(usage);
}

static struct straggler_signs signs_of(const struct usage *usage)
{
	struct straggler_signs signs = {true, NAN, NAN, NAN, NAN, NAN, NAN};

	usage_signs(usage, &signs);
	return signs;
}

static void add_step(struct usage *usage, struct program_identity of, int64_t at, int64_t step)
{
	struct metrics metrics = sample(at, 1, at / 2);

	metrics.step = step;
	metrics.gpus = mem_alloc(sizeof(*metrics.gpus));
	metrics.gpus[0] = (struct metrics_gpu){.utilization_percent = (int)(at / 1000)};
	metrics.gpu_count = 1;
	add(usage, of, metrics);
}

/* Spans begin at whole multiples of 10 s; add() begins at 1000 s. */
static void test_what_it_did_of_late(void **state)
{
	struct usage *usage = usage_create(&shape, 10000);

	add_step(usage, FIRST, 1000, 0);
	assert_float_equal(signs_of(usage).step, 0, 0.1);
	assert_true(isnan(signs_of(usage).cpu_percent) && isnan(signs_of(usage).steps_made));
	for (int64_t second = 2; second <= 35; second++)
		add_step(usage, FIRST, 1000 * second, 7 * second);
	const struct straggler_signs signs = signs_of(usage);
	assert_float_equal(signs.step, 7 * 35, 0.1);
	assert_float_equal(signs.step_before, 7 * 20, 0.1);
	assert_float_equal((float)(signs.steps_made / signs.seconds), 7, 0.01);
	assert_float_equal(signs.cpu_percent, 50, 0.1);
	assert_float_equal(signs.gpu_percent, 28, 0.1); /* of the seconds 21 to 35 */
	/* Another process has done nothing yet. */
	assert_true(usage_is_of(usage, &FIRST) && !usage_is_of(usage, &RESTARTED));
	add_step(usage, RESTARTED, 36000, 3);
	assert_true(!usage_is_of(usage, &FIRST) && usage_is_of(usage, &RESTARTED));
	assert_float_equal(signs_of(usage).step, 3, 0.1);
	assert_true(isnan(signs_of(usage).cpu_percent));
	usage_destroy(usage);
}

static void test_steps_that_go_back_are_not_compared(void **state)
{
	struct usage *usage = usage_create(&shape, 10000);

	for (int64_t second = 1; second <= 35; second++)
		add_step(usage, FIRST, 1000 * second, second % 30);
	assert_true(isnan(signs_of(usage).step) && isnan(signs_of(usage).steps_made));
	assert_float_equal(signs_of(usage).cpu_percent, 50, 0.1);
	usage_destroy(usage);
}

static void test_what_was_not_measured_is_not_there(void **state)
{
	struct usage *usage = usage_create(&shape, 1000);
	struct metrics metrics = sample(3000, 1, 0);
	struct str text cleanup_str = {0};

	add(usage, FIRST, sample(1000, 1, 0));
	add(usage, FIRST, sample(2000, 1, 0));
	expect(usage, "net_send_bytes_per_s", "");
	expect(usage, "gpu_power_watts", "");
	assert_false(usage_write_newest(usage, USAGE_NET_SEND_BYTES_PER_S, 32, &text));
	metrics.net_send_bytes = 5000;
	add(usage, FIRST, metrics);
	metrics.net_send_bytes = 8000;
	metrics.sampled_ms = 4000;
	add(usage, FIRST, metrics);
	assert_true(usage_write_newest(usage, USAGE_NET_SEND_BYTES_PER_S, 32, &text));
	assert_string_equal(text.text, "{\"last\":3000,\"v\":[null,null,null,3000]}");
	usage_destroy(usage);
}

static struct metrics with_gpus(int64_t at, int first, int second)
{
	struct metrics metrics = sample(at, 1, 0);

	metrics.gpus = mem_alloc_array(2, sizeof(*metrics.gpus));
	metrics.gpu_count = second < 0 ? 1 : 2;
	metrics.gpus[0] = (struct metrics_gpu){
		.index = 0, .utilization_percent = first, .memory_used_mib = 1, .power_watts = 70};
	metrics.gpus[1] =
		(struct metrics_gpu){.index = 3, .utilization_percent = second, .power_watts = -1};
	return metrics;
}

static void test_gpus(void **state)
{
	struct usage *usage = usage_create(&shape, 1000);
	struct str text cleanup_str = {0};

	add(usage, FIRST, with_gpus(1000, 10, -1));
	add(usage, FIRST, with_gpus(2000, 20, 60));
	expect(usage, "gpu_memory_used_bytes",
	       "{\"name\":\"gpu_memory_used_bytes\",\"unit\":\"bytes\",\"kind\":\"gauge\","
	       "\"gpu\":0,\"t\":[1001000,1002000],\"v\":[1048576,1048576]}");
	expect(usage, "gpu_power_watts",
	       "{\"name\":\"gpu_power_watts\",\"unit\":\"watts\",\"kind\":\"gauge\",\"gpu\":0,"
	       "\"t\":[1001000,1002000],\"v\":[70,70]}");
	assert_true(usage_write_newest(usage, USAGE_GPU_UTILIZATION_PERCENT, 32, &text));
	assert_string_equal(text.text, "{\"last\":40,\"v\":[10,40]}");
	assert_float_equal((float)usage_total(usage)->gpu_sum, 90, 1e-6);
	assert_float_equal((float)usage_total(usage)->gpu_samples, 3, 1e-6);
	usage_destroy(usage);
}

static const struct program_use whole = {
	.ms = 2000, .cpu_ms = 1500, .max_rss_bytes = 900, .max_pss_bytes = 700};

static void test_program_that_was_never_measured_counts_with_what_it_used(void **state)
{
	struct usage *usage = usage_create(&shape, 1000);
	const struct usage_total *total = usage_total(usage);

	add(usage, FIRST, sample(1000, 50, 9000));
	for (int i = 0; i < 2; i++) /* a report that is sent again */
		usage_add_end(usage, &RESTARTED, &whole, 1005000);
	expect(usage, "cpu_percent",
	       "{\"name\":\"cpu_percent\",\"unit\":\"percent\",\"kind\":\"gauge\",\"gpu\":null,"
	       "\"t\":[1001000,1005000],\"v\":[null,75]}");
	expect(usage, "rss_bytes",
	       "{\"name\":\"rss_bytes\",\"unit\":\"bytes\",\"kind\":\"gauge\",\"gpu\":null,"
	       "\"t\":[1001000,1005000],\"v\":[50,900]}");
	expect(usage, "pss_bytes",
	       "{\"name\":\"pss_bytes\",\"unit\":\"bytes\",\"kind\":\"gauge\",\"gpu\":null,"
	       "\"t\":[1001000,1005000],\"v\":[0,700]}");
	expect(usage, "read_bytes_per_s", "");
	assert_int_equal(total->max_rss_bytes, 900);
	assert_int_equal(total->max_pss_bytes, 700);
	assert_int_equal(total->samples, 2);
	assert_float_equal((float)total->cpu_ms, 1500, 1e-6);
	assert_float_equal((float)total->cpu_time_ms, 2000, 1e-6);
	usage_destroy(usage);
}

static void test_end_adds_what_the_samples_did_not_see(void **state)
{
	struct usage *usage = usage_create(&shape, 1000);
	const struct usage_total *total = usage_total(usage);

	add(usage, FIRST, sample(1000, 50, 1000));
	for (int i = 0; i < 2; i++)
		usage_add_end(usage, &FIRST, &whole, 1001000);
	assert_int_equal(total->max_rss_bytes, 900);
	assert_int_equal(total->max_pss_bytes, 700);
	assert_int_equal(total->samples, 1);
	assert_float_equal((float)total->cpu_ms, 1500, 1e-6);
	assert_float_equal((float)total->cpu_time_ms, 2000, 1e-6);
	usage_destroy(usage);
}

static void test_next_am_counts_the_whole_process_once(void **state)
{
	struct usage *before = usage_create(&shape, 1000), *after = usage_create(&shape, 1000);

	add(before, FIRST, sample(1000, 50, 200));
	add(before, FIRST, sample(2000, 50, 800));
	json_t *line cleanup_json = json_pack("{s:i,s:i,s:o}", "attempt", FIRST.attempt, "samples",
					      2, "resume", usage_to_resume(before));
	usage_restore(after, line, 1003000);
	usage_add_end(after, &FIRST, &whole, 1003000);
	assert_float_equal((float)usage_total(after)->cpu_ms, 1500, 1e-6);
	assert_float_equal((float)usage_total(after)->cpu_time_ms, 2000, 1e-6);
	usage_destroy(before);
	usage_destroy(after);
}

/* A peak, and a pause in which nobody measured, are seen in a curve of any length, also by the AM
 * that follows. */
static void test_peaks_and_gaps_are_kept(void **state)
{
	struct usage *before = usage_create(&shape, 10000), *after = usage_create(&shape, 10000);
	struct str series cleanup_str = {0};

	for (int i = 1; i <= 200; i++)
		add(before, FIRST,
		    sample((i < 150 ? 0 : 100000) + 1000 * i, i == 77 ? 900 : 50, 0));
	char *found cleanup_free = written(before, "rss_bytes");
	assert_non_null(strstr(found, "\"most\":{\"t\":1077000,\"v\":900}"));
	assert_non_null(strstr(found, "900,"));
	assert_non_null(strstr(found, "\"gap\":[false"));
	usage_write_series(before, 100, &series);
	char *text cleanup_free =
		mem_printf("{\"attempt\":1,\"samples\":200,\"series\":%s}", str_text(&series));
	json_t *line cleanup_json = json_parse(text, strlen(text), NULL);
	json_object_set_new(line, "resume", usage_to_resume(before));
	usage_restore(after, line, 1400000);
	expect(after, "rss_bytes", found);
	add(after, FIRST, sample(390000, 50, 0));
	char *next cleanup_free = written(after, "rss_bytes");
	assert_non_null(strstr(next, "false,true],\"exact\""));
	usage_destroy(before);
	usage_destroy(after);
}

static void test_names(void **state)
{
	static const char *const names[USAGE_SERIES_COUNT] = {"cpu_percent",
							      "rss_bytes",
							      "pss_bytes",
							      "read_bytes_per_s",
							      "write_bytes_per_s",
							      "net_receive_bytes_per_s",
							      "net_send_bytes_per_s",
							      "processes",
							      "threads",
							      "gpu_utilization_percent",
							      "gpu_memory_used_bytes",
							      "gpu_memory_total_bytes",
							      "gpu_power_watts"};

	for (int i = 0; i < USAGE_SERIES_COUNT; i++)
		assert_int_equal(usage_find_series(names[i]), i);
	assert_int_equal(usage_find_series("loss"), -1);
}

static void test_silence_is_counted(void **state)
{
	struct usage *usage = usage_create(&shape, 1000);

	add(usage, FIRST, sample(1000, 100, 0));
	usage_add_silence(usage, 900, 1000);
	usage_add_silence(usage, 5000, 1000);
	usage_add_silence(usage, 2001, 1000);
	usage_add_silence(usage, 2000, 1000);
	json_t *object cleanup_json = usage_to_json(usage);
	assert_int_equal(json_integer_value(json_object_get(object, "longest_silence_ms")), 5000);
	assert_int_equal(json_integer_value(json_object_get(object, "late_beats")), 2);
	usage_destroy(usage);
}

/* What an AM that follows reads may say that nothing was ever measured. */
static void test_of_no_samples_there_are_means(void **state)
{
	struct usage *usage = usage_create(&shape, 1000);
	json_t *line cleanup_json = json_pack("{s:i}", "samples", 0);

	usage_restore(usage, line, 1000);
	assert_int_equal(usage_total(usage)->samples, 1);
	json_t *object cleanup_json = usage_to_json(usage);
	assert_int_equal(json_integer_value(json_object_get(object, "average_rss_bytes")), 0);
	usage_destroy(usage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_of_no_samples_there_are_means),
		cmocka_unit_test(test_silence_is_counted),
		cmocka_unit_test(test_what_it_did_of_late),
		cmocka_unit_test(test_steps_that_go_back_are_not_compared),
		cmocka_unit_test(test_gauges),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_process_that_is_another_begins_anew),
		cmocka_unit_test(test_same_sample_counts_once),
		cmocka_unit_test(test_steps_go_on_in_the_same_sample),
		cmocka_unit_test(test_what_was_not_measured_is_not_there),
		cmocka_unit_test(test_gpus),
		cmocka_unit_test(test_peaks_and_gaps_are_kept),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_program_that_was_never_measured_counts_with_what_it_used),
		cmocka_unit_test(test_end_adds_what_the_samples_did_not_see),
		cmocka_unit_test(test_next_am_counts_the_whole_process_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
