#include "../base/test.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "client/archive.h"

/* One directory per test: base/ holds the archive; base/in/out is where it is unpacked; base/in
 * and base/outside must stay as they are. */
struct scene {
	char *base, *packed, *target;
	struct archive *writer;
	struct err err;
};

static int open_scene(void **state)
{
	struct scene *scene = mem_alloc(sizeof(*scene));
	char template[] = "/tmp/tony-archive-XXXXXX";

	assert_non_null(mkdtemp(template));
	scene->base = mem_strdup(template);
	scene->packed = fs_join(template, "packed");
	scene->target = fs_join(template, "in/out");
	char *in cleanup_free = fs_join(template, "in");
	assert_int_equal(mkdir(in, 0700), 0);
	*state = scene;
	return 0;
}

static int close_scene(void **state)
{
	struct scene *scene = *state;

	assert_success(fs_remove_tree(scene->base, &scene->err), &scene->err);
	free(scene->base);
	free(scene->packed);
	free(scene->target);
	err_finish(&scene->err);
	free(scene);
	return 0;
}

enum packing { TAR, TAR_GZ, TAR_ZST, ZIP };

static void begin(struct scene *scene, enum packing packing)
{
	scene->writer = archive_write_new();
	if (packing == TAR_GZ)
		archive_write_add_filter_gzip(scene->writer);
	if (packing == TAR_ZST)
		archive_write_add_filter_zstd(scene->writer);
	if (packing == ZIP)
		archive_write_set_format_zip(scene->writer);
	else
		archive_write_set_format_pax_restricted(scene->writer);
	assert_int_equal(archive_write_open_filename(scene->writer, scene->packed), ARCHIVE_OK);
}

static void add(struct scene *scene, const char *name, unsigned type, unsigned mode,
		const char *content, const char *link)
{
	struct archive_entry *entry = archive_entry_new();

	archive_entry_set_pathname(entry, name);
	archive_entry_set_filetype(entry, type);
	archive_entry_set_perm(entry, mode);
	archive_entry_set_mtime(entry, 1000000000, 0);
	archive_entry_set_size(entry, content ? (la_int64_t)strlen(content) : 0);
	if (link && type == AE_IFLNK)
		archive_entry_set_symlink(entry, link);
	else if (link)
		archive_entry_set_hardlink(entry, link);
	assert_int_equal(archive_write_header(scene->writer, entry), ARCHIVE_OK);
	if (content)
		archive_write_data(scene->writer, content, strlen(content));
	archive_entry_free(entry);
}

static void end(struct scene *scene)
{
	assert_int_equal(archive_write_close(scene->writer), ARCHIVE_OK);
	archive_write_free(scene->writer);
}

static struct stat look(struct scene *scene, const char *name)
{
	struct stat info;
	char *path cleanup_free = fs_join(scene->target, name);

	if (lstat(path, &info) < 0)
		fail_msg("%s is not there", path);
	return info;
}

static char *content(struct scene *scene, const char *name)
{
	char *path cleanup_free = fs_join(scene->target, name);

	return fs_read_file(path, 1 << 20, NULL, NULL);
}

/* Refused with `part` in the message, nothing left and nothing outside. */
static void expect_refusal(struct scene *scene, const struct archive_limits *limits,
			   const char *part)
{
	char *in cleanup_free = fs_join(scene->base, "in");
	char *outside cleanup_free = fs_join(scene->base, "outside");

	assert_int_equal(archive_unpack(scene->packed, scene->target, limits, &scene->err), -1);
	assert_message_has(&scene->err, part);
	assert_message_has(&scene->err, scene->packed);
	assert_int_equal(rmdir(in), 0);
	assert_false(fs_exists(outside));
	assert_int_equal(mkdir(in, 0700), 0);
	err_finish(&scene->err);
}

