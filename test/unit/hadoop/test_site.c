/* Hadoop's site files, and the cluster that they describe. */
#include "../base/scratch.h"
#include "../base/test.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "hadoop/cluster_site.h"
#include "hadoop/sasl.h"

#define CONFIGURATION(properties)                                                                  \
	"<?xml version=\"1.0\"?>\n<configuration>" properties "</configuration>"
#define P(name, value) "<property><name>" name "</name><value>" value "</value></property>\n"
#define FINAL(name, value)                                                                         \
	"<property><name>" name "</name><value>" value "</value><final>true</final></property>\n"

static struct hadoop_site *load(void **state)
{
	const struct hadoop_site_files files = {.directory = scratch_path(state, ".")};
	struct err err cleanup_err = {0};
	struct hadoop_site *site = hadoop_site_load(&files, &err);

	assert_string_equal(err_message(&err), "no error");
	return site;
}

/* Of the value `written` in a core-site.xml that also has a=1 and b=${a}${a}. */
static char *resolved(void **state, const char *written)
{
	char *text cleanup_free = mem_printf(
		CONFIGURATION(P("a", "1") P("b", "${a}${a}") P("loop", "x${loop}") P("v", "%s")),
		written);

	scratch_write(state, "core-site.xml", text, 0600);
	struct hadoop_site *site cleanup_hadoop_site = load(state);
	return mem_strdup(hadoop_site_get(site, "v"));
}

static void variables_resolve_as_in_hadoop(void **state)
{
	static const char *const cases[][2] = {
		{" plain ", "plain"},
		{"${a}-${b}", "1-11"},
		{"${unknown}", "${unknown}"},
		{"${with blank}", "${with blank}"},
		{"${env.TONY_TEST_SET}", "here"},
		{"${env.TONY_TEST_UNSET}", "${env.TONY_TEST_UNSET}"},
		{"${env.TONY_TEST_UNSET:-other}", "other"},
		{"${env.TONY_TEST_UNSET-other}", "other"},
		{"${env.TONY_TEST_EMPTY:-other}", "other"},
		{"${env.TONY_TEST_EMPTY-other}", ""},
		{"$a {a} ${} $", "$a {a} ${} $"},
	};

	setenv("TONY_TEST_SET", "here", 1);
	setenv("TONY_TEST_EMPTY", "", 1);
	for (size_t i = 0; i < array_length(cases); i++) {
		char *value cleanup_free = resolved(state, cases[i][0]);
		assert_string_equal(value, cases[i][1]);
	}
}

static void a_circle_of_variables_ends(void **state)
{
	char *value cleanup_free = resolved(state, "${loop}");

	assert_non_null(value);
}

static void a_later_file_overrides_but_not_what_is_final(void **state)
{
	scratch_write(state, "core-site.xml",
		      CONFIGURATION(P("plain", "core") FINAL("fixed", "core")), 0600);
	scratch_write(state, "yarn-site.xml", CONFIGURATION(P("plain", "yarn") P("fixed", "yarn")),
		      0600);
	struct hadoop_site *site cleanup_hadoop_site = load(state);

	assert_string_equal(hadoop_site_get(site, "plain"), "yarn");
	assert_string_equal(hadoop_site_get(site, "fixed"), "core");
	assert_string_equal(hadoop_site_get(site, "dfs.user.home.dir.prefix"), "/user");
	assert_null(hadoop_site_get(site, "nobody.knows"));
}

static void attributes_and_included_files_are_read(void **state)
{
	scratch_write(state, "sub/inner.xml", CONFIGURATION(P("inner", "yes")), 0600);
	scratch_write(state, "sub/more.xml",
		      "<configuration xmlns:xi=\"http://www.w3.org/2001/XInclude\">"
		      "<xi:include href=\"inner.xml\"/>" P("included", "yes") "</configuration>",
		      0600);
	scratch_write(state, "core-site.xml",
		      "<configuration xmlns:xi=\"http://www.w3.org/2001/XInclude\">"
		      "<xi:include href=\"sub/more.xml\"/>"
		      "<xi:include href=\"missing.xml\"><xi:fallback>"
		      "<property name=\"fallback\" value=\"yes\"/></xi:fallback></xi:include>"
		      "</configuration>",
		      0600);
	struct hadoop_site *site cleanup_hadoop_site = load(state);

	assert_string_equal(hadoop_site_get(site, "included"), "yes");
	assert_string_equal(hadoop_site_get(site, "inner"), "yes");
	assert_string_equal(hadoop_site_get(site, "fallback"), "yes");
}

static void refuse(void **state, const char *xml, const char *words)
{
	const struct hadoop_site_files files = {.directory = scratch_path(state, ".")};
	struct err err cleanup_err = {0};

	scratch_write(state, "core-site.xml", xml, 0600);
	assert_null(hadoop_site_load(&files, &err));
	assert_int_equal(err.kind, ERR_CONFIG);
	if (!strstr(err_message(&err), words))
		fail_msg("\"%s\" has no \"%s\"", err_message(&err), words);
}

#define BARE(inner) "<configuration>" inner "</configuration>"

