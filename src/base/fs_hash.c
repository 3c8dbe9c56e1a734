#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"

enum { DEPTH_CAP = 128 };

struct hash {
	EVP_MD_CTX *digest;
	struct str path; /* of the entry at hand, for messages */
	struct err *err;
};

static void update(struct hash *hash, const void *bytes, size_t length)
{
	if (EVP_DigestUpdate(hash->digest, bytes, length) != 1)
		BUG("SHA-256 does not work");
}

static int fail(struct hash *hash)
{
	return err_set_errno(hash->err, "%s", str_text(&hash->path));
}

/* The header of an entry: what it is, then its name, each ended so that no two trees read alike. */
static void update_header(struct hash *hash, char kind, mode_t mode, const char *name, size_t size)
{
	char *head cleanup_free =
		mem_printf("%c %04o %zu %zu ", kind, (unsigned)mode & 07777u, strlen(name), size);

	update(hash, head, strlen(head));
	update(hash, name, strlen(name));
}

static int hash_content(struct hash *hash, int fd)
{
	char buffer[65536];

	for (;;) {
		ssize_t got = read(fd, buffer, sizeof(buffer));
		if (got == 0)
			return 0;
		if (got < 0 && errno != EINTR)
			return fail(hash);
		if (got > 0)
			update(hash, buffer, (size_t)got);
	}
}

static int hash_file(struct hash *hash, int at, const char *name)
{
	int fd cleanup_close = openat(at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat info;

	if (fd < 0 || fstat(fd, &info) < 0)
		return fail(hash);
	update_header(hash, 'f', info.st_mode, name, (size_t)info.st_size);
	return hash_content(hash, fd);
}

static int hash_link(struct hash *hash, int at, const char *name)
{
	char target[4096];
	ssize_t length = readlinkat(at, name, target, sizeof(target));

	if (length < 0)
		return fail(hash);
	update_header(hash, 'l', 0, name, (size_t)length);
	update(hash, target, (size_t)length);
	return 0;
}

static int list_names(struct hash *hash, int fd, struct str_list *names)
{
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir cleanup_dir = again < 0 ? NULL : fdopendir(again);
	const struct dirent *entry;

	if (!dir)
		return fail(hash);
	while ((entry = readdir(dir))) {
		if (!str_equal(entry->d_name, ".") && !str_equal(entry->d_name, ".."))
			str_list_add(names, entry->d_name);
	}
	str_list_sort(names);
	return 0;
}

static int hash_directory(struct hash *hash, int fd, int depth);

static int hash_entry(struct hash *hash, int at, const char *name, int depth)
{
	struct stat info;

	if (fstatat(at, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(hash);
	if (S_ISREG(info.st_mode))
		return hash_file(hash, at, name);
	if (S_ISLNK(info.st_mode))
		return hash_link(hash, at, name);
	if (!S_ISDIR(info.st_mode))
		return err_set(hash->err, ERR_INPUT,
			       "%s: is neither a file, a directory nor a symbolic link",
			       str_text(&hash->path));
	int fd cleanup_close = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fail(hash);
	update_header(hash, 'd', info.st_mode, name, 0);
	return hash_directory(hash, fd, depth + 1);
}

static int hash_directory(struct hash *hash, int fd, int depth)
{
	struct str_list names cleanup_str_list = {0};
	size_t length = hash->path.length;

	if (depth > DEPTH_CAP)
		return err_set(hash->err, ERR_INPUT, "%s: nested deeper than %d directories",
			       str_text(&hash->path), DEPTH_CAP);
	if (list_names(hash, fd, &names) < 0)
		return -1;
	for (size_t i = 0; i < names.count; i++) {
		str_append_char(&hash->path, '/');
		str_append(&hash->path, names.items[i]);
		if (hash_entry(hash, fd, names.items[i], depth) < 0)
			return -1;
		str_truncate(&hash->path, length);
	}
	update(hash, "e ", 2); /* the end of this directory */
	return 0;
}

static int hash_root(struct hash *hash, const char *path)
{
	int fd cleanup_close = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat info;

	if (fd < 0 || fstat(fd, &info) < 0)
		return fail(hash);
	if (S_ISDIR(info.st_mode))
		return hash_directory(hash, fd, 0);
	if (S_ISREG(info.st_mode))
		return hash_content(hash, fd);
	return err_set(hash->err, ERR_INPUT, "%s: is neither a file nor a directory", path);
}

static char *hex(const unsigned char *bytes, size_t length)
{
	struct str text = {0};

	for (size_t i = 0; i < length; i++)
		str_append_format(&text, "%02x", bytes[i]);
	return str_steal(&text);
}

char *fs_hash_tree(const char *path, struct err *err)
{
	struct hash hash = {.err = err};
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned int length;
	char *text = NULL;

	hash.digest = EVP_MD_CTX_new();
	if (!hash.digest || EVP_DigestInit_ex(hash.digest, EVP_sha256(), NULL) != 1)
		BUG("SHA-256 does not work");
	str_append(&hash.path, path);
	if (hash_root(&hash, path) == 0 && EVP_DigestFinal_ex(hash.digest, sum, &length) == 1)
		text = hex(sum, length);
	EVP_MD_CTX_free(hash.digest);
	str_finish(&hash.path);
	return text;
}
