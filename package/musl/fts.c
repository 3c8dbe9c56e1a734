#include <fts.h>

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct level {
	DIR *directory;
	size_t path_length;
};

struct fts {
	struct level *levels; /* directories that are read, the root's first */
	int depth, depth_cap;
	bool follows_root, has_begun;
	bool is_entered; /* the entry is a directory that is to be read */
	char *path;
	size_t path_cap;
	struct stat status;
	FTSENT entry;
};

/* "path/name" for the path's first bytes. */
static int set_path(FTS *tree, size_t length, const char *name)
{
	const size_t needed = length + strlen(name) + 2;

	if (needed > tree->path_cap) {
		char *larger = realloc(tree->path, needed * 2);
		if (!larger)
			return -1;
		tree->path = larger;
		tree->path_cap = needed * 2;
	}
	if (length > 0 && tree->path[length - 1] != '/')
		tree->path[length++] = '/';
	strcpy(tree->path + length, name);
	return 0;
}

static int kind_of(mode_t mode)
{
	if (S_ISDIR(mode))
		return FTS_D;
	if (S_ISREG(mode))
		return FTS_F;
	return S_ISLNK(mode) ? FTS_SL : FTS_DEFAULT;
}

static FTSENT *describe(FTS *tree, int info, int level)
{
	tree->entry = (FTSENT){.fts_info = info,
			       .fts_level = level,
			       .fts_path = tree->path,
			       .fts_statp = &tree->status};
	tree->is_entered = info == FTS_D;
	return &tree->entry;
}

static FTSENT *look(FTS *tree)
{
	const bool follows = tree->depth == 0 && tree->follows_root;
	int failed = follows ? stat(tree->path, &tree->status) : lstat(tree->path, &tree->status);

	if (failed && follows)
		failed = lstat(tree->path, &tree->status);
	if (failed)
		memset(&tree->status, 0, sizeof(tree->status));
	return describe(tree, failed ? FTS_NS : kind_of(tree->status.st_mode), tree->depth);
}

/* Into the directory that was read last. */
static int enter(FTS *tree)
{
	if (tree->depth == tree->depth_cap) {
		const int cap = tree->depth_cap * 2 + 8;
		struct level *more = realloc(tree->levels, (size_t)cap * sizeof(*more));
		if (!more)
			return -1;
		tree->levels = more;
		tree->depth_cap = cap;
	}
	DIR *directory = opendir(tree->path);
	if (!directory)
		return -1;
	tree->levels[tree->depth++] = (struct level){directory, strlen(tree->path)};
	return 0;
}

/* The next name in the directory; NULL: there are no more. */
static const char *next_name(DIR *directory)
{
	const struct dirent *entry;

	while ((entry = readdir(directory)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return entry->d_name;
	return NULL;
}

static FTSENT *leave(FTS *tree)
{
	const struct level *level = &tree->levels[--tree->depth];

	closedir(level->directory);
	tree->path[level->path_length] = '\0';
	return describe(tree, FTS_DP, tree->depth);
}

FTSENT *fts_read(FTS *tree)
{
	if (!tree->has_begun) {
		tree->has_begun = true;
		return look(tree);
	}
	if (tree->is_entered) {
		tree->is_entered = false;
		if (enter(tree) < 0)
			return describe(tree, FTS_DNR, tree->depth);
	}
	if (tree->depth == 0)
		return NULL;
	const struct level *level = &tree->levels[tree->depth - 1];
	const char *name = next_name(level->directory);
	if (!name)
		return leave(tree);
	return set_path(tree, level->path_length, name) < 0 ? NULL : look(tree);
}

int fts_set(FTS *tree, FTSENT *entry, int instruction)
{
	if (instruction != FTS_SKIP || entry != &tree->entry) {
		errno = EINVAL;
		return -1;
	}
	tree->is_entered = false;
	return 0;
}

FTS *fts_open(char *const roots[], int options, void *compare)
{
	FTS *tree = calloc(1, sizeof(*tree));

	(void)compare;
	if (!tree)
		return NULL;
	tree->follows_root = options & FTS_COMFOLLOW;
	if (set_path(tree, 0, roots[0]) == 0)
		return tree;
	free(tree);
	return NULL;
}

int fts_close(FTS *tree)
{
	while (tree->depth > 0)
		closedir(tree->levels[--tree->depth].directory);
	free(tree->levels);
	free(tree->path);
	free(tree);
	return 0;
}
