#include "client/archive_pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/keeper.h"
#include "base/mem.h"
#include "client/archive.h"
#include "client/archive_library.h"
#include "client/archive_name.h"

enum { BLOCK = 1 << 16, MODE_BITS = 0777 };

struct pack {
	struct archive *disk, *out;
	const char *source;
	const char *name; /* of `source` itself; NULL: it has no entry, names are relative to it */
	struct err *err;
};

static int fail(struct pack *pack, const char *what, struct archive *archive)
{
	const char *why = libarchive.archive_error_string(archive);

	if (archive == pack->out && libarchive.archive_errno(archive) > 0)
		return err_set(pack->err, ERR_IO, "cannot write the archive: %s",
			       strerror(libarchive.archive_errno(archive)));
	return err_set(pack->err, ERR_IO, "cannot pack %s: %s", what, why ? why : "it failed");
}

/* The archive would fill up with zeros a file that became shorter than its entry says. */
static int copy_content(struct pack *pack, const char *path, int64_t size)
{
	char *block cleanup_free = mem_alloc(BLOCK);
	la_ssize_t got;

	for (int64_t left = size; left > 0; left -= got) {
		got = libarchive.archive_read_data(pack->disk, block, BLOCK);
		if (got == 0) /* before a hole at the end, too */
			got = libarchive.archive_read_data(pack->disk, block, BLOCK);
		if (got < 0)
			return fail(pack, path, pack->disk);
		if (got == 0)
			return err_set(pack->err, ERR_IO,
				       "cannot pack %s: it became shorter meanwhile", path);
		if (libarchive.archive_write_data(pack->out, block, (size_t)got) != got)
			return fail(pack, path, pack->out);
	}
	return 0;
}

static int add_entry(struct pack *pack, struct archive_entry *entry)
{
	char *path cleanup_free = mem_strdup(libarchive.archive_entry_pathname(entry));
	mode_t type = libarchive.archive_entry_filetype(entry);

	if (!path || (!pack->name && strlen(path) <= strlen(pack->source)))
		return 0; /* the directory itself */
	if (type != AE_IFREG && type != AE_IFDIR && type != AE_IFLNK)
		return err_set(pack->err, ERR_INPUT,
			       "cannot pack %s: it is neither a file, a directory nor a link",
			       path);
	const char *rest = path + strlen(pack->source);
	char *named cleanup_free =
		pack->name ? mem_printf("%s%s", pack->name, rest) : mem_strdup(rest + 1);
	libarchive.archive_entry_set_pathname(entry, named);
	libarchive.archive_entry_set_perm(entry, libarchive.archive_entry_perm(entry) & MODE_BITS);
	libarchive.archive_entry_set_uid(entry, 0);
	libarchive.archive_entry_set_gid(entry, 0);
	libarchive.archive_entry_set_uname(entry, NULL);
	libarchive.archive_entry_set_gname(entry, NULL);
	libarchive.archive_entry_set_hardlink(entry, NULL);
	libarchive.archive_entry_xattr_clear(entry);
	libarchive.archive_entry_acl_clear(entry);
	if (libarchive.archive_write_header(pack->out, entry) < ARCHIVE_WARN)
		return fail(pack, path, pack->out);
	return type == AE_IFREG ? copy_content(pack, path, libarchive.archive_entry_size(entry))
				: 0;
}

static int add_all(struct pack *pack)
{
	struct archive_entry *entry = libarchive.archive_entry_new();
	int more, result = 0;

	while (result == 0 &&
	       (more = libarchive.archive_read_next_header2(pack->disk, entry)) != ARCHIVE_EOF) {
		if (more < ARCHIVE_WARN)
			result = fail(pack, pack->source, pack->disk);
		else
			result = add_entry(pack, entry);
		libarchive.archive_read_disk_descend(pack->disk);
		libarchive.archive_entry_clear(entry);
	}
	libarchive.archive_entry_free(entry);
	return result;
}

static int add_last(struct pack *pack, const char *last)
{
	struct archive_entry *entry = libarchive.archive_entry_new();

	libarchive.archive_entry_set_pathname(entry, last);
	libarchive.archive_entry_set_filetype(entry, AE_IFREG);
	libarchive.archive_entry_set_perm(entry, 0600);
	libarchive.archive_entry_set_size(entry, 0);
	int written = libarchive.archive_write_header(pack->out, entry);
	libarchive.archive_entry_free(entry);
	return written < ARCHIVE_WARN ? fail(pack, last, pack->out) : 0;
}

/* `last` NULL: there is no such entry. */
static int pack_tree(struct pack *pack, const char *last, int fd)
{
	int result;

	pack->disk = libarchive.archive_read_disk_new();
	libarchive.archive_read_disk_set_symlink_physical(pack->disk);
	if (libarchive.archive_write_open_fd(pack->out, fd) != ARCHIVE_OK)
		result = fail(pack, pack->source, pack->out);
	else if (libarchive.archive_read_disk_open(pack->disk, pack->source) != ARCHIVE_OK)
		result = fail(pack, pack->source, pack->disk);
	else
		result = add_all(pack);
	if (result == 0 && last)
		result = add_last(pack, last);
	if (libarchive.archive_write_close(pack->out) != ARCHIVE_OK && result == 0)
		result = fail(pack, pack->source, pack->out);
	libarchive.archive_write_free(pack->out);
	libarchive.archive_read_free(pack->disk);
	return result;
}

static int pack_directory(const char *source, int fd, struct err *err)
{
	struct pack pack = {.out = libarchive.archive_write_new(), .source = source, .err = err};

	libarchive.archive_write_set_format_pax_restricted(pack.out);
	libarchive.archive_write_add_filter_gzip(pack.out);
	/* A little larger than at its best, in a third of the time. */
	libarchive.archive_write_set_filter_option(pack.out, "gzip", "compression-level", "1");
	return pack_tree(&pack, NULL, fd);
}

int archive_pack_named(const char *source, const char *name, const char *last, int fd,
		       struct err *err)
{
	if (archive_library_load(err) < 0)
		return -1;
	struct pack pack = {
		.out = libarchive.archive_write_new(), .source = source, .name = name, .err = err};
	/* busybox knows no pax: neither its holes nor its names. */
	libarchive.archive_write_set_format_gnutar(pack.out);
	locale_t utf8, before = archive_names_begin(&utf8);
	int result = pack_tree(&pack, last, fd);
	archive_names_end(before, utf8);
	return result;
}

static int pack_again(const char *source, int fd, struct err *err)
{
	struct keeper made cleanup_keeper = {0};

	if (keeper_make_directory(&made, "tony-pack", err) < 0)
		return -1;
	int held cleanup_close = keeper_open(&made, err);
	if (held < 0)
		return -1;
	char *content cleanup_free = mem_printf("/proc/self/fd/%d/content", held);
	if (archive_unpack(source, content, NULL, err) < 0 || pack_directory(content, fd, err) < 0)
		return err_rename(err, content, source);
	return 0;
}

int archive_pack(const char *source, int fd, struct err *err)
{
	if (archive_library_load(err) < 0)
		return -1;
	if (!fs_is_directory(source))
		return pack_again(source, fd, err);
	char *path cleanup_free = mem_strdup(source);
	size_t length = strlen(path);
	while (length > 1 && path[length - 1] == '/')
		path[--length] = '\0';
	return pack_directory(path, fd, err);
}