static void a_doctype_is_accepted_but_no_entity(void **state)
{
	scratch_write(state, "secret", "secret", 0600);
	scratch_write(state, "core-site.xml",
		      "<!DOCTYPE configuration SYSTEM \"secret\">" BARE(P("a", "&lt;")), 0600);
	struct hadoop_site *site cleanup_hadoop_site = load(state);

	assert_string_equal(hadoop_site_get(site, "a"), "<");
	refuse(state, "<!DOCTYPE c [\n<!ENTITY e SYSTEM \"secret\">]>" BARE(P("a", "&e;")),
	       "core-site.xml: line 2: a declaration of an entity is not allowed");
	refuse(state, "<!DOCTYPE c [<!ENTITY e \"e\">]>" BARE(P("a", "&e;")),
	       "core-site.xml: line 1: a declaration of an entity is not allowed");
	refuse(state, "<!DOCTYPE c SYSTEM \"secret\">\n" BARE(P("a", "&e;")),
	       "core-site.xml: line 2: an entity that is not declared here");
}

#define INCLUDE(href, inner) "<include href=\"" href "\">" inner "</include>"

static void included_files_are_local_and_end(void **state)
{
	scratch_write(
		state, "core-site.xml",
		BARE(INCLUDE("http://127.0.0.1:1/", "<fallback>" P("a", "fallback") "</fallback>")),
		0600);
	struct hadoop_site *site cleanup_hadoop_site = load(state);

	assert_string_equal(hadoop_site_get(site, "a"), "fallback");
	refuse(state, BARE(INCLUDE("http://127.0.0.1:1/", "")),
	       "core-site.xml:1: <include> reads local files only");
	refuse(state, BARE(INCLUDE("core-site.xml", "")),
	       "core-site.xml:1: <include> goes in a circle");
	refuse(state, BARE(INCLUDE("none.xml", "")), "core-site.xml:1: <include>: ");
}

static void the_text_of_a_value_is_all_of_it(void **state)
{
	scratch_write(state, "core-site.xml",
		      CONFIGURATION(P("a", "1<!-- -->&amp;<b>2<c/>3</b>4<![CDATA[<5]]>")), 0600);
	struct hadoop_site *site cleanup_hadoop_site = load(state);

	assert_string_equal(hadoop_site_get(site, "a"), "1&234<5");
}

static void elements_too_deep_are_refused(void **state)
{
	struct str xml cleanup_str = {0};

	for (int i = 0; i < 300; i++)
		str_append(&xml, "<configuration>");
	refuse(state, xml.text, "core-site.xml: line 1: elements stand too deep in each other");
}

static void what_is_no_configuration_is_named(void **state)
{
	const struct hadoop_site_files files = {.directory = scratch_path(state, ".")};
	struct err err cleanup_err = {0};

	assert_null(hadoop_site_load(&files, &err));
	assert_int_equal(err.kind, ERR_CONFIG);
	assert_non_null(strstr(err_message(&err), "HADOOP_CONF_DIR"));
	err_finish(&err);
	scratch_write(state, "core-site.xml", "<configuration><property>", 0600);
	assert_null(hadoop_site_load(&files, &err));
	assert_non_null(strstr(err_message(&err), "core-site.xml: line 1"));
	err_finish(&err);
	scratch_write(state, "core-site.xml", "<properties/>", 0600);
	assert_null(hadoop_site_load(&files, &err));
	assert_non_null(strstr(err_message(&err), "is no Hadoop configuration"));
}

static void a_yarn_site_is_looked_for_in_both_directories(void **state)
{
	scratch_write(state, "yarn/yarn-site.xml", CONFIGURATION(""), 0600);
	setenv("HADOOP_CONF_DIR", "", 1);
	assert_false(hadoop_site_has_yarn());
	setenv("HADOOP_CONF_DIR", scratch_path(state, "."), 1);
	assert_false(hadoop_site_has_yarn());
	setenv("YARN_CONF_DIR", scratch_path(state, "yarn"), 1);
	assert_true(hadoop_site_has_yarn());
	setenv("HADOOP_CONF_DIR", "", 1);
	unsetenv("YARN_CONF_DIR");
}

static void assert_found(void **state, const char *yarn, const char *expected)
{
	char *path cleanup_free = NULL, *found cleanup_free = NULL;
	struct err err cleanup_err = {0};

	scratch_write(state, "hadoop/etc/hadoop/yarn-site.xml", yarn, 0600);
	found = hadoop_site_found(&err);
	path = expected ? mem_strdup(scratch_path(state, expected)) : NULL;
	if (!str_equal(found, path))
		fail_msg("%s of %s: %s", found ? found : "none", yarn, err_message(&err));
	assert_true(hadoop_site_has_yarn() == (expected != NULL));
}

