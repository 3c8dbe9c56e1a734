/* Layers, origins, substitution and files. */
#include "fixture.h"

#include <ctype.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "conf/conf_internal.h"

#define NAME "tony.application.name"

static void pairs(struct conf *conf, const char *const *values)
{
	struct str_list list cleanup_str_list = {0};

	for (; *values; values++)
		str_list_add(&list, *values);
	conf_load_pairs(conf, &list);
}
#define PAIRS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* What a tony.xml with these bytes says of the application's name. */
static void check_name(const char *xml, const char *expected)
{
	fixture_write("tony.xml", xml);
	struct conf *conf cleanup_conf = fixture_load();
	conf_resolve(conf, false);
	assert_no_lines(&conf_problems(conf)->errors);
	assert_string_equal(conf_text(conf, NAME), expected);
}

static void test_layers(void **state)
{
	const struct conf_place option = {CONF_LAYER_OPTION, "--name", 0};

	fixture_write("site/tony-site.xml",
		      XML(PROPERTY(NAME, "site") PROPERTY("tony.am.gpus", "3")));
	fixture_write("tony.xml", XML("\n\n" PROPERTY(NAME, "file")));
	struct conf *conf cleanup_conf = fixture_load();
	assert_string_equal(conf_find(conf, NAME)->raw, "file");
	assert_string_equal(conf_find(conf, NAME)->origin, "tony.xml:3");
	assert_true(conf_has_file(conf));
	pairs(conf, PAIRS(NAME "=one", NAME "=two=2"));
	assert_string_equal(conf_find(conf, NAME)->origin, "--conf");
	assert_string_equal(conf_find(conf, NAME)->raw, "two=2");
	conf_set(conf, &option, NAME, "option");
	conf_resolve(conf, false);
	assert_string_equal(conf_text(conf, NAME), "option");
	assert_string_equal(conf_find(conf, NAME)->origin, "--name");
	assert_int_equal(conf_int(conf, "tony.am.gpus"), 3);
	assert_string_equal(conf_find(conf, "tony.am.gpus")->origin, "site/tony-site.xml:2");
	assert_int_equal(conf_int(conf, "tony.am.vcores"), 1);
	assert_null(conf_find(conf, "tony.am.vcores"));
	assert_no_lines(&conf_problems(conf)->errors);
	assert_no_lines(&conf_problems(conf)->warnings);
	char *where cleanup_free = conf_locate(conf, "tony.am.%s", "gpus");
	assert_string_equal(where, "site/tony-site.xml:2: tony.am.gpus");
	char *nowhere cleanup_free = conf_locate(conf, "tony.am.vcores");
	assert_string_equal(nowhere, "tony.am.vcores");
}

static void test_no_files(void **state)
{
	struct conf *conf cleanup_conf = fixture_load();

	conf_resolve(conf, false);
	assert_false(conf_has_file(conf));
	assert_string_equal(conf_text(conf, "tony.application.framework"), "tensorflow");
	assert_null(conf_text(conf, "tony.worker.command"));
	assert_int_equal(conf_mib(conf, "tony.worker.memory"), 2048);
}

static void test_conf_file_instead_of_tony_xml(void **state)
{
	struct err err cleanup_err = {0};
	struct conf *conf cleanup_conf = conf_create();

	fixture_write("tony.xml", XML(PROPERTY(NAME, "here")));
	fixture_write("other.xml", XML(PROPERTY(NAME, "other")));
	assert_int_equal(conf_load_files(conf, "other.xml", &err), 0);
	assert_string_equal(conf_find(conf, NAME)->raw, "other");
	assert_int_equal(conf_load_files(conf, "missing.xml", &err), -1);
	assert_non_null(strstr(err_message(&err), "missing.xml"));
	err_finish(&err);
	assert_int_equal(conf_load_files(conf, "ftp://host/x.xml", &err), -1);
	assert_message(&err,
		       "--conf_file: \"ftp://host/x.xml\" is neither a path nor of hdfs, http "
		       "or https; copy it here and write its path");
}

static void test_final(void **state)
{
	fixture_write("site/tony-site.xml",
		      XML(FINAL(NAME, "site") FINAL("tony.execution.envs", "A=1")));
	fixture_write("tony.xml", XML(PROPERTY(NAME, "file")));
	struct conf *conf cleanup_conf = fixture_load();
	pairs(conf, PAIRS(NAME "=flag", NAME "=site", "tony.execution.envs=B=2"));
	conf_resolve(conf, false);
	assert_string_equal(conf_text(conf, NAME), "site");
	assert_string_equal(conf_text(conf, "tony.execution.envs"), "A=1");
	const struct str_list *warnings = &conf_problems(conf)->warnings;
	assert_int_equal(warnings->count, 3);
	assert_line(warnings, "tony.xml:1: " NAME ": ignored, because site/tony-site.xml:1 says it "
			      "is final there");
	assert_line(warnings, "--conf: " NAME ": ignored, because site/tony-site.xml:1 says it is "
			      "final there");
	assert_line_has(warnings, "--conf: tony.execution.envs: ignored");
	assert_no_lines(&conf_problems(conf)->errors);
}

