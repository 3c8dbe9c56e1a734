/* Written by hand on openat() rather than with libarchive's own writer: every step is one that
 * cannot follow a link, and what is refused is said in our words. */
#include "client/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/archive_library.h"
#include "client/archive_name.h"

static const struct archive_limits default_limits = {
	.bytes = 64ull << 30,
	.entries = 1000000,
	.ratio = 200,
	.ratio_from = 256ull << 20,
};

enum { BLOCK = 65536 };

struct unpack {
	struct archive *archive;
	const struct archive_limits *limits;
	int root;
	uint64_t entries, bytes;
	bool is_copy; /* as archive_unpack_stream() has it */
	mode_t mask;  /* rights that nothing unpacked has */
	bool has_executable;
	struct str_list programs; /* names of files that look like one, while none is executable */
	struct err *err;
};

static int refuse(struct unpack *unpack, const char *why)
{
	return err_set(unpack->err, ERR_INPUT, "%s", why);
}

/* Refused in an archive that a user has made; a directory that is copied may well have one. */
static int refuse_or_leave_out(struct unpack *unpack, const struct str_list *name, const char *why)
{
	char *joined cleanup_free = str_list_join(name, "/");

	if (!unpack->is_copy)
		return refuse(unpack, why);
	log_warning("%s is left out: it %s", joined, why);
	return 0;
}

static int fail(struct unpack *unpack)
{
	return err_set_errno(unpack->err, "cannot be written");
}