/* A package installs files that name no ResourceManager: they make no cluster the default. */
static void a_directory_that_nobody_named_is_a_clusters_if_it_says_so(void **state)
{
	static const char own[] = "hadoop/etc/hadoop";

	setenv("HADOOP_CONF_DIR", "", 1);
	setenv("HADOOP_HOME", scratch_path(state, "hadoop"), 1);
	assert_found(state, CONFIGURATION(P("yarn.nodemanager.aux-services", "x")), NULL);
	assert_found(state, CONFIGURATION(P("yarn.resourcemanager.hostname", "rm")), own);
	assert_found(state, CONFIGURATION(P("yarn.resourcemanager.address", "rm:8032")), own);
	assert_found(state, CONFIGURATION(P("yarn.resourcemanager.ha.enabled", "true")), own);
	assert_found(state, "<configuration>", NULL);
	/* A variable comes first. */
	assert_found(state, CONFIGURATION(P("yarn.resourcemanager.hostname", "rm")), own);
	setenv("HADOOP_CONF_DIR", scratch_path(state, "."), 1);
	char *found cleanup_free = hadoop_site_found(NULL);
	assert_null(found);
	assert_false(hadoop_site_has_yarn());
	setenv("HADOOP_CONF_DIR", "", 1);
	unsetenv("HADOOP_HOME");
}

static void a_variable_that_is_empty_means_no_cluster(void **state)
{
	const struct hadoop_site_files files = {0};
	struct err err cleanup_err = {0};

	setenv("HADOOP_CONF_DIR", "", 1);
	assert_null(hadoop_site_load(&files, &err));
	assert_int_equal(err.kind, ERR_CONFIG);
	if (!strstr(err_message(&err), "HADOOP_CONF_DIR is set to nothing"))
		fail_msg("%s", err_message(&err));
}

/* As Hadoop reads them: whatever a file calls a key, the last one counts, and <final> holds. */
static void old_names_of_keys_are_taken(void **state)
{
	scratch_write(state, "core-site.xml",
		      CONFIGURATION(P("fs.default.name", "hdfs://old") P("dfs.nameservices", "new")
					    P("dfs.federation.nameservices", "old")
						    P("v", "${fs.default.name}")),
		      0600);
	scratch_write(
		state, "hdfs-site.xml",
		CONFIGURATION(P("dfs.http.address", "old:1") P("dfs.namenode.http-address", "new:1")
				      FINAL("dfs.https.address", "old:2")
					      P("dfs.namenode.https-address", "new:2")),
		0600);
	struct hadoop_site *site cleanup_hadoop_site = load(state);

	assert_string_equal(hadoop_site_get(site, "fs.defaultFS"), "hdfs://old");
	assert_string_equal(hadoop_site_get(site, "v"), "hdfs://old");
	assert_string_equal(hadoop_site_get(site, "dfs.nameservices"), "old");
	assert_string_equal(hadoop_site_get(site, "dfs.namenode.http-address"), "new:1");
	assert_string_equal(hadoop_site_get(site, "dfs.namenode.https-address"), "old:2");
}

/* ---- the cluster -------------------------------------------------------------------------- */

static struct hadoop_cluster *staged_cluster_of(void **state, const char *core, const char *yarn,
						const char *staging, struct err *err)
{
	const struct str_list none = {0};

	scratch_write(state, "core-site.xml", core, 0600);
	scratch_write(state, "yarn-site.xml", yarn, 0600);
	struct hadoop_site *site cleanup_hadoop_site = load(state);
	return hadoop_cluster_from_site(site, "alice", &none, staging, err);
}

static struct hadoop_cluster *cluster_of(void **state, const char *core, const char *yarn,
					 struct err *err)
{
	return staged_cluster_of(state, core, yarn, NULL, err);
}

static void assert_list(const struct str_list *list, const char *expected)
{
	char *joined cleanup_free = str_list_join(list, " ");

	assert_string_equal(joined, expected);
}

static void expect_proxies(void **state, const char *properties, const char *expected)
{
	struct err err cleanup_err = {0};
	char *core cleanup_free =
		mem_printf(CONFIGURATION(P("fs.defaultFS", "hdfs://master") P(
				   "hadoop.security.authentication", "kerberos") "%s"),
			   properties);
	struct hadoop_cluster *cluster = cluster_of(
		state, core, CONFIGURATION(P("yarn.resourcemanager.hostname", "rm")), &err);

	assert_non_null(cluster);
	assert_list(&cluster->web_proxies, expected);
	hadoop_cluster_destroy(cluster);
}

static void expect_timeline(void **state, const char *security, const char *properties,
			    const char *expected, bool is_needed)
{
	struct err err cleanup_err = {0};
	char *core cleanup_free = mem_printf(
		CONFIGURATION(P("fs.defaultFS", "hdfs://master") "<property><name>hadoop.security."
								 "authentication</name><value>%s"
								 "</value></property>"),
		security);
	char *yarn cleanup_free = mem_printf(
		CONFIGURATION(P("yarn.resourcemanager.hostname", "rm") "%s"), properties);
	struct hadoop_cluster *cluster = cluster_of(state, core, yarn, &err);

	assert_non_null(cluster);
	assert_string_equal(cluster->timeline ? cluster->timeline : "none", expected);
	assert_int_equal(cluster->needs_timeline, is_needed);
	hadoop_cluster_destroy(cluster);
}

#define TIMELINE(key, value) P("yarn.timeline-service." key, value)
#define TIMELINE_IS_THERE                                                                          \
	TIMELINE("enabled", "true")                                                                \
	TIMELINE("hostname", "history") TIMELINE("http-authentication.type", "kerberos")

