/* {{templates}} in commands and environments. Documented in tony-env(7). */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "framework/address.h"
#include "framework/framework.h"

static const char *const known =
	"task.name, task.type, task.index, task.count, task.process, task.processes, task.memory, "
	"task.vcores, task.gpus, task.attempt, task.restart, task.host, task.port, job.id, "
	"job.name, job.user, epoch, am.url, cluster.file, cluster.TYPE, cluster.TYPE.INDEX, "
	"checkpoint.dir, work.dir, ui.port";

struct value {
	const char *name;
	const char *text; /* NULL: `number` is meant */
	int64_t number;
};

static bool expand_simple(const struct framework_task *task, const char *name, struct str *out)
{
	const struct job *job = task->job;
	const struct job_type *type = &job->types[task->type];
	const struct cluster_address *self = address_of_task(task);
	const struct value values[] = {
		{"task.type", type->name},
		{"task.index", NULL, task->index},
		{"task.count", NULL, cluster_count(task->cluster, job, task->type)},
		{"task.process", NULL, task->process},
		{"task.processes", NULL, type->processes},
		{"task.memory", NULL, type->memory},
		{"task.vcores", NULL, type->vcores},
		{"task.gpus", NULL, type->gpus},
		{"task.attempt", NULL, task->attempt},
		{"task.restart", NULL, task->restart},
		{"task.host", self ? self->host : "", 0},
		{"task.port", NULL, self ? self->port : 0},
		{"job.id", job->id},
		{"job.name", job->name ? job->name : ""},
		{"job.user", job->user ? job->user : ""},
		{"epoch", NULL, task->cluster->epoch},
		{"am.url", task->am_url ? task->am_url : ""},
		{"cluster.file", task->cluster_file ? task->cluster_file : ""},
		{"checkpoint.dir", job->checkpoint_dir ? job->checkpoint_dir : ""},
		{"work.dir", task->work_dir ? task->work_dir : ""},
		{"ui.port", NULL, task->ui_port},
	};

	for (size_t i = 0; i < array_length(values); i++) {
		if (!str_equal(values[i].name, name))
			continue;
		if (values[i].text)
			str_append(out, values[i].text);
		else
			str_append_format(out, "%lld", (long long)values[i].number);
		return true;
	}
	if (!str_equal(name, "task.name"))
		return false;
	str_append_format(out, "%s:%d", type->name, task->slot);
	return true;
}

static int append_address(const struct cluster_type *type, size_t index, struct str *out,
			  struct err *err)
{
	if (!type->addresses[index].host)
		return err_set(err, ERR_CONFIG, "%s:%zu has no address yet", type->name, index);
	char *text cleanup_free = address_text(&type->addresses[index]);
	str_append(out, text);
	return 0;
}

/* "TYPE" (all addresses, with commas) or "TYPE.INDEX". */
static int expand_cluster(const struct framework_task *task, const char *what, struct str *out,
			  struct err *err)
{
	size_t length = strcspn(what, ".");
	char *name cleanup_free = mem_strndup(what, length);
	int found = job_find_type(task->job, name);
	int64_t index;

	if (found < 0)
		return err_set(err, ERR_CONFIG, "the job has no task type \"%s\"", name);
	const struct cluster_type *type = &task->cluster->types[found];
	if (what[length] == '.') {
		if (str_parse_int(what + length + 1, 0, (int64_t)type->count - 1, &index) < 0)
			return err_set(err, ERR_CONFIG, "%s has %zu task%s, counted from 0", name,
				       type->count, str_plural(type->count));
		return append_address(type, (size_t)index, out, err);
	}
	for (size_t i = 0; i < type->count; i++) {
		if (i > 0)
			str_append_char(out, ',');
		if (append_address(type, i, out, err) < 0)
			return -1;
	}
	return 0;
}

static int expand_one(const struct framework_task *task, const char *name, struct str *out,
		      struct err *err)
{
	if (expand_simple(task, name, out))
		return 0;
	if (str_starts_with(name, "cluster.")) {
		if (expand_cluster(task, name + strlen("cluster."), out, err) < 0)
			return err_wrap(err, "{{%s}}", name);
		return 0;
	}
	return err_set(err, ERR_CONFIG,
		       "unknown template {{%s}}; known are %s (write {{{{ for a literal {{)", name,
		       known);
}

/* The name within "{{ name }}" at `text`, and its end; NULL when this is not of a template's form:
 * then it is the user's own text, such as awk '{{ print $1 }}'. */
static char *read_name(const char *text, const char **end)
{
	const char *begin = text + 2;

	while (*begin == ' ')
		begin++;
	const char *stop = begin;
	while (isalnum((unsigned char)*stop) || (*stop && strchr("._-", *stop)))
		stop++;
	const char *close = stop;
	while (*close == ' ')
		close++;
	if (stop == begin || !str_starts_with(close, "}}"))
		return NULL;
	*end = close + 2;
	return mem_strndup(begin, (size_t)(stop - begin));
}

char *framework_expand(const struct framework_task *task, const char *text, struct err *err)
{
	struct str out cleanup_str = {0};

	while (*text) {
		const char *brace = strstr(text, "{{");
		size_t plain = brace ? (size_t)(brace - text) : strlen(text);
		str_append_bytes(&out, text, plain);
		text += plain;
		if (!brace)
			break;
		if (str_starts_with(text, "{{{{")) {
			str_append(&out, "{{");
			text += 4;
			continue;
		}
		const char *end = text + 2;
		char *name cleanup_free = read_name(text, &end);
		if (!name)
			str_append(&out, "{{");
		else if (expand_one(task, name, &out, err) < 0)
			return NULL;
		text = end;
	}
	return str_steal(&out);
}
