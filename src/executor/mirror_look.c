#include "executor/mirror_look.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"

struct walk {
	const char *root;
	struct mirror_files *files;
	int depth;
};

void mirror_files_add(struct mirror_files *files, const char *path, int64_t length,
		      int64_t modified)
{
	files->items = mem_realloc_array(files->items, files->count + 1, sizeof(*files->items));
	files->items[files->count++] = (struct mirror_file){
		.path = mem_strdup(path), .length = length, .modified = modified, .told = modified};
}

void mirror_files_finish(struct mirror_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		free(files->items[i].path);
	free(files->items);
	*files = (struct mirror_files){0};
}

bool mirror_path_is_safe(const char *path)
{
	for (const char *name = path;; name += strcspn(name, "/") + 1) {
		size_t length = strcspn(name, "/");
		if (length == 0 || (length == 1 && name[0] == '.') ||
		    (length == 2 && name[0] == '.' && name[1] == '.'))
			return false;
		if (!name[length])
			return true;
	}
}

bool mirror_file_same(const struct mirror_file *a, const struct mirror_file *b)
{
	return a->length == b->length &&
	       a->modified / MIRROR_NS_PER_MS == b->modified / MIRROR_NS_PER_MS;
}

struct map *mirror_files_map(const struct mirror_files *files)
{
	struct map *map = map_create(NULL);

	for (size_t i = 0; i < files->count; i++)
		map_set(map, files->items[i].path, &files->items[i]);
	return map;
}

static int by_time(const void *a, const void *b)
{
	const struct mirror_file *first = a, *second = b;

	if (first->modified != second->modified)
		return first->modified < second->modified ? -1 : 1;
	return strcmp(first->path, second->path);
}

void mirror_files_sort(struct mirror_files *files)
{
	if (files->count > 1)
		qsort(files->items, files->count, sizeof(*files->items), by_time);
}

int64_t mirror_time(const struct stat *info)
{
	return (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec;
}

static int walk_directory(struct walk *walk, const char *relative, struct err *err);

/* What is gone by now was removed meanwhile: the next look tells. */
static int take_entry(struct walk *walk, const char *relative, struct err *err)
{
	char *path cleanup_free = fs_join(walk->root, relative);
	struct stat entry, file;

	if (lstat(path, &entry) < 0 || stat(path, &file) < 0)
		return errno == ENOENT || errno == ELOOP
			       ? 0
			       : err_set_errno(err, "cannot look at %s", path);
	if (S_ISDIR(entry.st_mode))
		return walk->depth < MIRROR_MAX_DEPTH ? walk_directory(walk, relative, err) : 0;
	if (!S_ISREG(file.st_mode))
		return 0;
	if (walk->files->count == MIRROR_MAX_FILES)
		return err_set(err, ERR_INPUT,
			       "%s holds more than %d files: too many to be mirrored", walk->root,
			       MIRROR_MAX_FILES);
	mirror_files_add(walk->files, relative, file.st_size, mirror_time(&file));
	return 0;
}

static int walk_directory(struct walk *walk, const char *relative, struct err *err)
{
	char *path cleanup_free = fs_join(walk->root, relative);
	DIR *directory cleanup_dir = opendir(path);
	const struct dirent *entry;

	if (!directory)
		return errno == ENOENT ? 0 : err_set_errno(err, "cannot read %s", path);
	walk->depth++;
	while ((entry = readdir(directory))) {
		if (str_equal(entry->d_name, ".") || str_equal(entry->d_name, ".."))
			continue;
		char *name cleanup_free =
			*relative ? fs_join(relative, entry->d_name) : mem_strdup(entry->d_name);
		if (take_entry(walk, name, err) < 0)
			return -1;
	}
	walk->depth--;
	return 0;
}

int mirror_look(const char *directory, struct mirror_files *files, struct err *err)
{
	struct walk walk = {.root = directory, .files = files};

	return walk_directory(&walk, "", err);
}