static void a_timeline_server_is_found_as_hadoop_finds_it(void **state)
{
	static const struct {
		const char *properties, *expected;
	} rows[] = {
		{TIMELINE_IS_THERE, "http://history:8188"},
		{TIMELINE_IS_THERE P("yarn.http.policy", "HTTPS_ONLY"), "https://history:8190"},
		{TIMELINE_IS_THERE TIMELINE("webapp.address", "0.0.0.0"), "http://127.0.0.1:8188"},
		{TIMELINE_IS_THERE TIMELINE("webapp.address", "a:1"), "http://a:1"},
		{TIMELINE_IS_THERE TIMELINE("version", "1.5"), "http://history:8188"},
		{TIMELINE_IS_THERE TIMELINE("version", "2.0f"), "none"},
		{TIMELINE_IS_THERE TIMELINE("version", "2") TIMELINE("versions", "2.0f, 1.5f"),
		 "http://history:8188"},
		{TIMELINE_IS_THERE TIMELINE("versions", "12,2.1"), "none"},
		{TIMELINE("enabled", "true"), "none"}, /* it takes any name */
		{TIMELINE_IS_THERE TIMELINE("enabled", "false"), "none"},
	};

	for (size_t i = 0; i < array_length(rows); i++)
		expect_timeline(state, "kerberos", rows[i].properties, rows[i].expected,
				!str_equal(rows[i].expected, "none"));
	expect_timeline(state, "kerberos", TIMELINE_IS_THERE TIMELINE("client.best-effort", "true"),
			"http://history:8188", false);
	expect_timeline(state, "simple", TIMELINE_IS_THERE, "none", false);
}

/* promise: S75 */
static void a_web_proxy_that_takes_any_name_is_not_believed(void **state)
{
	static const char key[] = "<property><name>hadoop.http.authentication.type</name>"
				  "<value>%s</value></property>";
	static const struct {
		const char *type, *expected;
	} rows[] = {
		{"kerberos", "rm"},
		{"org.example.LoginHandler", "rm"},
		{"simple", ""},
		{"Simple", ""},
	};

	expect_proxies(state, "", "");
	for (size_t i = 0; i < array_length(rows); i++) {
		char *property cleanup_free = mem_printf(key, rows[i].type);
		expect_proxies(state, property, rows[i].expected);
	}
}

static void a_plain_cluster(void **state)
{
	struct err err cleanup_err = {0};
	struct hadoop_cluster *cluster =
		cluster_of(state, CONFIGURATION(P("fs.defaultFS", "hdfs://master")),
			   CONFIGURATION(P("yarn.resourcemanager.hostname", "rm")
						 P("yarn.log-aggregation-enable", "true")),
			   &err);

	assert_non_null(cluster);
	assert_list(&cluster->rm, "rm:8032");
	assert_list(&cluster->rm_scheduler, "rm:8030");
	assert_list(&cluster->rm_web, "http://rm:8088");
	assert_list(&cluster->web_proxies, "rm");
	assert_string_equal(cluster->hdfs.fs, "hdfs://master");
	assert_list(&cluster->hdfs.name_nodes, "master:8020");
	assert_list(&cluster->hdfs.webhdfs, "http://master:9870");
	assert_string_equal(cluster->home, "/user/alice");
	assert_string_equal(cluster->log_dir, "/tmp/logs");
	assert_int_equal(cluster->protections, SASL_AUTH);
	assert_int_equal(cluster->retry_interval_ms, 30000);
	assert_false(cluster->require_sasl);
	assert_false(cluster->web_asks_proof);
	hadoop_cluster_destroy(cluster);
}

/* Each has a key of its own. */
static void web_servers_ask_or_rpc_does(void **state)
{
	static const char *const types[] = {"simple", "kerberos", "multi-scheme"};

	for (size_t i = 0; i < array_length(types); i++) {
		char *core cleanup_free =
			mem_printf(CONFIGURATION(P("fs.defaultFS", "hdfs://one") P(
					   "hadoop.http.authentication.type", "%s")),
				   types[i]);
		struct hadoop_cluster *cluster = cluster_of(
			state, core, CONFIGURATION(P("yarn.resourcemanager.hostname", "rm")), NULL);
		assert_non_null(cluster);
		assert_false(cluster->require_sasl);
		assert_int_equal(cluster->web_asks_proof, i > 0);
		hadoop_cluster_destroy(cluster);
	}
}

static void pairs_are_resolved(void **state)
{
	struct err err cleanup_err = {0};
	struct hadoop_cluster *cluster = cluster_of(
		state,
		CONFIGURATION(P("fs.defaultFS", "hdfs://big/") P("dfs.nameservices", "big") P(
			"dfs.ha.namenodes.big",
			"n1, n2") P("dfs.namenode.rpc-address.big.n1",
				    "one:8021") P("dfs.namenode.rpc-address.big.n2", "two")
				      P("dfs.namenode.http-address.big.n1", "0.0.0.0:50070") P(
					      "hadoop.rpc.protection", "integrity,privacy")
					      P("hadoop.security.authentication", "kerberos")),
		CONFIGURATION(P("yarn.resourcemanager.ha.enabled",
				"true") P("yarn.resourcemanager.ha.rm-ids", "a,b")
				      P("yarn.resourcemanager.hostname.a", "rma")
					      P("yarn.resourcemanager.address.b", "rmb:9032")
						      P("yarn.resourcemanager.hostname.b", "rmb")),
		&err);

	assert_string_equal(err_message(&err), "no error");
	assert_list(&cluster->rm, "rma:8032 rmb:9032");
	assert_list(&cluster->rm_scheduler, "rma:8030 rmb:8030");
	assert_string_equal(cluster->hdfs.fs, "hdfs://big");
	assert_list(&cluster->hdfs.name_nodes, "one:8021 two:8020");
	assert_list(&cluster->hdfs.webhdfs, "http://one:50070 http://two:9870");
	assert_int_equal(cluster->protections, SASL_INTEGRITY | SASL_PRIVACY);
	assert_true(cluster->require_sasl);
	assert_false(cluster->web_asks_proof);
	hadoop_cluster_destroy(cluster);
}