static void test_final_of_the_job_does_not_bind_its_user(void **state)
{
	fixture_write("tony.xml", XML(FINAL(NAME, "file")));
	struct conf *conf cleanup_conf = fixture_load();
	pairs(conf, PAIRS(NAME "=flag"));
	conf_resolve(conf, false);
	assert_string_equal(conf_text(conf, NAME), "flag");
	assert_no_lines(&conf_problems(conf)->warnings);
}

static void test_set_twice_in_one_file(void **state)
{
	fixture_write("tony.xml", XML(PROPERTY(NAME, "a") PROPERTY(NAME, "b")));
	struct conf *conf cleanup_conf = fixture_load();
	conf_resolve(conf, false);
	assert_string_equal(conf_text(conf, NAME), "b");
	assert_line(&conf_problems(conf)->warnings,
		    "tony.xml:2: " NAME ": set again; the value at tony.xml:1 has no effect");
}

static void test_two_names_of_a_key(void **state)
{
	fixture_write("tony.xml", XML(PROPERTY("tony.yarn.queue", "a")));
	struct conf *conf cleanup_conf = fixture_load();
	pairs(conf, PAIRS("tony.yarn.queue=b", "tony.application.queue=c"));
	assert_string_equal(conf_find(conf, "tony.yarn.queue")->raw, "c");
	const struct str_list *warnings = &conf_problems(conf)->warnings;
	assert_int_equal(warnings->count, 1);
	assert_line(
		warnings,
		"--conf: tony.application.queue: \"c\" counts, and not \"b\" of tony.yarn.queue "
		"(--conf), another name of the same key; take one of them out");
}

static void test_a_site_that_is_not_there(void **state)
{
	setenv("TONY_CONF_DIR", "nowhere", 1);
	struct conf *conf cleanup_conf = fixture_load();
	assert_line(
		&conf_problems(conf)->warnings,
		"TONY_CONF_DIR: there is no directory \"nowhere\": no tony-site.xml is read; name "
		"another one, or unset the variable");
}

static void test_multi_value_keys_append(void **state)
{
	const struct conf_place option = {CONF_LAYER_OPTION, "--shell_env", 0};
	struct str_list envs cleanup_str_list = {0};

	fixture_write("tony.xml", XML(PROPERTY("tony.execution.envs", "A=1")
					      PROPERTY("tony.containers.resources", "a.zip")));
	struct conf *conf cleanup_conf = fixture_load();
	pairs(conf, PAIRS("tony.execution.envs=B=2,C=3", "tony.execution.envs=D=4",
			  "tony.containers.resources=b.zip", "tony.containers.envs=X=1"));
	conf_append(conf, &option, "tony.execution.envs", "E=x,y");
	conf_resolve(conf, false);
	assert_string_equal(conf_find(conf, "tony.execution.envs")->origin,
			    "tony.xml:1, --conf, --shell_env");
	conf_list(conf, &envs, "tony.execution.envs");
	char *joined cleanup_free = str_list_join(&envs, "|");
	assert_string_equal(joined, "A=1|B=2|C=3|D=4|E=x,y");
	assert_string_equal(conf_text(conf, "tony.containers.resources"), "a.zip,b.zip");
	assert_string_equal(conf_text(conf, "tony.containers.envs"), "X=1");
	assert_no_lines(&conf_problems(conf)->warnings);
}

static void test_conf_pairs(void **state)
{
	struct conf *conf cleanup_conf = fixture_load();

	pairs(conf, PAIRS("tony.am.gpus", "=1", "worker.instances=1", "team=blue",
			  "tony.yarn.queue=", "tony.worker.instances="));
	conf_resolve(conf, false);
	const struct problems *problems = conf_problems(conf);
	assert_line(&problems->errors,
		    "--conf: \"tony.am.gpus\" is not KEY=VALUE; write --conf KEY=VALUE");
	assert_line(&problems->errors, "--conf: \"=1\" is not KEY=VALUE; write --conf KEY=VALUE");
	assert_line(&problems->errors, "--conf: worker.instances: is not a known key; did you mean "
				       "tony.worker.instances?");
	assert_line(&problems->errors, "--conf: \"tony.worker.instances=\" has no value; write one "
				       "behind \"=\", or leave it out");
	assert_line(&problems->errors, "--conf: \"tony.yarn.queue=\" has no value; write one "
				       "behind \"=\", or leave it out");
	assert_line(&problems->warnings, "--conf: team: does not begin with \"tony.\" and only "
					 "counts within ${...}");
}

