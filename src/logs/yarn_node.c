/* A log of a container out of what its NodeManager still has. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "logs/yarn.h"

struct node_log {
	struct log_parts base;
	int spool; /* borrowed */
	/* Of each part, and of the index beside it. */
	struct piece {
		int64_t start, length; /* in the spool */
	} (*pieces)[2];
};

static int fetch(const struct node_log *log, const struct node_log_question *question,
		 const char *name, struct piece *piece, struct err *err)
{
	int64_t start = lseek(log->spool, 0, SEEK_END);

	if (start < 0 || node_log_fetch(question, name, log->spool, err) < 0)
		return start < 0 ? err_set_errno(err, "a temporary file for %s", name) : -1;
	int64_t end = lseek(log->spool, 0, SEEK_END);
	if (end < start)
		return err_set_errno(err, "a temporary file for %s", name);
	*piece = (struct piece){.start = start, .length = end - start};
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
	struct piece *pieces = log->pieces[log->base.count];
	struct log_parts_item *part = &log->base.items[log->base.count];

	log->base.count++;
	if (fetch(log, question, name, &pieces[0], &problem) < 0) {
		if (problem.kind == ERR_NOT_FOUND && !str_equal(name, log_name))
			return 0;
		return err_copy(err, &problem);
	}
	part->length = pieces[0].length;
	part->has_times =
		str_list_has(names, index) && fetch(log, question, index, &pieces[1], NULL) == 0;
	return 0;
}

static ssize_t read_node(struct log_parts *base, size_t part, bool times, int64_t offset,
			 void *bytes, size_t length, struct err *err)
{
	const struct node_log *log = (const struct node_log *)base;
	const struct piece *piece = &log->pieces[part][times];
	int64_t left = piece->length - offset;
	ssize_t got;

	if (left <= 0)
		return 0;
	if ((int64_t)length > left)
		length = (size_t)left;
	do
		got = pread(log->spool, bytes, length, piece->start + offset);
	while (got < 0 && errno == EINTR);
	return got < 0 ? err_set_errno(err, "a temporary file") : got;
}

static void destroy_node(struct log_parts *base)
{
	struct node_log *log = (struct node_log *)base;

	free(log->pieces);
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
	log->pieces = mem_alloc_array(count, sizeof(*log->pieces));
	log->base.items = mem_alloc_array(count, sizeof(*log->base.items));
	for (size_t i = 0; i < count && result == 0; i++)
		result = add_part(log, question, &names, name, names.items[parts[i]], err);
	free(parts);
	if (result == 0 && count == 0)
		return err_set(err, ERR_NOT_FOUND, "the container has left no %s", name);
	return result;
}

struct log_source *log_of_node(const struct node_log_question *question, const char *name,
			       int spool, struct err *err)
{
	static const struct log_parts_ops ops = {.read = read_node, .destroy = destroy_node};
	struct node_log *log = mem_alloc(sizeof(*log));

	log->base.ops = &ops;
	log->spool = spool;
	log_parts_init(&log->base);
	if (add_parts(log, question, name, err) == 0) {
		log_parts_find_cut(&log->base);
		return &log->base.base;
	}
	log_source_destroy(&log->base.base);
	return NULL;
}
