#include "fixture.h"

#include "conf/resource.h"

static void check(const char *text, const char *source, const char *name, bool archive)
{
	struct resource_spec spec = {0};
	struct err err cleanup_err = {0};

	if (resource_parse(text, &spec, &err) < 0)
		fail_msg("%s: %s", text, err_message(&err));
	assert_string_equal(spec.source, source);
	assert_string_equal(spec.name, name);
	assert_int_equal(spec.archive, archive);
	assert_int_equal(spec.remote, strstr(source, "://") != NULL);
	resource_finish(&spec);
}

static void test_forms(void **state)
{
	check("/a/p", "/a/p", "p", false);
	check("/a/p::n", "/a/p", "n", false);
	check("/a/p::n#archive", "/a/p", "n", true);
	check("/a/p#archive", "/a/p", "p", true);
	check("/a/p#ArChIvE", "/a/p", "p", true);
	check("data/", "data/", "data", false);
	check("p::deep/n", "p", "deep/n", false);
	check("hdfs://host:80/a/b.zip::c#archive", "hdfs://host:80/a/b.zip", "c", true);
	check("file:///a/b", "/a/b", "b", false);
	check("FILE:/a/b", "/a/b", "b", false);
	check("a#b", "a#b", "a#b", false);
	check("a:b", "a:b", "a:b", false);
}

static void refuse(const char *text, const char *message)
{
	struct resource_spec spec = {0};
	struct err err cleanup_err = {0};

	assert_int_equal(resource_parse(text, &spec, &err), -1);
	assert_int_equal(err.kind, ERR_CONFIG);
	assert_message(&err, message);
	assert_null(spec.source);
	assert_null(spec.name);
}

static void test_refused(void **state)
{
	refuse("a::b::c", "\"a::b::c\" has more than one \"::\"; write SOURCE[::NAME][#archive]");
	refuse("", "\"\" names no file; write SOURCE[::NAME][#archive]");
	refuse("::n", "\"::n\" names no file; write SOURCE[::NAME][#archive]");
	refuse("#archive", "\"#archive\" names no file; write SOURCE[::NAME][#archive]");
	refuse("a::", "\"a::\" would appear as \"\", outside the working directory; write "
		      "SOURCE::NAME with a relative name");
	refuse("a::/etc/x", "\"a::/etc/x\" would appear as \"/etc/x\", outside the working "
			    "directory; write SOURCE::NAME with a relative name");
	refuse("a::b/../../c", "\"a::b/../../c\" would appear as \"b/../../c\", outside the "
			       "working directory; write SOURCE::NAME with a relative name");
	refuse("..", "\"..\" would appear as \"..\", outside the working directory; write "
		     "SOURCE::NAME with a relative name");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
