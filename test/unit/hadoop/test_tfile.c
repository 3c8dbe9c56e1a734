/* TFiles, as Hadoop writes them and as nobody should. */
#include "../base/test.h"

#include "base/mem.h"
#include "tfile_maker.h"

#define CHUNK (1u << 20) /* as Hadoop has it */

/* As Hadoop 3.4.2's Utils.writeVLong() writes them: the ends of the ranges of each size. */
static void numbers_of_every_size(void **state)
{
	static const struct {
		int64_t number;
		size_t size;
		const char *bytes;
	} cases[] = {
		{0, 1, "\x00"},
		{127, 1, "\x7f"},
		{-32, 1, "\xe0"},
		{128, 2, "\xcc\x80"},
		{-33, 2, "\xcb\xdf"},
		{5119, 2, "\xdf\xff"},
		{-5120, 2, "\xb8\x00"},
		{5120, 3, "\xa8\x14\x00"},
		{-5121, 3, "\xa7\xeb\xff"},
		{(1 << 20) - 1, 3, "\xb7\xff\xff"},
		{1 << 20, 4, "\x90\x10\x00\x00"},
		{-(1 << 20) - 1, 4, "\x8f\xef\xff\xff"},
		{1 << 27, 5, "\x83\x08\x00\x00\x00"},
		{INT32_MIN, 5, "\x83\x80\x00\x00\x00"},
		{1LL << 31, 6, "\x84\x00\x80\x00\x00\x00"},
		{1LL << 39, 7, "\x85\x00\x80\x00\x00\x00\x00"},
		{1LL << 47, 8, "\x86\x00\x80\x00\x00\x00\x00\x00"},
		{INT64_MAX, 9, "\x87\x7f\xff\xff\xff\xff\xff\xff\xff"},
		{INT64_MIN, 9, "\x87\x80\x00\x00\x00\x00\x00\x00\x00"},
	};

	for (size_t i = 0; i < array_length(cases); i++) {
		struct tfile_bytes bytes = {.at = (const unsigned char *)cases[i].bytes,
					    .left = cases[i].size - 1};
		int64_t number;
		assert_false(tfile_take_number(&bytes, &number));
		bytes.left++;
		assert_true(tfile_take_number(&bytes, &number));
		assert_int_equal(number, cases[i].number);
		assert_int_equal(bytes.left, 0);
	}
	for (int first = 0x80; first <= 0x82; first++)
		assert_int_equal(tfile_number_size((unsigned char)first), 0);
}

/* Text that differs everywhere. */
static char *make_text(size_t length)
{
	struct str text = {0};

	for (int i = 0; text.length < length; i++)
		str_append_format(&text, "line %d\n", i);
	str_truncate(&text, length);
	return str_steal(&text);
}

static struct tfile *open_made(const struct tfile_maker *maker, struct tfile_memory *memory)
{
	struct err err cleanup_err = {0};

	tfile_memory_init(memory, maker->file.text, maker->file.length);
	struct tfile *file = tfile_open(&memory->input, &err);
	if (!file)
		fail_msg("%s", err_message(&err));
	return file;
}

/* The rest of the present value is this text. */
static void assert_value(struct tfile_cursor *cursor, const char *text, size_t length)
{
	struct err err cleanup_err = {0};
	char part[7000];
	ssize_t got;

	while ((got = tfile_cursor_read(cursor, part, sizeof(part), &err)) > 0) {
		assert_true((size_t)got <= length);
		assert_memory_equal(part, text, (size_t)got);
		text += got;
		length -= (size_t)got;
	}
	assert_string_equal(err_message(&err), "no error");
	assert_int_equal(got, 0);
	assert_int_equal(length, 0);
}

