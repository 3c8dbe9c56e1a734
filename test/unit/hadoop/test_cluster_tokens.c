/* Which of the tokens that HADOOP_TOKEN_FILE_LOCATION names are a cluster's. */
#include "../base/scratch.h"
#include "../base/test.h"

#include <stdlib.h>

#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/cluster_tokens.h"
#include "hadoop/credentials.h"
#include "hadoop/kerberos_user.h"
#include "hadoop/token_file.h"

#define VARIABLE "HADOOP_TOKEN_FILE_LOCATION"

static struct hadoop_site *load(void **state, const char *use_ip)
{
	const struct hadoop_site_files files = {.directory = scratch_path(state, ".")};
	char *text cleanup_free = mem_printf(
		"<configuration><property><name>hadoop.security.token.service.use_ip</name>"
		"<value>%s</value></property></configuration>",
		use_ip);

	scratch_write(state, "core-site.xml", text, 0600);
	return hadoop_site_load(&files, NULL);
}

/* A file in which each token's identifier is its service. */
static void write_tokens(void **state, const char *const (*tokens)[2], size_t count)
{
	struct credentials credentials cleanup_credentials = {0};
	struct str bytes cleanup_str = {0};

	for (size_t i = 0; i < count; i++) {
		struct hadoop_token token cleanup_token = {0};
		char *alias cleanup_free = mem_printf("%zu", i);
		const char *service = tokens[i][1];
		token_set(&token, service, strlen(service), "secret", 6, tokens[i][0], service);
		credentials_add_token(&credentials, alias, &token);
	}
	credentials_write(&credentials, &bytes);
	const char *path = scratch_path(state, "tokens");
	assert_int_equal(fs_write_file(path, bytes.text, bytes.length, 0600, NULL), 0);
	setenv(VARIABLE, path, 1);
}

static struct hadoop_cluster *make_cluster(const char *rm, const char *fs, const char *name_node,
					   const char *web)
{
	struct hadoop_cluster *cluster = mem_alloc(sizeof(*cluster));
	struct str_list other = {0};

	cluster->require_sasl = true;
	str_list_add(&cluster->rm, "127.0.0.9:8032");
	str_list_add(&cluster->rm, rm);
	cluster->hdfs.fs = mem_strdup(fs);
	str_list_add(&cluster->hdfs.name_nodes, name_node);
	str_list_add(&cluster->hdfs.webhdfs, web);
	str_list_add(&other, "https://127.0.0.3:9870");
	hdfs_access_add_other(&cluster->hdfs, mem_strdup("hdfs://other"), &other);
	return cluster;
}

static const char *const tokens[][2] = {
	{TOKEN_KIND_RM, "127.0.0.1:8032,127.0.0.2:8032"},
	{TOKEN_KIND_RM, "rm.example:8032"},
	{TOKEN_KIND_HDFS, "127.0.0.1:8032"},
	{TOKEN_KIND_HDFS, "127.0.0.1:8020"},
	{TOKEN_KIND_HDFS, "ha-hdfs:ns"},
	{TOKEN_KIND_HDFS, "ha-hdfs:other"},
	{TOKEN_KIND_HDFS, "nn.example:8020"},
	{TOKEN_KIND_SWEBHDFS, "127.0.0.5:14000"},
	{TOKEN_KIND_WEBHDFS, "127.0.0.5:14001"},
};

/* The URL string of the token that has this service; NULL: of none. */
static char *url_of(const char *kind, const char *service)
{
	struct hadoop_token token cleanup_token = {0};

	if (!service)
		return NULL;
	token_set(&token, service, strlen(service), "secret", 6, kind, service);
	return token_url_string(&token);
}

static void assert_same(const char *is, const char *wanted)
{
	assert_string_equal(is ? is : "none", wanted ? wanted : "none");
}

