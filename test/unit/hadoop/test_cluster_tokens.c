/* Which of the tokens that HADOOP_TOKEN_FILE_LOCATION names are a cluster's. */
#include "../base/scratch.h"
#include "../base/test.h"
#include "token_bed.h"

#include <stdlib.h>

#include "base/fields.h"
#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/cluster_tokens.h"
#include "hadoop/credentials.h"
#include "hadoop/hdfs_ticket.h"
#include "hadoop/hdfs_token.h"
#include "hadoop/kerberos_user.h"
#include "hadoop/sasl.h"
#include "hadoop/token_file.h"
#include "hadoop/writable.h"

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

static struct hadoop_cluster *make_cluster(const char *rm, const char *fs, const char *name_node,
					   const char *web)
{
	struct hadoop_cluster *cluster = mem_alloc(sizeof(*cluster));
	struct str_list other = {0}, none = {0};

	cluster->require_sasl = true;
	cluster->protections = SASL_PRIVACY;
	str_list_add(&cluster->rm, "127.0.0.9:8032");
	str_list_add(&cluster->rm, rm);
	cluster->hdfs.fs = mem_strdup(fs);
	str_list_add(&cluster->hdfs.name_nodes, name_node);
	str_list_add(&cluster->hdfs.webhdfs, web);
	str_list_add(&other, "https://127.0.0.3:9870");
	hdfs_access_add_other(&cluster->hdfs, mem_strdup("hdfs://other"), &other, &none);
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

static void assert_same(const char *is, const char *wanted)
{
	assert_string_equal(is ? is : "none", wanted ? wanted : "none");
}

/* Of the file system of `url`: the URL string of the token by which it is asked; NULL: there is
 * none. */
static char *found_url(const struct hdfs_access *access, const char *url)
{
	hdfs_tokens_finish();
	struct hdfs_token *token = hdfs_access_webhdfs_of(access, url).token;
	if (!token || hdfs_token_get(token, 0, NULL) < 0)
		return NULL;
	return mem_strdup(hdfs_token_url(token));
}

static void expect_token(const struct hdfs_access *access, const char *url, const char *wanted)
{
	char *found cleanup_free = found_url(access, url);

	assert_same(found, wanted);
}

static void a_token_is_found_by_its_service(void **state)
{
	static const struct {
		const char *use_ip, *rm, *fs, *name_node, *web;
		const char *rm_token, *fs_token, *fs_kind; /* services; NULL: none */
		bool is_clear;
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
		/* as it is anyway */
		{"true", "127.0.0.3:8032", "hdfs://ns", "127.0.0.6:8020", "http://127.0.0.6:9870",
		 NULL, "ha-hdfs:ns", TOKEN_KIND_HDFS, true},
		/* a WebHDFS client's own */
		{"true", "127.0.0.3:8032", "hdfs://ns4", "127.0.0.6:8020", "http://127.0.0.5:14001",
		 NULL, "127.0.0.5:14001", TOKEN_KIND_WEBHDFS},
		{"true", "127.0.0.3:8032", "hdfs://ns3", "127.0.0.6:8020",
		 "https://127.0.0.5:14000", NULL, "127.0.0.5:14000", TOKEN_KIND_SWEBHDFS},
	};

	token_bed_write(scratch_path(state, "tokens"), tokens, array_length(tokens));
	for (size_t i = 0; i < array_length(cases); i++) {
		struct hadoop_site *site cleanup_hadoop_site = load(state, cases[i].use_ip);
		struct hadoop_cluster *cluster =
			make_cluster(cases[i].rm, cases[i].fs, cases[i].name_node, cases[i].web);
		char *url cleanup_free = token_bed_url(cases[i].fs_kind, cases[i].fs_token);
		char *other cleanup_free = token_bed_url(TOKEN_KIND_HDFS, "ha-hdfs:other");
		struct err err cleanup_err = {0};

		if (cases[i].is_clear)
			cluster->protections = SASL_AUTH | SASL_PRIVACY;
		hadoop_cluster_find_tokens(cluster, site);
		struct hadoop_token token cleanup_token = {0};
		const char *kind = TOKEN_KIND_RM;
		assert_int_equal(token_file_find(&kind, 1, &cluster->token_services, &token, &err),
				 0);
		assert_same(token.service, cases[i].rm_token);
		expect_token(&cluster->hdfs, "hdfs://elsewhere/x", url);
		expect_token(&cluster->hdfs, "hdfs://other/x", other);
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
	char *url cleanup_free = token_bed_url(TOKEN_KIND_HDFS, "ha-hdfs:ns");
	char *other cleanup_free = token_bed_url(TOKEN_KIND_HDFS, "ha-hdfs:other");
	json_t *stores = json_object();

	token_bed_write(scratch_path(state, "tokens"), tokens, array_length(tokens));
	cluster->hdfs.user = mem_strdup("alice");
	hadoop_cluster_find_tokens(cluster, site);
	hdfs_access_write(&cluster->hdfs, stores);
	char *text = json_dumps(stores, 0);
	assert_null(strstr(text, url));
	free(text);
	assert_int_equal(hdfs_access_read(&read, stores, NULL), 0);
	assert_string_equal(read.name_nodes.items[0], "127.0.0.6:8020");
	expect_token(&read, "hdfs://ns/x", url);
	expect_token(&read, "hdfs://other/x", other);
	json_decref(stores);
	hadoop_cluster_destroy(cluster);
}

/* Two names of one server, and a name with very many addresses. */
static void services_are_told_once_and_not_without_end(void **state)
{
	struct str_list addresses cleanup_str_list = {0}, services cleanup_str_list = {0};

	str_list_add(&addresses, "127.0.0.1:8032");
	str_list_add(&addresses, "localhost:8032");
	hadoop_token_services(true, &addresses, &services);
	assert_int_equal(services.count, 1);
	for (int i = 2; i < 2 + FIELD_LIST_CAP; i++)
		str_list_add_format(&addresses, "127.0.0.%d:8032", i);
	hadoop_token_services(true, &addresses, &services);
	assert_int_equal(services.count, FIELD_LIST_CAP);
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
	const struct kerberos_login login = {0};
	struct str_list rm cleanup_str_list = {0}, else_where cleanup_str_list = {0};
	struct str bytes cleanup_str = {0};

	setenv("KRB5CCNAME", "FILE:/nonexistent", 1);
	unsetenv(TOKEN_FILE_VARIABLE);
	str_list_add(&rm, "127.0.0.1:8032");
	str_list_add(&else_where, "127.0.0.3:8032");
	assert_int_equal(hadoop_kerberos_user(site, &rm, &login, &user, NULL), -1);
	assert_null(user.name);
	token_set(&hdfs, "\0\3bob\0\0", 7, "p", 1, TOKEN_KIND_HDFS, "ha-hdfs:ns");
	token_set(&other, "\12\5carol", 7, "p", 1, TOKEN_KIND_RM, "127.0.0.2:8032");
	token_set(&own, "\12\5alice", 7, "p", 1, TOKEN_KIND_RM, "127.0.0.1:8032");
	credentials_add_token(&credentials, "a", &hdfs);
	credentials_add_token(&credentials, "b", &other);
	credentials_add_token(&credentials, "c", &own);
	credentials_write(&credentials, &bytes);
	setenv(TOKEN_FILE_VARIABLE, scratch_path(state, "tokens"), 1);
	assert_int_equal(
		fs_write_file(getenv(TOKEN_FILE_VARIABLE), bytes.text, bytes.length, 0600, NULL),
		0);
	assert_int_equal(hadoop_kerberos_user(site, &rm, &login, &user, NULL), 0);
	assert_string_equal(user.name, "alice");
	assert_null(user.principal);
	kerberos_user_finish(&user);
	assert_int_equal(hadoop_kerberos_user(site, &else_where, &login, &user, NULL), 0);
	assert_string_equal(user.name, "bob");
}

/* The NameNode's token does not open a gateway. */
static void a_gateway_has_tokens_of_its_own(void **state)
{
	static const char *const gateways[] = {"https://127.0.0.1:14000",
					       "https://127.0.0.5:14000"};
	struct hadoop_site *site cleanup_hadoop_site = load(state, "true");

	token_bed_write(scratch_path(state, "tokens"), tokens, array_length(tokens));
	for (size_t i = 0; i < array_length(gateways); i++) {
		struct hadoop_cluster *cluster = make_cluster(
			"127.0.0.1:8032", "hdfs://127.0.0.1:8020", "127.0.0.1:8020", gateways[i]);
		cluster->hdfs.http_fs = true;
		hadoop_cluster_find_tokens(cluster, site);
		char *found cleanup_free = found_url(&cluster->hdfs, "hdfs://127.0.0.1:8020/");
		assert_int_equal(found != NULL, i == 1);
		/* That of the NameNodes is for the job's containers alone. */
		assert_string_equal(cluster->hdfs.behind_services.items[0], "127.0.0.1:8020");
		assert_int_equal(hdfs_access_open_behind(&cluster->hdfs, NULL), 0);
		hadoop_cluster_destroy(cluster);
	}
}

static int open_own(const struct hadoop_cluster *cluster, struct err *err)
{
	hdfs_tokens_finish();
	err_finish(err);
	struct hdfs_token *token = hdfs_access_webhdfs(&cluster->hdfs).token;
	return token ? hdfs_token_get(token, 0, err) : 0;
}

static void a_file_is_read_on_a_secure_cluster_alone(void **state)
{
	struct hadoop_site *site cleanup_hadoop_site = load(state, "true");
	struct hadoop_cluster *cluster = make_cluster("127.0.0.1:8032", "hdfs://ns",
						      "127.0.0.1:8020", "https://127.0.0.1:9");
	struct err err cleanup_err = {0};

	setenv(TOKEN_FILE_VARIABLE, scratch_path(state, "missing"), 1);
	assert_int_equal(open_own(cluster, &err), 0);
	hadoop_cluster_find_tokens(cluster, site);
	assert_int_equal(open_own(cluster, &err), -1);
	assert_int_equal(err.kind, ERR_CONFIG);
	assert_non_null(strstr(err_message(&err), TOKEN_FILE_VARIABLE ": "));
	assert_non_null(strstr(err_message(&err), "missing"));
	assert_non_null(strstr(err_message(&err), "unset the variable"));
	unsetenv(TOKEN_FILE_VARIABLE);
	assert_int_equal(open_own(cluster, &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	assert_non_null(strstr(err_message(&err), "hdfs://ns wants a delegation token"));
	hadoop_cluster_destroy(cluster);
}

/* promise: S70 */
static void a_description_leads_no_token_to_other_servers(void **state)
{
	struct hadoop_site *site cleanup_hadoop_site = load(state, "true");
	struct hadoop_cluster *cluster = make_cluster("127.0.0.1:8032", "hdfs://ns",
						      "127.0.0.6:8020", "https://127.0.0.6:9");
	struct err err cleanup_err = {0};

	token_bed_write(scratch_path(state, "tokens"), tokens, array_length(tokens));
	cluster->user = mem_strdup("alice");
	hadoop_cluster_find_tokens(cluster, site);
	hdfs_ticket_use(cluster, site);
	for (int i = 0; i < 3; i++) {
		if (i == 1)
			mem_replace(&cluster->hdfs.webhdfs.items[0],
				    mem_strdup("https://127.0.0.66:9"));
		if (i == 2)
			mem_replace(&cluster->hdfs.others[0].webhdfs.items[0],
				    mem_strdup("https://127.0.0.66:9"));
		for (int k = 0; k < 2; k++) {
			const char *url = k == 0 ? "hdfs://ns/x" : "hdfs://other/x";
			hdfs_tokens_finish();
			hdfs_tokens_by_ticket(NULL);
			struct hdfs_token *token =
				hdfs_access_webhdfs_of(&cluster->hdfs, url).token;
			err_finish(&err);
			assert_int_equal(hdfs_token_get(token, 0, &err), i > k ? -1 : 0);
			if (i > k)
				assert_non_null(strstr(err_message(&err), "no token is shown"));
		}
	}
	hdfs_tokens_finish();
	hadoop_cluster_destroy(cluster);
}

/* promise: S68 */
static void a_token_is_not_got_for_a_request_in_the_clear(void **state)
{
	struct hadoop_site *site cleanup_hadoop_site = load(state, "true");
	struct hadoop_cluster *cluster =
		make_cluster("127.0.0.1:8032", "hdfs://ns", "127.0.0.1:8020", "http://127.0.0.1:9");
	struct err err cleanup_err = {0};

	hadoop_cluster_find_tokens(cluster, site);
	assert_int_equal(open_own(cluster, &err), -1);
	assert_int_equal(err.kind, ERR_CONFIG);
	assert_non_null(strstr(err_message(&err), "dfs.http.policy to HTTPS_ONLY"));
	hadoop_cluster_destroy(cluster);
}

/* Somebody has replaced the file, as YARN does with that of a container. */
static void a_token_that_is_refused_is_read_anew(void **state)
{
	static const char *const first[][2] = {{TOKEN_KIND_HDFS, "ha-hdfs:ns"}};
	static const char *const second[][2] = {{TOKEN_KIND_SWEBHDFS, "127.0.0.6:9"}};
	struct hadoop_site *site cleanup_hadoop_site = load(state, "true");
	struct hadoop_cluster *cluster = make_cluster("127.0.0.1:8032", "hdfs://ns",
						      "127.0.0.6:8020", "https://127.0.0.6:9");
	char *old cleanup_free = token_bed_url(first[0][0], first[0][1]);
	char *new cleanup_free = token_bed_url(second[0][0], second[0][1]);
	struct err err cleanup_err = {0};

	token_bed_write(scratch_path(state, "tokens"), first, 1);
	hadoop_cluster_find_tokens(cluster, site);
	hdfs_tokens_finish();
	struct hdfs_token *token = hdfs_access_webhdfs(&cluster->hdfs).token;
	assert_int_equal(hdfs_token_get(token, 0, NULL), 0);
	unsigned generation = hdfs_token_generation(token);
	assert_int_equal(hdfs_token_replace(token, generation, &err), -1);
	assert_int_equal(err.kind, ERR_EXPIRED);
	assert_non_null(strstr(err_message(&err), "tony renew"));
	assert_string_equal(hdfs_token_url(token), old);
	token_bed_write(scratch_path(state, "tokens"), second, 1);
	assert_int_equal(hdfs_token_replace(token, generation, NULL), 0);
	assert_string_equal(hdfs_token_url(token), new);
	/* another client had the old one, too */
	assert_int_equal(hdfs_token_replace(token, generation, NULL), 0);
	assert_int_equal(hdfs_token_replace(token, hdfs_token_generation(token), NULL), -1);
	hadoop_cluster_destroy(cluster);
}

static size_t cancelled;

static int check_none(const struct hdfs_token_server *server, struct err *err)
{
	return 0;
}

static int give(const struct hdfs_token_server *server, int64_t patience_ms,
		struct hadoop_token *token, struct err *err)
{
	token_set(token, server->name, strlen(server->name), "secret", 6,
		  server->kind ? server->kind : TOKEN_KIND_HDFS, server->services->items[0]);
	return 0;
}

static void count_cancelled(const struct hdfs_token_server *server,
			    const struct hadoop_token *token)
{
	assert_memory_equal(token->password, "secret", 6);
	cancelled++;
}

/* Out of the file, as under Oozie; who goes by that asks no server. */
static void a_token_of_the_timeline_server_goes_with_the_jobs(void **state)
{
	static const char *const found[][2] = {{TOKEN_KIND_RM, "127.0.0.1:8032"},
					       {TOKEN_KIND_TIMELINE, "127.0.0.1:8188"}};
	struct hadoop_site *site cleanup_hadoop_site = load(state, "true");
	struct hadoop_cluster *cluster = make_cluster("127.0.0.1:8032", "hdfs://ns",
						      "127.0.0.6:8020", "https://127.0.0.6:9");
	struct err err cleanup_err = {0};

	cluster->user = mem_strdup("alice");
	cluster->timeline = mem_strdup("https://127.0.0.1:8188");
	token_bed_write(scratch_path(state, "tokens"), found, array_length(found));
	for (size_t i = 0; i < 2; i++) {
		struct credentials credentials cleanup_credentials = {0};
		bool are_own;
		hdfs_tokens_finish();
		hdfs_tokens_by_ticket(NULL);
		hdfs_ticket_use(cluster, site);
		assert_int_equal(hdfs_ticket_get_timeline(cluster, &err), i == 0 ? 0 : -1);
		hdfs_tokens_add(&credentials, &are_own);
		assert_int_equal(credentials.token_count, i == 0 ? 1 : 0);
		if (i == 0)
			assert_string_equal(credentials.tokens[0].alias, "127.0.0.1:8188");
		mem_replace(&cluster->timeline, mem_strdup("https://127.0.0.1:8189"));
	}
	assert_non_null(strstr(err_message(&err), "https://127.0.0.1:8189 wants a delegation"));
	mem_replace(&cluster->timeline, NULL);
	assert_int_equal(hdfs_ticket_get_timeline(cluster, NULL), 0);
	hadoop_cluster_destroy(cluster);
}

/* Those of a refused submission, and those that no application master took. */
static void tokens_that_no_job_has_are_cancelled(void **state)
{
	static const struct hdfs_token_client client = {check_none, give, count_cancelled};
	static const char *const found[][2] = {{TOKEN_KIND_HDFS, "ha-hdfs:found"}};
	static const char *const names[] = {"ha-hdfs:found", "ha-hdfs:ns", "kms://https@a:1/kms"};
	static const struct str_list none;

	token_bed_write(scratch_path(state, "tokens"), found, 1);
	hdfs_tokens_finish();
	for (int is_left = 0; is_left < 2; is_left++) {
		struct credentials credentials cleanup_credentials = {0};
		bool are_own;
		hdfs_tokens_get_by(&client);
		for (size_t i = 0; i < array_length(names); i++) {
			const struct str_list services = {(char *[]){(char *)names[i]}, 1};
			const struct hdfs_token_server server = {.name = names[i],
								 .kind = i == 2 ? TOKEN_KIND_KMS
										: NULL,
								 .services = &services,
								 .name_nodes = &none,
								 .web = &none,
								 .is_encrypted = true};
			assert_int_equal(hdfs_token_get(hdfs_token_of(&server), 0, NULL), 0);
		}
		hdfs_tokens_add(&credentials, &are_own);
		assert_int_equal(credentials.token_count, 3);
		assert_false(are_own);
		if (is_left)
			hdfs_tokens_leave();
		cancelled = 0;
		hdfs_tokens_finish();
		assert_int_equal(cancelled, is_left ? 0 : 2);
	}
}

static void expect_password(const char *kind, const char *service, const char *wanted)
{
	const struct str_list services = {(char *[]){(char *)service}, 1};
	struct hadoop_token found cleanup_token = {0};

	assert_int_equal(token_file_find(&kind, 1, &services, &found, NULL), 0);
	if (!wanted)
		assert_null(found.kind);
	else
		assert_memory_equal(found.password, wanted, found.password_length);
}

static void newer_tokens_take_the_place_of_those_of_the_same_services(void **state)
{
	static const char *const old[][2] = {{TOKEN_KIND_AMRM, "rm"},
					     {TOKEN_KIND_HDFS, "ha-hdfs:ns"},
					     {TOKEN_KIND_HDFS, "ha-hdfs:other"}};
	static const char *const new[][2] = {{TOKEN_KIND_HDFS, "ha-hdfs:third"},
					     {TOKEN_KIND_AMRM, "rm"},
					     {TOKEN_KIND_RM, "rm"},
					     {TOKEN_KIND_TIMELINE, "127.0.0.1:8188"},
					     {TOKEN_KIND_HDFS, "ha-hdfs:ns"}};
	struct str bytes cleanup_str = {0};
	struct err err cleanup_err = {0};

	token_bed_write(scratch_path(state, "tokens"), old, array_length(old));
	token_bed_encode(new, array_length(new), "newer.", &bytes);
	assert_success(token_file_take(bytes.text, bytes.length, &err), &err);
	expect_password(TOKEN_KIND_HDFS, "ha-hdfs:ns", "newer.");
	expect_password(TOKEN_KIND_HDFS, "ha-hdfs:third", "newer.");
	expect_password(TOKEN_KIND_TIMELINE, "127.0.0.1:8188", "newer.");
	expect_password(TOKEN_KIND_HDFS, "ha-hdfs:other", "secret");
	/* the AM's own, and none that lets programs ask the ResourceManager */
	expect_password(TOKEN_KIND_AMRM, "rm", "secret");
	expect_password(TOKEN_KIND_RM, "rm", NULL);
}

static void what_is_no_newer_token_is_refused(void **state)
{
	static const char *const old[][2] = {{TOKEN_KIND_HDFS, "ha-hdfs:ns"}};
	static const char *const none[][2] = {{TOKEN_KIND_AMRM, "rm"}};
	struct str bytes cleanup_str = {0};
	struct err err cleanup_err = {0};

	token_bed_write(scratch_path(state, "tokens"), old, 1);
	assert_int_equal(token_file_take("HDTS", 4, &err), -1);
	assert_int_equal(err.kind, ERR_INPUT);
	err_finish(&err);
	token_bed_encode(none, 1, NULL, &bytes);
	assert_int_equal(token_file_take(bytes.text, bytes.length, &err), -1);
	assert_non_null(strstr(err_message(&err), "no token of a file system"));
	expect_password(TOKEN_KIND_HDFS, "ha-hdfs:ns", "secret");
}

/* Appends the bytes of a file with a token of HDFS that is `owner`'s. */
static void encode_owned(const char *owner, const char *service, struct str *bytes)
{
	struct credentials credentials cleanup_credentials = {0};
	struct hadoop_token token cleanup_token = {0};
	struct str identifier cleanup_str = {0};

	str_append_bytes(&identifier, "", 1);
	writable_put_text(&identifier, owner);
	token_set(&token, identifier.text, identifier.length, "p", 1, TOKEN_KIND_HDFS, service);
	credentials_add_token(&credentials, service, &token);
	credentials_write(&credentials, bytes);
}

static void a_newer_token_is_of_the_same_user(void **state)
{
	struct str alices cleanup_str = {0}, bobs cleanup_str = {0};
	const char *path = scratch_path(state, "tokens");
	struct err err cleanup_err = {0};

	encode_owned("alice", "ha-hdfs:ns", &alices);
	encode_owned("bob", "ha-hdfs:ns", &bobs);
	assert_int_equal(fs_write_file(path, alices.text, alices.length, 0600, NULL), 0);
	setenv(TOKEN_FILE_VARIABLE, path, 1);
	assert_int_equal(token_file_take(bobs.text, bobs.length, &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	assert_non_null(strstr(err_message(&err), "a token of bob: the job's are alice's"));
	/* It is no newer one. */
	assert_int_equal(token_file_take(alices.text, alices.length, NULL), 1);
}

/* A service that acts for alice has tokens of "alice", her own ticket those of "alice@REALM"; a
 * gateway may call her otherwise. */
static void a_newer_token_may_have_the_user_in_another_form(void **state)
{
	static const struct {
		const char *known, *owner, *service;
		bool is_taken;
	} rows[] = {
		{"alice@TONY.TEST", "alice@TONY.TEST", "ha-hdfs:ns", true},
		{"alice@TONY.TEST", "alice", "ha-hdfs:ns", true},
		{"alice@TONY.TEST", "alice@OTHER", "ha-hdfs:ns", false},
		{"alice@TONY.TEST", "alice@OTHER", "gateway:14000", false},
		{"alice@TONY.TEST", "smith", "gateway:14000", true},
		{"alice", "alice@TONY.TEST", "ha-hdfs:ns", true},
		{"alice", "gw/localhost@TONY.TEST", "ha-hdfs:ns", false},
		{"alice", "al/localhost@TONY.TEST", "ha-hdfs:ns", false},
		{"gw/localhost@TONY.TEST", "alice", "ha-hdfs:ns", false},
	};
	const char *path = scratch_path(state, "tokens");

	setenv(TOKEN_FILE_VARIABLE, path, 1);
	for (size_t i = 0; i < array_length(rows); i++) {
		struct str known cleanup_str = {0}, new cleanup_str = {0};
		encode_owned(rows[i].known, "ha-hdfs:ns", &known);
		encode_owned(rows[i].owner, rows[i].service, &new);
		assert_int_equal(fs_write_file(path, known.text, known.length, 0600, NULL), 0);
		if ((token_file_take(new.text, new.length, NULL) >= 0) != rows[i].is_taken)
			fail_msg("%s after %s", rows[i].owner, rows[i].known);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(a_token_is_found_by_its_service),
		scratch_test(services_travel_with_the_job_and_no_token_does),
		scratch_test(services_are_told_once_and_not_without_end),
		scratch_test(the_user_is_the_owner_of_the_clusters_own_token),
		scratch_test(a_gateway_has_tokens_of_its_own),
		scratch_test(a_file_is_read_on_a_secure_cluster_alone),
		scratch_test(a_token_is_not_got_for_a_request_in_the_clear),
		scratch_test(a_description_leads_no_token_to_other_servers),
		scratch_test(a_token_that_is_refused_is_read_anew),
		scratch_test(a_token_of_the_timeline_server_goes_with_the_jobs),
		scratch_test(tokens_that_no_job_has_are_cancelled),
		scratch_test(newer_tokens_take_the_place_of_those_of_the_same_services),
		scratch_test(what_is_no_newer_token_is_refused),
		scratch_test(a_newer_token_is_of_the_same_user),
		scratch_test(a_newer_token_may_have_the_user_in_another_form),
	};

	return cmocka_run_group_tests_name("hadoop cluster tokens", tests, NULL, NULL);
}