static void assert_next(struct tfile_cursor *cursor, const char *key)
{
	struct err err cleanup_err = {0};

	if (tfile_cursor_next(cursor, &err) != 1)
		fail_msg("no %s: %s", key, err_message(&err));
	struct tfile_bytes bytes = tfile_cursor_key(cursor);
	assert_int_equal(bytes.left, 2 + strlen(key));
	assert_memory_equal(bytes.at + 2, key, strlen(key));
}

static int find(struct tfile_cursor *cursor, const char *key, struct err *err)
{
	struct str bytes cleanup_str = {0};

	tfile_maker_utf(&bytes, key);
	return tfile_cursor_find(cursor, bytes.text, bytes.length, err);
}

/* Three blocks: a and b; c alone, large; d, e and f. */
static struct tfile *make_three(struct tfile_maker *maker, struct tfile_memory *memory,
				const char *compression, const char *text, size_t length)
{
	maker->compression = compression;
	tfile_maker_begin(maker);
	tfile_maker_add(maker, "a", "first", 5, CHUNK);
	tfile_maker_add(maker, "b", "", 0, CHUNK);
	tfile_maker_end_block(maker);
	tfile_maker_add(maker, "c", text, length, 65535);
	tfile_maker_end_block(maker);
	tfile_maker_add(maker, "d", text, 1000, 1);
	tfile_maker_add(maker, "e", text, 500, CHUNK);
	tfile_maker_add(maker, "f", text, length, CHUNK);
	tfile_maker_end(maker);
	return open_made(maker, memory);
}

static void entries_come_in_order(const char *compression)
{
	size_t length = 3 * CHUNK + 17;
	char *text cleanup_free = make_text(length);
	struct tfile_maker maker = {0};
	struct tfile_memory memory;
	struct tfile *file = make_three(&maker, &memory, compression, text, length);
	struct tfile_cursor *cursor = tfile_cursor_create(file);

	assert_next(cursor, "a");
	assert_value(cursor, "first", 5);
	assert_value(cursor, "", 0);
	assert_next(cursor, "b");
	assert_next(cursor, "c");
	assert_value(cursor, text, length);
	assert_next(cursor, "d");
	assert_value(cursor, text, 1000);
	assert_next(cursor, "e");
	assert_next(cursor, "f");
	assert_int_equal(tfile_cursor_skip(cursor, 2 * CHUNK, NULL), 2 * CHUNK);
	assert_value(cursor, text + 2 * CHUNK, length - 2 * CHUNK);
	assert_int_equal(tfile_cursor_next(cursor, NULL), 0);
	assert_int_equal(tfile_cursor_next(cursor, NULL), 0);
	assert_true(memory.longest_read <= TFILE_WINDOW);
	tfile_cursor_destroy(cursor);
	tfile_close(file);
	tfile_maker_finish(&maker);
}

static void entries_of_plain_blocks_come_in_order(void **state)
{
	entries_come_in_order("none");
}

static void entries_of_packed_blocks_come_in_order(void **state)
{
	entries_come_in_order("gz");
}

static void an_entry_is_found_without_reading_the_large_ones(void **state)
{
	size_t length = 8 * CHUNK;
	char *text cleanup_free = make_text(length);
	struct tfile_maker maker = {0};
	struct tfile_memory memory;
	struct tfile *file = make_three(&maker, &memory, "none", text, length);
	struct tfile_cursor *cursor = tfile_cursor_create(file);

	memory.bytes_read = 0;
	assert_int_equal(find(cursor, "e", NULL), 1);
	assert_value(cursor, text, 500);
	assert_int_equal(find(cursor, "nothing", NULL), 0);
	assert_int_equal(tfile_cursor_next(cursor, NULL), 0);
	assert_true(memory.bytes_read < 256 << 10);
	assert_int_equal(find(cursor, "a", NULL), 1);
	assert_value(cursor, "first", 5);
	assert_int_equal(find(cursor, "f", NULL), 1);
	assert_value(cursor, text, length);
	tfile_cursor_destroy(cursor);
	tfile_close(file);
	tfile_maker_finish(&maker);
}

