#include "am/kept_kv.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "am/kv_file.h"
#include "base/log.h"
#include "base/mem.h"

struct kept_kv {
	const char *what;
	struct kv *kv;
	struct kv_file *file; /* NULL: it is not kept */
	char *path;
	bool has_changed, keeps_beginning, is_behind;
};

struct kept_kv *kept_kv_open(const char *what, size_t total_max, const char *path)
{
	struct kept_kv *kept = mem_alloc(sizeof(*kept));
	struct err err cleanup_err = {0};

	kept->what = what;
	kept->kv = kv_create(total_max);
	kept->path = mem_strdup(path);
	if (path)
		kept->file = kv_file_open(path, kept->kv, &err);
	if (err.kind != ERR_NONE)
		log_warning("%s is not kept: %s", what, err_message(&err));
	return kept;
}

void kept_kv_close(struct kept_kv *kept)
{
	if (!kept)
		return;
	kv_file_close(kept->file);
	kv_destroy(kept->kv);
	free(kept->path);
	free(kept);
}

void kept_kv_keep_beginning(struct kept_kv *kept)
{
	kept->keeps_beginning = true;
}

int kept_kv_mend(struct kept_kv *kept, struct err *err)
{
	if (!kept->is_behind)
		return 0;
	if (kv_file_write_anew(kept->file, kept->kv, err) < 0)
		return -1;
	log_info("%s is kept again", kept->what);
	kept->is_behind = false;
	return 0;
}

static void keep(struct kept_kv *kept, bool is_put, const char *key, const void *value,
		 size_t length)
{
	struct kv_change change = {.is_put = is_put, .value = value, .length = length};
	struct err err cleanup_err = {0};

	if (!kept->file)
		return;
	memcpy(change.key, key, strlen(key) + 1);
	kept->has_changed = true;
	if (kept->is_behind || kv_file_add(kept->file, &change, kept->kv, &err) == 0)
		return;
	log_warning("%s is not kept any more: %s", kept->what, err_message(&err));
	kept->is_behind = kept->keeps_beginning;
	if (kept->is_behind)
		return;
	kv_file_close(kept->file);
	kept->file = NULL;
	unlink(kept->path);
}

enum kv_result kept_kv_put(struct kept_kv *kept, const char *key, const void *value, size_t length)
{
	enum kv_result result = kv_put(kept->kv, key, value, length);

	if (result == KV_OK)
		keep(kept, true, key, value, length);
	return result;
}

enum kv_result kept_kv_get(const struct kept_kv *kept, const char *key, const void **value,
			   size_t *length)
{
	return kv_get(kept->kv, key, value, length);
}

enum kv_result kept_kv_delete(struct kept_kv *kept, const char *key)
{
	enum kv_result result = kv_delete(kept->kv, key);

	if (result == KV_OK)
		keep(kept, false, key, NULL, 0);
	return result;
}

void kept_kv_each(const struct kept_kv *kept,
		  void (*value)(void *data, const char *key, const void *value, size_t length),
		  void *data)
{
	kv_each(kept->kv, value, data);
}

size_t kept_kv_total(const struct kept_kv *kept)
{
	return kv_total(kept->kv);
}

const char *kept_kv_changed(struct kept_kv *kept)
{
	bool has_changed = kept->has_changed && kept->file;

	kept->has_changed = false;
	return has_changed ? kept->path : NULL;
}

struct search {
	const char *prefix;
	struct str_list keys;
};

static void add_key(void *data, const char *key, const void *value, size_t length)
{
	struct search *search = data;

	if (str_starts_with(key, search->prefix))
		str_list_add(&search->keys, key);
}

void kept_kv_delete_under(struct kept_kv *kept, const char *prefix)
{
	struct search search = {.prefix = prefix};

	kv_each(kept->kv, add_key, &search);
	for (size_t i = 0; i < search.keys.count; i++)
		kept_kv_delete(kept, search.keys.items[i]);
	str_list_finish(&search.keys);
}
