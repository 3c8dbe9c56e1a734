/* {{templates}} in commands and environments. Documented in tony-env(7). */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "framework/address.h"
#include "framework/framework.h"
#include "framework/rank.h"

static const char *const known =
	"task.name, task.type, task.index, task.count, task.process, task.processes, task.memory, "
	"task.vcores, task.gpus, task.attempt, task.restart, task.host, task.port, job.id, "
	"job.name, job.user, job.restarts, job.max-restarts, rank, world, group.rank, group.world, "
	"role.rank, role.world, master, master.host, master.port, epoch, am.url, cluster.file, "
	"cluster.TYPE, cluster.TYPE.INDEX, "
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
		{"job.restarts", NULL, task->cluster->epoch - 1 + task->restart},
		{"job.max-restarts", NULL, job->retry_count + type->max_restarts},
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

static bool is_rank(const char *name)
{
	static const char *const names[] = {"rank",	   "world",	  "group.rank",
					    "group.world", "role.rank",	  "role.world",
					    "master",	   "master.host", "master.port"};

	for (size_t i = 0; i < array_length(names); i++)
		if (str_equal(names[i], name))
			return true;
	return false;
}

static int append_master(const struct cluster_address *master, const char *name, struct str *out,
			 struct err *err)
{
	if (!master || !master->host)
		return err_set(err, ERR_INPUT, "the cluster spec has no address for rank 0");
	char *address cleanup_free = address_text(master);
	if (str_equal(name, "master.port"))
		str_append_format(out, "%d", master->port);
	else
		str_append(out, str_equal(name, "master") ? address : master->host);
	return 0;
}

/* Of what processes number themselves by (rank.h). */
static int expand_rank(const struct framework_task *task, const char *name, struct str *out,
		       struct err *err)
{
	struct rank rank;
	bool is_counted = rank_find(task, &rank);
	const struct value values[] = {
		{"rank", NULL, rank.rank},	  {"world", NULL, rank.world},
		{"group.rank", NULL, rank.group}, {"group.world", NULL, rank.group_world},
		{"role.rank", NULL, rank.role},	  {"role.world", NULL, rank.role_world},
	};

	if (str_starts_with(name, "master"))
		return append_master(rank.master, name, out, err);
	if (!is_counted && !str_equal(name, "world"))
		return err_set(err, ERR_CONFIG,
			       "{{%s}}: the task has no rank: its type is untracked, or has none "
			       "in this formation",
			       name);
	for (size_t i = 0; i < array_length(values); i++)
		if (str_equal(values[i].name, name))
			str_append_format(out, "%lld", (long long)values[i].number);
	return 0;
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

static int refuse_unknown(const char *name, struct err *err)
{
	return err_set(err, ERR_CONFIG,
		       "unknown template {{%s}}; known are %s (write {{{{ for a literal {{)", name,
		       known);
}

static int expand_one(const struct framework_task *task, const char *name, struct str *out,
		      struct err *err)
{
	if (expand_simple(task, name, out))
		return 0;
	if (is_rank(name))
		return expand_rank(task, name, out, err);
	if (str_starts_with(name, "cluster.")) {
		if (expand_cluster(task, name + strlen("cluster."), out, err) < 0)
			return err_wrap(err, "{{%s}}", name);
		return 0;
	}
	return refuse_unknown(name, err);
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

/* The next template at or behind *text, which moves behind it; NULL: there is none. The text before
 * it goes to `out` (NULL: nowhere). The caller frees. */
static char *next_template(const char **text, struct str *out)
{
	while (**text) {
		const char *brace = strstr(*text, "{{"), *end;
		size_t plain = brace ? (size_t)(brace - *text) : strlen(*text);
		if (out)
			str_append_bytes(out, *text, plain);
		*text += plain;
		if (!brace)
			break;
		bool is_escaped = str_starts_with(*text, "{{{{");
		char *name = is_escaped ? NULL : read_name(*text, &end);
		if (name) {
			*text = end;
			return name;
		}
		if (out)
			str_append(out, "{{");
		*text += is_escaped ? 4 : 2;
	}
	return NULL;
}

char *framework_expand(const struct framework_task *task, const char *text, struct err *err)
{
	struct str out cleanup_str = {0};
	char *name;

	while ((name = next_template(&text, &out))) {
		int result = expand_one(task, name, &out, err);
		free(name);
		if (result < 0)
			return NULL;
	}
	return str_steal(&out);
}

int framework_check_templates(const char *text, struct err *err)
{
	struct str_list names cleanup_str_list = {0};
	char *name;
	int result = 0;

	str_split(&names, known, ',');
	while (result == 0 && (name = next_template(&text, NULL))) {
		if (!str_list_has(&names, name) && !str_starts_with(name, "cluster."))
			result = refuse_unknown(name, err);
		free(name);
	}
	return result;
}