static void what_is_skipped_of_a_plain_block_is_not_read(void **state)
{
	size_t length = 64 * CHUNK;
	char *text cleanup_free = make_text(length);
	struct tfile_maker maker = {0};
	struct tfile_memory memory;

	tfile_maker_begin(&maker);
	tfile_maker_add(&maker, "a", text, length, CHUNK);
	tfile_maker_end(&maker);
	struct tfile *file = open_made(&maker, &memory);
	struct tfile_cursor *cursor = tfile_cursor_create(file);
	memory.bytes_read = 0;
	assert_next(cursor, "a");
	assert_int_equal(tfile_cursor_skip(cursor, (int64_t)length - 100, NULL), length - 100);
	assert_value(cursor, text + length - 100, 100);
	assert_true(memory.bytes_read < (int64_t)length / 32);
	tfile_cursor_destroy(cursor);
	tfile_close(file);
	tfile_maker_finish(&maker);
}

static void a_cursor_comes_back_to_a_place(const char *compression)
{
	size_t length = 2 * CHUNK;
	char *text cleanup_free = make_text(length);
	struct tfile_maker maker = {0};
	struct tfile_memory memory;
	struct tfile *file = make_three(&maker, &memory, compression, text, length);
	struct tfile_cursor *cursor = tfile_cursor_create(file);

	assert_int_equal(find(cursor, "d", NULL), 1);
	assert_int_equal(tfile_cursor_skip(cursor, 123, NULL), 123);
	struct tfile_position position = tfile_cursor_tell(cursor);
	assert_next(cursor, "e");
	assert_next(cursor, "f");
	struct tfile_cursor *other = tfile_cursor_create(file);
	assert_int_equal(tfile_cursor_seek(other, &position, NULL), 0);
	assert_value(cursor, text, length);
	assert_value(other, text + 123, 1000 - 123);
	assert_next(other, "e");
	assert_value(other, text, 500);
	tfile_cursor_destroy(other);
	tfile_cursor_destroy(cursor);
	tfile_close(file);
	tfile_maker_finish(&maker);
}

static void a_cursor_comes_back_to_a_place_in_a_plain_block(void **state)
{
	a_cursor_comes_back_to_a_place("none");
}

static void a_cursor_comes_back_to_a_place_in_a_packed_block(void **state)
{
	a_cursor_comes_back_to_a_place("gz");
}

/* Hadoop's writer stops counting a block's bytes at 2 GiB. */
static void a_block_is_read_to_its_end_whatever_size_is_told(void **state)
{
	struct tfile_maker maker = {.told_raw = 3};
	struct tfile_memory memory;

	tfile_maker_begin(&maker);
	tfile_maker_add(&maker, "a", "whole value", 11, 4);
	tfile_maker_end(&maker);
	struct tfile *file = open_made(&maker, &memory);
	struct tfile_cursor *cursor = tfile_cursor_create(file);
	assert_next(cursor, "a");
	assert_value(cursor, "whole value", 11);
	tfile_cursor_destroy(cursor);
	tfile_close(file);
	tfile_maker_finish(&maker);
}

static void a_file_without_entries(void **state)
{
	struct tfile_maker maker = {0};
	struct tfile_memory memory;

	tfile_maker_begin(&maker);
	tfile_maker_end(&maker);
	struct tfile *file = open_made(&maker, &memory);
	struct tfile_cursor *cursor = tfile_cursor_create(file);
	assert_int_equal(tfile_cursor_next(cursor, NULL), 0);
	assert_int_equal(find(cursor, "a", NULL), 0);
	tfile_cursor_destroy(cursor);
	tfile_close(file);
	tfile_maker_finish(&maker);
}

/* ---- what is refused ---------------------------------------------------------------------- */

static void assert_refused(const struct str *bytes, enum err_kind kind, const char *why)
{
	struct err err cleanup_err = {0};
	struct tfile_memory memory;

	tfile_memory_init(&memory, bytes->text, bytes->length);
	assert_null(tfile_open(&memory.input, &err));
	assert_int_equal(err.kind, kind);
	assert_message_has(&err, why);
}