static void every_packing_keeps_modes_times_and_links(void **state)
{
	struct scene *scene = *state;

	for (enum packing packing = TAR; packing <= ZIP; packing++) {
		begin(scene, packing);
		add(scene, "./bin", AE_IFDIR, 0555, NULL, NULL);
		add(scene, "./bin/run.sh", AE_IFREG, 0755, "echo hi\n", NULL);
		add(scene, "data/deep/er/x", AE_IFREG, 0640, "x", NULL);
		add(scene, "bin/current", AE_IFLNK, 0777, NULL, "../data/./deep");
		add(scene, "empty", AE_IFREG, 0600, "", NULL);
		end(scene);
		assert_true(archive_is_archive(scene->packed));
		assert_success(archive_unpack(scene->packed, scene->target, NULL, &scene->err),
			       &scene->err);
		assert_int_equal(look(scene, "bin/run.sh").st_mode & 07777, 0755);
		assert_int_equal(look(scene, "bin/run.sh").st_mtime, 1000000000);
		assert_int_equal(look(scene, "data/deep/er/x").st_mode & 07777, 0640);
		assert_true(S_ISLNK(look(scene, "bin/current").st_mode));
		assert_int_equal(look(scene, "bin").st_mode & 07777, 0755);
		assert_int_equal(look(scene, "empty").st_size, 0);
		assert_text_freed(content(scene, "bin/current/er/x"), "x");
		assert_success(fs_remove_tree(scene->target, &scene->err), &scene->err);
	}
}

static void programs_are_executable_where_no_file_of_the_archive_is(void **state)
{
	struct scene *scene = *state;

	for (int with_modes = 0; with_modes <= 1; with_modes++) {
		begin(scene, ZIP);
		add(scene, "bin/python", AE_IFREG, 0640, "#!/bin/sh\n", NULL);
		add(scene, "lib/x.so", AE_IFREG, 0600, "\177ELF...", NULL);
		add(scene, "notes", AE_IFREG, 0644, "# words", NULL);
		add(scene, "twice", AE_IFREG, 0644, "#!/bin/sh\n", NULL);
		add(scene, "twice", AE_IFLNK, 0777, NULL, "notes");
		if (with_modes)
			add(scene, "bin/run", AE_IFREG, 0755, "#!/bin/sh\n", NULL);
		end(scene);
		assert_success(archive_unpack(scene->packed, scene->target, NULL, &scene->err),
			       &scene->err);
		assert_int_equal(look(scene, "bin/python").st_mode & 07777,
				 with_modes ? 0640 : 0750);
		assert_int_equal(look(scene, "lib/x.so").st_mode & 07777, with_modes ? 0600 : 0700);
		assert_int_equal(look(scene, "notes").st_mode & 07777, 0644);
		assert_success(fs_remove_tree(scene->target, &scene->err), &scene->err);
	}
}

static void names_beyond_ascii_are_kept(void **state)
{
	struct scene *scene = *state;

	for (enum packing packing = TAR; packing <= ZIP; packing += ZIP) {
		setlocale(LC_CTYPE, "C.UTF-8"); /* for the writer */
		begin(scene, packing);
		add(scene, "d\xc3\xa4ten/\xe2\x82\xac", AE_IFREG, 0644, "1", NULL);
		end(scene);
		setlocale(LC_CTYPE, "C");
		assert_success(archive_unpack(scene->packed, scene->target, NULL, &scene->err),
			       &scene->err);
		assert_text_freed(content(scene, "d\xc3\xa4ten/\xe2\x82\xac"), "1");
		assert_success(fs_remove_tree(scene->target, &scene->err), &scene->err);
	}
}

static void hard_links_within_are_kept(void **state)
{
	struct scene *scene = *state;

	begin(scene, TAR);
	add(scene, "a", AE_IFREG, 0644, "same", NULL);
	add(scene, "d/b", AE_IFREG, 0644, NULL, "a");
	add(scene, "a", AE_IFREG, 0644, NULL, "./a");
	end(scene);
	assert_success(archive_unpack(scene->packed, scene->target, NULL, &scene->err),
		       &scene->err);
	assert_int_equal(look(scene, "a").st_ino, look(scene, "d/b").st_ino);
	assert_text_freed(content(scene, "d/b"), "same");
}

static void a_later_entry_replaces_an_earlier_one(void **state)
{
	struct scene *scene = *state;

	begin(scene, TAR);
	add(scene, "f", AE_IFREG, 0644, "old", NULL);
	add(scene, "f", AE_IFREG, 0600, "new", NULL);
	end(scene);
	assert_success(archive_unpack(scene->packed, scene->target, NULL, &scene->err),
		       &scene->err);
	assert_text_freed(content(scene, "f"), "new");
}

