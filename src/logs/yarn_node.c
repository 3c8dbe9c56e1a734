/* A log of a container out of what its NodeManager still has. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "logs/yarn.h"

struct node_log {
	struct log_parts base;
	FILE *(*files)[2]; /* of each part, and of the index beside it (NULL: none) */
};

static int fetch(const struct node_log_question *question, const char *name, FILE **file,
		 int64_t *length, struct err *err)
{
	struct stat info;

	*file = tmpfile();
	if (!*file)
		return err_set_errno(err, "a temporary file for %s", name);
	if (node_log_fetch(question, name, fileno(*file), err) < 0)
		return -1;
	if (fstat(fileno(*file), &info) < 0)
		return err_set_errno(err, "a temporary file for %s", name);
	*length = info.st_size;
	return 0;
}

/* A part that a rotation has taken away meanwhile is passed over: it is there under another name.
 * The newest, `log_name` itself, is always there, unless all were aggregated and removed. */
static int add_part(struct node_log *log, const struct node_log_question *question,
		    const struct str_list *names, const char *log_name, const char *name,
		    struct err *err)
{
	struct err problem cleanup_err = {0};
	char *index cleanup_free = mem_printf("%s.times", name);
	FILE **files = log->files[log->base.count];
	struct log_parts_item *part = &log->base.items[log->base.count];
	int64_t length;

	log->base.count++;
	if (fetch(question, name, &files[0], &part->length, &problem) < 0) {
		if (problem.kind == ERR_NOT_FOUND && !str_equal(name, log_name))
			return 0;
		return err_copy(err, &problem);
	}
	part->has_times =
		str_list_has(names, index) && fetch(question, index, &files[1], &length, NULL) == 0;
	return 0;
}

static ssize_t read_node(struct log_parts *base, size_t part, bool times, int64_t offset,
			 void *bytes, size_t length, struct err *err)
{
	FILE *file = ((struct node_log *)base)->files[part][times];
	ssize_t got;

	do
		got = pread(fileno(file), bytes, length, offset);
	while (got < 0 && errno == EINTR);
	return got < 0 ? err_set_errno(err, "a temporary file") : got;
}

static void destroy_node(struct log_parts *base)
{
	struct node_log *log = (struct node_log *)base;

	for (size_t i = 0; i < base->count; i++) {
		mem_cleanup_file(&log->files[i][0]);
		mem_cleanup_file(&log->files[i][1]);
	}
	free(log->files);
	free(base->items);
	free(log);
}

static int add_parts(struct node_log *log, const struct node_log_question *question,
		     const char *name, struct err *err)
{
	struct str_list names cleanup_str_list = {0};
	size_t *parts;
	int result = 0;

	if (node_log_list(question, &names, err) < 0)
		return -1;
	size_t count = log_parts_find(&names, name, &parts);
	log->files = mem_alloc_array(count, sizeof(*log->files));
	log->base.items = mem_alloc_array(count, sizeof(*log->base.items));
	for (size_t i = 0; i < count && result == 0; i++)
		result = add_part(log, question, &names, name, names.items[parts[i]], err);
	free(parts);
	if (result == 0 && count == 0)
		return err_set(err, ERR_NOT_FOUND, "the container has left no %s", name);
	return result;
}

struct log_source *log_of_node(const struct node_log_question *question, const char *name,
			       struct err *err)
{
	static const struct log_parts_ops ops = {.read = read_node, .destroy = destroy_node};
	struct node_log *log = mem_alloc(sizeof(*log));

	log->base.ops = &ops;
	log_parts_init(&log->base);
	if (add_parts(log, question, name, err) == 0)
		return &log->base.base;
	log_source_destroy(&log->base.base);
	return NULL;
}
