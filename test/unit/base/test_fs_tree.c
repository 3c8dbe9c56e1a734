/* Copies and hashes of trees. */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "patience.h"
#include "scratch.h"

static struct stat status_of(void **state, const char *name)
{
	struct stat info;

	assert_int_equal(lstat(scratch_path(state, name), &info), 0);
	return info;
}

static void set_time(void **state, const char *name, time_t seconds, long nanoseconds)
{
	const struct timespec times[] = {{.tv_sec = 1}, {seconds, nanoseconds}};

	assert_int_equal(utimensat(AT_FDCWD, scratch_path(state, name), times, AT_SYMLINK_NOFOLLOW),
			 0);
}

static void make_tree(void **state)
{
	scratch_write(state, "from/train.py", "print()\n", 0750);
	scratch_write(state, "from/data/table", "1,2\n", 0440);
	assert_int_equal(symlink("../train.py", scratch_path(state, "from/data/link")), 0);
	assert_int_equal(symlink("/nowhere", scratch_path(state, "from/dangling")), 0);
	assert_int_equal(chmod(scratch_path(state, "from/data"), 0550), 0);
	set_time(state, "from/train.py", 1000000000, 123456789);
	set_time(state, "from/dangling", 1000000001, 0);
	set_time(state, "from/data", 1000000002, 0);
	set_time(state, "from", 1000000003, 0);
}

static void unlock(void **state)
{
	chmod(scratch_path(state, "from/data"), 0755);
	chmod(scratch_path(state, "to/data"), 0755);
}

static void clone(void **state, const char *from, const char *to, unsigned how)
{
	struct err err cleanup_err = {0};

	assert_success(fs_clone_tree(scratch_path(state, from), scratch_path(state, to), how, &err),
		       &err);
}

static void a_clone_keeps_modes_times_and_links(void **state)
{
	static const char *const names[][2] = {{"from", "to"},
					       {"from/train.py", "to/train.py"},
					       {"from/data", "to/data"},
					       {"from/data/table", "to/data/table"},
					       {"from/dangling", "to/dangling"}};
	char link[64] = "";
	mode_t old = umask(077);

	make_tree(state);
	clone(state, "from", "to", 0);
	umask(old);
	for (size_t i = 0; i < array_length(names); i++) {
		struct stat a = status_of(state, names[i][0]), b = status_of(state, names[i][1]);
		assert_int_equal(a.st_mode, b.st_mode);
		assert_int_equal(a.st_mtim.tv_sec, b.st_mtim.tv_sec);
		assert_int_equal(a.st_mtim.tv_nsec, b.st_mtim.tv_nsec);
		assert_true(a.st_ino != b.st_ino);
	}
	assert_text_freed(scratch_read(state, "to/train.py"), "print()\n");
	assert_text_freed(scratch_read(state, "to/data/table"), "1,2\n");
	assert_true(readlink(scratch_path(state, "to/data/link"), link, sizeof(link) - 1) > 0);
	assert_string_equal(link, "../train.py");
	unlock(state);
}

static void a_clone_has_its_own_content(void **state)
{
	make_tree(state);
	clone(state, "from", "to", FS_CLONE_HARD_LINK);
	scratch_write(state, "to/train.py", "changed", 0644);
	assert_text_freed(scratch_read(state, "from/train.py"), "print()\n");
	unlock(state);
}

static void make_large(void **state, const char *name)
{
	char *text cleanup_free = mem_alloc((3 << 20) + 1);

	memset(text, 'x', 3 << 20);
	scratch_write(state, name, text, 0644);
}

/* Large content is shared when the caller allows (by reflink or hard link), and copied if not. */
static void large_files_may_be_linked(void **state)
{
	make_large(state, "from/large");
	scratch_write(state, "from/small", "x", 0644);
	clone(state, "from", "linked", FS_CLONE_HARD_LINK);
	clone(state, "from", "copied", 0);
	assert_int_equal(status_of(state, "linked/large").st_size, 3 << 20);
	assert_int_equal(status_of(state, "copied/large").st_size, 3 << 20);
	assert_int_equal(status_of(state, "copied/large").st_nlink, 1);
	assert_int_equal(status_of(state, "linked/small").st_nlink, 1);
	char *a cleanup_free = scratch_read(state, "from/large");
	char *b cleanup_free = scratch_read(state, "copied/large");
	assert_string_equal(a, b);
}

