/* The journal: what is appended is there, what is torn is not, what is corrupt is named. */
#include "../base/patience.h"
#include "base/crc32c.h"
#include "sample.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "job/journal.h"

#define TIME 1795241651123

static json_t *note(const char *text)
{
	return json_pack("{ssss}", "ev", "note", "text", text);
}

static void append(struct journal *journal, const char *text)
{
	struct err err cleanup_err = {0};

	assert_int_equal(journal_append(journal, note(text), TIME, false, &err), 0);
}

static json_t *numbered_note(void *data, size_t number)
{
	char *text cleanup_free = mem_printf("%s%zu", (const char *)data, number);

	return note(text);
}

/* `count` lines of one event, "a0", "a1" ... */
static void append_event(struct journal *journal, const char *name, size_t count)
{
	struct err err cleanup_err = {0};

	assert_int_equal(
		journal_append_all(journal, count, numbered_note, (char *)name, TIME, false, &err),
		0);
}

/* A journal of an event of one line and one of three, which begins at byte *last. */
static char *make_event(const char *path, size_t *last, size_t *length)
{
	struct journal *journal = journal_open(path, NULL);

	append(journal, "first");
	free(fs_read_file(path, 1 << 20, last, NULL));
	append_event(journal, "a", 3);
	journal_close(journal);
	return fs_read_file(path, 1 << 20, length, NULL);
}

/* A journal of three lines; the caller frees its bytes. */
static char *make_three(const char *path, size_t *length)
{
	struct journal *journal = journal_open(path, NULL);

	assert_non_null(journal);
	append(journal, "first");
	append(journal, "second");
	append(journal, "third");
	journal_close(journal);
	return fs_read_file(path, 1 << 20, length, NULL);
}

static void write_bytes(const char *path, const char *bytes, size_t length)
{
	assert_int_equal(fs_write_file(path, bytes, length, 0600, NULL), 0);
}

/* The `text` members, joined by blanks; NULL and `err` when the journal is bad. */
static int collect(void *data, const struct journal_line *line, struct err *err)
{
	json_t *record cleanup_json = journal_line_record(line, err);

	if (!record)
		return -1;
	str_append_format(data, "%s ", json_string_value(json_object_get(record, "text")));
	return 0;
}

static char *read_all(const char *path, int64_t since, struct err *err)
{
	struct str text = {0};
	int result = journal_read(path, since, collect, &text, err);
	char *found = str_steal(&text);

	if (result < 0)
		mem_replace(&found, NULL);
	return found;
}

static void assert_texts(const char *path, int64_t since, const char *expected)
{
	struct err err cleanup_err = {0};
	char *found cleanup_free = read_all(path, since, &err);

	assert_string_equal(err_message(&err), "no error");
	assert_string_equal(found, expected);
}

/* ---- the format --------------------------------------------------------------------------- */

static void the_checksum_is_crc32c(void **state)
{
	assert_int_equal(crc32c("", 0), 0);
	assert_int_equal(crc32c("123456789", 9), 0xe3069283); /* RFC 3720, B.4 */
	char zeros[32] = {0};
	assert_int_equal(crc32c(zeros, sizeof(zeros)), 0x8a9136aa);
}

/* A journal outlives the program that wrote it: these bytes are the format. */
static void lines_look_as_they_always_did(void **state)
{
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	struct journal *journal = journal_open(path, NULL);
	struct err err cleanup_err = {0};

	append(journal, "hello");
	assert_int_equal(journal_append(journal, json_pack("{sssi}", "ev", "x", "n", -7), TIME + 1,
					true, &err),
			 0);
	journal_close(journal);
	char *text cleanup_free = fs_read_file(path, 4096, NULL, NULL);
	assert_string_equal(
		text,
		"{\"seq\":1,\"t\":1795241651123,\"ev\":\"note\",\"text\":\"hello\","
		"\"crc\":\"a5680986\"}\n"
		"{\"seq\":2,\"t\":1795241651124,\"ev\":\"x\",\"n\":-7,\"crc\":\"df509cb1\"}\n");
}

static json_t *take(void *data, size_t number)
{
	return ((json_t **)data)[number];
}

