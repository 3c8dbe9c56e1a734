#include "fixture.h"

#include "base/json.h"
#include "base/mem.h"
#include "conf/keys.h"

static void test_rows_are_whole(void **state)
{
	struct str_list names cleanup_str_list = {0};

	for (size_t g = 0; g < key_group_count; g++) {
		for (size_t i = 0; i < key_groups[g].count; i++) {
			const struct key *key = &key_groups[g].keys[i];
			struct err err cleanup_err = {0};
			if (str_list_has(&names, key->name))
				fail_msg("%s is there twice", key->name);
			str_list_add(&names, key->name);
			if (key->default_value && key_check(key, key->default_value, &err) < 0 &&
			    *key->default_value)
				fail_msg("%s: default: %s", key->name, err_message(&err));
			if (!str_ends_with(key->doc, ".") && !str_ends_with(key->doc, ".)"))
				fail_msg("%s: no sentence", key->name);
			if (!key->since)
				fail_msg("%s: no since", key->name);
			if (key->status != KEY_HONOURED && !key->note)
				fail_msg("%s: no reason", key->name);
			if (key->type == KEY_DURATION && !key->bare_ms)
				fail_msg("%s: no unit", key->name);
			if ((key->type == KEY_CHOICE) != (key->choices != NULL))
				fail_msg("%s: choices", key->name);
			if (key->deprecated_by && !key_find(key->deprecated_by, NULL))
				fail_msg("%s: deprecated by nothing", key->name);
		}
	}
}

static void test_find(void **state)
{
	struct key_word words[KEY_MAX_WORDS];

	assert_string_equal(key_find("tony.my-type_2.memory", words)->name, "tony.<type>.memory");
	assert_int_equal(words[0].length, strlen("my-type_2"));
	assert_memory_equal(words[0].start, "my-type_2", words[0].length);
	assert_string_equal(key_find("tony.tensorboard.vcores", NULL)->default_value, "2");
	assert_string_equal(key_find("tony.am.memory", NULL)->name, "tony.am.memory");
	assert_string_equal(key_find("tony.worker.timeout", NULL)->name, "tony.worker.timeout");
	assert_non_null(key_find("tony.application.dependency.b.timeout.after.G.ignored", words));
	assert_memory_equal(words[1].start, "G", words[1].length);
	assert_null(key_find("tony.task.instances", NULL));
	assert_null(key_find("tony.am.instances", NULL));
	assert_null(key_find("tony..memory", NULL));
	assert_null(key_find("tony.a.b.memory", NULL));
	assert_null(key_find("tony.worker.memory.", NULL));
	assert_null(key_find("tony.worker.", NULL));
	assert_null(key_find("tony.", NULL));
	assert_null(key_find("", NULL));
	assert_null(key_find("worker.memory", NULL));
}

static void check_suggestion(const char *name, const char *expected)
{
	char *nearest cleanup_free = key_suggest(name);

	if (!str_equal(nearest, expected))
		fail_msg("%s: suggested %s instead of %s", name, nearest ? nearest : "nothing",
			 expected ? expected : "nothing");
}

static void test_suggestions(void **state)
{
	check_suggestion("tony.worker.memmory", "tony.worker.memory");
	check_suggestion("tony.trainer.instnces", "tony.trainer.instances");
	check_suggestion("tony.aplication.name", "tony.application.name");
	check_suggestion("tony.am.retry-cuont", "tony.am.retry-count");
	check_suggestion("tony.application.dependency.ps.timeout.after.G.ignore",
			 "tony.application.dependency.ps.timeout.after.G.ignored");
	check_suggestion("tony.something.entirely.different.and.long", NULL);
}