/* Replacing a hard link must not write through it. */
static void merging_replaces_files_and_keeps_others(void **state)
{
	make_large(state, "from/large");
	clone(state, "from", "to", FS_CLONE_HARD_LINK);
	scratch_write(state, "other/large", "small now", 0644);
	scratch_write(state, "other/was-link", "file", 0644);
	scratch_write(state, "other/was-file/inner", "x", 0644);
	scratch_write(state, "to/kept", "kept", 0644);
	scratch_write(state, "to/was-file", "x", 0644);
	scratch_write(state, "victim", "untouched", 0644);
	assert_int_equal(symlink("../victim", scratch_path(state, "to/was-link")), 0);
	clone(state, "other", "to", FS_CLONE_HARD_LINK);
	assert_text_freed(scratch_read(state, "to/large"), "small now");
	assert_int_equal(status_of(state, "from/large").st_size, 3 << 20);
	assert_text_freed(scratch_read(state, "to/kept"), "kept");
	assert_text_freed(scratch_read(state, "to/was-file/inner"), "x");
	assert_text_freed(scratch_read(state, "to/was-link"), "file");
	assert_text_freed(scratch_read(state, "victim"), "untouched");
}

/* A link in the target that stands where the source has a directory does not lead outside. */
static void links_in_the_target_are_not_followed(void **state)
{
	scratch_write(state, "from/sub/file", "x", 0644);
	scratch_write(state, "outside/other", "x", 0644);
	assert_int_equal(mkdir(scratch_path(state, "to"), 0700), 0);
	assert_int_equal(symlink("../outside", scratch_path(state, "to/sub")), 0);
	clone(state, "from", "to", 0);
	assert_false(fs_exists(scratch_path(state, "outside/file")));
	assert_true(S_ISDIR(status_of(state, "to/sub").st_mode));
	assert_text_freed(scratch_read(state, "to/sub/file"), "x");
}

static void a_file_is_cloned_alone(void **state)
{
	scratch_write(state, "file", "text", 0640);
	clone(state, "file", "copy", 0);
	assert_text_freed(scratch_read(state, "copy"), "text");
	assert_int_equal(status_of(state, "copy").st_mode & 07777, 0640);
	clone(state, "file", "file", 0);
	assert_text_freed(scratch_read(state, "file"), "text");
}

static void the_root_may_be_a_link(void **state)
{
	make_tree(state);
	make_large(state, "large");
	assert_int_equal(symlink("from", scratch_path(state, "link")), 0);
	assert_int_equal(symlink("large", scratch_path(state, "large-link")), 0);
	clone(state, "link", "to", 0);
	clone(state, "large-link", "large-copy", FS_CLONE_HARD_LINK);
	assert_text_freed(scratch_read(state, "to/train.py"), "print()\n");
	assert_true(S_ISREG(status_of(state, "large-copy").st_mode));
	unlock(state);
}

static void expect_link(void **state, const char *name, const char *target)
{
	char link[4096] = "";

	assert_true(readlink(scratch_path(state, name), link, sizeof(link) - 1) > 0);
	assert_string_equal(link, target);
}

static void link_to(void **state, const char *target, const char *name)
{
	assert_int_equal(symlink(target, scratch_path(state, name)), 0);
}

/* A program's folder may borrow from its neighbours. */
static void links_that_lead_out_are_of_use_elsewhere(void **state)
{
	scratch_write(state, "data/table", "1,2\n", 0640);
	scratch_write(state, "from/sub/own", "x", 0644);
	make_large(state, "data/large");
	link_to(state, "../data/table", "from/table");
	link_to(state, "../../data/table", "from/sub/table");
	link_to(state, "sub/../../data/large", "from/large");
	link_to(state, "table", "from/again");
	link_to(state, "..//data", "from/directory");
	clone(state, "from", "to", FS_CLONE_FROM_OUTSIDE | FS_CLONE_HARD_LINK);
	assert_int_equal(status_of(state, "to/table").st_mode, S_IFREG | 0640);
	assert_text_freed(scratch_read(state, "to/table"), "1,2\n");
	assert_text_freed(scratch_read(state, "to/sub/table"), "1,2\n");
	assert_true(S_ISREG(status_of(state, "to/large").st_mode));
	expect_link(state, "to/again", "table");
	char *data cleanup_free = realpath(scratch_path(state, "data"), NULL);
	expect_link(state, "to/directory", data);
}

