/* What is promised by kv.h and kv_file.h: bytes come back as they were put, also to another AM, and
 * the store has an end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "am/kv_file.h"
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

/* ---- its file ----------------------------------------------------------------------------- */

struct kept {
	char path[64];
	struct kv *kv;
	struct kv_file *file;
};

static void open_file(struct kept *kept)
{
	kept->kv = kv_create(KV_TOTAL_MAX);
	kept->file = kv_file_open(kept->path, kept->kv, NULL);
	assert_non_null(kept->file);
}

static void close_file(struct kept *kept)
{
	kv_file_close(kept->file);
	kv_destroy(kept->kv);
}

static void put(struct kept *kept, const char *key, const void *value, size_t length)
{
	struct kv_change change = {.is_put = true, .value = value, .length = length};

	snprintf(change.key, sizeof(change.key), "%s", key);
	assert_int_equal(kv_put(kept->kv, key, value, length), KV_OK);
	assert_int_equal(kv_file_add(kept->file, &change, kept->kv, NULL), 0);
}

static void take_out(struct kept *kept, const char *key)
{
	struct kv_change change = {0};

	snprintf(change.key, sizeof(change.key), "%s", key);
	assert_int_equal(kv_delete(kept->kv, key), KV_OK);
	assert_int_equal(kv_file_add(kept->file, &change, kept->kv, NULL), 0);
}

static int64_t size_of(const struct kept *kept)
{
	struct stat status;

	assert_int_equal(stat(kept->path, &status), 0);
	return status.st_size;
}

static struct kept begin(void)
{
	struct kept kept = {.path = "/tmp/tony-kv-XXXXXX"};

	close(mkstemp(kept.path));
	open_file(&kept);
	return kept;
}

static void end(struct kept *kept)
{
	close_file(kept);
	unlink(kept->path);
}

/* promise: R39 */
static void test_another_finds_what_was_kept(void **state)
{
	struct kept kept = begin();
	const void *value;
	size_t length;

	put(&kept, "a", "\0b", 2);
	put(&kept, "b/c", "old", 3);
	put(&kept, "b/c", "", 0);
	put(&kept, "gone", "x", 1);
	take_out(&kept, "gone");
	for (int i = 0; i < 2; i++) {
		close_file(&kept);
		open_file(&kept);
		expect_stored(kept.kv, "a", "\0b", 2);
		expect_stored(kept.kv, "b/c", "", 0);
		assert_int_equal(kv_get(kept.kv, "gone", &value, &length), KV_NO_SUCH_KEY);
	}
	end(&kept);
}

/* Wherever it is cut, and whatever became of the last byte: what was whole before is there. */
static void test_a_torn_end_is_cut(void **state)
{
	struct kept kept = begin();
	const void *value;
	size_t length;

	put(&kept, "first", "1", 1);
	int64_t first = size_of(&kept);
	put(&kept, "second", "2", 1);
	int64_t both = size_of(&kept);
	for (int64_t cut = both - 1; cut >= first; cut--) {
		close_file(&kept);
		assert_int_equal(truncate(kept.path, cut), 0);
		open_file(&kept);
		expect_stored(kept.kv, "first", "1", 1);
		assert_int_equal(kv_get(kept.kv, "second", &value, &length), KV_NO_SUCH_KEY);
		assert_int_equal(size_of(&kept), first);
		put(&kept, "second", "2", 1);
	}
	FILE *file = fopen(kept.path, "r+");
	fseek(file, -1, SEEK_END);
	fputc('3', file);
	fclose(file);
	close_file(&kept);
	open_file(&kept);
	assert_int_equal(kv_get(kept.kv, "second", &value, &length), KV_NO_SUCH_KEY);
	end(&kept);
}

static void test_a_file_does_not_grow_for_ever(void **state)
{
	static char large[1 << 18];
	struct kept kept = begin();

	put(&kept, "stays", "x", 1);
	for (int i = 0; i < 100; i++) {
		memset(large, i, sizeof(large));
		put(&kept, "changes", large, sizeof(large));
		assert_true(size_of(&kept) < 3 << 20);
	}
	close_file(&kept);
	open_file(&kept);
	expect_stored(kept.kv, "stays", "x", 1);
	expect_stored(kept.kv, "changes", large, sizeof(large));
	end(&kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put_get_delete),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_caps),
		cmocka_unit_test(test_number_of_keys_is_capped),
		cmocka_unit_test(test_a_store_of_another_size),
		cmocka_unit_test(test_another_finds_what_was_kept),
		cmocka_unit_test(test_a_torn_end_is_cut),
		cmocka_unit_test(test_a_file_does_not_grow_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
