#include "am/kv_file.h"

#include <endian.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/fs.h"
#include "base/mem.h"

enum { PUT = 1, DELETE = 2, SLACK = 1 << 20 /* bytes of no use that are no matter */ };

/* Twice what a store may hold, and the slack. */
#define FILE_CAP (2 * KV_TOTAL_MAX + ((size_t)64 << 20))

struct header {
	uint32_t checksum, operation, key_length, value_length;
};

struct kv_file {
	char *path;
	int fd;
	size_t length;
};

/* ---- one change --------------------------------------------------------------------------- */

void kv_change_append(const struct kv_change *change, struct str *bytes)
{
	size_t begin = bytes->length, key_length = strlen(change->key);
	struct header header = {
		.operation = htole32(change->is_put ? PUT : DELETE),
		.key_length = htole32((uint32_t)key_length),
		.value_length = htole32((uint32_t)change->length),
	};

	str_append_bytes(bytes, (const char *)&header, sizeof(header));
	str_append_bytes(bytes, change->key, key_length);
	if (change->length > 0)
		str_append_bytes(bytes, change->value, change->length);
	const char *checked = bytes->text + begin + sizeof(header.checksum);
	uint32_t checksum =
		htole32(crc32c(checked, bytes->length - begin - sizeof(header.checksum)));
	memcpy(bytes->text + begin, &checksum, sizeof(checksum));
}

static bool is_sound(const struct header *header, size_t length)
{
	bool is_delete = header->operation == DELETE;

	return (is_delete || header->operation == PUT) && header->key_length > 0 &&
	       header->key_length <= KV_KEY_MAX && header->value_length <= KV_VALUE_MAX &&
	       (!is_delete || header->value_length == 0) &&
	       sizeof(*header) + header->key_length + header->value_length <= length;
}

size_t kv_change_parse(const void *bytes, size_t length, struct kv_change *change)
{
	const char *begin = bytes, *key = begin + sizeof(struct header);
	struct header header;

	if (length < sizeof(header))
		return 0;
	memcpy(&header, bytes, sizeof(header));
	header = (struct header){le32toh(header.checksum), le32toh(header.operation),
				 le32toh(header.key_length), le32toh(header.value_length)};
	if (!is_sound(&header, length))
		return 0;
	size_t whole = sizeof(header) + header.key_length + header.value_length;
	if (crc32c(begin + sizeof(header.checksum), whole - sizeof(header.checksum)) !=
		    header.checksum ||
	    memchr(key, '\0', header.key_length))
		return 0;
	*change = (struct kv_change){.is_put = header.operation == PUT,
				     .length = header.value_length};
	memcpy(change->key, key, header.key_length);
	change->value = change->is_put ? key + header.key_length : NULL;
	return whole;
}

/* ---- the file ----------------------------------------------------------------------------- */

static size_t replay(const char *bytes, size_t length, struct kv *kv)
{
	struct kv_change change;
	size_t at = 0, whole;

	while ((whole = kv_change_parse(bytes + at, length - at, &change)) > 0) {
		if (change.is_put)
			kv_put(kv, change.key, change.value, change.length);
		else
			kv_delete(kv, change.key);
		at += whole;
	}
	return at;
}

static int read_all(struct kv_file *file, struct kv *kv, struct err *err)
{
	size_t length;
	char *bytes cleanup_free = fs_read_file(file->path, FILE_CAP, &length, err);

	if (!bytes)
		return -1;
	file->length = replay(bytes, length, kv);
	if (ftruncate(file->fd, (off_t)file->length) < 0)
		return err_set_errno(err, "%s", file->path);
	return 0;
}

struct kv_file *kv_file_open(const char *path, struct kv *kv, struct err *err)
{
	struct kv_file *file = mem_alloc(sizeof(*file));

	file->path = mem_strdup(path);
	file->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (file->fd < 0)
		err_set_errno(err, "%s", path);
	else if (read_all(file, kv, err) == 0)
		return file;
	kv_file_close(file);
	return NULL;
}

void kv_file_close(struct kv_file *file)
{
	if (!file)
		return;
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file);
}

static int append(struct kv_file *file, const struct kv_change *change, struct err *err)
{
	struct str bytes cleanup_str = {0};

	kv_change_append(change, &bytes);
	if (fs_write_all(file->fd, bytes.text, bytes.length, err) < 0)
		return err_wrap(err, "%s", file->path);
	file->length += bytes.length;
	return 0;
}

struct copy {
	struct kv_file draft;
	struct err *err;
	int result;
};

static void copy_value(void *data, const char *key, const void *value, size_t length)
{
	struct copy *copy = data;
	struct kv_change change = {.is_put = true, .value = value, .length = length};

	memcpy(change.key, key, strlen(key) + 1);
	if (copy->result == 0)
		copy->result = append(&copy->draft, &change, copy->err);
}

int kv_file_write_anew(struct kv_file *file, const struct kv *kv, struct err *err)
{
	char *path cleanup_free = mem_printf("%s.draft", file->path);
	struct copy copy = {.err = err};

	copy.draft.path = path;
	copy.draft.fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	if (copy.draft.fd < 0)
		return err_set_errno(err, "%s", path);
	kv_each(kv, copy_value, &copy);
	if (copy.result == 0 && rename(path, file->path) < 0)
		copy.result = err_set_errno(err, "%s", file->path);
	if (copy.result < 0) {
		close(copy.draft.fd);
		unlink(path);
		return -1;
	}
	close(file->fd);
	file->fd = copy.draft.fd;
	file->length = copy.draft.length;
	return 0;
}

int kv_file_add(struct kv_file *file, const struct kv_change *change, const struct kv *kv,
		struct err *err)
{
	if (append(file, change, err) < 0)
		return -1;
	return file->length > 2 * kv_total(kv) + SLACK ? kv_file_write_anew(file, kv, err) : 0;
}