static void links_that_need_no_help_stay(void **state)
{
	scratch_write(state, "from/own", "x", 0644);
	assert_int_equal(mkdir(scratch_path(state, "from/sub"), 0755), 0);
	link_to(state, "../own", "from/sub/up");
	link_to(state, "own", "from/inside");
	link_to(state, "/dev/null", "from/absolute");
	link_to(state, "../none", "from/dangling");
	link_to(state, "../from/circle", "from/circle");
	clone(state, "from", "to", FS_CLONE_FROM_OUTSIDE);
	expect_link(state, "to/sub/up", "../own");
	expect_link(state, "to/inside", "own");
	expect_link(state, "to/absolute", "/dev/null");
	expect_link(state, "to/dangling", "../none");
	expect_link(state, "to/circle", "../from/circle");
}

static void only_the_users_links_are_followed(void **state)
{
	scratch_write(state, "data/table", "1,2\n", 0640);
	assert_int_equal(mkdir(scratch_path(state, "from"), 0755), 0);
	link_to(state, "../data/table", "from/table");
	clone(state, "from", "to", 0);
	expect_link(state, "to/table", "../data/table");
}

static void a_copy_may_be_made_writable(void **state)
{
	scratch_write(state, "from/table", "1,2\n", 0540);
	clone(state, "from", "to", FS_CLONE_WRITABLE);
	assert_int_equal(status_of(state, "to/table").st_mode & 07777, 0740);
	assert_int_equal(status_of(state, "from/table").st_mode & 07777, 0540);
}

static void expect_failure(void **state, const char *from, const char *to, const char *part)
{
	struct err err cleanup_err = {0};

	assert_int_equal(fs_clone_tree(scratch_path(state, from), scratch_path(state, to),
				       FS_CLONE_HARD_LINK | FS_CLONE_FROM_OUTSIDE, &err),
			 -1);
	assert_message_has(&err, part);
}

static void what_cannot_be_cloned_is_named(void **state)
{
	scratch_write(state, "from/a", "x", 0644);
	scratch_write(state, "file", "x", 0644);
	expect_failure(state, "none", "to", "/none: No such file");
	expect_failure(state, "from", "file", "/file: Not a directory");
	expect_failure(state, "from", "from/sub", "inside of its source");
	expect_failure(state, "from", "from", "inside of its source");
	assert_int_equal(mkfifo(scratch_path(state, "from/fifo"), 0600), 0);
	expect_failure(state, "from", "to", "from/fifo: is neither a file");
	expect_failure(state, "from/fifo", "to", "is neither a file");
	scratch_write(state, "lender/a", "x", 0644);
	link_to(state, "../from/fifo", "lender/fifo");
	expect_failure(state, "lender", "to", "lender/fifo: leads to what is neither");
}

struct removal {
	void **state;
	size_t copied, vanished;
};

/* Called with the first of the files, when all have been listed: removes the others. */
static bool remove_others(void *data, const char *path, const struct stat *info)
{
	static const char *const names[][2] = {
		{"from/a", "from/a"}, {"from/b", "from/b"}, {"from/d/x", "from/d"}};
	struct removal *removal = data;

	removal->copied++;
	for (size_t i = 0; i < array_length(names); i++)
		if (!str_equal(scratch_path(removal->state, names[i][0]), path))
			fs_remove_tree(scratch_path(removal->state, names[i][1]), NULL);
	return false;
}

static void count_vanished(void *data, const char *path)
{
	struct removal *removal = data;

	removal->vanished++;
	assert_false(fs_exists(path));
}

static void what_vanishes_meanwhile_is_left_out_and_named(void **state)
{
	struct removal removal = {.state = state};
	struct fs_clone_watch watch = {
		.is_there = remove_others, .vanished = count_vanished, .data = &removal};
	struct err err cleanup_err = {0};

	for (int named = 1; named >= 0; named--) {
		scratch_write(state, "from/a", "1", 0600);
		scratch_write(state, "from/b", "2", 0600);
		scratch_write(state, "from/d/x", "3", 0600);
		watch.vanished = named ? count_vanished : NULL;
		int result = fs_clone_tree_watched(scratch_path(state, "from"),
						   scratch_path(state, "to"), 0, &watch, &err);
		assert_int_equal(result, named ? 0 : -1);
		assert_int_equal(removal.copied, 2 - named);
		assert_int_equal(removal.vanished, 2);
	}
}

