#include "executor/scalars.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "executor/event_record.h"

enum {
	ENTRIES_MAX = 10000,	  /* of directories, in one look */
	LOOK_BYTES_MAX = 4 << 20, /* read in one look */
};

/* An event file. */
struct source {
	char *path, *run;
	int64_t offset;	 /* of the next record */
	bool is_flawed;	 /* and not read on */
	bool has_step;	 /* the members below are known */
	int64_t step;	 /* of the last scalar */
	double wall_s;	 /* of the first scalar of this step */
	int64_t counted; /* the step and time from which steps in a second are counted */
	double counted_s;
};

struct scalars {
	char *root;
	int64_t since_ms;
	struct numbers *numbers;
	struct source *sources;
	size_t count;
	struct source *source; /* whose record is in hand */
	size_t entries;	       /* met in this look */
	int64_t bytes;	       /* left in this look */
};

struct scalars *scalars_create(const char *root, int64_t since_ms, struct numbers *numbers)
{
	struct scalars *scalars = mem_alloc(sizeof(*scalars));

	scalars->root = mem_strdup(root);
	scalars->since_ms = since_ms;
	scalars->numbers = numbers;
	return scalars;
}

void scalars_destroy(struct scalars *scalars)
{
	if (!scalars)
		return;
	for (size_t i = 0; i < scalars->count; i++) {
		free(scalars->sources[i].path);
		free(scalars->sources[i].run);
	}
	free(scalars->sources);
	free(scalars->root);
	free(scalars);
}

/* ---- finding ------------------------------------------------------------------------------ */

static void add_source(struct scalars *scalars, const char *path, const char *run)
{
	for (size_t i = 0; i < scalars->count; i++)
		if (strcmp(scalars->sources[i].path, path) == 0)
			return;
	if (scalars->count == SCALARS_FILES_MAX || strlen(run) > NUMBER_NAME_MAX)
		return;
	scalars->sources =
		mem_realloc_array(scalars->sources, scalars->count + 1, sizeof(*scalars->sources));
	scalars->sources[scalars->count++] =
		(struct source){.path = mem_strdup(path), .run = str_printable(run, strlen(run))};
}

/* Symbolic links are not followed: they could lead round in circles. */
static void find_sources(struct scalars *scalars, const char *directory, const char *run, int depth)
{
	DIR *dir cleanup_dir = opendir(directory);
	const struct dirent *entry;
	struct stat status;

	while (dir && scalars->entries < ENTRIES_MAX && (entry = readdir(dir))) {
		const char *name = entry->d_name;
		scalars->entries++;
		if (*name == '.' || fstatat(dirfd(dir), name, &status, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		char *path cleanup_free = fs_join(directory, name);
		if (S_ISREG(status.st_mode) && strstr(name, "tfevents")) {
			add_source(scalars, path, run);
		} else if (S_ISDIR(status.st_mode) && depth < SCALARS_DEPTH_MAX) {
			char *below cleanup_free =
				*run ? mem_printf("%s/%s", run, name) : mem_strdup(name);
			find_sources(scalars, path, below, depth + 1);
		}
	}
}

/* ---- reading ------------------------------------------------------------------------------ */

static void note_step(struct source *source, const struct event_scalar *scalar)
{
	if (!source->has_step) {
		source->has_step = true;
		source->counted = scalar->step;
		source->counted_s = scalar->wall_s;
	} else if (scalar->step <= source->step) {
		return;
	}
	source->step = scalar->step;
	source->wall_s = scalar->wall_s;
}

static void take_scalar(void *data, const struct event_scalar *scalar)
{
	struct scalars *scalars = data;
	struct source *source = scalars->source;
	const struct number number = {.name = scalar->tag,
				      .run = source->run,
				      .time_ms = (int64_t)(scalar->wall_s * 1000),
				      .step = scalar->step,
				      .value = scalar->value};

	if (number.time_ms < scalars->since_ms)
		return;
	note_step(source, scalar);
	numbers_add(scalars->numbers, &number);
}

/* What was done since the last look. */
static void add_rate(struct scalars *scalars, struct source *source)
{
	double elapsed = source->wall_s - source->counted_s;
	const struct number number = {.name = "steps_per_s",
				      .run = source->run,
				      .time_ms = (int64_t)(source->wall_s * 1000),
				      .step = source->step,
				      .value = (double)(source->step - source->counted) / elapsed};

	if (!source->has_step || source->step <= source->counted || elapsed <= 0)
		return;
	numbers_add(scalars->numbers, &number);
	source->counted = source->step;
	source->counted_s = source->wall_s;
}

static bool read_all(int fd, void *bytes, size_t length, int64_t offset)
{
	return pread(fd, bytes, length, offset) == (ssize_t)length;
}

/* 1: a record was read, or passed over; 0: there is none that is whole. */
static int read_record(struct scalars *scalars, int fd, int64_t size)
{
	struct source *source = scalars->source;
	char head[EVENT_RECORD_HEAD];

	if (!read_all(fd, head, sizeof(head), source->offset))
		return 0;
	int64_t length = event_record_length(head);
	if (length < 0)
		return -1;
	int64_t begin = source->offset + EVENT_RECORD_HEAD;
	int64_t end = begin + length + EVENT_RECORD_TAIL;
	if (end > size)
		return 0;
	if (length <= SCALARS_RECORD_MAX) {
		size_t all = (size_t)(length + EVENT_RECORD_TAIL);
		char *bytes cleanup_free = mem_alloc(all);
		scalars->bytes -= (int64_t)all;
		if (!read_all(fd, bytes, all, begin) ||
		    event_record_read(bytes, (size_t)length, take_scalar, scalars) < 0)
			return -1;
	}
	source->offset = end;
	return 1;
}

static void read_source(struct scalars *scalars, struct source *source)
{
	int fd cleanup_close =
		open(source->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	int result = 1;

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return;
	scalars->source = source;
	while (result > 0 && scalars->bytes > 0 && numbers_have_room(scalars->numbers))
		result = read_record(scalars, fd, status.st_size);
	if (result < 0) {
		log_warning("%s: is not what TensorBoard reads; its numbers are not taken",
			    source->path);
		source->is_flawed = true;
	}
	add_rate(scalars, source);
}

void scalars_look(struct scalars *scalars)
{
	scalars->entries = 0;
	scalars->bytes = LOOK_BYTES_MAX;
	find_sources(scalars, scalars->root, "", 0);
	for (size_t i = 0; i < scalars->count; i++)
		if (!scalars->sources[i].is_flawed)
			read_source(scalars, &scalars->sources[i]);
}