static void test_substitution(void **state)
{
	setenv("TONY_TEST_SET", "value", 1);
	setenv("TONY_TEST_EMPTY", "", 1);
	unsetenv("TONY_TEST_UNSET");
	fixture_write(
		"tony.xml",
		XML(PROPERTY("team", "blue") PROPERTY("which", "team") PROPERTY("${x}", "odd")
			    PROPERTY(NAME, "${team}-${env.TONY_TEST_SET}-${${which}}")
				    PROPERTY("tony.application.tags",
					     "${env.TONY_TEST_EMPTY:-a},${env.TONY_TEST_EMPTY-b}"
					     "c,${env.TONY_TEST_UNSET-d},"
					     "${env.TONY_TEST_UNSET:-e}")
					    PROPERTY("tony.worker.command",
						     "echo ${HOME} ${a b} $x} ${ {${team}} "
						     "$${team} ${tony.am.memory}")));
	struct conf *conf cleanup_conf = fixture_load();
	conf_resolve(conf, false);
	assert_string_equal(conf_text(conf, NAME), "blue-value-blue");
	assert_string_equal(conf_text(conf, "tony.application.tags"), "a,c,d,e");
	assert_string_equal(conf_text(conf, "tony.worker.command"),
			    "echo ${HOME} ${a b} $x} ${ {blue} $blue 2g");
	assert_no_lines(&conf_problems(conf)->errors);
}

static void test_what_stays_as_written_is_told(void **state)
{
	unsetenv("TONY_TEST_UNSET");
	fixture_write("tony.xml", XML(PROPERTY(NAME, "${env.TONY_TEST_UNSET}")
					      PROPERTY("tony.worker.command", "${tony.nope}")));
	struct conf *conf cleanup_conf = fixture_load();
	conf_resolve(conf, false);
	assert_string_equal(conf_text(conf, NAME), "${env.TONY_TEST_UNSET}");
	assert_line(&conf_problems(conf)->warnings,
		    "tony.xml:1: " NAME ": ${env.TONY_TEST_UNSET} stays as written, because "
		    "TONY_TEST_UNSET is not set; write ${env.NAME:-default}");
	assert_line_has(&conf_problems(conf)->warnings,
			"${tony.nope} stays as written, because tony.nope is not set");
}

static void test_literal_values_are_not_substituted(void **state)
{
	const struct conf_place place = {CONF_LAYER_OPTION, "command line", 0};

	fixture_write("tony.xml", XML(PROPERTY("team", "blue")));
	struct conf *conf cleanup_conf = fixture_load();
	conf_set_literal(conf, &place, "tony.containers.command", "echo ${team}");
	conf_resolve(conf, false);
	assert_string_equal(conf_text(conf, "tony.containers.command"), "echo ${team}");
}

static void test_circles(void **state)
{
	fixture_write("tony.xml", XML(PROPERTY(NAME, "${a}") PROPERTY("a", "x${b}")
					      PROPERTY("b", "${a}") PROPERTY("own", "${own}")));
	struct conf *conf cleanup_conf = fixture_load();
	conf_resolve(conf, false);
	assert_int_equal(conf_problems(conf)->errors.count, 2);
	assert_line(&conf_problems(conf)->errors,
		    "tony.xml:3: b: variables go in a circle: a -> b -> a; write a value in one of "
		    "them");
	assert_line(
		&conf_problems(conf)->errors,
		"tony.xml:4: own: variables go in a circle: own -> own; write a value in one of "
		"them");
	assert_string_equal(conf_text(conf, NAME), "TensorFlowApplication");
}

static void test_variables_nested_too_deep(void **state)
{
	struct str xml cleanup_str = {0};

	str_append(&xml, "<configuration>");
	for (int i = 0; i < 30; i++)
		str_append_format(&xml, PROPERTY("v%d", "${v%d}"), i, i + 1);
	str_append(&xml, "</configuration>");
	fixture_write("tony.xml", xml.text);
	struct conf *conf cleanup_conf = fixture_load();
	conf_resolve(conf, false);
	assert_line_has(&conf_problems(conf)->errors,
			"variables are nested more than 20 deep; write the value itself");
}

/* 10^15 letters if nothing stopped it. */
static void test_laughing_variables(void **state)
{
	struct str xml cleanup_str = {0};

	str_append(&xml, "<configuration>" PROPERTY("v15", "ha"));
	for (int i = 14; i >= 0; i--) {
		str_append_format(&xml, "<property><name>v%d</name><value>", i);
		for (int j = 0; j < 10; j++)
			str_append_format(&xml, "${v%d}", i + 1);
		str_append(&xml, "</value></property>");
	}
	str_append(&xml, "</configuration>");
	fixture_write("tony.xml", xml.text);
	struct conf *conf cleanup_conf = fixture_load();
	conf_resolve(conf, false);
	assert_line_has(&conf_problems(conf)->errors, "is longer than 1 MiB with its variables");
}