static bool is_old(void *data, const char *path, const struct stat *info)
{
	return info->st_mtim.tv_sec == 1000000000;
}

static void what_is_there_is_not_copied(void **state)
{
	const struct fs_clone_watch watch = {.is_there = is_old};
	struct err err cleanup_err = {0};

	scratch_write(state, "from/old", "1", 0600);
	scratch_write(state, "from/new", "2", 0600);
	scratch_write(state, "to/old", "kept", 0600);
	set_time(state, "from/old", 1000000000, 0);
	assert_success(fs_clone_tree_watched(scratch_path(state, "from"), scratch_path(state, "to"),
					     0, &watch, &err),
		       &err);
	assert_text_freed(scratch_read(state, "to/old"), "kept");
	assert_text_freed(scratch_read(state, "to/new"), "2");
}

static void endless_depth_is_refused(void **state)
{
	struct err err cleanup_err = {0};
	struct str path cleanup_str = {0};

	str_append(&path, "from");
	for (int i = 0; i < 130; i++)
		str_append(&path, "/d");
	str_append(&path, "/file");
	scratch_write(state, path.text, "x", 0644);
	expect_failure(state, "from", "to", "nested deeper than");
	assert_null(fs_hash_tree(scratch_path(state, "from"), &err));
	assert_message_has(&err, "nested deeper than");
}

static char *hash(void **state, const char *name)
{
	struct err err cleanup_err = {0};
	char *text = fs_hash_tree(scratch_path(state, name), &err);

	if (!text)
		fail_msg("%s", err_message(&err));
	return text;
}