static void a_token_is_found_by_its_service(void **state)
{
	static const struct {
		const char *use_ip, *rm, *fs, *name_node, *web;
		const char *rm_token, *fs_token, *fs_kind; /* services; NULL: none */
	} cases[] = {
		{"true", "127.0.0.1:8032", "hdfs://127.0.0.1:8020", "127.0.0.1:8020",
		 "https://127.0.0.1:9870", "127.0.0.1:8032,127.0.0.2:8032", "127.0.0.1:8020",
		 TOKEN_KIND_HDFS},
		{"true", "localhost:8032", "hdfs://localhost:8020", "localhost:8020",
		 "https://localhost:9870", "127.0.0.1:8032,127.0.0.2:8032", "127.0.0.1:8020",
		 TOKEN_KIND_HDFS},
		{"true", "127.0.0.2:8032", "hdfs://ns", "127.0.0.6:8020", "https://127.0.0.6:9870",
		 "127.0.0.1:8032,127.0.0.2:8032", "ha-hdfs:ns", TOKEN_KIND_HDFS},
		{"true", "127.0.0.3:8032", "hdfs://ns2", "127.0.0.6:8020", "https://127.0.0.6:9870",
		 NULL, NULL, NULL},
		{"false", "RM.example:8032", "hdfs://nn.Example:8020", "nn.Example:8020",
		 "https://nn.Example:9870", "rm.example:8032", "nn.example:8020", TOKEN_KIND_HDFS},
		/* its password would be read along */
		{"true", "127.0.0.3:8032", "hdfs://ns", "127.0.0.6:8020", "http://127.0.0.6:9870",
		 NULL, NULL, NULL},
		/* a WebHDFS client's own */
		{"true", "127.0.0.3:8032", "hdfs://ns4", "127.0.0.6:8020", "http://127.0.0.5:14001",
		 NULL, "127.0.0.5:14001", TOKEN_KIND_WEBHDFS},
		{"true", "127.0.0.3:8032", "hdfs://ns3", "127.0.0.6:8020",
		 "https://127.0.0.5:14000", NULL, "127.0.0.5:14000", TOKEN_KIND_SWEBHDFS},
	};

	write_tokens(state, tokens, array_length(tokens));
	for (size_t i = 0; i < array_length(cases); i++) {
		struct hadoop_site *site cleanup_hadoop_site = load(state, cases[i].use_ip);
		struct hadoop_cluster *cluster =
			make_cluster(cases[i].rm, cases[i].fs, cases[i].name_node, cases[i].web);
		char *url cleanup_free = url_of(cases[i].fs_kind, cases[i].fs_token);
		char *other cleanup_free = url_of(TOKEN_KIND_HDFS, "ha-hdfs:other");
		struct err err cleanup_err = {0};

		assert_int_equal(hadoop_cluster_find_tokens(cluster, site, &err), 0);
		struct hadoop_token token cleanup_token = {0};
		const char *kind = TOKEN_KIND_RM;
		assert_int_equal(token_file_find(&kind, 1, &cluster->token_services, &token, &err),
				 0);
		assert_same(token.service, cases[i].rm_token);
		assert_same(cluster->hdfs.delegation, url);
		assert_same(cluster->hdfs.others[0].delegation, other);
		assert_same(hdfs_access_webhdfs(&cluster->hdfs).delegation, url);
		assert_same(hdfs_access_webhdfs_of(&cluster->hdfs, "hdfs://other/x").delegation,
			    other);
		hadoop_cluster_destroy(cluster);
	}
}

/* Where the job is read, in a container, too; without its tokens. */
static void services_travel_with_the_job_and_no_token_does(void **state)
{
	struct hadoop_site *site cleanup_hadoop_site = load(state, "true");
	struct hadoop_cluster *cluster = make_cluster("127.0.0.1:8032", "hdfs://ns",
						      "127.0.0.6:8020", "https://127.0.0.6:9");
	struct hdfs_access read cleanup_hdfs_access = {0};
	char *url cleanup_free = url_of(TOKEN_KIND_HDFS, "ha-hdfs:ns");
	json_t *stores = json_object();

	write_tokens(state, tokens, array_length(tokens));
	cluster->hdfs.user = mem_strdup("alice");
	assert_int_equal(hadoop_cluster_find_tokens(cluster, site, NULL), 0);
	hdfs_access_write(&cluster->hdfs, stores);
	char *text = json_dumps(stores, 0);
	assert_null(strstr(text, url));
	free(text);
	assert_int_equal(hdfs_access_read(&read, stores, NULL), 0);
	assert_same(read.delegation, url);
	assert_same(read.others[0].delegation, cluster->hdfs.others[0].delegation);
	assert_non_null(read.others[0].delegation);
	json_decref(stores);
	hadoop_cluster_destroy(cluster);
}

static struct hadoop_site *load_kerberos(void **state)
{
	const struct hadoop_site_files files = {.directory = scratch_path(state, ".")};

	scratch_write(state, "core-site.xml",
		      "<configuration><property><name>hadoop.security.authentication</name>"
		      "<value>kerberos</value></property></configuration>",
		      0600);
	return hadoop_site_load(&files, NULL);
}