static void refuse_xml(const char *xml, const char *message)
{
	struct err err cleanup_err = {0};
	struct conf *conf cleanup_conf = conf_create();

	fixture_write("tony.xml", xml);
	if (conf_load_files(conf, NULL, &err) == 0)
		fail_msg("accepted: %s", xml);
	assert_int_equal(err.kind, ERR_CONFIG);
	if (!str_starts_with(err_message(&err), message))
		fail_msg("\"%s\" instead of \"%s\"", err_message(&err), message);
}

static void test_wrong_xml(void **state)
{
	refuse_xml("", "tony.xml: is empty; write <configuration></configuration>");
	refuse_xml("<configuration>\n<property>\n<name>a</nam></property></configuration>",
		   "tony.xml:3: not XML: mismatched tag: <name> of line 3 is not closed");
	refuse_xml("<configuration>", "tony.xml:1: not XML: ");
	refuse_xml("<configuration>\xff</configuration>", "tony.xml:1: not XML: ");
	refuse_xml("not xml", "tony.xml:1: not XML: ");
	refuse_xml("<html/>", "tony.xml:1: no job file; write "
			      "<configuration> around all");
	refuse_xml("<configuration>\n<propertie/></configuration>",
		   "tony.xml:2: <propertie> has no place in <configuration>; write <property>");
	refuse_xml("<configuration>\n<property><value>1</value></property></configuration>",
		   "tony.xml:2: <property> without a <name>; write <name>tony....</name>");
	refuse_xml("<configuration><property><name>a</name><value>1<b/></value></property>"
		   "</configuration>",
		   "tony.xml:1: <b> has no place in <value>; write &lt; for a plain \"<\"");
}

/* promise: S22 */
static void test_doctypes_are_refused(void **state)
{
	const char *message = "tony.xml:1: a document type declaration is not allowed; take the "
			      "<!DOCTYPE> out";

	refuse_xml("<!DOCTYPE c [<!ENTITY a \"b\">]>" XML(PROPERTY(NAME, "&a;")), message);
	refuse_xml("<!DOCTYPE c SYSTEM \"file:///etc/passwd\">" XML(""), message);
	refuse_xml("<!DOCTYPE c [<!ENTITY % p SYSTEM \"http://127.0.0.1:1/\"> %p;]>" XML(""),
		   message);
	refuse_xml(XML(PROPERTY(NAME, "&undeclared;")), "tony.xml:1: not XML: ");
}

static void test_property_forms(void **state)
{
	check_name(XML("<property><name> tony.application.name\n</name><value>\n a b \n</value>"
		       "<description>text <b>here</b></description></property>"),
		   "a b");
	check_name(XML("<property name='tony.application.name' value='by attribute'/>"),
		   "by attribute");
	check_name(XML("<!-- <property/> --><property><name>tony.application.name</name>"
		       "<value>a<!-- b --><![CDATA[<c>]]>&amp;&#x64;</value></property>"),
		   "a<c>&d");
	check_name("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n"
		   "<?xml-stylesheet href=\"x.xsl\"?>" XML(PROPERTY(NAME, "caf\xe9")),
		   "caf\xc3\xa9");
	check_name(XML("<property><name>hadoop.x</name></property>" PROPERTY("hadoop.y", "1")
			       PROPERTY(NAME, "mixed")),
		   "mixed");
}

static char *respell(const char *choice, int (*letter)(int c))
{
	char *text = mem_strdup(choice);

	for (char *c = text; *c; c++)
		*c = (char)letter((unsigned char)*c);
	return text;
}

static void check_spelling(const char *name, const char *written, const char *choice)
{
	char *pair cleanup_free = mem_printf("%s=%s", name, written);
	struct conf *conf cleanup_conf = conf_create();

	pairs(conf, PAIRS(pair));
	conf_resolve(conf, false);
	assert_no_lines(&conf_problems(conf)->errors);
	assert_string_equal(conf_text(conf, "%s", name), choice);
}

static void check_choices(const struct key *key)
{
	static const char pattern[] = "tony.<type>.";
	char *name cleanup_free =
		str_starts_with(key->name, pattern)
			? mem_printf("tony.worker.%s", key->name + strlen(pattern))
			: mem_strdup(key->name);

	assert_ptr_equal(key_find(name, NULL), key);
	for (size_t i = 0; key->choices[i]; i++) {
		char *upper cleanup_free = respell(key->choices[i], toupper);
		char *lower cleanup_free = respell(key->choices[i], tolower);
		check_spelling(name, upper, key->choices[i]);
		check_spelling(name, lower, key->choices[i]);
	}
}