static void a_virtual_environments_interpreter_is_fine(void **state)
{
	struct scene *scene = *state;

	begin(scene, TAR);
	add(scene, "bin/python3", AE_IFLNK, 0777, NULL, "/usr/bin/python3");
	add(scene, "bin/python", AE_IFLNK, 0777, NULL, "python3");
	end(scene);
	assert_success(archive_unpack(scene->packed, scene->target, NULL, &scene->err),
		       &scene->err);
	assert_true(S_ISLNK(look(scene, "bin/python").st_mode));
}

/* promise: S20 */
static void hostile_entries_are_refused(void **state)
{
	static const struct {
		const char *name;
		unsigned type, mode;
		const char *link, *part;
	} rows[] = {
		{"../outside", AE_IFREG, 0644, NULL, "entry \"../outside\": leads out"},
		{"a/../../outside", AE_IFREG, 0644, NULL, "leads out"},
		{"a/..", AE_IFDIR, 0755, NULL, "leads out"},
		{"/tmp/tony-outside", AE_IFREG, 0644, NULL, "absolute"},
		{"l", AE_IFLNK, 0777, "../outside", "entry \"l\": is a symbolic link that leads"},
		{"l", AE_IFLNK, 0777, "/etc/passwd", "\"/etc/passwd\""},
		{"l", AE_IFLNK, 0777, "/usr/bin/python/../../../etc", "leads out"},
		{"l", AE_IFLNK, 0777, "..", "leads out"},
		{"d/l", AE_IFLNK, 0777, "../..", "leads out"},
		{"l", AE_IFLNK, 0777, "s/../..", "leads out"},
		{"h", AE_IFREG, 0644, "../outside", "hard link that leads out"},
		{"h", AE_IFREG, 0644, "/etc/passwd", "hard link that leads out"},
		{"h", AE_IFREG, 0644, "absent", "hard link to no file"},
		{"null", AE_IFCHR, 0666, NULL, "device"},
		{"disk", AE_IFBLK, 0666, NULL, "device"},
		{"fifo", AE_IFIFO, 0666, NULL, "FIFO"},
		{"su", AE_IFREG, 04755, NULL, "set-user-id"},
		{"sg", AE_IFREG, 02755, NULL, "set-group-id"},
	};
	struct scene *scene = *state;

	for (size_t i = 0; i < array_length(rows); i++) {
		begin(scene, TAR);
		add(scene, "good", AE_IFREG, 0644, "good", NULL);
		add(scene, rows[i].name, rows[i].type, rows[i].mode, NULL, rows[i].link);
		end(scene);
		expect_refusal(scene, NULL, rows[i].part);
	}
}

/* promise: S20 */
static void nothing_is_written_through_a_link(void **state)
{
	struct scene *scene = *state;

	begin(scene, TAR);
	add(scene, "d", AE_IFDIR, 0755, NULL, NULL);
	add(scene, "l", AE_IFLNK, 0777, NULL, "d");
	add(scene, "l/x", AE_IFREG, 0644, "x", NULL);
	end(scene);
	expect_refusal(scene, NULL, "entry \"l/x\": goes through");
	/* By way of two harmless links: s is the root, so s/.. is outside. */
	begin(scene, TAR);
	add(scene, "s", AE_IFLNK, 0777, NULL, ".");
	add(scene, "l", AE_IFLNK, 0777, NULL, "s/../outside");
	end(scene);
	expect_refusal(scene, NULL, "entry \"l\"");
	begin(scene, TAR);
	add(scene, "f", AE_IFREG, 0644, "f", NULL);
	add(scene, "f/x", AE_IFREG, 0644, "x", NULL);
	end(scene);
	expect_refusal(scene, NULL, "no directory");
	begin(scene, TAR);
	add(scene, "d/x", AE_IFREG, 0644, "f", NULL);
	add(scene, "d", AE_IFREG, 0644, "x", NULL);
	end(scene);
	expect_refusal(scene, NULL, "is a directory");
}