static void lines_of_one_event_say_so(void **state)
{
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	struct journal *journal = journal_open(path, NULL);
	struct err err cleanup_err = {0};
	json_t *records[] = {json_pack("{ss}", "ev", "x"),
			     json_pack("{sssb}", "ev", "y", "more", 1)};

	assert_int_equal(journal_append_all(journal, 2, take, records, TIME, true, &err), 0);
	journal_close(journal);
	char *text cleanup_free = fs_read_file(path, 4096, NULL, NULL);
	assert_string_equal(text, "{\"seq\":1,\"t\":1795241651123,\"more\":true,\"ev\":\"x\","
				  "\"crc\":\"3ee0baea\"}\n"
				  "{\"seq\":2,\"t\":1795241651123,\"ev\":\"y\","
				  "\"crc\":\"cfeb59d4\"}\n");
}

static void a_record_cannot_pose_as_another_line(void **state)
{
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	struct journal *journal = journal_open(path, NULL);
	struct err err cleanup_err = {0};
	json_t *record = json_pack("{sissssss}", "seq", 99, "t", "never", "text",
				   "line\nbreak\",\"crc\":\"00000000\"}", "crc", "deadbeef");

	assert_int_equal(journal_append(journal, record, TIME, false, &err), 0);
	append(journal, "next");
	journal_close(journal);
	assert_texts(path, 1, "line\nbreak\",\"crc\":\"00000000\"} next ");
}

static void bad_frames_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"{}",
		"{\"seq\":1,\"t\":2}",
		"{\"seq\":1,\"t\":2,\"crc\":\"00000000\"}",
		"not json at all, but long enough to be a line",
	};
	struct journal_line line;

	for (size_t i = 0; i < array_length(bad); i++) {
		struct err err cleanup_err = {0};
		assert_int_equal(journal_parse_line(bad[i], strlen(bad[i]), &line, &err), -1);
		assert_int_equal(err.kind, ERR_INPUT);
	}
}

/* With a checksum that is right. */
static void bad_heads_are_refused(void **state)
{
	static const char *const bad[] = {
		"{\"t\":2,\"seq\":1",
		"{\"seq\":-1,\"t\":2",
		"{\"seq\":01,\"t\":2",
		"{\"seq\":,\"t\":2",
		"{\"seq\":1,\"t\":2.5",
		"{\"seq\":1 ,\"t\":2",
		"{\"seq\":9999999999999999999999,\"t\":2",
		"[\"seq\":1,\"t\":2",
	};
	struct journal_line line;

	for (size_t i = 0; i < array_length(bad); i++) {
		struct err err cleanup_err = {0};
		char *text cleanup_free =
			mem_printf("%s,\"crc\":\"%08x\"}", bad[i], crc32c(bad[i], strlen(bad[i])));
		assert_int_equal(journal_parse_line(text, strlen(text), &line, &err), -1);
		assert_string_equal(err.message, "does not begin with seq and t");
	}
}

/* ---- appending ---------------------------------------------------------------------------- */

static void it_goes_on_where_it_ended(void **state)
{
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	free(make_three(path, NULL));
	struct journal *journal = journal_open(path, NULL);

	assert_int_equal(journal_sequence(journal), 3);
	append(journal, "fourth");
	assert_int_equal(journal_sequence(journal), 4);
	journal_close(journal);
	assert_texts(path, 1, "first second third fourth ");
	assert_texts(path, 3, "third fourth ");
	assert_texts(path, 9, "");
}

static void one_process_writes_at_a_time(void **state)
{
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	struct err err cleanup_err = {0};
	struct journal *journal = journal_open(path, NULL);

	assert_null(journal_open(path, &err));
	assert_non_null(strstr(err.message, "another process writes this journal"));
	journal_close(journal);
	journal = journal_open(path, NULL);
	assert_non_null(journal);
	journal_close(journal);
}

