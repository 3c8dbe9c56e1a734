#include "fixture.h"

#include "base/mem.h"

static struct conf *read_yaml(const char *text)
{
	struct err err cleanup_err = {0};
	struct conf *conf = conf_create();

	if (conf_load_bytes(conf, CONF_LAYER_FILE, "job.yaml", text, strlen(text), &err) < 0)
		fail_msg("%s", err_message(&err));
	conf_resolve(conf, false);
	return conf;
}

static void refuse(const char *text, const char *message)
{
	struct err err cleanup_err = {0};
	struct conf *conf cleanup_conf = conf_create();

	assert_int_equal(
		conf_load_bytes(conf, CONF_LAYER_FILE, "job.yaml", text, strlen(text), &err), -1);
	assert_int_equal(err.kind, ERR_CONFIG);
	assert_message(&err, message);
}

static void nested_keys_are_joined_by_dots(void **state)
{
	struct conf *conf cleanup_conf = read_yaml("tony:\n"
						   "  application: {name: digits}\n"
						   "  worker:\n"
						   "    instances: 2\n"
						   "    memory: 2g # each\n"
						   "    command: |\n"
						   "      a\n"
						   "      b\n"
						   "tony.worker.vcores: '3'\n"
						   "base: /data\n"
						   "tony.ps.command: run ${base}\n");
	assert_no_lines(&conf_problems(conf)->errors);
	assert_string_equal(conf_text(conf, "tony.application.name"), "digits");
	assert_int_equal(conf_int(conf, "tony.worker.instances"), 2);
	assert_int_equal(conf_mib(conf, "tony.worker.memory"), 2048);
	assert_int_equal(conf_int(conf, "tony.worker.vcores"), 3);
	assert_string_equal(conf_text(conf, "tony.worker.command"), "a\nb");
	assert_string_equal(conf_text(conf, "tony.ps.command"), "run /data");
	assert_string_equal(conf_find(conf, "tony.worker.memory")->origin, "job.yaml:5");
}

static void lists_are_of_items_or_of_variables(void **state)
{
	struct conf *conf cleanup_conf = read_yaml("tony.execution.envs: {A: '1,2', B: '', C: ~}\n"
						   "tony.containers.envs: ['X=1,2', Y=3]\n"
						   "tony.application.tags:\n- one\n- two\n"
						   "tony.worker.resources: []\n");
	struct str_list pairs cleanup_str_list = {0}, more cleanup_str_list = {0};
	struct str_list tags cleanup_str_list = {0}, none cleanup_str_list = {0};

	assert_no_lines(&conf_problems(conf)->errors);
	conf_list(conf, &pairs, "tony.execution.envs");
	assert_int_equal(pairs.count, 3);
	assert_string_equal(pairs.items[0], "A=1,2");
	assert_string_equal(pairs.items[1], "B=");
	assert_string_equal(pairs.items[2], "C=");
	conf_list(conf, &more, "tony.containers.envs");
	assert_int_equal(more.count, 2);
	assert_string_equal(more.items[0], "X=1,2");
	conf_list(conf, &tags, "tony.application.tags");
	assert_int_equal(tags.count, 2);
	conf_list(conf, &none, "tony.worker.resources");
	assert_int_equal(none.count, 0);
}

static void all_that_is_wrong_with_keys_is_told(void **state)
{
	struct conf *conf cleanup_conf = read_yaml("tony:\n"
						   "  worker: {instances: 2, memory: 2q}\n"
						   "  am: {gpus: [1, 2]}\n"
						   "  application: {name: , tags: ['a,b']}\n"
						   "tony.worker.instances: 3\n"
						   "tony.wroker.memory: 2g\n"
						   "tony.application.timeout: {a: 1}\n");
	const struct str_list *errors = &conf_problems(conf)->errors;

	assert_line(errors, "job.yaml:2: tony.worker.memory: \"2q\" is not a size; write 2g or "
			    "2048m");
	assert_line(errors, "job.yaml:3: tony.am.gpus: is one value and no list; write it without "
			    "[ ] or -");
	assert_line(errors, "job.yaml:4: tony.application.name: has no value; write one, or \"\" "
			    "for an empty one");
	assert_line(errors,
		    "job.yaml:4: tony.application.tags: an item of a list cannot hold a comma");
	assert_line(errors, "job.yaml:5: tony.worker.instances: is set in line 2, too; take one of "
			    "them out");
	assert_line_has(errors, "job.yaml:7: tony.application.timeout.a: is not a known key");
	assert_int_equal(conf_int(conf, "tony.worker.instances"), 2);
}

