#include "am/horovod/ring_file.h"

#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"

#define FILE_CAP ((size_t)16 << 20)

int ring_file_write(const char *path, const struct ring *ring, const struct map *services,
		    struct err *err)
{
	struct str_list names cleanup_str_list = {0};
	json_t *file cleanup_json = json_object();
	json_t *all = json_object();
	const char *name;
	void *value;

	ring_list(ring, &names);
	json_set_list(file, "ring", &names);
	for (size_t i = 0; map_next(services, &i, &name, &value);) {
		const struct worker_service *service = value;
		struct str key cleanup_str = {0};
		for (size_t k = 0; k < sizeof(service->key); k++)
			str_append_format(&key, "%02x", service->key[k]);
		json_object_set_new(
			all, name,
			json_pack("{s:i, s:s}", "port", service->port, "key", str_text(&key)));
	}
	json_object_set_new(file, "services", all);
	char *text cleanup_free = json_text(file);
	return fs_write_volatile(path, text, strlen(text), 0600, err);
}

static int digit_of(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = c ? strchr(digits, c) : NULL;

	return found ? (int)(found - digits) : -1;
}

static int read_key(const char *hex, unsigned char key[WORKER_SERVICE_KEY_BYTES])
{
	if (strlen(hex) != 2 * WORKER_SERVICE_KEY_BYTES)
		return -1;
	for (size_t i = 0; i < WORKER_SERVICE_KEY_BYTES; i++) {
		int high = digit_of(hex[2 * i]), low = digit_of(hex[2 * i + 1]);
		if (high < 0 || low < 0)
			return -1;
		key[i] = (unsigned char)(high * 16 + low);
	}
	return 0;
}

static int read_service(const json_t *json, struct worker_service *service, struct err *err)
{
	char *key cleanup_free = NULL;
	int64_t port;

	if (json_need_int(json, "port", 1, 65535, &port, err) < 0 ||
	    json_need_text(json, "key", &key, err) < 0)
		return -1;
	service->port = (int)port;
	return read_key(key, service->key) < 0 ? err_set(err, ERR_INPUT, "key: is none") : 0;
}

static int read_services(const json_t *all, struct map *services, struct err *err)
{
	const char *name;
	json_t *json;

	json_object_foreach((json_t *)all, name, json)
	{
		struct worker_service *service = mem_alloc(sizeof(*service));
		map_set(services, name, service);
		if (read_service(json, service, err) < 0)
			return err_wrap(err, "%s", name);
	}
	return 0;
}

int ring_file_read(const char *path, struct ring *ring, struct map *services, struct err *err)
{
	struct str_list names cleanup_str_list = {0};
	size_t length;

	if (access(path, F_OK) != 0)
		return 0;
	char *text cleanup_free = fs_read_file(path, FILE_CAP, &length, err);
	json_t *file cleanup_json = text ? json_parse(text, length, err) : NULL;
	if (!file || json_read_list(file, "ring", &names, err) < 0 ||
	    read_services(json_object_get(file, "services"), services, err) < 0)
		return err_wrap(err, "%s", path);
	ring_restore(ring, &names);
	return 0;
}
