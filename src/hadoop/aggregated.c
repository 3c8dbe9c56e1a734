#include "hadoop/aggregated.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "hadoop/indexed_log.h"

#define BUCKETS	 10000 /* directories that YARN spreads a user's applications over */
#define CHECKSUM "-checksum"

/* What one node uploaded at one time. */
struct upload_file {
	struct aggregated *logs;
	char *path;
	const char *name; /* of the file, in `path` */
	int64_t length, modified_ms;
	/* Both NULL: not opened yet. */
	struct tfile *file;
	struct indexed_log *indexed;
};

struct aggregated {
	struct log_store *store;
	char *application;
	struct upload_file *files; /* oldest first */
	size_t count;
	char *archive; /* path of a Hadoop archive that the files were put into; NULL: none */
	bool is_growing;
	struct map *containers; /* id -> struct aggregated_container */
};

void log_store_destroy(struct log_store *store)
{
	if (store)
		store->ops->destroy(store);
}

/* ---- looking for the files ---------------------------------------------------------------- */

/* A listing that is being made. */
struct listing {
	struct aggregated *logs;
	const char *directory;
	struct str_list directories; /* those within it */
};

static void add_file(struct aggregated *logs, const char *directory,
		     const struct log_store_entry *entry)
{
	if (logs->count == AGGREGATED_FILES_MAX)
		return;
	logs->files = mem_realloc_array(logs->files, logs->count + 1, sizeof(*logs->files));
	struct upload_file *file = &logs->files[logs->count++];
	*file = (struct upload_file){.logs = logs,
				     .path = mem_printf("%s/%s", directory, entry->name),
				     .length = entry->length,
				     .modified_ms = entry->modified_ms};
	file->name = file->path + strlen(directory) + 1;
}

/* HOST_PORT, HOST_PORT_TIME; ".tmp" at the end: it is being written; "-checksum": of an indexed one
 * that is being added to. */
static void visit_file(void *data, const struct log_store_entry *entry)
{
	struct listing *listing = data;

	if (entry->is_directory && str_ends_with(entry->name, ".har"))
		mem_replace(&listing->logs->archive,
			    mem_printf("%s/%s", listing->directory, entry->name));
	else if (str_ends_with(entry->name, ".tmp"))
		listing->logs->is_growing = true;
	else if (!entry->is_directory && !str_ends_with(entry->name, CHECKSUM))
		add_file(listing->logs, listing->directory, entry);
}

static void visit_directory(void *data, const struct log_store_entry *entry)
{
	struct listing *listing = data;

	if (entry->is_directory)
		str_list_add(&listing->directories, entry->name);
}

/* No directory is no error: there is nothing in it. */
static int list(struct aggregated *logs, const char *directory,
		void (*visit)(void *data, const struct log_store_entry *entry),
		struct listing *listing, struct err *err)
{
	struct err problem cleanup_err = {0};

	*listing = (struct listing){.logs = logs, .directory = directory};
	if (logs->store->ops->list(logs->store, directory, visit, listing, &problem) == 0 ||
	    problem.kind == ERR_NOT_FOUND)
		return 0;
	return err_set(err, problem.kind, "%s: %s", directory, err_message(&problem));
}

/* Both places that an application may have in one of the user's directories. */
static int look_into(struct aggregated *logs, const char *directory, struct err *err)
{
	struct listing listing;
	const char *number = strrchr(logs->application, '_');
	int64_t bucket = 0;

	if (!number || str_parse_int(number + 1, 0, INT32_MAX, &bucket) < 0)
		return err_set(err, ERR_INPUT, "\"%s\" is no application's id", logs->application);
	char *old cleanup_free = mem_printf("%s/%s", directory, logs->application);
	char *present cleanup_free =
		mem_printf("%s/%04d/%s", directory, (int)(bucket % BUCKETS), logs->application);
	return list(logs, present, visit_file, &listing, err) < 0
		       ? -1
		       : list(logs, old, visit_file, &listing, err);
}

