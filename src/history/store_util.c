/* Parts that every kind of store has. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "history/layout.h"
#include "history/store_internal.h"

int store_check_path(const char *path, struct err *err)
{
	for (const char *part = path;; part++) {
		size_t length = strcspn(part, "/");
		char *name cleanup_free = mem_strndup(part, length);
		if (!history_is_name(name))
			return err_set(err, ERR_NOT_FOUND, "there is no \"%.256s\" in the store",
				       path);
		part += length;
		if (!*part)
			return 0;
	}
}

int store_entries(struct history_store *store, const char *path, store_visit *visit, void *data,
		  struct err *err)
{
	struct err missing cleanup_err = {0};

	if (store_run(store->files, store_list(path, NULL, visit, data), &missing) == 0 ||
	    missing.kind == ERR_NOT_FOUND)
		return 0;
	return err_copy(err, &missing);
}

bool store_is_closed(const struct history_store *store, const struct err *why)
{
	/* On a machine a user can mount on his own directory what fails for all others. */
	return history_store_has_owners(store) &&
	       (why->kind == ERR_DENIED ||
		(why->kind == ERR_IO && store_traits(store->files)->is_at_once));
}

bool store_pass_over(struct history_store *store, const struct err *why)
{
	if (!store_is_closed(store, why))
		return false;
	char *subject cleanup_free =
		mem_printf("%s: directories that cannot be read are passed over",
			   store_location(store->files));
	if (!store->has_told_closed)
		log_trouble(subject, err_message(why));
	store->has_told_closed = true;
	return true;
}

int store_open_again(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? err_set_errno(err, "%s", path) : fd;
}

bool history_store_has_owners(const struct history_store *store)
{
	return !store_traits(store->files)->holds_objects;
}

char *store_read_opened(const struct history_store *store, int fd, const char *path,
			const char *name, size_t cap, size_t *length, struct err *err)
{
	int opened cleanup_close = fd;

	if (opened < 0)
		return NULL;
	char *full cleanup_free = mem_printf("%s/%s/%s", store_location(store->files), path, name);
	return fs_read_descriptor(opened, full, cap, length, err);
}

char *store_read_file(struct history_store *store, const char *path, const char *name, size_t cap,
		      size_t *length, char **keeper, struct err *err)
{
	char *full cleanup_free = mem_printf("%s/%s", path, name);
	int fd = store_open_file(store->files, full, (int64_t)cap, keeper, err);

	return store_read_opened(store, fd, path, name, cap, length, err);
}