/* As Oozie hands them over: tokens of several clusters, and of several users. */
static void the_user_is_the_owner_of_the_clusters_own_token(void **state)
{
	struct credentials credentials cleanup_credentials = {0};
	struct hadoop_token hdfs cleanup_token = {0}, other cleanup_token = {0},
				 own cleanup_token = {0};
	struct hadoop_site *site cleanup_hadoop_site = load_kerberos(state);
	struct kerberos_user user cleanup_kerberos_user = {0};
	struct str_list rm cleanup_str_list = {0}, else_where cleanup_str_list = {0};
	struct str bytes cleanup_str = {0};

	setenv("KRB5CCNAME", "FILE:/nonexistent", 1);
	unsetenv(VARIABLE);
	str_list_add(&rm, "127.0.0.1:8032");
	str_list_add(&else_where, "127.0.0.3:8032");
	assert_int_equal(hadoop_kerberos_user(site, &rm, &user, NULL), 0);
	assert_null(user.name);
	token_set(&hdfs, "\0\3bob\0\0", 7, "p", 1, TOKEN_KIND_HDFS, "ha-hdfs:ns");
	token_set(&other, "\12\5carol", 7, "p", 1, TOKEN_KIND_RM, "127.0.0.2:8032");
	token_set(&own, "\12\5alice", 7, "p", 1, TOKEN_KIND_RM, "127.0.0.1:8032");
	credentials_add_token(&credentials, "a", &hdfs);
	credentials_add_token(&credentials, "b", &other);
	credentials_add_token(&credentials, "c", &own);
	credentials_write(&credentials, &bytes);
	setenv(VARIABLE, scratch_path(state, "tokens"), 1);
	assert_int_equal(fs_write_file(getenv(VARIABLE), bytes.text, bytes.length, 0600, NULL), 0);
	assert_int_equal(hadoop_kerberos_user(site, &rm, &user, NULL), 0);
	assert_string_equal(user.name, "alice");
	assert_null(user.principal);
	kerberos_user_finish(&user);
	assert_int_equal(hadoop_kerberos_user(site, &else_where, &user, NULL), 0);
	assert_null(user.name);
}

/* The NameNode's token does not open a gateway. */
static void a_gateway_has_tokens_of_its_own(void **state)
{
	static const char *const gateways[] = {"https://127.0.0.1:14000",
					       "https://127.0.0.5:14000"};
	struct hadoop_site *site cleanup_hadoop_site = load(state, "true");

	write_tokens(state, tokens, array_length(tokens));
	for (size_t i = 0; i < array_length(gateways); i++) {
		struct hadoop_cluster *cluster = make_cluster(
			"127.0.0.1:8032", "hdfs://127.0.0.1:8020", "127.0.0.1:8020", gateways[i]);
		cluster->hdfs.http_fs = true;
		assert_int_equal(hadoop_cluster_find_tokens(cluster, site, NULL), 0);
		assert_int_equal(cluster->hdfs.delegation != NULL, i == 1);
		hadoop_cluster_destroy(cluster);
	}
}

static void a_file_is_read_on_a_secure_cluster_alone(void **state)
{
	struct hadoop_site *site cleanup_hadoop_site = load(state, "true");
	struct hadoop_cluster *cluster = make_cluster("127.0.0.1:8032", "hdfs://ns",
						      "127.0.0.1:8020", "https://127.0.0.1:9");
	struct err err cleanup_err = {0};

	setenv(VARIABLE, scratch_path(state, "missing"), 1);
	assert_int_equal(hadoop_cluster_find_tokens(cluster, site, &err), -1);
	assert_int_equal(err.kind, ERR_CONFIG);
	assert_non_null(strstr(err_message(&err), VARIABLE ": "));
	assert_non_null(strstr(err_message(&err), "missing"));
	assert_non_null(strstr(err_message(&err), "unset it"));
	cluster->require_sasl = false;
	assert_int_equal(hadoop_cluster_find_tokens(cluster, site, NULL), 0);
	unsetenv(VARIABLE);
	cluster->require_sasl = true;
	assert_int_equal(hadoop_cluster_find_tokens(cluster, site, NULL), 0);
	assert_null(cluster->hdfs.delegation);
	hadoop_cluster_destroy(cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(a_token_is_found_by_its_service),
		scratch_test(services_travel_with_the_job_and_no_token_does),
		scratch_test(the_user_is_the_owner_of_the_clusters_own_token),
		scratch_test(a_gateway_has_tokens_of_its_own),
		scratch_test(a_file_is_read_on_a_secure_cluster_alone),
	};

	return cmocka_run_group_tests_name("hadoop cluster tokens", tests, NULL, NULL);
}