/* Names hold the time of the upload only where there are several; the files' own times tell, too.
 */
static int compare_files(const void *left, const void *right)
{
	const struct upload_file *a = left;
	const struct upload_file *b = right;

	if (a->modified_ms != b->modified_ms)
		return a->modified_ms < b->modified_ms ? -1 : 1;
	return strcmp(a->path, b->path);
}

static int find_files(struct aggregated *logs, const char *root, const char *user, struct err *err)
{
	struct listing user_listing;
	size_t length = strlen(root);

	while (length > 0 && root[length - 1] == '/')
		length--;
	char *directory cleanup_free = mem_printf("%.*s/%s", (int)length, root, user);
	int result = list(logs, directory, visit_directory, &user_listing, err);
	str_list_sort(&user_listing.directories);
	for (size_t i = 0; i < user_listing.directories.count && result == 0; i++) {
		char *path cleanup_free =
			mem_printf("%s/%s", directory, user_listing.directories.items[i]);
		result = look_into(logs, path, err);
	}
	str_list_finish(&user_listing.directories);
	if (logs->count > 1)
		qsort(logs->files, logs->count, sizeof(*logs->files), compare_files);
	return result;
}

static void destroy_container(void *value)
{
	struct aggregated_container *container = value;

	for (size_t i = 0; i < container->count; i++)
		container_log_files_finish(&container->uploads[i]);
	free(container->uploads);
	free(container);
}

struct aggregated *aggregated_open(struct log_store *store, const char *root, const char *user,
				   const char *application, struct err *err)
{
	struct aggregated *logs = mem_alloc(sizeof(*logs));

	logs->store = store;
	logs->application = mem_strdup(application);
	logs->containers = map_create(destroy_container);
	if (find_files(logs, root, user, err) == 0) {
		if (logs->count > 0 || logs->archive)
			return logs;
		err_set(err, ERR_NOT_FOUND, "there are no logs of %s below %s/%s%s", application,
			root, user,
			logs->is_growing ? " yet: the NodeManagers are writing them" : "");
	}
	aggregated_close(logs);
	return NULL;
}

void aggregated_close(struct aggregated *logs)
{
	if (!logs)
		return;
	map_destroy(logs->containers);
	for (size_t i = 0; i < logs->count; i++) {
		tfile_close(logs->files[i].file);
		indexed_log_close(logs->files[i].indexed);
		free(logs->files[i].path);
	}
	free(logs->files);
	free(logs->archive);
	free(logs->application);
	free(logs);
}

/* ---- one file ----------------------------------------------------------------------------- */

static int read_file(void *data, int64_t offset, void *bytes, size_t length, struct err *err)
{
	struct upload_file *file = data;
	struct log_store *store = file->logs->store;

	return store->ops->read(store, file->path, offset, bytes, length, err);
}

/* The 8 bytes of NAME-checksum: where an upload ended before the one that is going on, or broke
 * off. */
static int64_t read_end(const struct upload_file *file)
{
	struct log_store *store = file->logs->store;
	char *path cleanup_free = mem_printf("%s" CHECKSUM, file->path);
	unsigned char bytes[8];
	uint64_t end = 0;

	if (store->ops->read(store, path, 0, bytes, sizeof(bytes), NULL) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(bytes); i++)
		end = end << 8 | bytes[i];
	return end <= (uint64_t)file->length ? (int64_t)end : -1;
}

static int open_indexed(struct upload_file *file, const struct tfile_input *input, struct err *err)
{
	file->indexed = indexed_log_open(input, file->length, err);
	int64_t end = file->indexed || err->kind != ERR_NONE ? -1 : read_end(file);
	if (end >= 0)
		file->indexed = indexed_log_open(input, end, err);
	return file->indexed ? 0 : -1;
}

