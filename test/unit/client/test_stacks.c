/* The promises of src/client/stacks_group.h. */
#include "../base/test.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "client/stacks_group.h"

#define PYTHON(pid, thread, state, frame)                                                          \
	"[{\"pid\":" #pid ",\"name\":\"python3\",\"command\":\"python3 train.py\",\"python\":["    \
	"\"Process " #pid ": python3 train.py\",\"Python v3.11.2 (/usr/bin/python3.11)\","         \
	"\"Thread " #thread " (" state "): \\\"MainThread\\\"\",\"    " frame "\"],"               \
	"\"threads\":[{\"id\":" #thread ",\"name\":\"python3\",\"state\":\"" state "\","           \
	"\"place\":\"futex\",\"call\":\"202 0x1\"}]}]"

static json_t *group(const char *const *answers, size_t count)
{
	struct stacks_answer *items cleanup_free = mem_alloc_array(count, sizeof(*items));

	for (size_t i = 0; i < count; i++) {
		items[i].task = mem_printf("worker:%zu", i);
		items[i].processes = json_parse(answers[i], strlen(answers[i]), NULL);
		assert_non_null(items[i].processes);
	}
	json_t *groups = stacks_group(items, count);
	for (size_t i = 0; i < count; i++) {
		free(items[i].task);
		json_decref(items[i].processes);
	}
	return groups;
}

static void assert_tasks(const json_t *groups, size_t which, const char *expected)
{
	struct str tasks cleanup_str = {0};

	stacks_append_tasks(json_object_get(json_array_get(groups, which), "tasks"), &tasks);
	assert_string_equal(str_text(&tasks), expected);
}

static void numbers_and_states_tell_no_groups_apart_but_lines_do(void **state)
{
	static const char *const answers[] = {
		PYTHON(1, 11, "idle", "load (train.py:3)"),
		PYTHON(2, 12, "idle", "all_reduce (train.py:9)"),
		PYTHON(3, 13, "active", "all_reduce (train.py:9)"),
		PYTHON(4, 14, "idle", "all_reduce (train.py:8)"),
		PYTHON(5, 15, "idle", "all_reduce (train.py:9)"),
		PYTHON(6, 16, "idle", "all_reduce (train.py:9)"),
	};
	json_t *groups cleanup_json = group(answers, array_length(answers));

	assert_int_equal(json_array_size(groups), 3);
	assert_tasks(groups, 0, "worker:1-2, worker:4-5");
	const json_t *lines = json_object_get(json_array_get(groups, 0), "lines");
	assert_string_equal(json_string_value(json_array_get(lines, 0)),
			    "Thread (idle): \"MainThread\"");
	assert_string_equal(json_string_value(json_array_get(lines, 2)),
			    "1 thread python3: idle, in the kernel at futex, system call 202");
}

static void without_python_places_in_the_kernel_tell_groups_apart(void **state)
{
#define SLEEP(place)                                                                               \
	"[{\"pid\":1,\"name\":\"sleep\",\"threads\":[{\"id\":1,\"name\":\"a\",\"state\":\"S\","    \
	"\"place\":\"" place "\",\"call\":\"1 2\"},{\"id\":2,\"name\":\"a\",\"state\":\"S\","      \
	"\"place\":\"" place "\",\"call\":\"1 3\"}]}]"
	static const char *const answers[] = {SLEEP("pipe"), SLEEP("poll"), SLEEP("pipe")};
	json_t *groups cleanup_json = group(answers, array_length(answers));

	assert_int_equal(json_array_size(groups), 2);
	assert_tasks(groups, 0, "worker:0, worker:2");
	const json_t *lines = json_object_get(json_array_get(groups, 0), "lines");
	assert_int_equal(json_array_size(lines), 1);
	assert_string_equal(json_string_value(json_array_get(lines, 0)),
			    "2 threads a: S, in the kernel at pipe, system call 1");
}

/* An executor of another version, or none of tony's. */
static void answers_of_another_form_do_no_harm(void **state)
{
	static const char *const answers[] = {
		"[]",
		"[1, \"a\", null, {}]",
		"[{\"name\": 5, \"python\": {}, \"threads\": [1], \"problem\": 1}]",
		"[{\"threads\": [{\"state\": []}]}]",
		"[{\"python\": [1, \"Thread \", \"Thread\", \"Thread x\", \"\"]}]",
		"{\"a\": 1}",
	};
	json_t *groups cleanup_json = group(answers, array_length(answers));
	size_t i;
	json_t *item;

	json_array_foreach(groups, i, item)
	{
		assert_true(json_integer_value(json_object_get(item, "processes")) > 0);
		assert_non_null(json_string_value(json_object_get(item, "command")));
	}
}

static void names_of_several_types_are_shortened(void **state)
{
	json_t *tasks cleanup_json = json_pack("[ssssss]", "ps:0", "ps:1", "worker:2", "worker:3",
					       "worker:4", "worker:6");
	struct str text cleanup_str = {0};

	stacks_append_tasks(tasks, &text);
	assert_string_equal(text.text, "ps:0-1, worker:2-4, worker:6");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_and_states_tell_no_groups_apart_but_lines_do),
		cmocka_unit_test(without_python_places_in_the_kernel_tell_groups_apart),
		cmocka_unit_test(answers_of_another_form_do_no_harm),
		cmocka_unit_test(names_of_several_types_are_shortened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
