/* What is promised by kv.h: bytes come back as they were put, and the store has an end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "am/kv.h"
#include "base/mem.h"

static void expect_stored(const struct kv *kv, const char *key, const char *value, size_t length)
{
	const void *got;
	size_t got_length;

	assert_int_equal(kv_get(kv, key, &got, &got_length), KV_OK);
	assert_int_equal(got_length, length);
	assert_memory_equal(got, value, length);
}

static void test_put_get_delete(void **state)
{
	struct kv *kv = kv_create(KV_TOTAL_MAX);
	const void *value;
	size_t length;

	assert_int_equal(kv_get(kv, "a", &value, &length), KV_NO_SUCH_KEY);
	assert_int_equal(kv_put(kv, "a", "\0b", 2), KV_OK);
	expect_stored(kv, "a", "\0b", 2);
	assert_int_equal(kv_put(kv, "a", NULL, 0), KV_OK);
	expect_stored(kv, "a", "", 0);
	assert_int_equal(kv_delete(kv, "a"), KV_OK);
	assert_int_equal(kv_delete(kv, "a"), KV_NO_SUCH_KEY);
	assert_int_equal(kv_total(kv), 0);
	kv_destroy(kv);
}

static void test_keys(void **state)
{
	struct kv *kv = kv_create(KV_TOTAL_MAX);
	char key[KV_KEY_MAX + 2];

	memset(key, 'k', sizeof(key));
	key[KV_KEY_MAX + 1] = '\0';
	assert_int_equal(kv_put(kv, key, "", 0), KV_BAD_KEY);
	assert_int_equal(kv_put(kv, "", "", 0), KV_BAD_KEY);
	assert_int_equal(kv_delete(kv, key), KV_BAD_KEY);
	key[KV_KEY_MAX] = '\0';
	assert_int_equal(kv_put(kv, key, "x", 1), KV_OK);
	expect_stored(kv, key, "x", 1);
	kv_destroy(kv);
}

static void test_caps(void **state)
{
	struct kv *kv = kv_create(KV_TOTAL_MAX);
	char *value cleanup_free = mem_alloc(KV_VALUE_MAX + 1);
	char key[32];
	int count = 0;

	assert_int_equal(kv_put(kv, "a", value, KV_VALUE_MAX + 1), KV_TOO_LARGE);
	do {
		snprintf(key, sizeof(key), "key%d", count++);
	} while (kv_put(kv, key, value, KV_VALUE_MAX) == KV_OK);
	/* 64 values of 1 MiB and their keys are more than 64 MiB. */
	assert_int_equal(count, 64);
	assert_true(kv_total(kv) <= KV_TOTAL_MAX);
	assert_int_equal(kv_put(kv, key, value, KV_VALUE_MAX), KV_FULL);
	/* Replacing takes the place of the old one; a refused one leaves it. */
	assert_int_equal(kv_put(kv, "key0", "x", 1), KV_OK);
	assert_int_equal(kv_put(kv, key, value, KV_VALUE_MAX), KV_OK);
	assert_int_equal(kv_put(kv, "key0", value, KV_VALUE_MAX), KV_FULL);
	expect_stored(kv, "key0", "x", 1);
	kv_destroy(kv);
}

/* Many empty values cost memory too. */
static void test_number_of_keys_is_capped(void **state)
{
	struct kv *kv = kv_create(KV_TOTAL_MAX);
	char key[32];
	int count = 0;

	do {
		snprintf(key, sizeof(key), "key%d", count++);
	} while (kv_put(kv, key, NULL, 0) == KV_OK);
	assert_in_range(count, 400000, KV_TOTAL_MAX / KV_ENTRY_COST);
	kv_destroy(kv);
}

static void test_a_store_of_another_size(void **state)
{
	struct kv *kv = kv_create(KV_ENTRY_COST + 2);

	assert_int_equal(kv_put(kv, "a", "xy", 2), KV_FULL);
	assert_int_equal(kv_put(kv, "a", "x", 1), KV_OK);
	assert_int_equal(kv_put(kv, "b", NULL, 0), KV_FULL);
	kv_destroy(kv);
}

static void test_delete_under(void **state)
{
	struct kv *kv = kv_create(KV_TOTAL_MAX);
	const void *value;
	size_t length;

	assert_int_equal(kv_put(kv, "a/1", "x", 1), KV_OK);
	assert_int_equal(kv_put(kv, "ab/1", "y", 1), KV_OK);
	assert_int_equal(kv_put(kv, "a/2", "z", 1), KV_OK);
	kv_delete_under(kv, "a/");
	assert_int_equal(kv_get(kv, "a/1", &value, &length), KV_NO_SUCH_KEY);
	assert_int_equal(kv_get(kv, "a/2", &value, &length), KV_NO_SUCH_KEY);
	expect_stored(kv, "ab/1", "y", 1);
	kv_delete_under(kv, "");
	assert_int_equal(kv_total(kv), 0);
	kv_destroy(kv);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put_get_delete),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_caps),
		cmocka_unit_test(test_number_of_keys_is_capped),
		cmocka_unit_test(test_a_store_of_another_size),
		cmocka_unit_test(test_delete_under),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