static int open_file(struct upload_file *file, struct err *err)
{
	const struct tfile_input input = {
		.name = file->path, .length = file->length, .data = file, .read = read_file};
	struct err problem cleanup_err = {0}, other cleanup_err = {0};

	if (file->length == 0)
		return err_set(err, ERR_NOT_FOUND,
			       "%s is empty: its NodeManager has not stored the logs (yet)",
			       file->path);
	if (!file->file && !file->indexed)
		file->file = tfile_open(&input, &problem);
	if (file->file || file->indexed)
		return 0;
	/* An indexed one has its name while it is being written. */
	if (problem.kind != ERR_NOT_FOUND || open_indexed(file, &input, &other) < 0)
		return err_copy(err, other.kind != ERR_NONE ? &other : &problem);
	return 0;
}

/* ---- containers --------------------------------------------------------------------------- */

static void add_upload(struct aggregated_container *container, struct container_log_files *files)
{
	container->uploads = mem_realloc_array(container->uploads, container->count + 1,
					       sizeof(*container->uploads));
	container->uploads[container->count++] = *files;
	*files = (struct container_log_files){0};
}

/* Adds what the file has of the container. */
static int look_in_file(struct upload_file *file, const char *id,
			struct aggregated_container *container, struct err *err)
{
	struct container_log_files files cleanup_container_log_files = {0};

	if (open_file(file, err) < 0)
		return -1;
	int found = file->file ? container_log_list(file->file, id, &files, err) : 0;
	if (found > 0)
		add_upload(container, &files);
	size_t all = 0;
	for (size_t i = 0; file->indexed && i < indexed_log_uploads(file->indexed) &&
			   all < CONTAINER_LOG_FILES_MAX;
	     i++) {
		if (indexed_log_list(file->indexed, i, id, &files) == 0)
			continue;
		all += files.count + 1; /* an upload costs, too */
		add_upload(container, &files);
	}
	return found < 0 ? -1 : 0;
}

static bool is_of_host(const struct upload_file *file, const char *host)
{
	size_t length = strlen(host);

	return strncmp(file->name, host, length) == 0 && file->name[length] == '_';
}

/* Looks into the files of this host, or of all others; one that cannot be read spoils only what is
 * in it, so the first such error is kept. */
static void look(struct aggregated *logs, const char *id, const char *host, bool others,
		 struct aggregated_container *container, struct err *err)
{
	for (size_t i = 0; i < logs->count; i++) {
		struct err problem cleanup_err = {0};
		if ((host && is_of_host(&logs->files[i], host)) == others)
			continue;
		if (look_in_file(&logs->files[i], id, container, &problem) < 0 &&
		    err->kind == ERR_NONE)
			err_copy(err, &problem);
	}
}

static int say_missing(const struct aggregated *logs, const char *id, struct err *err)
{
	if (logs->archive)
		return err_set(err, ERR_INPUT,
			       "the logs of %s are in a Hadoop archive, %s, which tony does not "
			       "read; `yarn logs` does",
			       logs->application, logs->archive);
	return err_set(err, ERR_NOT_FOUND, "there are no logs of %s among those of %s%s", id,
		       logs->application,
		       logs->is_growing ? " yet: the NodeManagers are writing them" : "");
}

const struct aggregated_container *aggregated_find(struct aggregated *logs, const char *container,
						   const char *host, struct err *err)
{
	struct err problem cleanup_err = {0};
	struct aggregated_container *found = map_get(logs->containers, container);

	if (found)
		return found;
	found = mem_alloc(sizeof(*found));
	if (host)
		look(logs, container, host, false, found, &problem);
	if (found->count == 0)
		look(logs, container, host, true, found, &problem);
	if (found->count > 0) {
		map_set(logs->containers, container, found);
		return found;
	}
	destroy_container(found);
	if (problem.kind != ERR_NONE)
		err_copy(err, &problem);
	else
		say_missing(logs, container, err);
	return NULL;
}
