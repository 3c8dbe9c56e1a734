/* Whom Hadoop's key stores trust, and how that is found. The stores in data/trust were made by JDK
 * 17's keytool, with the certificate of ca.pem and the password "changeit". */
#include "../base/scratch.h"
#include "../base/test.h"

#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/cluster_trust.h"
#include "net/java_store.h"
#include "net/trust_store.h"

#define STORES "trust/"

static char *path_of(const char *name)
{
	return mem_printf("%s/" STORES "%s", TEST_DATA, name);
}

static void stores_of_every_form_are_read(void **state)
{
	static const struct {
		const char *name, *password;
	} rows[] = {
		{"ca.pem", NULL},
		{"ca-crlf.pem", NULL},
		{"trust.jks", NULL},
		{"trust.jceks", NULL},
		{"both.jks", "changeit"},
		{"trust.pkcs12", "changeit"},
		{"trust-old.pkcs12", "changeit"},
		{"trust-open.pkcs12", NULL},
		{"trust-open.pkcs12", "changeit"},
	};
	char *authority_path cleanup_free = path_of("ca.pem");
	char *authority cleanup_free = fs_read_file(authority_path, 10000, NULL, NULL);

	for (size_t i = 0; i < array_length(rows); i++) {
		char *path cleanup_free = path_of(rows[i].name);
		struct str pem cleanup_str = {0};
		struct err err cleanup_err = {0};
		if (trust_store_read(path, rows[i].password, &pem, &err) < 0)
			fail_msg("%s: %s", rows[i].name, err_message(&err));
		assert_string_equal(pem.text, authority);
	}
}

static void what_names_no_authority_is_refused(void **state)
{
	static const struct {
		const char *name, *password, *text;
	} rows[] = {
		{"keys.jks", "changeit", "holds no certificate"},
		{"trust.pkcs12", "wrong", "cannot be opened with the password"},
		{"trust.pkcs12", NULL, "cannot be opened without a password"},
		{"../aggregated.none", NULL, "neither PEM nor PKCS #12 nor JKS"},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		char *path cleanup_free = path_of(rows[i].name);
		struct str pem cleanup_str = {0};
		struct err err cleanup_err = {0};
		assert_int_equal(trust_store_read(path, rows[i].password, &pem, &err), -1);
		assert_int_equal(err.kind, ERR_CONFIG);
		assert_non_null(strstr(err_message(&err), rows[i].text));
		assert_non_null(strstr(err_message(&err), path));
	}
}

/* What is hashed 100,000 times is to be hashed 8,357,536 times. */
static void a_store_that_would_take_long_is_refused(void **state)
{
	char *path cleanup_free = path_of("trust-old.pkcs12");
	struct err err cleanup_err = {0};
	struct str pem cleanup_str = {0};
	size_t length;
	char *bytes cleanup_free = fs_read_file(path, 10000, &length, NULL);
	char *count = memmem(bytes, length, "\x02\x03\x01\x86\xa0", 5);

	assert_non_null(count);
	count[2] = 0x7f;
	assert_int_equal(trust_store_parse(bytes, length, "changeit", &pem, &err), -1);
	assert_int_equal(err.kind, ERR_CONFIG);
	assert_non_null(strstr(err_message(&err), "hashed more than 1000000 times"));
}

static void no_byte_of_a_java_store_is_taken_on_trust(void **state)
{
	char *path cleanup_free = path_of("both.jks");
	size_t length;
	char *bytes cleanup_free = fs_read_file(path, 10000, &length, NULL);

	/* The digest at its end is 20 bytes long. */
	for (size_t cut = 0; cut < length - 20; cut++) {
		struct str pem cleanup_str = {0};
		struct err err cleanup_err = {0};
		assert_int_equal(trust_store_parse(bytes, cut, NULL, &pem, &err), -1);
		assert_int_equal(err.kind, ERR_CONFIG);
	}
}

static int open_key(const char *name, const char *password, size_t cut, struct err *err)
{
	char *path cleanup_free = path_of(name);
	struct store_content content;
	size_t length;
	char *bytes cleanup_free = fs_read_file(path, 10000, &length, NULL);

	if (java_store_read_key(bytes, cut ? cut : length, password, &content, err) < 0) {
		assert_int_equal(err->kind, ERR_CONFIG);
		return -1;
	}
	assert_int_equal(X509_check_private_key(content.own, content.key), 1);
	assert_int_equal(sk_X509_num(content.others), 0);
	store_content_finish(&content);
	return 0;
}