/* A child between fork() and exec(), when the writer is killed. */
static void what_the_last_writer_started_is_waited_for(void **state)
{
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	struct journal *journal = journal_open(path, NULL);
	pid_t child = fork();

	if (child == 0) {
		let_pass(50);
		_exit(0);
	}
	assert_true(child > 0);
	journal_close(journal);
	journal = journal_open(path, NULL);
	assert_non_null(journal);
	journal_close(journal);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void a_record_that_is_too_long_is_refused(void **state)
{
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	struct journal *journal = journal_open(path, NULL);
	struct err err cleanup_err = {0};
	char *text cleanup_free = mem_alloc(JOURNAL_LINE_CAP + 1);

	memset(text, 'x', JOURNAL_LINE_CAP);
	assert_int_equal(journal_append(journal, note(text), TIME, false, &err), -1);
	text[JOURNAL_LINE_CAP - 100] = '\0';
	append(journal, text);
	journal_close(journal);
	journal = journal_open(path, NULL);
	assert_int_equal(journal_sequence(journal), 1);
	journal_close(journal);
}

static void a_missing_directory_is_an_error(void **state)
{
	char *path cleanup_free = sample_path(state, "nowhere/journal.jsonl");
	struct err err cleanup_err = {0};

	assert_null(journal_open(path, &err));
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_null(journal_reader_open(path, 1, NULL));
}

/* ---- damage ------------------------------------------------------------------------------- */

/* Cut at every byte: whole lines stay, the torn one goes, and the next append fits. */
static void a_torn_end_is_cut_off(void **state)
{
	static const char *const texts[] = {"", "first ", "first second ", "first second third "};
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	size_t length;
	char *bytes cleanup_free = make_three(path, &length);
	int whole = 0;

	log_open("test", LOG_LEVEL_ERROR);
	for (size_t cut = 0; cut <= length; cut++) {
		whole += cut > 0 && bytes[cut - 1] == '\n';
		write_bytes(path, bytes, cut);
		assert_texts(path, 1, texts[whole]);
		struct journal *journal = journal_open(path, NULL);
		assert_int_equal(journal_sequence(journal), whole);
		append(journal, "new");
		journal_close(journal);
		char *expected cleanup_free = mem_printf("%snew ", texts[whole]);
		assert_texts(path, 1, expected);
	}
}

/* A wrong byte in the last line: as if it had never been written. */
static void a_corrupt_last_line_is_cut_off(void **state)
{
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	size_t length;
	char *bytes cleanup_free = make_three(path, &length);
	size_t last = length - 1;

	while (bytes[last - 1] != '\n')
		last--;
	for (size_t at = last; at < length; at++) {
		char good = bytes[at];
		bytes[at] = good == '#' ? '!' : '#';
		write_bytes(path, bytes, length);
		bytes[at] = good;
		assert_texts(path, 1, "first second ");
		struct journal *journal = journal_open(path, NULL);
		assert_int_equal(journal_sequence(journal), 2);
		journal_close(journal);
	}
}

/* The lines of one event, cut at every byte: all of them or none. */
static void a_torn_event_is_cut_off(void **state)
{
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	size_t last, length;
	char *bytes cleanup_free = make_event(path, &last, &length);

	log_open("test", LOG_LEVEL_ERROR);
	for (size_t cut = last; cut <= length; cut++) {
		const char *whole = cut < length ? "first " : "first a0 a1 a2 ";
		write_bytes(path, bytes, cut);
		assert_texts(path, 1, whole);
		struct journal *journal = journal_open(path, NULL);
		assert_int_equal(journal_sequence(journal), cut < length ? 1 : 4);
		append_event(journal, "b", 2);
		journal_close(journal);
		char *expected cleanup_free = mem_printf("%sb0 b1 ", whole);
		assert_texts(path, 1, expected);
	}
}

/* A wrong byte in the last event: nothing of it counts, or the journal is refused. */
static void a_corrupt_event_is_not_accepted(void **state)
{
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	size_t last, length;
	char *bytes cleanup_free = make_event(path, &last, &length);

	for (size_t at = last; at < length; at++) {
		struct err err cleanup_err = {0};
		char good = bytes[at];
		bytes[at] = good == '#' ? '!' : '#';
		write_bytes(path, bytes, length);
		bytes[at] = good;
		char *found cleanup_free = read_all(path, 1, &err);
		struct journal *journal = journal_open(path, NULL);
		assert_true(found ? str_equal(found, "first ") && journal_sequence(journal) == 1
				  : journal == NULL && strstr(err.message, "line "));
		journal_close(journal);
	}
}

/* A wrong byte anywhere before is an error that names the line, and nothing is cut. */
static void a_corrupt_line_in_the_middle_is_named(void **state)
{
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	size_t length;
	char *bytes cleanup_free = make_three(path, &length);
	int line = 1;

	for (size_t at = 0; line < 3; at++) {
		struct err err cleanup_err = {0};
		char good = bytes[at];
		char *expected cleanup_free = mem_printf("%s: line %d ", path, line);
		bytes[at] = good == '#' ? '!' : '#';
		write_bytes(path, bytes, length);
		bytes[at] = good;
		line += good == '\n';
		/* Without its newline a line takes the next one along. */
		if (good == '\n' && line == 3)
			continue;
		assert_null(journal_open(path, &err));
		assert_ptr_equal(strstr(err.message, expected), err.message);
		char *now cleanup_free = fs_read_file(path, 1 << 20, NULL, NULL);
		assert_int_equal(strlen(now), length);
	}
}

static void lines_must_follow_each_other(void **state)
{
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	size_t length;
	char *bytes cleanup_free = make_three(path, &length);
	char *second = strchr(bytes, '\n') + 1;
	struct err err cleanup_err = {0};

	write_bytes(path, second, length - (size_t)(second - bytes));
	assert_null(read_all(path, 1, &err));
	assert_non_null(strstr(err.message, "line 1 has the sequence number 2"));
}

static void zeros_at_the_end_are_torn(void **state)
{
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	size_t length;
	char *bytes cleanup_free = make_three(path, &length);
	char *longer cleanup_free = mem_alloc(length + 5000);

	memcpy(longer, bytes, length);
	write_bytes(path, longer, length + 5000);
	struct journal *journal = journal_open(path, NULL);
	assert_int_equal(journal_sequence(journal), 3);
	append(journal, "fourth");
	journal_close(journal);
	assert_texts(path, 1, "first second third fourth ");
}

/* ---- following ---------------------------------------------------------------------------- */

static void assert_next(struct journal_reader *reader, int expected, const char *text)
{
	struct err err cleanup_err = {0};
	struct journal_line line;

	assert_int_equal(journal_reader_next(reader, &line, &err), expected);
	if (expected != 1)
		return;
	json_t *record cleanup_json = journal_line_record(&line, NULL);
	assert_string_equal(json_string_value(json_object_get(record, "text")), text);
	assert_int_equal(line.time_ms, TIME);
}

static void a_reader_follows(void **state)
{
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	struct journal *journal = journal_open(path, NULL);
	struct journal_reader *reader = journal_reader_open(path, 2, NULL);

	assert_next(reader, 0, NULL);
	append(journal, "first");
	assert_next(reader, 0, NULL); /* asked for from the second on */
	append(journal, "second");
	append(journal, "third");
	assert_next(reader, 1, "second");
	append(journal, "fourth");
	assert_next(reader, 1, "third");
	assert_next(reader, 1, "fourth");
	assert_next(reader, 0, NULL);
	assert_next(reader, 0, NULL);
	append(journal, "fifth");
	assert_next(reader, 1, "fifth");
	journal_reader_close(reader);
	journal_close(journal);
}

/* Byte by byte, as a slow disk may show it. */
static void a_reader_waits_for_the_whole_line(void **state)
{
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	size_t length;
	char *bytes cleanup_free = make_three(path, &length);
	int fd cleanup_close = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	struct journal_reader *reader = journal_reader_open(path, 1, NULL);
	static const char *const texts[] = {"first", "second", "third"};
	size_t lines = 0;

	for (size_t i = 0; i < length; i++) {
		assert_next(reader, 0, NULL);
		assert_int_equal(write(fd, bytes + i, 1), 1);
		if (bytes[i] == '\n')
			assert_next(reader, 1, texts[lines++]);
	}
	assert_int_equal(lines, 3);
	journal_reader_close(reader);
}

/* Byte by byte, too. */
static void a_reader_waits_for_the_whole_event(void **state)
{
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	size_t last, length;
	char *bytes cleanup_free = make_event(path, &last, &length);
	int fd cleanup_close = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	struct journal_reader *reader = journal_reader_open(path, 1, NULL);

	for (size_t i = 0; i < length; i++) {
		assert_next(reader, 0, NULL);
		assert_int_equal(write(fd, bytes + i, 1), 1);
		if (i + 1 == last)
			assert_next(reader, 1, "first");
	}
	assert_next(reader, 1, "a0");
	assert_next(reader, 1, "a1");
	assert_next(reader, 1, "a2");
	assert_next(reader, 0, NULL);
	journal_reader_close(reader);
}

/* It saw two lines of an event; the writer's successor cut them off. */
static void a_reader_forgets_an_event_that_was_cut_off(void **state)
{
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	size_t last, length;
	char *bytes cleanup_free = make_event(path, &last, &length);
	write_bytes(path, bytes, length - 5);
	struct journal_reader *reader = journal_reader_open(path, 1, NULL);

	assert_next(reader, 1, "first");
	assert_next(reader, 0, NULL);
	struct journal *journal = journal_open(path, NULL);
	append(journal, "another");
	assert_next(reader, 1, "another");
	append_event(journal, "b", 2);
	assert_next(reader, 1, "b0");
	assert_next(reader, 1, "b1");
	assert_next(reader, 0, NULL);
	journal_close(journal);
	journal_reader_close(reader);
}

/* Larger than a reader's buffer; from its middle on, too. */
static void an_event_of_many_lines_is_read(void **state)
{
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	struct journal *journal = journal_open(path, NULL);
	struct journal_line line;
	int64_t count = 0;

	append_event(journal, "a", 3000);
	append_event(journal, "b", 2);
	append_event(journal, "c", 3000);
	journal_close(journal);
	struct journal_reader *reader = journal_reader_open(path, 1, NULL);
	while (journal_reader_next(reader, &line, NULL) == 1)
		assert_int_equal(line.sequence, ++count);
	assert_int_equal(count, 6002);
	journal_reader_close(reader);
	reader = journal_reader_open(path, 1500, NULL);
	assert_next(reader, 1, "a1499");
	assert_next(reader, 1, "a1500");
	journal_reader_close(reader);
}

/* It saw a torn line; the writer's successor cut it off and wrote another there. */
static void a_reader_forgets_what_was_cut_off(void **state)
{
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	size_t length;
	char *bytes cleanup_free = make_three(path, &length);
	write_bytes(path, bytes, length - 5);
	struct journal_reader *reader = journal_reader_open(path, 1, NULL);

	assert_next(reader, 1, "first");
	assert_next(reader, 1, "second");
	assert_next(reader, 0, NULL);
	struct journal *journal = journal_open(path, NULL);
	append(journal, "another, and a longer one");
	assert_next(reader, 1, "another, and a longer one");
	assert_next(reader, 0, NULL);
	journal_close(journal);
	journal_reader_close(reader);
}

static int stop_at_two(void *data, const struct journal_line *line, struct err *err)
{
	++*(int *)data;
	return line->sequence == 2 ? 17 : 0;
}

static void a_visitor_can_stop(void **state)
{
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	free(make_three(path, NULL));
	int visits = 0;

	assert_int_equal(journal_read(path, 1, stop_at_two, &visits, NULL), 17);
	assert_int_equal(visits, 2);
}

static void many_lines_are_read_through_one_buffer(void **state)
{
	char *path cleanup_free = sample_path(state, "journal.jsonl");
	struct journal *journal = journal_open(path, NULL);
	struct journal_reader *reader = journal_reader_open(path, 1, NULL);
	struct journal_line line;
	int64_t count = 0;

	for (int i = 0; i < 5000; i++) {
		struct str text cleanup_str = {0};
		for (int k = 0; k < i % 97; k++)
			str_append(&text, "some text ");
		append(journal, str_text(&text));
	}
	journal_close(journal);
	while (journal_reader_next(reader, &line, NULL) == 1)
		assert_int_equal(line.sequence, ++count);
	assert_int_equal(count, 5000);
	journal_reader_close(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_checksum_is_crc32c),
		cmocka_unit_test(bad_frames_are_refused),
		cmocka_unit_test(bad_heads_are_refused),
#define in_directory(test) cmocka_unit_test_setup_teardown(test, sample_setup, sample_finish)
		in_directory(lines_look_as_they_always_did),
		in_directory(lines_of_one_event_say_so),
		in_directory(a_torn_event_is_cut_off),
		in_directory(a_corrupt_event_is_not_accepted),
		in_directory(a_reader_waits_for_the_whole_event),
		in_directory(a_reader_forgets_an_event_that_was_cut_off),
		in_directory(an_event_of_many_lines_is_read),
		in_directory(a_record_cannot_pose_as_another_line),
		in_directory(it_goes_on_where_it_ended),
		in_directory(one_process_writes_at_a_time),
		in_directory(what_the_last_writer_started_is_waited_for),
		in_directory(a_record_that_is_too_long_is_refused),
		in_directory(a_missing_directory_is_an_error),
		in_directory(a_torn_end_is_cut_off),
		in_directory(a_corrupt_last_line_is_cut_off),
		in_directory(a_corrupt_line_in_the_middle_is_named),
		in_directory(lines_must_follow_each_other),
		in_directory(zeros_at_the_end_are_torn),
		in_directory(a_reader_follows),
		in_directory(a_reader_waits_for_the_whole_line),
		in_directory(a_reader_forgets_what_was_cut_off),
		in_directory(a_visitor_can_stop),
		in_directory(many_lines_are_read_through_one_buffer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
