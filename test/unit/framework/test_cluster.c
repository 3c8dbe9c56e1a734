#include "../base/test.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "fixture.h"

static void a_cluster_survives_its_json(void **state)
{
	struct job *job = fixture_job("generic", "dense");
	struct cluster *first = fixture_cluster(job, "dense");
	json_t *json cleanup_json = cluster_to_json(first);
	struct cluster *second = cluster_from_json(job, json, NULL);
	json_t *again cleanup_json = cluster_to_json(second);

	assert_non_null(second);
	assert_true(json_equal(json, again));
	assert_int_equal(second->epoch, 2);
	assert_int_equal(second->types[0].count, 0);
	assert_string_equal(second->types[2].addresses[0].host, "fe80::1");
	assert_int_equal(second->types[2].addresses[1].port, 4003);
	cluster_destroy(first);
	cluster_destroy(second);
	cluster_destroy(NULL);
	job_destroy(job);
}

static void malformed_clusters_are_refused(void **state)
{
	static const char *const rows[] = {
		"[]",
		"{}",
		"{\"epoch\": 0, \"types\": {}}",
		"{\"epoch\": 1, \"types\": []}",
		"{\"epoch\": 1, \"types\": {\"ps\": []}}",
		"{\"epoch\": 1, \"types\": {\"worker\": {}}}",
		"{\"epoch\": 1, \"types\": {\"worker\": [1]}}",
		"{\"epoch\": 1, \"types\": {\"worker\": [\"a:1\", \"a:2\", \"a:3\"]}}",
		"{\"epoch\": 1, \"types\": {\"worker\": [\"a\"]}}",
		"{\"epoch\": 1, \"types\": {\"worker\": [\":1\"]}}",
		"{\"epoch\": 1, \"types\": {\"worker\": [\"a:0\"]}}",
		"{\"epoch\": 1, \"types\": {\"worker\": [\"a:65536\"]}}",
		"{\"epoch\": 1, \"types\": {\"worker\": [\"a:1x\"]}}",
		"{\"epoch\": 1, \"types\": {\"worker\": [\"::1:80\"]}}",
		"{\"epoch\": 1, \"types\": {\"worker\": [\"[]:80\"]}}",
		"{\"epoch\": 1, \"types\": {\"worker\": [\"[:80\"]}}",
		"{\"epoch\": 1, \"types\": {\"worker\": [\"a:1\"]}, \"slots\": []}",
		"{\"epoch\": 1, \"types\": {\"worker\": [\"a:1\"]}, \"slots\": {\"ps\": [1]}}",
		"{\"epoch\": 1, \"types\": {\"worker\": [\"a:1\"]}, \"slots\": {\"worker\": 1}}",
		"{\"epoch\": 1, \"types\": {\"worker\": [\"a:1\"]}, \"slots\": {\"worker\": []}}",
		"{\"epoch\": 1, \"types\": {\"worker\": [\"a:1\"]}, \"slots\": {\"worker\": [-1]}}",
		"{\"epoch\": 1, \"types\": {\"worker\": [\"a:1\"]}, \"slots\": {\"worker\": [2]}}",
		"{\"epoch\": 1, \"types\": {\"worker\": [\"a:1\"]}, \"slots\": {\"worker\": "
		"[1.0]}}",
		"{\"epoch\": 1, \"types\": {\"worker\": [\"a:1\", \"a:2\"]}, "
		"\"slots\": {\"worker\": [1, 0]}}",
		"{\"epoch\": 1, \"types\": {\"worker\": [\"a:1\", \"a:2\"]}, "
		"\"slots\": {\"worker\": [1, 1]}}",
	};
	struct job *job = fixture_job("generic", "workers");

	for (size_t i = 0; i < array_length(rows); i++) {
		struct err err cleanup_err = {0};
		json_t *json cleanup_json = json_loads(rows[i], 0, NULL);
		assert_non_null(json);
		if (cluster_from_json(job, json, &err))
			fail_msg("taken: %s", rows[i]);
		assert_int_equal(err.kind, ERR_INPUT);
	}
	job_destroy(job);
}

static void a_host_of_absurd_length_is_refused(void **state)
{
	struct err err cleanup_err = {0};
	struct job *job = fixture_job("generic", "workers");
	char host[400];

	memset(host, 'a', sizeof(host));
	memcpy(host + sizeof(host) - 4, ":80", 4);
	json_t *json cleanup_json =
		json_pack("{s:i, s:{s:[s]}}", "epoch", 1, "types", "worker", host);
	assert_null(cluster_from_json(job, json, &err));
	job_destroy(job);
}

static void only_members_of_an_elastic_type_are_listed(void **state)
{
	static const int places[] = {-1, 0, 1, -1, 2};
	struct job *job = fixture_job("generic", "elastic");
	struct cluster *cluster = fixture_cluster(job, "elastic");
	json_t *json cleanup_json = cluster_to_json(cluster);
	struct cluster *again = cluster_from_json(job, json, NULL);

	for (int slot = 0; slot < (int)array_length(places); slot++) {
		assert_int_equal(cluster_find(cluster, 0, slot), places[slot]);
		assert_int_equal(cluster_find(again, 0, slot), places[slot]);
	}
	assert_int_equal(cluster_count(cluster, job, 0), 3);
	cluster_destroy(cluster);
	cluster_destroy(again);
	job_destroy(job);
}

static void where_all_are_there_each_stands_at_its_number(void **state)
{
	struct job *job = fixture_job("generic", "dense");
	struct cluster *cluster = fixture_cluster(job, "dense");
	json_t *json cleanup_json = cluster_to_json(cluster);

	assert_null(json_object_get(json, "slots"));
	assert_int_equal(cluster_find(cluster, 2, 1), 1);
	assert_int_equal(cluster_find(cluster, 2, 2), -1);
	/* A stage that has ended. */
	assert_int_equal(cluster_find(cluster, 0, 0), -1);
	assert_int_equal(cluster_count(cluster, job, 0), job->types[0].instances);
	cluster_destroy(cluster);
	job_destroy(job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cluster_survives_its_json),
		cmocka_unit_test(malformed_clusters_are_refused),
		cmocka_unit_test(only_members_of_an_elastic_type_are_listed),
		cmocka_unit_test(where_all_are_there_each_stands_at_its_number),
		cmocka_unit_test(a_host_of_absurd_length_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