static void the_resource_manager_has_a_principal(void **state)
{
	struct hadoop_cluster *cluster =
		cluster_of(state, CONFIGURATION(P("fs.defaultFS", "hdfs://one")),
			   CONFIGURATION(P("yarn.resourcemanager.address",
					   "rm:1") P("yarn.resourcemanager.principal", "rm/_HOST@R")
						 P("yarn.resourcemanager.principal.pattern", "")),
			   NULL);

	assert_non_null(cluster);
	assert_false(cluster->require_sasl);
	assert_string_equal(cluster->rm_principal, "rm/_HOST@R");
	assert_null(cluster->rm_principal_pattern);
	hadoop_cluster_destroy(cluster);
}

/* As "ns1=http://one:9870,http://two:9870 ns2=...". The caller frees. */
static char *others_of(const struct hdfs_access *hdfs)
{
	struct str text = {0};

	for (size_t i = 0; i < hdfs->other_count; i++) {
		char *addresses cleanup_free = str_list_join(&hdfs->others[i].webhdfs, ",");
		str_append_format(&text, "%s%s=%s", i > 0 ? " " : "", hdfs->others[i].fs,
				  addresses);
	}
	return str_steal(&text);
}

#define FEDERATION                                                                                 \
	P("dfs.nameservices", "ns1,ns2")                                                           \
	P("dfs.namenode.rpc-address.ns1", "one:8020")                                              \
	P("dfs.namenode.http-address.ns1", "one:9870")                                             \
	P("dfs.ha.namenodes.ns2", "a,b")                                                           \
	P("dfs.namenode.rpc-address.ns2.a", "two:8020")                                            \
	P("dfs.namenode.rpc-address.ns2.b", "three:8020")

static void all_nameservices_are_reached(void **state)
{
	struct err err cleanup_err = {0};
	struct hadoop_cluster *cluster =
		cluster_of(state, CONFIGURATION(FEDERATION P("fs.defaultFS", "hdfs://ns1")),
			   CONFIGURATION(""), &err);

	assert_string_equal(err_message(&err), "no error");
	assert_list(&cluster->hdfs.webhdfs, "http://one:9870");
	char *others cleanup_free = others_of(&cluster->hdfs);
	assert_string_equal(others, "hdfs://ns2=http://two:9870,http://three:9870");
	hadoop_cluster_destroy(cluster);
}

/* They answer for all nameservices behind them, at ports of their own. */
static void routers_stand_for_name_nodes(void **state)
{
	static const struct {
		const char *keys, *webhdfs;
	} cases[] = {
		{P("dfs.namenode.http-address", "0.0.0.0:9999"), "http://r1:50071 http://r2:50071"},
		{P("dfs.federation.router.http-address", "0.0.0.0:51071"),
		 "http://r1:51071 http://r2:51071"},
		{P("dfs.http.policy", "HTTPS_ONLY"), "https://r1:50072 https://r2:50072"},
		{P("dfs.namenode.http-address.fed.r2", "r2:80"), "http://r1:50071 http://r2:80"},
		{P("dfs.federation.router.rpc-address", "0.0.0.0:9000"),
		 "http://r1:9870 http://r2:9870"},
	};

	for (size_t i = 0; i < array_length(cases); i++) {
		struct err err cleanup_err = {0};
		char *core cleanup_free = mem_printf(
			CONFIGURATION(P("fs.defaultFS", "hdfs://fed") P("dfs.nameservices", "fed")
					      P("dfs.ha.namenodes.fed", "r1,r2") P(
						      "dfs.namenode.rpc-address.fed.r1", "r1:8888")
						      P("dfs.namenode.rpc-address.fed.r2",
							"r2:8888") "%s"),
			cases[i].keys);
		struct hadoop_cluster *cluster = cluster_of(state, core, CONFIGURATION(""), &err);
		assert_string_equal(err_message(&err), "no error");
		assert_string_equal(cluster->hdfs.fs, "hdfs://fed");
		assert_list(&cluster->hdfs.webhdfs, cases[i].webhdfs);
		hadoop_cluster_destroy(cluster);
	}
}

#define LINK(path, to) P("fs.viewfs.mounttable.cl.link." path, to)