static void absurd_names_are_refused(void **state)
{
	struct scene *scene = *state;
	char name[3000];

	memset(name, 'n', 300);
	name[300] = '\0';
	begin(scene, TAR);
	add(scene, name, AE_IFREG, 0644, "x", NULL);
	end(scene);
	expect_refusal(scene, NULL, "longer than");
	for (size_t i = 0; i < sizeof(name); i++)
		name[i] = i % 2 ? '/' : 'd';
	name[sizeof(name) - 1] = '\0';
	begin(scene, TAR);
	add(scene, name, AE_IFREG, 0644, "x", NULL);
	end(scene);
	expect_refusal(scene, NULL, "nested deeper");
}

/* promise: S21 */
static void bombs_are_refused(void **state)
{
	struct scene *scene = *state;
	const struct archive_limits few = {
		.bytes = 1 << 20, .entries = 3, .ratio = 1 << 20, .ratio_from = 1 << 30};
	const struct archive_limits small = {
		.bytes = 6, .entries = 10, .ratio = 1 << 20, .ratio_from = 1 << 30};
	const struct archive_limits flat = {
		.bytes = 1 << 30, .entries = 10, .ratio = 20, .ratio_from = 1 << 16};

	begin(scene, TAR);
	for (int i = 0; i < 4; i++)
		add(scene, (const char *[]){"a", "b", "c", "d"}[i], AE_IFREG, 0644, "1234", NULL);
	end(scene);
	expect_refusal(scene, &few, "more than 3 entries");
	expect_refusal(scene, &small, "entry \"b\": takes the archive over the limit");
	char *zeros cleanup_free = mem_alloc((4 << 20) + 1);
	memset(zeros, '0', 4 << 20);
	begin(scene, TAR_GZ);
	add(scene, "zeros", AE_IFREG, 0644, zeros, NULL);
	end(scene);
	expect_refusal(scene, &flat, "bomb");
	assert_success(archive_unpack(scene->packed, scene->target, NULL, &scene->err),
		       &scene->err);
}

static void what_is_damaged_or_no_archive_is_refused(void **state)
{
	struct scene *scene = *state;
	struct stat info;

	begin(scene, TAR_GZ);
	for (int i = 0; i < 200; i++) {
		char *name cleanup_free = mem_printf("file-%d-%x", i, i * 2654435761u);
		add(scene, name, AE_IFREG, 0644, name, NULL);
	}
	end(scene);
	assert_int_equal(stat(scene->packed, &info), 0);
	assert_int_equal(truncate(scene->packed, info.st_size / 2), 0);
	expect_refusal(scene, NULL, "archive ");
	assert_success(fs_write_file(scene->packed, "print(1)\n", 9, 0644, &scene->err),
		       &scene->err);
	assert_false(archive_is_archive(scene->packed));
	expect_refusal(scene, NULL, "not a whole zip");
	assert_int_equal(unlink(scene->packed), 0);
	assert_false(archive_is_archive(scene->packed));
	expect_refusal(scene, NULL, "No such file");
}

static void what_is_there_already_is_not_touched(void **state)
{
	struct scene *scene = *state;
	char *kept cleanup_free = fs_join(scene->target, "kept");

	begin(scene, TAR);
	add(scene, "../outside", AE_IFREG, 0644, "x", NULL);
	end(scene);
	assert_success(fs_make_directories(kept, 0700, &scene->err), &scene->err);
	assert_int_equal(archive_unpack(scene->packed, scene->target, NULL, &scene->err), -1);
	assert_true(fs_exists(kept));
	err_finish(&scene->err);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, open_scene, close_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_packing_keeps_modes_times_and_links),
		TEST(names_beyond_ascii_are_kept),
		TEST(programs_are_executable_where_no_file_of_the_archive_is),
		TEST(names_beyond_ascii_are_kept),
		TEST(hard_links_within_are_kept),
		TEST(a_later_entry_replaces_an_earlier_one),
		TEST(a_virtual_environments_interpreter_is_fine),
		TEST(hostile_entries_are_refused),
		TEST(nothing_is_written_through_a_link),
		TEST(absurd_names_are_refused),
		TEST(bombs_are_refused),
		TEST(what_is_damaged_or_no_archive_is_refused),
		TEST(what_is_there_already_is_not_touched),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