/* Opens the directory of the first `count` components, making what is missing. */
static int open_parent(struct unpack *unpack, const struct str_list *name, size_t count)
{
	int at = fcntl(unpack->root, F_DUPFD_CLOEXEC, 0);

	for (size_t i = 0; i < count && at >= 0; i++) {
		int up cleanup_close = at;
		if (mkdirat(up, name->items[i], 0755) < 0 && errno != EEXIST)
			return fail(unpack);
		at = openat(up, name->items[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (at < 0 && (errno == ELOOP || errno == ENOTDIR))
			return refuse(unpack, "goes through something that is no directory");
	}
	return at < 0 ? fail(unpack) : at;
}

/* Makes room for an entry that comes a second time, as tar's appended ones do. */
static int clear(struct unpack *unpack, int at, const char *leaf)
{
	if (unlinkat(at, leaf, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno == EISDIR || errno == EPERM)
		return refuse(unpack, "is a directory and something else at once");
	return fail(unpack);
}

static int count_bytes(struct unpack *unpack, uint64_t more)
{
	int64_t packed = libarchive.archive_filter_bytes(unpack->archive, -1);

	unpack->bytes += more;
	if (unpack->bytes > unpack->limits->bytes)
		return err_set(unpack->err, ERR_INPUT,
			       "takes the archive over the limit of %llu unpacked bytes",
			       (unsigned long long)unpack->limits->bytes);
	if (unpack->bytes > unpack->limits->ratio_from &&
	    unpack->bytes / (packed > 0 ? (uint64_t)packed : 1) >= unpack->limits->ratio)
		return err_set(unpack->err, ERR_INPUT,
			       "unpacks to more than %llu times its size: this looks like a bomb",
			       (unsigned long long)unpack->limits->ratio);
	return 0;
}

/* By its first bytes, which one read of an archive gives as a whole. */
static bool is_program(const char *bytes, size_t length)
{
	return (length > 2 && memcmp(bytes, "#!", 2) == 0) ||
	       (length > 4 && memcmp(bytes, "\177ELF", 4) == 0);
}

static int copy_content(struct unpack *unpack, int fd, bool *looks_like_program)
{
	char block[BLOCK];
	la_ssize_t got;
	bool is_first = true;

	while ((got = libarchive.archive_read_data(unpack->archive, block, sizeof(block))) > 0) {
		if (count_bytes(unpack, (uint64_t)got) < 0 ||
		    fs_write_all(fd, block, (size_t)got, unpack->err) < 0)
			return -1;
		if (is_first)
			*looks_like_program = is_program(block, (size_t)got);
		is_first = false;
	}
	if (got < 0)
		return err_set(unpack->err, ERR_INPUT, "is damaged: %s",
			       libarchive.archive_error_string(unpack->archive));
	return 0;
}

static void note_executable(struct unpack *unpack, mode_t mode, bool looks_like_program,
			    const struct str_list *name)
{
	if (mode & 0111) {
		unpack->has_executable = true;
		str_list_finish(&unpack->programs);
	} else if (looks_like_program && !unpack->has_executable && !unpack->is_copy) {
		char *joined cleanup_free = str_list_join(name, "/");
		str_list_add(&unpack->programs, joined);
	}
}

/* A file of an archive may have been replaced by a later entry, so it is looked at once more. */
static int make_executable(struct unpack *unpack, const char *name)
{
	struct str_list components cleanup_str_list = {0};
	struct stat info;

	archive_name_split(name, &components);
	int at cleanup_close = open_parent(unpack, &components, components.count - 1);
	if (at < 0)
		return -1;
	const char *leaf = components.items[components.count - 1];
	int fd cleanup_close = openat(at, leaf, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))
		return 0;
	return fchmod(fd, (info.st_mode & 0777) | ((info.st_mode & 0444) >> 2)) < 0 ? fail(unpack)
										    : 0;
}

/* Of an archive in which nothing is executable, its writer has not kept modes. */
static int make_programs_executable(struct unpack *unpack)
{
	for (size_t i = 0; i < unpack->programs.count; i++)
		if (make_executable(unpack, unpack->programs.items[i]) < 0)
			return err_wrap(unpack->err, "entry \"%s\"", unpack->programs.items[i]);
	return 0;
}

static int unpack_file(struct unpack *unpack, struct archive_entry *entry, int at,
		       const struct str_list *name)
{
	const char *leaf = name->items[name->count - 1];
	bool looks_like_program = false;
	mode_t mode = libarchive.archive_entry_perm(entry);
	const struct timespec times[] = {{.tv_nsec = UTIME_OMIT},
					 {.tv_sec = libarchive.archive_entry_mtime(entry)}};

	if (mode & (S_ISUID | S_ISGID))
		return refuse_or_leave_out(unpack, name, "is a set-user-id or set-group-id file");
	if (libarchive.archive_entry_size_is_set(entry) &&
	    (uint64_t)libarchive.archive_entry_size(entry) > unpack->limits->bytes)
		return refuse(unpack, "is larger than the limit for unpacked bytes");
	if (clear(unpack, at, leaf) < 0)
		return -1;
	int fd cleanup_close =
		openat(at, leaf, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail(unpack);
	if (copy_content(unpack, fd, &looks_like_program) < 0)
		return -1;
	note_executable(unpack, mode, looks_like_program, name);
	if (fchmod(fd, mode & 0777 & ~unpack->mask) < 0 ||
	    (libarchive.archive_entry_mtime_is_set(entry) && futimens(fd, times) < 0))
		return fail(unpack);
	return 0;
}

/* What is unpacked must be removable again, so the owner keeps all rights on directories. */
static int unpack_directory(struct unpack *unpack, struct archive_entry *entry,
			    const struct str_list *name)
{
	int fd cleanup_close = open_parent(unpack, name, name->count);

	if (fd < 0)
		return -1;
	mode_t mode = libarchive.archive_entry_perm(entry) & 0777 & ~unpack->mask;
	return fchmod(fd, mode | 0700) < 0 ? fail(unpack) : 0;
}

static int unpack_symlink(struct unpack *unpack, struct archive_entry *entry, int at,
			  const struct str_list *name)
{
	const char *target = libarchive.archive_entry_symlink(entry);
	const char *leaf = name->items[name->count - 1];

	if (!target || !archive_link_stays(target, name->count - 1)) {
		char *why cleanup_free = mem_printf(
			unpack->is_copy
				? "is a symbolic link that leads out, to \"%s\""
				: "is a symbolic link that leads out of the archive, to \"%s\"; "
				  "pack "
				  "what it points to (python3 -m venv --copies, zip without -y)",
			target ? target : "");
		return refuse_or_leave_out(unpack, name, why);
	}
	if (clear(unpack, at, leaf) < 0)
		return -1;
	return symlinkat(target, at, leaf) < 0 ? fail(unpack) : 0;
}

/* To a file that came earlier in the same archive. */
static int unpack_hard_link(struct unpack *unpack, const char *target, int at,
			    const struct str_list *name)
{
	const char *leaf = name->items[name->count - 1];
	struct str_list from cleanup_str_list = {0};
	struct stat info, own;

	if (archive_name_split(target, &from) || from.count == 0)
		return refuse(unpack, "is a hard link that leads out of the archive");
	int from_at cleanup_close = open_parent(unpack, &from, from.count - 1);
	const char *from_leaf = from.items[from.count - 1];
	if (from_at < 0)
		return -1;
	if (fstatat(from_at, from_leaf, &info, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(info.st_mode))
		return refuse_or_leave_out(unpack, name,
					   "is a hard link to no file of the archive");
	if (fstatat(at, leaf, &own, AT_SYMLINK_NOFOLLOW) == 0 && own.st_ino == info.st_ino)
		return 0; /* to itself: clearing it would lose the content */
	if (clear(unpack, at, leaf) < 0)
		return -1;
	return linkat(from_at, from_leaf, at, leaf, 0) < 0 ? fail(unpack) : 0;
}

static int unpack_named(struct unpack *unpack, struct archive_entry *entry,
			const struct str_list *name)
{
	const char *hard_link = libarchive.archive_entry_hardlink(entry);

	if (libarchive.archive_entry_is_encrypted(entry))
		return refuse(unpack, "is encrypted");
	if (!hard_link && libarchive.archive_entry_filetype(entry) == AE_IFDIR)
		return unpack_directory(unpack, entry, name);
	if (name->count == 0)
		return refuse(unpack, "has no name");
	int at cleanup_close = open_parent(unpack, name, name->count - 1);
	if (at < 0)
		return -1;
	if (hard_link)
		return unpack_hard_link(unpack, hard_link, at, name);
	switch (libarchive.archive_entry_filetype(entry)) {
	case AE_IFREG:
		return unpack_file(unpack, entry, at, name);
	case AE_IFLNK:
		return unpack_symlink(unpack, entry, at, name);
	default:
		return refuse_or_leave_out(unpack, name, "is a device, a socket or a FIFO");
	}
}

static int unpack_entry(struct unpack *unpack, struct archive_entry *entry)
{
	struct str_list components cleanup_str_list = {0};
	const char *name = libarchive.archive_entry_pathname(entry);

	if (++unpack->entries > unpack->limits->entries)
		return err_set(unpack->err, ERR_INPUT, "more than %llu entries",
			       (unsigned long long)unpack->limits->entries);
	if (!name)
		return refuse(unpack, "an entry's name cannot be read");
	const char *wrong = archive_name_split(name, &components);
	if ((wrong ? refuse(unpack, wrong) : unpack_named(unpack, entry, &components)) == 0)
		return 0;
	char *shown cleanup_free = str_printable(name, strnlen(name, 200));
	return err_wrap(unpack->err, "entry \"%s\"", shown);
}

static int cannot_read(struct archive *archive, struct err *err)
{
	const char *why = libarchive.archive_error_string(archive);

	return err_set(err, ERR_INPUT,
		       "not a whole zip, tar, tar.gz, tar.zst, tar.xz or tar.bz2: %s",
		       why ? why : "it cannot be read");
}

static int unpack_all(struct unpack *unpack)
{
	struct archive_entry *entry;
	int got;

	while ((got = libarchive.archive_read_next_header(unpack->archive, &entry)) == ARCHIVE_OK ||
	       got == ARCHIVE_WARN)
		if (unpack_entry(unpack, entry) < 0)
			return -1;
	if (got != ARCHIVE_EOF)
		return cannot_read(unpack->archive, unpack->err);
	return make_programs_executable(unpack);
}

static struct archive *new_reader(void)
{
	struct archive *archive = libarchive.archive_read_new();

	if (!archive)
		BUG("libarchive does not start");
	libarchive.archive_read_support_filter_gzip(archive);
	libarchive.archive_read_support_filter_bzip2(archive);
	libarchive.archive_read_support_filter_xz(archive);
	libarchive.archive_read_support_filter_zstd(archive);
	libarchive.archive_read_support_format_tar(archive);
	libarchive.archive_read_support_format_zip(archive);
	return archive;
}

static int unpack_into(struct archive *archive, const char *target,
		       const struct archive_limits *limits, bool is_copy, struct err *err)
{
	struct unpack unpack = {.archive = archive,
				.limits = limits ? limits : &default_limits,
				.is_copy = is_copy,
				.err = err};
	int root cleanup_close = -1;

	if (mkdir(target, 0755) < 0)
		return err_set_errno(err, "%s", target);
	root = open(target, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (root < 0)
		return err_set_errno(err, "%s", target);
	unpack.root = root;
	if (is_copy) {
		unpack.mask = umask(0);
		umask(unpack.mask);
	}
	locale_t utf8, before = archive_names_begin(&utf8);
	int result = unpack_all(&unpack);
	archive_names_end(before, utf8);
	str_list_finish(&unpack.programs);
	if (result < 0)
		fs_remove_tree(target, NULL);
	return result;
}

static int unpack_fd(int fd, const char *target, const struct archive_limits *limits, bool is_copy,
		     struct err *err)
{
	struct archive *archive = new_reader();
	int result;

	if (libarchive.archive_read_open_fd(archive, fd, BLOCK) != ARCHIVE_OK)
		result = cannot_read(archive, err);
	else
		result = unpack_into(archive, target, limits, is_copy, err);
	libarchive.archive_read_free(archive);
	return result;
}

int archive_unpack_stream(int fd, const char *target, const struct archive_limits *limits,
			  struct err *err)
{
	return archive_library_load(err) < 0 ? -1 : unpack_fd(fd, target, limits, true, err);
}

static int open_file(const char *path, struct err *err)
{
	int fd cleanup_close = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat info;

	if (fd < 0 || fstat(fd, &info) < 0)
		return err_set_errno(err, "archive %s", path);
	if (!S_ISREG(info.st_mode))
		return err_set(err, ERR_INPUT, "archive %s: not a file", path);
	return mem_steal_fd(&fd);
}

int archive_unpack(const char *path, const char *target, const struct archive_limits *limits,
		   struct err *err)
{
	int fd cleanup_close = open_file(path, err);

	if (fd < 0 || archive_library_load(err) < 0)
		return -1;
	if (unpack_fd(fd, target, limits, false, err) < 0)
		return err_wrap(err, "archive %s", path);
	return 0;
}

int archive_unpack_bytes(const void *bytes, size_t length, const char *target,
			 const struct archive_limits *limits, struct err *err)
{
	int result;

	if (archive_library_load(err) < 0)
		return -1;
	struct archive *archive = new_reader();
	if (libarchive.archive_read_open_memory(archive, bytes, length) != ARCHIVE_OK)
		result = cannot_read(archive, err);
	else
		result = unpack_into(archive, target, limits, false, err);
	libarchive.archive_read_free(archive);
	return result;
}

static int visit_all(struct archive *archive, bool (*visit)(void *data, const char *name),
		     void *data, struct err *err)
{
	struct archive_entry *entry;
	int got;

	while ((got = libarchive.archive_read_next_header(archive, &entry)) == ARCHIVE_OK ||
	       got == ARCHIVE_WARN) {
		const char *name = libarchive.archive_entry_pathname(entry);
		if (name && !visit(data, name))
			return 0;
	}
	return got == ARCHIVE_EOF ? 0 : cannot_read(archive, err);
}

int archive_visit(const char *path, bool (*visit)(void *data, const char *name), void *data,
		  struct err *err)
{
	int fd cleanup_close = open_file(path, err);
	int result;

	if (fd < 0 || archive_library_load(err) < 0)
		return -1;
	struct archive *archive = new_reader();
	locale_t utf8, before = archive_names_begin(&utf8);
	if (libarchive.archive_read_open_fd(archive, fd, BLOCK) != ARCHIVE_OK)
		result = cannot_read(archive, err);
	else
		result = visit_all(archive, visit, data, err);
	archive_names_end(before, utf8);
	libarchive.archive_read_free(archive);
	return result < 0 ? err_wrap(err, "archive %s", path) : 0;
}

bool archive_is_archive(const char *path)
{
	static const struct {
		size_t offset;
		const char *bytes;
		size_t length;
	} magics[] = {
		{0, "PK\3\4", 4},
		{0, "PK\5\6", 4},
		{0, "\x1f\x8b", 2},
		{0, "BZh", 3},
		{0,
		 "\xfd"
		 "7zXZ",
		 5},
		{0, "\x28\xb5\x2f\xfd", 4},
		{257, "ustar", 5},
	};
	char head[512] = {0};
	int fd cleanup_close = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got = fd < 0 ? -1 : read(fd, head, sizeof(head));

	for (size_t i = 0; got > 0 && i < array_length(magics); i++)
		if (memcmp(head + magics[i].offset, magics[i].bytes, magics[i].length) == 0)
			return true;
	return false;
}