static void test_choices_in_any_case_read_as_the_table_spells_them(void **state)
{
	size_t count = 0;

	for (size_t i = 0; i < key_group_count; i++)
		for (size_t j = 0; j < key_groups[i].count; j++)
			if (key_groups[i].keys[j].type == KEY_CHOICE) {
				check_choices(&key_groups[i].keys[j]);
				count++;
			}
	assert_true(count > 0);
}

static void test_empty_values(void **state)
{
	struct str_list types cleanup_str_list = {0};

	fixture_write("tony.xml", XML(PROPERTY("tony.application.untracked.jobtypes", " ")
					      PROPERTY(NAME, "") PROPERTY("tony.am.vcores", "")));
	struct conf *conf cleanup_conf = fixture_load();
	conf_resolve(conf, false);
	conf_list(conf, &types, "tony.application.untracked.jobtypes");
	assert_int_equal(types.count, 0);
	assert_null(conf_text(conf, NAME));
	assert_int_equal(conf_int(conf, "tony.am.vcores"), 1);
	assert_no_lines(&conf_problems(conf)->errors);
}

static void test_value_is_missing(void **state)
{
	fixture_write("tony.xml", XML("\n<property><name>tony.am.gpus</name></property>"));
	struct conf *conf cleanup_conf = fixture_load();
	conf_resolve(conf, false);
	assert_line(&conf_problems(conf)->errors,
		    "tony.xml:2: tony.am.gpus: has no <value>; write <value>...</value>");
}

#define INCLUDE(href) "<xi:include xmlns:xi='http://www.w3.org/2001/XInclude' href='" href "'/>"

static void test_include(void **state)
{
	fixture_write("parts/a.xml", XML("\n" PROPERTY(NAME, "included") INCLUDE("more/b.xml")));
	fixture_write("parts/more/b.xml", XML(PROPERTY("tony.am.gpus", "4")));
	fixture_write("tony.xml", XML(INCLUDE("parts/a.xml") PROPERTY("tony.am.vcores", "3")));
	struct conf *conf cleanup_conf = fixture_load();
	conf_resolve(conf, false);
	assert_string_equal(conf_text(conf, NAME), "included");
	assert_string_equal(conf_find(conf, NAME)->origin, "parts/a.xml:2");
	assert_int_equal(conf_int(conf, "tony.am.gpus"), 4);
	assert_string_equal(conf_find(conf, "tony.am.gpus")->origin, "parts/more/b.xml:1");
	assert_int_equal(conf_int(conf, "tony.am.vcores"), 3);
}

/* promise: S22 */
static void test_include_refused(void **state)
{
	fixture_write("loop.xml", XML(INCLUDE("tony.xml")));
	refuse_xml(XML(INCLUDE("loop.xml")), "loop.xml:1: <include> goes in a circle; take it out");
	refuse_xml(XML(INCLUDE("http://127.0.0.1:1/a.xml")),
		   "tony.xml:1: <include> reads local files only; write a path as href");
	refuse_xml(XML("<include/>"), "tony.xml:1: <include> without href; write href=\"FILE\"");
	assert_int_equal(mkfifo("pipe", 0600), 0);
	struct err err cleanup_err = {0};
	struct conf *conf cleanup_conf = conf_create();
	fixture_write("tony.xml", XML("\n" INCLUDE("missing.xml")));
	assert_int_equal(conf_load_files(conf, NULL, &err), -1);
	assert_non_null(strstr(err_message(&err), "tony.xml:2: <include>: "));
	assert_non_null(strstr(err_message(&err), "missing.xml"));
	err_finish(&err);
	fixture_write("tony.xml", XML(INCLUDE("pipe")));
	assert_int_equal(conf_load_files(conf, NULL, &err), -1);
}

static void test_include_fallback(void **state)
{
	check_name(XML("<include href='missing.xml'><fallback>" PROPERTY(
			   NAME, "fallback") "</fallback></include>"),
		   "fallback");
	check_name(XML("<include href='http://127.0.0.1:1/a.xml'><fallback>" PROPERTY(
			   NAME, "no URL") "</fallback></include>"),
		   "no URL");
}

static void test_bytes_without_a_place_include_nothing(void **state)
{
	static const char xml[] = XML(INCLUDE("parts/a.xml"));
	struct err err cleanup_err = {0};
	struct conf *conf cleanup_conf = conf_create();

	assert_int_equal(conf_load_bytes(conf, CONF_LAYER_FILE, NULL, xml, strlen(xml), &err), -1);
	assert_message(&err, "input:1: <include> is for files of this machine; write what it names "
			     "in its place");
}

