#include "client/stage_send.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/keeper.h"
#include "base/mem.h"
#include "client/archive_pack.h"
#include "client/bar.h"
#include "client/input.h"
#include "client/stage_clone.h"

/* And under this one is standard input there. */
#define STDIN_NAME "tony-stdin"

/* ---- files -------------------------------------------------------------------------------- */

struct sender {
	const struct stage *stage;
	struct job *job;
	struct scheduler_file *files;
	size_t count;
	struct keeper snapshot;	  /* of src_dir, where one is needed */
	struct keeper kept;	  /* the directory that standard input is kept in, where there is */
	int snapshot_fd, kept_fd; /* both, open */
	bool (*interrupted)(void);
};

static bool on_progress(void *data, const char *name, int64_t sent, int64_t total)
{
	return bar_show(data, name, sent, total);
}

static char *path_of_snapshot(const struct sender *sender)
{
	return mem_printf("/proc/self/fd/%d/src", sender->snapshot_fd);
}

/* Its owner goes on editing it, and what its links lead to belongs to it. */
static int take_snapshot(struct sender *sender, const char *source, struct err *err)
{
	if (sender->snapshot.path)
		return 0;
	if (keeper_make_directory(&sender->snapshot, STAGE_SENT_SOURCE, err) < 0)
		return -1;
	sender->snapshot_fd = keeper_open(&sender->snapshot, err);
	if (sender->snapshot_fd < 0)
		return -1;
	char *target cleanup_free = path_of_snapshot(sender);
	return stage_clone(source, target, &sender->stage->left_out, sender->interrupted, err) < 0
		       ? err_wrap(err, "src_dir")
		       : 0;
}

static void expect_source(struct job_type *type)
{
	struct job_files *files = &type->files;

	files->items = mem_realloc_array(files->items, files->count + 1, sizeof(*files->items));
	files->items[files->count++] =
		(struct job_file){.kind = JOB_FILE_CONTENT,
				  .source = mem_strdup("container:" STAGE_SENT_SOURCE),
				  .name = mem_strdup(".")};
}

static int add(struct sender *sender, size_t type, const struct stage_file *file, struct err *err)
{
	struct scheduler_file *to = &sender->files[sender->count++];

	*to = (struct scheduler_file){.source = file->source,
				      .name = file->name,
				      .type = type,
				      .optional = file->optional};
	to->archive = file->kind == STAGE_UNPACK || file->kind == STAGE_REMOTE_UNPACK;
	if (!stage_is_source(file))
		return 0;
	to->name = STAGE_SENT_SOURCE;
	to->archive = true;
	expect_source(&sender->job->types[type]);
	if (file->kind != STAGE_SOURCE)
		return 0;
	return take_snapshot(sender, file->source, err);
}

static int add_all(struct sender *sender, struct err *err)
{
	const struct stage *stage = sender->stage;
	size_t count = 0;

	for (size_t i = 0; i < stage->type_count; i++)
		count += stage->types[i].count;
	sender->files = mem_alloc_array(count + stage->has_stdin, sizeof(*sender->files));
	for (size_t i = 0; i < stage->type_count; i++)
		for (size_t k = 0; k < stage->types[i].count; k++)
			if (add(sender, i, &stage->types[i].items[k], err) < 0)
				return -1;
	return 0;
}

/* `*path` is where it is kept until it is sent; the caller frees. */
static int add_stdin(struct sender *sender, char **path, struct err *err)
{
	size_t type = sender->stage->stdin_type;

	if (!sender->stage->has_stdin)
		return 0;
	if (keeper_make_directory(&sender->kept, STDIN_NAME, err) < 0)
		return -1;
	sender->kept_fd = keeper_open(&sender->kept, err);
	if (sender->kept_fd < 0)
		return -1;
	*path = mem_printf("/proc/self/fd/%d/stdin", sender->kept_fd);
	if (input_keep(STDIN_FILENO, *path, INPUT_CAP, sender->interrupted, err) < 0)
		return -1;
	sender->files[sender->count++] =
		(struct scheduler_file){.source = *path, .name = STDIN_NAME, .type = type};
	sender->job->types[type].stdin_file = mem_strdup("container:" STDIN_NAME);
	return 0;
}

/* The snapshot stands for the directory, under a name that people know. */
static char *use_snapshot(struct sender *sender)
{
	char *copy = sender->snapshot_fd >= 0 ? path_of_snapshot(sender) : NULL;

	for (size_t i = 0; i < sender->count && copy; i++)
		if (str_equal(sender->files[i].name, STAGE_SENT_SOURCE))
			sender->files[i].source = copy;
	return copy;
}

int stage_send(const struct stage *stage, struct job *job, const struct scheduler_client_ops *ops,
	       bool (*interrupted)(void), struct err *err)
{
	struct sender sender = {.stage = stage,
				.job = job,
				.interrupted = interrupted,
				.snapshot_fd = -1,
				.kept_fd = -1};
	char *stdin_file cleanup_free = NULL;
	struct bar bar;
	int result = add_all(&sender, err);
	if (result == 0)
		result = add_stdin(&sender, &stdin_file, err);
	char *copy cleanup_free = use_snapshot(&sender);
	const struct scheduler_staging staging = {
		.files = sender.files,
		.count = sender.count,
		.pack = archive_pack,
		.progress = on_progress,
		.data = &bar,
	};

	bar_begin(&bar, "sending", interrupted);
	if (result == 0)
		result = ops->stage(job, &staging, err);
	bar_clear(&bar);
	if (result < 0 && copy)
		err_rename(err, copy, "src_dir");
	mem_cleanup_close(&sender.snapshot_fd);
	mem_cleanup_close(&sender.kept_fd);
	keeper_remove(&sender.snapshot);
	keeper_remove(&sender.kept);
	free(sender.files);
	return result;
}