static void what_is_no_job_file_is_refused(void **state)
{
	refuse("", "job.yaml:1: is empty; write KEY: VALUE");
	refuse("# nothing\n", "job.yaml:2: is empty; write KEY: VALUE");
	refuse("words", "job.yaml:1: the file has no keys; write KEY: VALUE, or XML");
	refuse("- a\n", "job.yaml:1: the file has no keys; write KEY: VALUE, or XML");
	refuse("a: 1\n---\nb: 2\n", "job.yaml:2: a second document begins; a job has one");
	refuse("a: &x 1\nb: *x\n", "job.yaml:2: an alias (*...) is not taken; write the value "
				   "here");
	refuse("a: [[1]]\n", "job.yaml:1: an item of a list is a word; write it as one");
	refuse("? [a]\n: 1\n", "job.yaml:1: a key is a word; write KEY: VALUE");
	refuse("'': 1\n", "job.yaml:1: a key is empty; write KEY: VALUE");
	refuse("a: !!python/object 1\n", "job.yaml:1: a tag (!...) means nothing here; take it "
					 "out");
	refuse("!x {a: 1}\n", "job.yaml:1: a tag (!...) means nothing here; take it out");
	refuse("a: !x 1\n", "job.yaml:1: a tag (!...) means nothing here; take it out");
	refuse("a: !!set {b}\n", "job.yaml:1: a tag (!...) means nothing here; take it out");
	refuse("a: \"\\0\"\n", "job.yaml:1: holds a control character; take it out");
	refuse("a: \"\\uffff\"\n", "job.yaml:1: holds U+FFFE or U+FFFF, which no text has; take it "
				   "out");
	refuse("a: 1\n\"b\\uFFFE\": 1\n", "job.yaml:2: holds U+FFFE or U+FFFF, which no text has; "
					  "take it out");
	refuse("a: 1\nb: 2\nc: \xff\n", "job.yaml:3: not YAML: invalid leading UTF-8 octet");
	refuse("tony.execution.envs: {A: [1]}\n", "job.yaml:1: a variable has one value; write "
						  "KEY: VALUE");
	refuse("a:\n\t- b\n", "job.yaml:2: not YAML: found character that cannot start any token, "
			      "while scanning for the next token");
}

static void variables_are_as_strict_as_keys(void **state)
{
	struct conf *conf cleanup_conf = read_yaml("tony.execution.envs: {A: 'C:\\', B: '2'}\n"
						   "tony.worker.envs:\n- A=\\\n- ~\n"
						   "tony.ps.envs: {A: 1, B: 2,\n A: 3}\n"
						   "tony.containers.envs: {A: 'C:\\d', B: 2}\n");
	const struct str_list *errors = &conf_problems(conf)->errors;
	struct str_list pairs cleanup_str_list = {0};

	assert_line(errors, "job.yaml:1: tony.execution.envs: the value of A ends in \"\\\", which "
			    "would escape the comma behind it; give it with --env");
	assert_line_has(errors, "job.yaml:3: tony.worker.envs: the value of A ends in");
	assert_line(errors, "job.yaml:4: tony.worker.envs: an item has no value; write one, or "
			    "take it out");
	assert_line(errors, "job.yaml:6: tony.ps.envs.A: is set in line 5, too; take one of them "
			    "out");
	assert_int_equal(errors->count, 4);
	conf_list(conf, &pairs, "tony.containers.envs");
	assert_int_equal(pairs.count, 2);
	assert_string_equal(pairs.items[0], "A=C:\\d");
}