static void test_a_job_file_from_elsewhere_includes_nothing(void **state)
{
	static const char sound[] = XML(PROPERTY(NAME, "remote"));
	static const char leading[] = "\n" XML(INCLUDE("parts/a.xml"));
	struct err err cleanup_err = {0};
	struct conf *conf cleanup_conf = conf_create();

	fixture_write("parts/a.xml", XML(PROPERTY(NAME, "local")));
	assert_int_equal(
		conf_load_alone(conf, "http://host/x.xml", false, sound, strlen(sound), &err), 0);
	assert_true(conf_has_file(conf));
	assert_string_equal(conf_find(conf, NAME)->origin, "http://host/x.xml:1");
	assert_int_equal(
		conf_load_alone(conf, "standard input", true, leading, strlen(leading), &err), -1);
	assert_message(&err, "standard input:2: <include> is for files of this machine; write what "
			     "it names in its place");
	assert_string_equal(conf_find(conf, NAME)->raw, "remote");
}

static void test_too_large(void **state)
{
	struct err err cleanup_err = {0};
	struct conf *conf cleanup_conf = conf_create();

	fixture_write("tony.xml", "");
	assert_int_equal(truncate("tony.xml", CONF_FILE_CAP + 1), 0);
	assert_int_equal(conf_load_files(conf, NULL, &err), -1);
	assert_non_null(strstr(err_message(&err), "tony.xml"));
}

static void test_unknown_keys(void **state)
{
	for (int allowed = 0; allowed < 2; allowed++) {
		fixture_write("tony.xml", XML(PROPERTY("tony.worker.memmory", "1g")
						      PROPERTY("tony.what.is.this", "x")));
		struct conf *conf cleanup_conf = fixture_load();
		conf_resolve(conf, allowed);
		const struct problems *problems = conf_problems(conf);
		if (!allowed) {
			assert_line(&problems->errors,
				    "tony.xml:1: tony.worker.memmory: is not a known key; did you "
				    "mean tony.worker.memory?");
			assert_line(&problems->errors,
				    "tony.xml:2: tony.what.is.this: is not a known key; \"tony "
				    "config keys\" lists the known ones");
			continue;
		}
		assert_no_lines(&problems->errors);
		assert_line(&problems->warnings,
			    "tony.xml:1: tony.worker.memmory: is not a known key and has no "
			    "effect; did you mean tony.worker.memory?");
	}
}

/* It is the administrator's, and may be for another version. */
static void test_unknown_key_of_the_site(void **state)
{
	fixture_write("site/tony-site.xml", XML(PROPERTY("tony.history.host", "http://h")));
	struct conf *conf cleanup_conf = fixture_load();
	conf_resolve(conf, false);
	assert_no_lines(&conf_problems(conf)->errors);
	assert_int_equal(conf_problems(conf)->warnings.count, 1);
}

static void test_all_errors_together(void **state)
{
	struct err err cleanup_err = {0};

	fixture_write("tony.xml",
		      XML(PROPERTY("tony.worker.memory", "2q") PROPERTY("tony.Worker.gpus", "1")
				  PROPERTY("tony.application.timeout", "soon")));
	struct conf *conf cleanup_conf = fixture_load();
	pairs(conf, PAIRS("tony.am.gpus=many"));
	conf_resolve(conf, false);
	assert_int_equal(problems_to_err(conf_problems(conf), &err), -1);
	assert_int_equal(err.kind, ERR_CONFIG);
	assert_message(
		&err,
		"tony.xml:1: tony.worker.memory: \"2q\" is not a size; write 2g or 2048m\n"
		"tony.xml:2: tony.Worker.gpus: \"Worker\" is not a task type's name; write a "
		"lower-case letter, then lower-case letters, digits, - and _\n"
		"tony.xml:3: tony.application.timeout: \"soon\" is not a duration; write 90s, "
		"10m or 1h30m\n"
		"--conf: tony.am.gpus: \"many\" is not a whole number; write digits only, "
		"such as 1");
	/* What is wrong reads as if it were not set. */
	assert_int_equal(conf_mib(conf, "tony.worker.memory"), 2048);
	assert_int_equal(conf_int(conf, "tony.am.gpus"), 0);
}

static void test_a_clusters_keys_are_for_clusters(void **state)
{
	fixture_write("tony.xml", XML(PROPERTY("tony.application.scheduler",
					       "yarn") PROPERTY("tony.am.node-label", "fast")
					      PROPERTY("tony.worker.resource.yarn.io/fpga", "1")));
	struct conf *conf cleanup_conf = fixture_load();
	conf_resolve(conf, false);
	assert_int_equal(conf_problems(conf)->warnings.count, 0);
	assert_int_equal(conf_problems(conf)->errors.count, 0);
}