/* The home's file system is that of jobs' files; logs may be in another one. */
static void a_mount_table_is_resolved(void **state)
{
	struct err err cleanup_err = {0};
	struct hadoop_cluster *cluster = cluster_of(
		state,
		CONFIGURATION(FEDERATION P("fs.defaultFS", "viewfs://cl/") LINK(
			"/home", "hdfs://ns1/homes/") LINK("/logs", "hdfs://ns2/logs")
				      LINK("/s3", "s3a://bucket/") LINK("/far", "hdfs://nn:9000/x")
					      P("fs.viewfs.mounttable.cl.homedir", "/home")
						      P("fs.viewfs.mounttable.cl.linkFallback",
							"hdfs://ns2/rest")),
		CONFIGURATION(P("yarn.log-aggregation-enable", "true")
				      P("yarn.nodemanager.remote-app-log-dir", "/logs/app")),
		&err);

	assert_string_equal(err_message(&err), "no error");
	assert_string_equal(cluster->hdfs.view, "viewfs://cl");
	assert_string_equal(cluster->hdfs.fs, "hdfs://ns1");
	assert_string_equal(cluster->home, "/homes/alice");
	assert_string_equal(cluster->log_dir, "hdfs://ns2/logs/app");
	assert_list(&cluster->hdfs.webhdfs, "http://one:9870");
	char *others cleanup_free = others_of(&cluster->hdfs);
	assert_string_equal(others, "hdfs://ns2=http://two:9870,http://three:9870 "
				    "hdfs://nn:9000=http://nn:9870");
	hadoop_cluster_destroy(cluster);
}

static void mount_tables_have_several_names(void **state)
{
	static const struct {
		const char *keys, *home;
	} cases[] = {
		{P("fs.defaultFS", "viewfs:///")
			 P("fs.viewfs.mounttable.default.link./user", "hdfs://nn/u"),
		 "/u/alice"},
		{P("fs.defaultFS", "viewfs:///") P("fs.viewfs.mounttable.default.name.key", "cl")
			 LINK("/user", "hdfs://nn/u"),
		 "/u/alice"},
		{P("fs.default.name", "viewfs://cl")
			 P("fs.viewfs.mounttable.cl.linkMergeSlash", "hdfs://nn/"),
		 "/user/alice"},
		{P("fs.defaultFS", "hdfs://cl") P(
			 "fs.hdfs.impl", "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme")
			 LINK("/user", "hdfs://nn/u"),
		 "/u/alice"},
		{P("fs.defaultFS", "hdfs://nn")
			 P("fs.hdfs.impl",
			   "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"),
		 "/user/alice"},
	};

	for (size_t i = 0; i < array_length(cases); i++) {
		struct err err cleanup_err = {0};
		char *core cleanup_free =
			mem_printf("<configuration>%s</configuration>", cases[i].keys);
		struct hadoop_cluster *cluster = cluster_of(state, core, CONFIGURATION(""), &err);
		assert_string_equal(err_message(&err), "no error");
		assert_string_equal(cluster->hdfs.fs, "hdfs://nn");
		assert_string_equal(cluster->home, cases[i].home);
		hadoop_cluster_destroy(cluster);
	}
}

/* Its files need no HDFS, then. */
static void a_mount_table_may_lead_the_home_elsewhere_where_jobs_are_staged(void **state)
{
	struct err err cleanup_err = {0};
	struct hadoop_cluster *cluster = staged_cluster_of(
		state,
		CONFIGURATION(P("fs.defaultFS", "viewfs://cl") LINK("/user", "s3a://bucket/")),
		CONFIGURATION(""), "/shared", &err);

	assert_string_equal(err_message(&err), "no error");
	assert_string_equal(cluster->home, "/shared/alice");
	hadoop_cluster_destroy(cluster);
}

static void a_mount_table_of_too_many_links_is_refused(void **state)
{
	struct err err cleanup_err = {0};
	struct str core cleanup_str = {0};

	str_append(&core, "<configuration>" P("fs.defaultFS", "viewfs://cl"));
	for (int i = 0; i <= HDFS_LINKS_MAX; i++)
		str_append_format(&core,
				  "<property><name>fs.viewfs.mounttable.cl.link./user/%d</name>"
				  "<value>hdfs://nn/u</value></property>",
				  i);
	str_append(&core, "</configuration>");
	assert_null(cluster_of(state, core.text, CONFIGURATION(""), &err));
	assert_message_has(&err, "its mount table has 4097 links, and tony takes 4096 at most");
}

/* A port like that of a router makes none of it. */
static void a_name_node_with_a_web_address_is_no_router(void **state)
{
	struct err err cleanup_err = {0};
	struct hadoop_cluster *cluster =
		cluster_of(state,
			   CONFIGURATION(P("fs.defaultFS", "hdfs://nn:8888")
						 P("dfs.namenode.http-address", "nn:9870")),
			   CONFIGURATION(""), &err);

	assert_string_equal(err_message(&err), "no error");
	assert_list(&cluster->hdfs.webhdfs, "http://nn:9870");
	hadoop_cluster_destroy(cluster);
}