static void keys_outside_of_tony_are_refused(void **state)
{
	struct conf *conf cleanup_conf = read_yaml("worker:\n  instances: 3\n"
						   "tonny:\n  worker: {vcores: 3}\n"
						   ".tony:\n  worker: {gpus: 3}\n"
						   "' tony.application.name': a\n"
						   "nothing: {like: it}\n"
						   "base: /data\n"
						   "tony.ps.command: ${base}\n");
	const struct str_list *errors = &conf_problems(conf)->errors;

	assert_line(errors, "job.yaml:2: worker.instances: is not a known key; did you mean "
			    "tony.worker.instances?");
	assert_line(errors, "job.yaml:4: tonny.worker.vcores: is not a known key; did you mean "
			    "tony.worker.vcores?");
	assert_line(errors, "job.yaml:6: .tony.worker.gpus: is not a known key; did you mean "
			    "tony.worker.gpus?");
	assert_line(errors, "job.yaml:7:  tony.application.name: is not a known key; did you mean "
			    "tony.application.name?");
	assert_line(errors, "job.yaml:8: nothing.like: does not begin with \"tony.\" and only "
			    "counts within ${...}, and no value names it; write tony: above it");
	assert_int_equal(errors->count, 5);
}

static void keys_in_messages_are_of_one_short_line(void **state)
{
	struct str text cleanup_str = {0};

	str_append(&text, "\"tony.a\\nb\": 1\ntony.");
	for (int i = 0; i < 250; i++)
		str_append(&text, "long");
	str_append(&text, ": ~\n");
	struct conf *conf cleanup_conf = read_yaml(text.text);
	const struct str_list *errors = &conf_problems(conf)->errors;
	assert_line_has(errors, "job.yaml:1: tony.a?b: is not a known key");
	assert_line_has(errors, "longlon...: has no value");
	for (size_t i = 0; i < errors->count; i++)
		assert_true(strlen(errors->items[i]) < 400);
}

static void depth_is_limited(void **state)
{
	struct str text cleanup_str = {0};

	for (int i = 0; i < 40; i++)
		str_append(&text, "{a: ");
	refuse(text.text, "job.yaml:1: keys are nested too deeply");
}

/* Of files by their names, of a stream by how it begins; a site's is XML. */
static void xml_and_yaml_are_told_apart(void **state)
{
	static const char xml[] = "\n" XML(PROPERTY("tony.am.gpus", "1")),
			  yaml[] = "tony.am.gpus: 1";
	struct err err cleanup_err = {0};
	struct conf *conf cleanup_conf = conf_create();

	assert_int_equal(conf_load_alone(conf, "hdfs:///x.yml", false, yaml, strlen(yaml), NULL),
			 0);
	assert_int_equal(conf_load_alone(conf, "hdfs:///x", false, yaml, strlen(yaml), NULL), -1);
	assert_int_equal(conf_load_alone(conf, "standard input", true, yaml, strlen(yaml), NULL),
			 0);
	assert_int_equal(conf_load_alone(conf, "standard input", true, xml, strlen(xml), NULL), 0);
	assert_int_equal(conf_load_bytes(conf, CONF_LAYER_SITE, "x.yaml", yaml, strlen(yaml), &err),
			 -1);
	assert_non_null(strstr(err_message(&err), "not XML"));
}

#define NAME "tony.application.name"

static void the_current_directory_has_one_unless_there_is_a_tony_xml(void **state)
{
	fixture_write("tony.yml", NAME ": short\n");
	fixture_write("tony.yaml", NAME ": here\n");
	struct conf *conf cleanup_conf = fixture_load();
	assert_string_equal(conf_find(conf, NAME)->raw, "here");
	assert_true(conf_has_file(conf));
	fixture_write("tony.xml", "<configuration><property><name>" NAME
				  "</name><value>xml</value></property></configuration>");
	struct conf *both cleanup_conf = fixture_load();
	assert_string_equal(conf_find(both, NAME)->raw, "xml");
	assert_line(&conf_problems(both)->warnings,
		    "tony.yaml is not read, for there is a tony.xml; take one of them out, or "
		    "write --conf_file tony.yaml");
}

#define TEST(function) cmocka_unit_test(function)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nested_keys_are_joined_by_dots),
		TEST(lists_are_of_items_or_of_variables),
		TEST(all_that_is_wrong_with_keys_is_told),
		TEST(what_is_no_job_file_is_refused),
		TEST(variables_are_as_strict_as_keys),
		TEST(keys_outside_of_tony_are_refused),
		TEST(keys_in_messages_are_of_one_short_line),
		TEST(depth_is_limited),
		TEST(xml_and_yaml_are_told_apart),
		cmocka_unit_test_setup_teardown(
			the_current_directory_has_one_unless_there_is_a_tony_xml, fixture_enter,
			fixture_leave),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