static void test_statuses(void **state)
{
	fixture_write("site/tony-site.xml", XML(PROPERTY("tony.history.location", "/h")));
	fixture_write("tony.xml",
		      XML(PROPERTY("tony.yarn.queue", "default") PROPERTY("tony.am.node-label", "x")
				  PROPERTY("tony.task.executor.jvm.opts", "-Xmx9g") PROPERTY(
					  "tony.application.security.enabled", "false")
					  PROPERTY("tony.application.enable-preprocess", "true")
						  PROPERTY("tony.keytab.user", "u")));
	struct conf *conf cleanup_conf = fixture_load();
	conf_resolve(conf, false);
	const struct problems *problems = conf_problems(conf);
	assert_int_equal(problems->warnings.count, 4);
	assert_line(&problems->warnings,
		    "tony.xml:2: tony.am.node-label: has no effect on the local "
		    "scheduler: only a cluster has node labels");
	assert_line(&problems->warnings,
		    "tony.xml:3: tony.task.executor.jvm.opts: is ignored: there is no JVM here");
	assert_line(&problems->warnings,
		    "tony.xml:4: tony.application.security.enabled: is ignored: "
		    "security is detected, not configured");
	assert_line_has(&problems->warnings,
			"tony.xml:6: tony.keytab.user: has no effect on a job");
	assert_int_equal(problems->errors.count, 1);
	assert_line(&problems->errors,
		    "tony.xml:5: tony.application.enable-preprocess: \"true\" is not supported; "
		    "make the step a task type of its own and name it in "
		    "tony.application.prepare-stage");
}

static void test_defaults_written_out_warn_of_nothing(void **state)
{
	struct str xml cleanup_str = {0};

	str_append(&xml, "<configuration>");
	for (size_t g = 0; g < key_group_count; g++)
		for (size_t i = 0; i < key_groups[g].count; i++)
			if (key_groups[g].keys[i].default_value &&
			    !strchr(key_groups[g].keys[i].name, '<') &&
			    !key_groups[g].keys[i].deprecated_by)
				str_append_format(&xml, PROPERTY("%s", "%s"),
						  key_groups[g].keys[i].name,
						  key_groups[g].keys[i].default_value);
	str_append(&xml, "</configuration>");
	fixture_write("tony.xml", xml.text);
	struct conf *conf cleanup_conf = fixture_load();
	conf_resolve(conf, false);
	assert_no_lines(&conf_problems(conf)->warnings);
	assert_no_lines(&conf_problems(conf)->errors);
}

static void test_older_names(void **state)
{
	fixture_write("tony.xml", XML(PROPERTY("tony.worker.timeout", "5000")
					      PROPERTY("tony.gpu-exec-path", "/old")
						      PROPERTY("tony.task.gpu-command", "/new")));
	struct conf *conf cleanup_conf = fixture_load();
	conf_resolve(conf, false);
	assert_int_equal(conf_ms(conf, "tony.task.executor.execution-timeout-ms"), 5000);
	assert_string_equal(conf_find(conf, "tony.task.executor.execution-timeout-ms")->origin,
			    "tony.xml:1");
	assert_string_equal(conf_text(conf, "tony.task.gpu-command"), "/new");
	assert_line(&conf_problems(conf)->warnings,
		    "tony.xml:1: tony.worker.timeout: is now called "
		    "tony.task.executor.execution-timeout-ms; the old name still works");
	assert_line(&conf_problems(conf)->warnings,
		    "tony.xml:2: tony.gpu-exec-path: has no effect: its newer name "
		    "tony.task.gpu-command is set too");
}

/* A site file is for the jobs of all schedulers. */
static void test_site_file_may_name_another_scheduler(void **state)
{
	fixture_write("site/tony-site.xml", XML(PROPERTY("tony.yarn.log-include", "3") PROPERTY(
						    "tony.application.scheduler", "local")));
	fixture_write("tony.xml", XML(PROPERTY("tony.application.name", "any")));
	struct conf *conf cleanup_conf = fixture_load();
	conf_resolve(conf, false);
	assert_no_lines(&conf_problems(conf)->warnings);

	fixture_write("tony.xml", XML(PROPERTY("tony.yarn.log-include", "3")));
	struct conf *other cleanup_conf = fixture_load();
	conf_resolve(other, false);
	assert_int_equal(conf_problems(other)->warnings.count, 1);
	assert_line_has(&conf_problems(other)->warnings,
			"tony.yarn.log-include: has no effect on the local scheduler");
	assert_int_equal(unlink("site/tony-site.xml"), 0);
}