static void what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *core, *yarn, *message;
	} cases[] = {
		{CONFIGURATION(""), CONFIGURATION(""), "see: set tony.yarn.staging-location"},
		{CONFIGURATION(P("fs.defaultFS", "s3a://bucket")), CONFIGURATION(""),
		 "fs.defaultFS: \"s3a://bucket\""},
		{CONFIGURATION(P("fs.defaultFS", "hdfs://nn")),
		 CONFIGURATION(P("yarn.resourcemanager.address", "rm:port")),
		 "yarn.resourcemanager.address: \"rm:port\" is not HOST:PORT"},
		{CONFIGURATION(P("fs.defaultFS", "hdfs://nn")),
		 CONFIGURATION(P("yarn.resourcemanager.ha.enabled", "true")
				       P("yarn.resourcemanager.ha.rm-ids", "a")),
		 "neither yarn.resourcemanager.address.a nor yarn.resourcemanager.hostname.a"},
		{CONFIGURATION(P("fs.defaultFS", "viewfs://cl")), CONFIGURATION(""),
		 "fs.defaultFS: \"viewfs://cl\": there is no mount table "
		 "fs.viewfs.mounttable.cl.link./..."},
		{CONFIGURATION(P("fs.defaultFS", "viewfs://cl") LINK("/user", "s3a://bucket/")),
		 CONFIGURATION(""), "leads the home directory /user/alice to HDFS"},
		{CONFIGURATION(P("fs.defaultFS", "viewfs://cl") LINK("/user", "hdfs://nn/")
				       P("fs.viewfs.mounttable.cl.linkRegx.^/x", "hdfs://nn/y")),
		 CONFIGURATION(""), "tony does not follow fs.viewfs.mounttable.cl.linkRegx.^/x"},
		{CONFIGURATION(P("fs.defaultFS", "viewfs://cl") LINK("/user", "hdfs://nn/")
				       P("fs.viewfs.mounttable.cl.linkNfly../data", "hdfs://nn/y")),
		 CONFIGURATION(""), "tony does not follow fs.viewfs.mounttable.cl.linkNfly../data"},
		{CONFIGURATION(P("fs.defaultFS", "hdfs://nn") P("dfs.webhdfs.enabled", "false")),
		 CONFIGURATION(""), "dfs.webhdfs.enabled is false"},
		{CONFIGURATION(P("fs.defaultFS", "hdfs://nn")
				       P("hadoop.security.authentication", "kerberso")),
		 CONFIGURATION(""), "hadoop.security.authentication: \"kerberso\" is neither"},
		{CONFIGURATION(P("fs.defaultFS", "hdfs://nn") P("hadoop.rpc.protection", "none")),
		 CONFIGURATION(""), "hadoop.rpc.protection: \"none\""},
		{CONFIGURATION(P("fs.defaultFS", "hdfs://nn")),
		 CONFIGURATION(P("yarn.resourcemanager.connect.max-wait.ms", "soon")),
		 "yarn.resourcemanager.connect.max-wait.ms: \"soon\" is no number"},
	};

	for (size_t i = 0; i < array_length(cases); i++) {
		struct err err cleanup_err = {0};
		assert_null(cluster_of(state, cases[i].core, cases[i].yarn, &err));
		assert_int_equal(err.kind, ERR_CONFIG);
		if (!strstr(err_message(&err), cases[i].message))
			fail_msg("%s", err_message(&err));
	}
}

/* ---- as JSON ------------------------------------------------------------------------------ */

static struct hadoop_cluster *sample(void **state)
{
	struct hadoop_cluster *cluster =
		cluster_of(state, CONFIGURATION(P("fs.defaultFS", "hdfs://nn")),
			   CONFIGURATION(P("yarn.resourcemanager.hostname", "rm")), NULL);

	cluster->job_dir = mem_strdup("/user/alice/.tony/application_1_0001");
	cluster->files = mem_alloc_array(1, sizeof(*cluster->files));
	cluster->file_count = 1;
	cluster->files[0] = (struct hadoop_file){.url = mem_strdup("hdfs://nn/a.tar.gz"),
						 .length = 5,
						 .timestamp = 7,
						 .archive = true};
	cluster->types = mem_alloc_array(1, sizeof(*cluster->types));
	cluster->type_count = 1;
	struct hadoop_cluster_type *type = &cluster->types[0];
	type->links = mem_alloc_array(1, sizeof(*type->links));
	type->link_count = 1;
	type->links[0] = (struct hadoop_link){.name = mem_strdup("data/a")};
	type->amounts = mem_alloc_array(1, sizeof(*type->amounts));
	type->amount_count = 1;
	type->amounts[0] = (struct hadoop_amount){mem_strdup("yarn.io/gpu"), 2};
	str_list_add(&type->environment, "YARN_CONTAINER_RUNTIME_TYPE=docker");
	str_list_add(&type->allocation_tags, "ml");
	return cluster;
}

static void every_member_survives(void **state)
{
	struct err err cleanup_err = {0};
	struct hadoop_cluster *cluster = sample(state);
	json_t *written cleanup_json = hadoop_cluster_to_json(cluster);
	json_t *stores cleanup_json = json_object();
	hdfs_access_write(&cluster->hdfs, stores);
	struct hadoop_cluster *read = hadoop_cluster_from_json(written, stores, &err);

	assert_string_equal(err_message(&err), "no error");
	json_t *again cleanup_json = hadoop_cluster_to_json(read);
	assert_true(json_equal(written, again));
	assert_string_equal(read->hdfs.fs, cluster->hdfs.fs);
	assert_int_equal(read->types[0].amounts[0].value, 2);
	assert_string_equal(read->types[0].links[0].name, "data/a");
	hadoop_cluster_destroy(read);
	hadoop_cluster_destroy(cluster);
}