static void a_files_hash_is_that_of_sha256sum(void **state)
{
	scratch_write(state, "abc", "abc", 0644);
	scratch_write(state, "empty", "", 0644);
	assert_text_freed(hash(state, "abc"),
			  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_text_freed(hash(state, "empty"),
			  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void equal_trees_hash_alike(void **state)
{
	make_tree(state);
	clone(state, "from", "to", 0);
	set_time(state, "to/train.py", 5, 0);
	char *a cleanup_free = hash(state, "from");
	assert_text_freed(hash(state, "to"), a);
	assert_int_equal(strlen(a), 64);
	unlock(state);
}

static void order_of_creation_does_not_count(void **state)
{
	scratch_write(state, "a/1", "x", 0644);
	scratch_write(state, "a/2", "y", 0644);
	scratch_write(state, "b/2", "y", 0644);
	scratch_write(state, "b/1", "x", 0644);
	char *a cleanup_free = hash(state, "a");
	assert_text_freed(hash(state, "b"), a);
}

static void every_difference_counts(void **state)
{
	static const struct {
		const char *name, *text;
		unsigned mode;
	} files[] = {
		{"a/one", "xy", 0644},	{"b/one", "xz", 0644},	{"c/one", "xy", 0755},
		{"d/two", "xy", 0644},	{"e/o/ne", "xy", 0644}, {"f/onex", "y", 0644},
		{"g/one/xy", "", 0644},
	};
	char *sums[array_length(files) + 2];

	for (size_t i = 0; i < array_length(files); i++) {
		char top[2] = {files[i].name[0], '\0'};
		scratch_write(state, files[i].name, files[i].text, files[i].mode);
		sums[i] = hash(state, top);
	}
	assert_int_equal(mkdir(scratch_path(state, "h"), 0755), 0);
	sums[array_length(files)] = hash(state, "h");
	assert_int_equal(symlink("xy", scratch_path(state, "h/one")), 0);
	sums[array_length(files) + 1] = hash(state, "h");
	for (size_t i = 0; i < array_length(sums); i++) {
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(sums[i], sums[j]);
	}
	for (size_t i = 0; i < array_length(sums); i++)
		free(sums[i]);
}

static void what_cannot_be_hashed_is_named(void **state)
{
	struct err err cleanup_err = {0};

	assert_null(fs_hash_tree(scratch_path(state, "none"), &err));
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	scratch_write(state, "tree/a", "x", 0644);
	assert_int_equal(mkfifo(scratch_path(state, "tree/fifo"), 0600), 0);
	assert_null(fs_hash_tree(scratch_path(state, "tree"), &err));
	assert_message_has(&err, "tree/fifo: is neither");
}

static const struct fs_copy any_time = {.laid.to = {.tv_sec = INT64_MAX}};

static void take_back_copy(void **state, const struct fs_copy *copy)
{
	struct err err cleanup_err = {0};

	assert_success(fs_remove_same(scratch_path(state, "from"), scratch_path(state, "to"), ".",
				      copy, &err),
		       &err);
}

static void take_back(void **state)
{
	take_back_copy(state, &any_time);
}

static void an_unchanged_copy_is_taken_back(void **state)
{
	make_tree(state);
	assert_int_equal(mkdir(scratch_path(state, "from/empty"), 0700), 0);
	clone(state, "from", "to", 0);
	take_back(state);
	assert_int_equal(rmdir(scratch_path(state, "to")), 0); /* nothing was left in it */
	assert_true(fs_exists(scratch_path(state, "from/data/table")));
	unlock(state);
}

static void what_was_changed_or_made_stays(void **state)
{
	struct stat before = {0};

	make_tree(state);
	scratch_write(state, "from/a", "one", 0644);
	scratch_write(state, "from/b", "one", 0644);
	scratch_write(state, "from/c", "one", 0644);
	clone(state, "from", "to", 0);
	unlock(state);
	scratch_write(state, "to/a", "two", 0644);
	scratch_write(state, "to/b", "two", 0644);
	before = status_of(state, "from/b");
	set_time(state, "to/b", before.st_mtim.tv_sec, before.st_mtim.tv_nsec);
	scratch_write(state, "to/data/result", "1", 0644);
	assert_int_equal(unlink(scratch_path(state, "to/dangling")), 0);
	assert_int_equal(symlink("/elsewhere", scratch_path(state, "to/dangling")), 0);
	assert_int_equal(unlink(scratch_path(state, "to/c")), 0);
	assert_int_equal(mkdir(scratch_path(state, "to/c"), 0700), 0);
	take_back(state);
	assert_text_freed(scratch_read(state, "to/a"), "two");
	assert_text_freed(scratch_read(state, "to/b"), "two");
	assert_text_freed(scratch_read(state, "to/data/result"), "1");
	assert_true(S_ISLNK(status_of(state, "to/dangling").st_mode));
	assert_true(S_ISDIR(status_of(state, "to/c").st_mode));
	assert_false(fs_exists(scratch_path(state, "to/train.py")));
	assert_false(fs_exists(scratch_path(state, "to/data/table")));
}

static void a_link_in_place_of_a_directory_leads_nowhere(void **state)
{
	scratch_write(state, "from/data/table", "1", 0644);
	clone(state, "from", "to", 0);
	clone(state, "from/data", "outside", 0);
	fs_remove_tree(scratch_path(state, "to/data"), NULL);
	assert_int_equal(symlink("../outside", scratch_path(state, "to/data")), 0);
	take_back(state);
	assert_true(fs_exists(scratch_path(state, "outside/table")));
}

static void a_link_in_place_of_a_copy_leads_nowhere(void **state)
{
	struct err err cleanup_err = {0};

	scratch_write(state, "from/table", "1", 0644);
	assert_int_equal(mkdir(scratch_path(state, "mine"), 0700), 0);
	clone(state, "from", "mine/data", 0); /* a user's own, from which the snapshot was made */
	assert_int_equal(mkdir(scratch_path(state, "work"), 0700), 0);
	assert_int_equal(symlink("../mine", scratch_path(state, "work/link")), 0);
	assert_int_equal(symlink("../mine/data", scratch_path(state, "work/data")), 0);
	static const char *const names[] = {"data", "link/data"};
	for (size_t i = 0; i < array_length(names); i++) {
		assert_int_equal(fs_remove_same(scratch_path(state, "from"),
						scratch_path(state, "work"), names[i], &any_time,
						&err),
				 -1);
		err_finish(&err);
	}
	assert_int_equal(fs_remove_same(scratch_path(state, "from"),
					scratch_path(state, "work/data"), ".", &any_time, &err),
			 -1);
	assert_true(fs_exists(scratch_path(state, "mine/data/table")));
}

/* Clocks of file systems go by ticks. */
static bool is_over(void **state, const struct fs_span *span)
{
	scratch_write(state, "clock", "", 0644);
	return !fs_span_has(span, status_of(state, "clock").st_ctim);
}

static void what_links_of_programs_lead_to_stays(void **state)
{
	static const char *const names[] = {"plain", "v1/a", "v2/a", "v3/deep/a", "v4/a"};
	char *absolute cleanup_free = mem_strdup(scratch_path(state, "to/v3"));
	struct fs_span laid = {0};

	for (size_t i = 0; i < array_length(names); i++) {
		char *path cleanup_free = fs_join("from", names[i]);
		scratch_write(state, path, "1", 0644);
	}
	assert_int_equal(symlink("v2", scratch_path(state, "from/current")), 0);
	assert_int_equal(symlink("v4", scratch_path(state, "from/other")), 0);
	clone(state, "from", "to", 0);
	laid.to = status_of(state, "to/current").st_ctim;
	wait_until(is_over(state, &laid));
	assert_int_equal(mkdir(scratch_path(state, "to/out"), 0700), 0);
	assert_int_equal(symlink("../plain", scratch_path(state, "to/out/latest")), 0);
	assert_int_equal(symlink("current/a", scratch_path(state, "to/latest")), 0);
	assert_int_equal(symlink(absolute, scratch_path(state, "to/out/tree")), 0);
	assert_int_equal(symlink("loop", scratch_path(state, "to/loop")), 0);
	take_back_copy(state, &(struct fs_copy){.laid = laid});
	assert_true(fs_exists(scratch_path(state, "to/out/latest")));
	assert_true(fs_exists(scratch_path(state, "to/latest")));
	assert_true(fs_exists(scratch_path(state, "to/out/tree/deep/a")));
	assert_false(fs_exists(scratch_path(state, "to/v1")));
	assert_false(fs_exists(scratch_path(state, "to/v4")));
	assert_int_equal(unlink(scratch_path(state, "to/other")), -1); /* a copy's own link */
}

static void a_read_only_copy_is_taken_back(void **state)
{
	scratch_write(state, "from/data/table", "1", 0444);
	assert_int_equal(chmod(scratch_path(state, "from/data"), 0500), 0);
	assert_int_equal(chmod(scratch_path(state, "from"), 0500), 0);
	scratch_drop_rights(state);
	clone(state, "from", "to", 0);
	take_back(state);
	assert_int_equal(status_of(state, "to").st_mode & 07777, 0500);
	assert_int_equal(rmdir(scratch_path(state, "to")), 0); /* nothing was left in it */
}

static void what_was_there_before_or_came_later_stays(void **state)
{
	const struct fs_span before = {.to = {.tv_sec = 1}};
	const struct fs_span later = {.from = {.tv_sec = INT64_MAX}, .to = {.tv_sec = INT64_MAX}};

	scratch_write(state, "from/data/table", "1", 0644);
	assert_int_equal(mkdir(scratch_path(state, "from/empty"), 0700), 0);
	clone(state, "from", "to", 0);
	take_back_copy(state, &(struct fs_copy){.laid = before});
	take_back_copy(state, &(struct fs_copy){.laid = later});
	assert_true(fs_exists(scratch_path(state, "to/data/table")));
	assert_true(fs_exists(scratch_path(state, "to/empty")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(a_clone_keeps_modes_times_and_links),
		scratch_test(a_clone_has_its_own_content),
		scratch_test(large_files_may_be_linked),
		scratch_test(merging_replaces_files_and_keeps_others),
		scratch_test(links_in_the_target_are_not_followed),
		scratch_test(a_file_is_cloned_alone),
		scratch_test(the_root_may_be_a_link),
		scratch_test(links_that_lead_out_are_of_use_elsewhere),
		scratch_test(links_that_need_no_help_stay),
		scratch_test(only_the_users_links_are_followed),
		scratch_test(a_copy_may_be_made_writable),
		scratch_test(what_cannot_be_cloned_is_named),
		scratch_test(what_vanishes_meanwhile_is_left_out_and_named),
		scratch_test(what_is_there_is_not_copied),
		scratch_test(endless_depth_is_refused),
		scratch_test(an_unchanged_copy_is_taken_back),
		scratch_test(what_was_changed_or_made_stays),
		scratch_test(a_link_in_place_of_a_directory_leads_nowhere),
		scratch_test(a_link_in_place_of_a_copy_leads_nowhere),
		scratch_test(what_links_of_programs_lead_to_stays),
		scratch_test(a_read_only_copy_is_taken_back),
		scratch_test(what_was_there_before_or_came_later_stays),
		scratch_test(a_files_hash_is_that_of_sha256sum),
		scratch_test(equal_trees_hash_alike),
		scratch_test(order_of_creation_does_not_count),
		scratch_test(every_difference_counts),
		scratch_test(what_cannot_be_hashed_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