static void expect_acl(const char *value, const char *expected)
{
	char *text cleanup_free =
		mem_printf(XML(PROPERTY("tony.application.acl.view", "%s")), value);

	fixture_write("tony.xml", text);
	struct conf *conf cleanup_conf = fixture_load();
	conf_resolve(conf, false);
	assert_no_lines(&conf_problems(conf)->errors);
	const char *acl = conf_text(conf, "tony.application.acl.view");
	assert_string_equal(acl ? acl : "", expected);
}

/* promise: S75 */
static void test_a_blank_before_a_group_is_kept(void **state)
{
	expect_acl("alice,bob ops", "alice,bob ops");
	expect_acl(" ml-team", " ml-team");
	expect_acl("  ml-team ", " ml-team");
	expect_acl("\n    alice ops\n  ", "alice ops");
	expect_acl(" ", "");
	expect_acl("", "");
	fixture_write("tony.xml", XML(PROPERTY("tony.yarn.view-acl", "alice, bob")));
	struct conf *conf cleanup_conf = fixture_load();
	conf_resolve(conf, false);
	assert_line_has(&conf_problems(conf)->errors, "write \"alice,bob\" for two users");
}

static void test_alias_counts_as_its_key(void **state)
{
	const struct conf_place typed = {CONF_LAYER_CONF, "--conf", 0};

	fixture_write("tony.xml", XML(PROPERTY("tony.yarn.queue", "ml")
					      PROPERTY("tony.application.scheduler", "yarn")));
	struct conf *conf cleanup_conf = fixture_load();
	conf_resolve(conf, false);
	assert_string_equal(conf_text(conf, "tony.application.queue"), "ml");
	assert_no_lines(&conf_problems(conf)->warnings);

	struct conf *later cleanup_conf = fixture_load();
	conf_set(later, &typed, "tony.application.queue", "typed");
	conf_resolve(later, false);
	assert_string_equal(conf_text(later, "tony.application.queue"), "typed");
	assert_no_lines(&conf_problems(later)->warnings);

	fixture_write("tony.xml", XML(PROPERTY("tony.application.queue", "ml")));
	struct conf *local cleanup_conf = fixture_load();
	conf_set(local, &typed, "tony.yarn.queue", "typed");
	conf_resolve(local, false);
	assert_string_equal(conf_text(local, "tony.application.queue"), "typed");
	assert_int_equal(conf_problems(local)->warnings.count, 1);
	assert_line_has(&conf_problems(local)->warnings,
			"tony.application.queue: has no effect on the local scheduler");
}

static void test_a_flood_of_errors_is_cut_short(void **state)
{
	struct conf *conf cleanup_conf = fixture_load();
	const struct conf_place place = {CONF_LAYER_CONF, "--conf", 0};

	for (int i = 0; i < 5000; i++) {
		char *name cleanup_free = mem_printf("tony.unknown-%d", i);
		conf_set(conf, &place, name, "x");
	}
	conf_resolve(conf, false);
	const struct str_list *errors = &conf_problems(conf)->errors;
	assert_int_equal(errors->count, PROBLEMS_CAP + 1);
	assert_string_equal(errors->items[PROBLEMS_CAP], "and more like these");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_enter, fixture_leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_layers),
		TEST(test_site_file_may_name_another_scheduler),
		TEST(test_alias_counts_as_its_key),
		TEST(test_a_blank_before_a_group_is_kept),
		TEST(test_no_files),
		TEST(test_conf_file_instead_of_tony_xml),
		TEST(test_final),
		TEST(test_final_of_the_job_does_not_bind_its_user),
		TEST(test_set_twice_in_one_file),
		TEST(test_two_names_of_a_key),
		TEST(test_a_site_that_is_not_there),
		TEST(test_multi_value_keys_append),
		TEST(test_conf_pairs),
		TEST(test_substitution),
		TEST(test_what_stays_as_written_is_told),
		TEST(test_literal_values_are_not_substituted),
		TEST(test_circles),
		TEST(test_variables_nested_too_deep),
		TEST(test_laughing_variables),
		TEST(test_wrong_xml),
		TEST(test_doctypes_are_refused),
		TEST(test_property_forms),
		TEST(test_choices_in_any_case_read_as_the_table_spells_them),
		TEST(test_empty_values),
		TEST(test_value_is_missing),
		TEST(test_include),
		TEST(test_include_refused),
		TEST(test_include_fallback),
		TEST(test_bytes_without_a_place_include_nothing),
		TEST(test_a_job_file_from_elsewhere_includes_nothing),
		TEST(test_too_large),
		TEST(test_unknown_keys),
		TEST(test_unknown_key_of_the_site),
		TEST(test_all_errors_together),
		TEST(test_a_flood_of_errors_is_cut_short),
		TEST(test_statuses),
		TEST(test_a_clusters_keys_are_for_clusters),
		TEST(test_defaults_written_out_warn_of_nothing),
		TEST(test_older_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