static void test_task_types(void **state)
{
	assert_true(key_is_task_type("worker"));
	assert_true(key_is_task_type("a"));
	assert_true(key_is_task_type("worker-a2_b"));
	assert_false(key_is_task_type(""));
	assert_false(key_is_task_type("Worker"));
	assert_false(key_is_task_type("2nd"));
	assert_false(key_is_task_type("-a"));
	assert_false(key_is_task_type("a.b"));
	assert_false(key_is_task_type("a/b"));
	assert_false(key_is_task_type("task"));
	assert_false(key_is_task_type("am"));
	assert_false(key_is_task_type(
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

static void accept(const char *name, const char *value)
{
	struct err err cleanup_err = {0};

	if (key_check(key_find(name, NULL), value, &err) < 0)
		fail_msg("%s=%s: %s", name, value, err_message(&err));
}

static void refuse(const char *name, const char *value, const char *message)
{
	struct err err cleanup_err = {0};

	if (key_check(key_find(name, NULL), value, &err) == 0)
		fail_msg("%s=%s was accepted", name, value);
	assert_int_equal(err.kind, ERR_CONFIG);
	assert_message(&err, message);
}

static void test_values_accepted(void **state)
{
	accept("tony.worker.memory", "2g");
	accept("tony.worker.memory", "2M");
	accept("tony.worker.memory", "3");
	accept("tony.worker.memory", "1.5g");
	accept("tony.worker.memory", "10 GB");
	accept("tony.worker.max-instances", "-1");
	accept("tony.task.max-total-memory", "-1");
	accept("tony.container.registration.timeout", "-1");
	accept("tony.application.timeout", "86400000");
	accept("tony.application.timeout", "1.5h");
	accept("tony.application.timeout", "1h30m");
	accept("tony.application.distributed-mode", "fcfs");
	accept("tony.docker.enabled", "TRUE");
	accept("tony.worker.depends-on", "db, dbloader:start,x:finish");
	accept("tony.worker.resources", " a::b#archive, , c ,");
	accept("tony.execution.envs", "A=1,B=a\\,b,bar");
	accept("tony.application.tags", "any thing: at all");
}

static void test_values_refused(void **state)
{
	const char *size = "tony.worker.memory";

	refuse(size, "2q", "\"2q\" is not a size; write 2g or 2048m");
	refuse(size, "1k", "\"1k\" is less than 1 MiB; write 1m or more");
	refuse("tony.task.log-rotate-size", "0.5", "\"0.5\" is less than 1 MiB; write 1m or more");
	refuse(size, "99999999999g",
	       "\"99999999999g\" is out of range; write a value from 1 MiB to 1048576.0 TiB");
	refuse(size, "-1", "\"-1\" is not a size; write 2g or 2048m");
	refuse(size, "", "\"\" is not a size; write 2g or 2048m");
	refuse(size, "0", "\"0\" is out of range; write a value from 1 MiB to 1048576.0 TiB");
	refuse("tony.worker.instances", "two",
	       "\"two\" is not a whole number; write digits only, such as 1");
	refuse("tony.worker.instances", "1.0",
	       "\"1.0\" is not a whole number; write digits only, such as 1");
	refuse("tony.worker.instances", "99999999999999999999",
	       "\"99999999999999999999\" is out of range; write a value from 0 to 100000");
	refuse("tony.worker.instances", "100001",
	       "\"100001\" is out of range; write a value from 0 to 100000");
	refuse("tony.worker.instances", "-1",
	       "\"-1\" is out of range; write a value from 0 to 100000");
	refuse("tony.worker.vcores", "0", "\"0\" is out of range; write a value from 1 to 100000");
	refuse("tony.application.timeout", "10 moons",
	       "\"10 moons\" is not a duration; write 90s, 10m or 1h30m");
	refuse("tony.application.timeout", "-1",
	       "\"-1\" is not a duration; write 90s, 10m or 1h30m");
	refuse("tony.task.heartbeat-interval-ms", "0",
	       "\"0\" is out of range; write a value from 10 ms to 1 h 00 m");
	refuse("tony.docker.enabled", "maybe",
	       "\"maybe\" is not true or false; write true or false");
	refuse("tony.application.distributed-mode", "GNAG",
	       "\"GNAG\" is not known; write GANG or FCFS");
	refuse("tony.application.prepare-stage", "db,Worker",
	       "\"Worker\" is not a task type's name; write a lower-case letter, then lower-case "
	       "letters, digits, - and _");
	refuse("tony.worker.depends-on", "db:end",
	       "\"db:end\" is not a dependency; write TYPE, TYPE:start or TYPE:finish");
	refuse("tony.execution.envs", "A=1,=x",
	       "\"=x\" is not KEY=VALUE; write a name before \"=\"");
	refuse("tony.execution.envs", "A B=1",
	       "\"A B=1\" is not KEY=VALUE; write a name without blanks before \"=\"");
	refuse("tony.worker.resources", "a::b::c",
	       "\"a::b::c\" has more than one \"::\"; write SOURCE[::NAME][#archive]");
	refuse("tony.application.timeout", "3651d",
	       "\"3651d\" is out of range; write a value from 0 ms to 3650 d 00 h");
	refuse("tony.application.name", "a\xff", "\"a?\" is not UTF-8 text; write it in UTF-8");
}

static void explain(const char *name, const char *value, const char *expected)
{
	char *said cleanup_free = key_explain_number(key_find(name, NULL), value);

	if (!str_equal(said, expected))
		fail_msg("%s=%s: %s", name, value, said ? said : "nothing");
}

static void test_numbers_without_a_unit(void **state)
{
	explain("tony.application.timeout", "30",
		"\"30\" has no unit and counts milliseconds (30 ms); write 30ms, or 30s for "
		"seconds");
	explain("tony.cache.max-age", "90",
		"\"90\" has no unit and counts seconds (1 m 30 s); write 90s");
	explain("tony.worker.memory", "100",
		"\"100\" has no unit and counts MiB; write 100m, or 100g for GiB");
	explain("tony.worker.memory", "100m", NULL);
	explain("tony.application.timeout", "0", NULL);
	explain("tony.task.max-total-memory", "-1", NULL);
	explain("tony.task.heartbeat-interval-ms", "1000", NULL);
	explain("tony.task.executor.registry-timeout-sec", "10", NULL);
	explain("tony.worker.instances", "3", NULL);
}

static void test_lengths(void **state)
{
	char *text cleanup_free = mem_alloc(131073);
	struct err err cleanup_err = {0};

	memset(text, 'a', 4096);
	accept("tony.application.name", text);
	text[4096] = 'a';
	accept("tony.worker.command", text);
	refuse("tony.application.name", text,
	       "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\" is 4097 bytes long; write at most "
	       "4096");
	refuse("tony.application.tags", text,
	       "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\" is 4097 bytes long; write at most "
	       "4096");
	memset(text, 'a', 131072);
	assert_int_equal(key_check(key_find("tony.worker.command", NULL), text, &err), -1);
	err_finish(&err);
	text[1] = '=';
	assert_int_equal(key_check(key_find("tony.worker.envs", NULL), text, &err), -1);
	assert_non_null(strstr(err_message(&err), "is longer than 131071 bytes"));
}

static void test_readers(void **state)
{
	const struct key *environment = key_find("tony.execution.envs", NULL);
	const struct key *timeout = key_find("tony.container.allocation.timeout", NULL);
	struct str_list pairs cleanup_str_list = {0};

	assert_int_equal(key_read_mib("2g"), 2048);
	assert_int_equal(key_read_mib("2M"), 2);
	assert_int_equal(key_read_mib("3"), 3);
	assert_int_equal(key_read_mib("-1"), -1);
	assert_int_equal(key_read_ms(timeout, "-1"), 0);
	assert_int_equal(key_read_ms(timeout, "900000"), 900000);
	assert_int_equal(
		key_read_ms(key_find("tony.task.executor.registry-timeout-sec", NULL), "5"), 5000);
	key_read_list(environment, "A=1, B=x\\,y z,, C=a=b,D", &pairs);
	assert_int_equal(pairs.count, 4);
	assert_string_equal(pairs.items[0], "A=1");
	assert_string_equal(pairs.items[1], "B=x,y z");
	assert_string_equal(pairs.items[2], "C=a=b");
	assert_string_equal(pairs.items[3], "D");
}

static void test_documents_have_every_key(void **state)
{
	struct str man cleanup_str = {0}, table cleanup_str = {0}, text cleanup_str = {0};
	size_t count = 0;

	keys_write_man(&man);
	keys_write_table(NULL, &table);
	keys_write_json(NULL, &text);
	assert_true(str_starts_with(man.text, "tony-conf(5)\n"));
	json_t *array cleanup_json = json_parse(text.text, strlen(text.text), NULL);
	assert_non_null(array);
	for (size_t g = 0; g < key_group_count; g++) {
		for (size_t i = 0; i < key_groups[g].count; i++, count++) {
			const json_t *row = json_array_get(array, count);
			assert_string_equal(json_string_value(json_object_get(row, "name")),
					    key_groups[g].keys[i].name);
			assert_non_null(strstr(table.text, key_groups[g].keys[i].name));
		}
	}
	assert_int_equal(json_array_size(array), count);
	assert_non_null(strstr(man.text, "*tony.\\<type\\>.max-restarts*"));
}

static void test_keys_are_found_by_a_word(void **state)
{
	struct str table cleanup_str = {0}, none cleanup_str = {0}, text cleanup_str = {0};

	keys_write_table("Stop-Grace", &table);
	assert_non_null(strstr(table.text, "  tony.<type>.stop-grace = 10s\n"));
	assert_null(strstr(table.text, "tony.application.name"));
	keys_write_table("no such word", &none);
	assert_int_equal(none.length, 0);
	keys_write_json("SIGTERM and SIGKILL", &text); /* of the meaning */
	json_t *array cleanup_json = json_parse(text.text, strlen(text.text), NULL);
	assert_int_equal(json_array_size(array), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_are_found_by_a_word),
		cmocka_unit_test(test_rows_are_whole),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_suggestions),
		cmocka_unit_test(test_task_types),
		cmocka_unit_test(test_values_accepted),
		cmocka_unit_test(test_values_refused),
		cmocka_unit_test(test_numbers_without_a_unit),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_readers),
		cmocka_unit_test(test_documents_have_every_key),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