static void a_java_stores_key_is_opened(void **state)
{
	static const struct {
		const char *name, *password, *text;
	} rows[] = {
		{"keys.jks", "changeit", NULL},
		{"both.jks", "changeit", NULL},
		{"keys.jks", "changeIt", "cannot be opened with the password"},
		{"keys.jks", "", "cannot be opened with the password"},
		{"trust.jks", "changeit", "holds no key"},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		struct err err cleanup_err = {0};
		int result = open_key(rows[i].name, rows[i].password, 0, &err);
		if (!rows[i].text)
			assert_int_equal(result, 0);
		else
			assert_non_null(strstr(err_message(&err), rows[i].text));
	}
}

static void a_java_store_with_half_a_key_is_refused(void **state)
{
	char *path cleanup_free = path_of("keys.jks");
	size_t length;

	free(fs_read_file(path, 10000, &length, NULL));
	for (size_t cut = 1; cut < length - 20; cut++) {
		struct err err cleanup_err = {0};
		assert_int_equal(open_key("keys.jks", "changeit", cut, &err), -1);
	}
}

/* ---- where they are found ----------------------------------------------------------------- */

static struct hadoop_cluster *make_cluster(const char *webhdfs, const char *web)
{
	struct hadoop_cluster *cluster = mem_alloc(sizeof(*cluster));

	str_list_add(&cluster->hdfs.webhdfs, webhdfs);
	str_list_add(&cluster->rm_web, web);
	return cluster;
}

static struct hadoop_site *load(void **state, const char *store)
{
	const struct hadoop_site_files files = {.directory = scratch_path(state, ".")};
	char *text cleanup_free =
		mem_printf("<configuration><property><name>ssl.client.truststore.location</name>"
			   "<value>%s</value></property></configuration>",
			   store);

	scratch_write(state, "core-site.xml", "<configuration/>", 0600);
	scratch_write(state, "ssl-client.xml", text, 0600);
	return hadoop_site_load(&files, NULL);
}

/* 0, and whether there are authorities then; -1 and the error. */
static int find(void **state, const char *webhdfs, const char *web, const char *store,
		const char *ca_file, bool *found, struct err *err)
{
	struct hadoop_site *site cleanup_hadoop_site = load(state, store);
	struct hadoop_cluster *cluster = make_cluster(webhdfs, web);
	int result = hadoop_cluster_trust(cluster, site, ca_file, err);

	*found = cluster->hdfs.authorities != NULL;
	hadoop_cluster_destroy(cluster);
	return result;
}

static void they_are_looked_for_where_https_is_spoken(void **state)
{
	char *store cleanup_free = path_of("trust.jks"),
		    *locked cleanup_free = path_of("trust.pkcs12");
	char *ca cleanup_free = path_of("ca.pem");
	bool found;

	assert_int_equal(find(state, "https://nn:1", "http://rm:1", store, NULL, &found, NULL), 0);
	assert_true(found);
	assert_int_equal(find(state, "http://nn:1", "https://rm:1", store, NULL, &found, NULL), 0);
	assert_true(found);
	assert_int_equal(find(state, "http://nn:1", "http://rm:1", locked, NULL, &found, NULL), 0);
	assert_false(found);
	/* The key goes before the store, which may be none of this machine. */
	assert_int_equal(find(state, "https://nn:1", "http://rm:1", locked, ca, &found, NULL), 0);
	assert_true(found);
	assert_int_equal(find(state, "https://nn:1", "http://rm:1", "/none", NULL, &found, NULL),
			 0);
	assert_false(found);
}

static void a_store_that_cannot_be_read_is_named_with_its_key(void **state)
{
	char *store cleanup_free = path_of("trust.pkcs12");
	struct err err cleanup_err = {0}, other cleanup_err = {0};
	bool found;

	assert_int_equal(find(state, "https://nn:1", "http://rm:1", store, NULL, &found, &err), -1);
	assert_int_equal(err.kind, ERR_CONFIG);
	assert_non_null(strstr(err.message, "ssl.client.truststore.location"));
	assert_non_null(strstr(err.message, store));
	assert_non_null(strstr(err.message, "set tony.hdfs.ca-file"));
	assert_int_equal(find(state, "https://nn:1", "http://rm:1", store, "/none", &found, &other),
			 -1);
	assert_non_null(strstr(other.message, "tony.hdfs.ca-file: /none"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stores_of_every_form_are_read),
		cmocka_unit_test(what_names_no_authority_is_refused),
		cmocka_unit_test(a_store_that_would_take_long_is_refused),
		cmocka_unit_test(a_java_stores_key_is_opened),
		cmocka_unit_test(a_java_store_with_half_a_key_is_refused),
		cmocka_unit_test(no_byte_of_a_java_store_is_taken_on_trust),
		scratch_test(they_are_looked_for_where_https_is_spoken),
		scratch_test(a_store_that_cannot_be_read_is_named_with_its_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