static void compressions_that_are_not_read_are_named(void **state)
{
	struct tfile_maker lzo = {.compression = "lzo"};
	struct tfile_maker other = {.compression = "zstd"};

	tfile_maker_end(&lzo);
	assert_refused(&lzo.file, ERR_INPUT, "lzo, which tony does not read; `yarn logs` does");
	tfile_maker_end(&other);
	assert_refused(&other.file, ERR_INPUT, "\"zstd\", which tony does not know");
	tfile_maker_finish(&lzo);
	tfile_maker_finish(&other);
}

static void other_files_are_refused(void **state)
{
	struct tfile_maker maker = {0};
	struct str text cleanup_str = {0};

	assert_refused(&text, ERR_NOT_FOUND, "too short");
	str_append(&text, "a text of more than twenty-eight bytes");
	assert_refused(&text, ERR_NOT_FOUND, "is no TFile");
	tfile_maker_end(&maker);
	maker.file.text[maker.file.length - 19]++;
	assert_refused(&maker.file, ERR_INPUT, "newer version");
	tfile_maker_finish(&maker);
}

/* Goes through all that can be read of it. */
static void read_all(const struct tfile *file)
{
	char part[1000];
	struct tfile_cursor *cursor = tfile_cursor_create(file);

	while (tfile_cursor_next(cursor, NULL) > 0)
		while (tfile_cursor_read(cursor, part, sizeof(part), NULL) > 0)
			;
	tfile_cursor_destroy(cursor);
}

static void damage_everywhere(const char *compression)
{
	struct tfile_maker maker = {.compression = compression};
	struct tfile_memory memory;

	tfile_maker_begin(&maker);
	tfile_maker_add(&maker, "container_1", "some value", 10, 3);
	tfile_maker_add(&maker, "container_2", "another value", 13, 20);
	tfile_maker_end_block(&maker);
	tfile_maker_add(&maker, "container_3", "a third value", 13, 20);
	tfile_maker_end(&maker);
	for (size_t length = 0; length < maker.file.length; length++) {
		struct str cut = {.text = maker.file.text, .length = length};
		assert_refused(&cut, ERR_NOT_FOUND, "memory");
	}
	for (size_t i = 0; i < maker.file.length; i++) {
		for (int bit = 0; bit < 8; bit++) {
			maker.file.text[i] ^= (char)(1 << bit);
			tfile_memory_init(&memory, maker.file.text, maker.file.length);
			struct tfile *file = tfile_open(&memory.input, NULL);
			if (file)
				read_all(file);
			tfile_close(file);
			maker.file.text[i] ^= (char)(1 << bit);
		}
	}
	tfile_maker_finish(&maker);
}

static void damage_to_plain_files_does_no_harm(void **state)
{
	damage_everywhere("none");
}

static void damage_to_packed_files_does_no_harm(void **state)
{
	damage_everywhere("gz");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_of_every_size),
		cmocka_unit_test(entries_of_plain_blocks_come_in_order),
		cmocka_unit_test(entries_of_packed_blocks_come_in_order),
		cmocka_unit_test(an_entry_is_found_without_reading_the_large_ones),
		cmocka_unit_test(what_is_skipped_of_a_plain_block_is_not_read),
		cmocka_unit_test(a_cursor_comes_back_to_a_place_in_a_plain_block),
		cmocka_unit_test(a_cursor_comes_back_to_a_place_in_a_packed_block),
		cmocka_unit_test(a_block_is_read_to_its_end_whatever_size_is_told),
		cmocka_unit_test(a_file_without_entries),
		cmocka_unit_test(compressions_that_are_not_read_are_named),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(damage_to_plain_files_does_no_harm),
		cmocka_unit_test(damage_to_packed_files_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