/* With HDFS beside it, and without. */
static void a_cluster_with_a_directory_for_jobs(void **state)
{
	static const char *const cores[] = {CONFIGURATION(P("fs.defaultFS", "hdfs://nn")),
					    CONFIGURATION("")};

	for (size_t i = 0; i < array_length(cores); i++) {
		struct err err cleanup_err = {0};
		struct hadoop_cluster *cluster = staged_cluster_of(
			state, cores[i], CONFIGURATION(P("yarn.resourcemanager.hostname", "rm")),
			"/nfs/tony", &err);
		assert_string_equal(err_message(&err), "no error");
		assert_string_equal(cluster->home, "/nfs/tony/alice");
		cluster->hdfs.authorities = mem_strdup("PEM");
		json_t *written cleanup_json = hadoop_cluster_to_json(cluster);
		json_t *stores cleanup_json = i == 0 ? json_object() : NULL;
		if (stores)
			hdfs_access_write(&cluster->hdfs, stores);
		struct hadoop_cluster *read = hadoop_cluster_from_json(written, stores, &err);
		assert_string_equal(err_message(&err), "no error");
		assert_string_equal(hadoop_cluster_fs(read), "file://");
		assert_true(hadoop_cluster_has_hdfs(read) == (i == 0));
		assert_string_equal(read->hdfs.authorities, "PEM");
		hadoop_cluster_destroy(read);
		/* Without the member it is in HDFS, which must be there. */
		json_object_del(written, "fs");
		read = hadoop_cluster_from_json(written, stores, NULL);
		assert_true((read != NULL) == (i == 0));
		hadoop_cluster_destroy(read);
		hadoop_cluster_destroy(cluster);
	}
}

static void a_hostile_description_is_refused(void **state)
{
	static const struct {
		const char *from, *to, *message;
	} cases[] = {
		{"data/a", "data/../../a", "leads out of the working directory"},
		{"\"file\":0", "\"file\":1", "file"},
		{"TYPE=docker", "TYPE=$(date)", "that a shell leaves as it is"},
		{"hdfs://nn/a.tar.gz", "a.tar.gz", "is no URL"},
		{"\"yarn.io/gpu\":2", "\"yarn.io/gpu\":-2", "is no amount"},
		{"\"rm\":[\"rm:8032\"]", "\"rm\":[]", "has no address"},
		{"\"protections\":1", "\"protections\":9", "protections"},
		{"\"protections\":1", "\"fs\":\"ftp://\"", "is not file://"},
	};
	struct hadoop_cluster *cluster = sample(state);
	json_t *written cleanup_json = hadoop_cluster_to_json(cluster);
	json_t *stores cleanup_json = json_object();
	char *text cleanup_free = json_text(written);

	hdfs_access_write(&cluster->hdfs, stores);
	for (size_t i = 0; i < array_length(cases); i++) {
		struct err err cleanup_err = {0};
		const char *at = strstr(text, cases[i].from);
		assert_non_null(at);
		char *changed cleanup_free = mem_printf("%.*s%s%s", (int)(at - text), text,
							cases[i].to, at + strlen(cases[i].from));
		json_t *object cleanup_json = json_parse(changed, strlen(changed), &err);
		assert_null(hadoop_cluster_from_json(object, stores, &err));
		assert_int_equal(err.kind, ERR_INPUT);
		if (!strstr(err_message(&err), cases[i].message))
			fail_msg("%s", err_message(&err));
	}
	hadoop_cluster_destroy(cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(variables_resolve_as_in_hadoop),
		scratch_test(a_circle_of_variables_ends),
		scratch_test(a_later_file_overrides_but_not_what_is_final),
		scratch_test(attributes_and_included_files_are_read),
		scratch_test(a_doctype_is_accepted_but_no_entity),
		scratch_test(included_files_are_local_and_end),
		scratch_test(the_text_of_a_value_is_all_of_it),
		scratch_test(elements_too_deep_are_refused),
		scratch_test(what_is_no_configuration_is_named),
		scratch_test(a_yarn_site_is_looked_for_in_both_directories),
		scratch_test(a_directory_that_nobody_named_is_a_clusters_if_it_says_so),
		scratch_test(a_variable_that_is_empty_means_no_cluster),
		scratch_test(old_names_of_keys_are_taken),
		scratch_test(a_plain_cluster),
		scratch_test(a_timeline_server_is_found_as_hadoop_finds_it),
		scratch_test(a_web_proxy_that_takes_any_name_is_not_believed),
		scratch_test(pairs_are_resolved),
		scratch_test(web_servers_ask_or_rpc_does),
		scratch_test(the_resource_manager_has_a_principal),
		scratch_test(all_nameservices_are_reached),
		scratch_test(routers_stand_for_name_nodes),
		scratch_test(a_mount_table_is_resolved),
		scratch_test(mount_tables_have_several_names),
		scratch_test(a_mount_table_may_lead_the_home_elsewhere_where_jobs_are_staged),
		scratch_test(a_mount_table_of_too_many_links_is_refused),
		scratch_test(a_name_node_with_a_web_address_is_no_router),
		scratch_test(what_is_wrong_is_named),
		scratch_test(every_member_survives),
		scratch_test(a_cluster_with_a_directory_for_jobs),
		scratch_test(a_hostile_description_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
