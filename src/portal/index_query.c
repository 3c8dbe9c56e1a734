#include <string.h>

#include "base/mem.h"
#include "portal/index_internal.h"

/* ---- which -------------------------------------------------------------------------------- */

/* What is wanted of each member: SQL, and what of the query it stands for. */
struct condition {
	const char *parameter, *sql;
	size_t offset;
};
#define WANTED(member) offsetof(struct portal_query, member)
static const struct condition conditions[] = {
	{":anything", "instr(text, :anything) > 0", WANTED(anything)},
	{":user", "user LIKE :user ESCAPE '\\'", WANTED(user)},
	{":name", "name LIKE :name ESCAPE '\\'", WANTED(name)},
	{":type", "types LIKE :type ESCAPE '\\'", WANTED(type)},
	{":queue", "queue LIKE :queue ESCAPE '\\'", WANTED(queue)},
	{":tag", "tags LIKE :tag ESCAPE '\\'", WANTED(tag)},
	{":state", "state = :state", WANTED(state)},
};

static const char *value_of(const struct portal_query *query, const struct condition *condition)
{
	const char *value = *(const char *const *)((const char *)query + condition->offset);

	return value && *value ? value : NULL;
}

static void append_conditions(struct str *sql, const struct portal_query *query)
{
	/* Without any condition an index of states is enough to count them all. */
	str_append(sql, " WHERE true");
	if (query->viewer)
		str_append(sql, " AND may_see(user, view_acl)");
	if (query->from_ms > 0 || query->to_ms > 0)
		str_append(sql, " AND submitted_ms BETWEEN :from AND :to");
	for (size_t i = 0; i < array_length(conditions); i++)
		if (value_of(query, &conditions[i]))
			str_append_format(sql, " AND %s", conditions[i].sql);
}

/* "%text%", with nothing in it that means more than itself. The caller frees. */
static char *pattern_of(const char *text)
{
	struct str pattern = {0};

	str_append_char(&pattern, '%');
	for (; *text; text++) {
		if (strchr("%_\\", *text))
			str_append_char(&pattern, '\\');
		str_append_char(&pattern, *text);
	}
	str_append_char(&pattern, '%');
	return str_steal(&pattern);
}

static char *lower_of(const char *text)
{
	char *lower = mem_strdup(text);

	for (char *c = lower; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c + 'a' - 'A');
	return lower;
}

static void bind_conditions(sqlite3_stmt *statement, const struct portal_query *query)
{
	index_bind_int(statement, ":from", query->from_ms);
	index_bind_int(statement, ":to", query->to_ms > 0 ? query->to_ms : INT64_MAX);
	for (size_t i = 0; i < array_length(conditions); i++) {
		const struct condition *condition = &conditions[i];
		const char *value = value_of(query, condition);
		if (!value)
			continue;
		char *text cleanup_free = strstr(condition->sql, "LIKE") ? pattern_of(value)
					  : condition->offset == WANTED(anything)
						  ? lower_of(value)
						  : mem_strdup(value);
		index_bind(statement, condition->parameter, text);
	}
}

/* ---- in which order ----------------------------------------------------------------------- */

/* By the names that a request may have: bookmarks of older portals say "tasks". */
static const struct {
	const char *name, *column;
} sorts[] = {
	{"submitted_ms", "submitted_ms"},
	{"id", "id"},
	{"name", "name"},
	{"user", "user"},
	{"queue", "queue"},
	{"state", "state"},
	{"task_count", "task_count"},
	{"tasks", "task_count"},
	{"framework", "framework"},
};

static const char *column_of(const char *sort)
{
	for (size_t i = 0; i < array_length(sorts); i++)
		if (str_equal(sort, sorts[i].name))
			return sorts[i].column;
	return NULL;
}

bool portal_is_sort(const char *name)
{
	return column_of(name);
}

static void append_order(struct str *sql, const struct portal_query *query)
{
	const char *sort = query->sort ? column_of(query->sort) : "submitted_ms";
	const char *direction = query->ascending ? "ASC" : "DESC";

	if (str_equal(sort, "submitted_ms"))
		str_append_format(sql, " ORDER BY submitted_ms %s, id %s", direction,
				  query->ascending ? "DESC" : "ASC");
	else
		str_append_format(sql, " ORDER BY %s %s, submitted_ms DESC, id", sort, direction);
	str_append(sql, " LIMIT :limit OFFSET :offset");
}

/* ---- the list ----------------------------------------------------------------------------- */

/* How many rows; -1: `err`. */
static int64_t append_page(struct portal_index *index, const struct portal_query *query,
			   struct str *answer, struct err *err)
{
	struct str sql cleanup_str = {0};
	int64_t count = 0;
	int got;

	str_append(&sql, "SELECT json FROM (SELECT id, submitted_ms, name, user, queue, state, "
			 "task_count, framework FROM jobs");
	append_conditions(&sql, query);
	append_order(&sql, query);
	str_append(&sql, ") AS page CROSS JOIN summaries ON summaries.id = page.id AND "
			 "summaries.user = page.user");
	sqlite3_stmt *find cleanup_statement = index_prepare(index, sql.text, err);
	if (!find)
		return -1;
	bind_conditions(find, query);
	index_bind_int(find, ":limit", query->limit);
	index_bind_int(find, ":offset", query->offset);
	while ((got = sqlite3_step(find)) == SQLITE_ROW) {
		if (count++ > 0)
			str_append_char(answer, ',');
		str_append_bytes(answer, sqlite3_column_text(find, 0),
				 (size_t)sqlite3_column_bytes(find, 0));
	}
	return got == SQLITE_DONE ? count : index_fail(index, err);
}

static int64_t count_all(struct portal_index *index, const struct portal_query *query,
			 struct err *err)
{
	struct str sql cleanup_str = {0};

	str_append(&sql, "SELECT count(*) FROM jobs");
	append_conditions(&sql, query);
	sqlite3_stmt *count cleanup_statement = index_prepare(index, sql.text, err);
	if (!count)
		return -1;
	bind_conditions(count, query);
	return sqlite3_step(count) == SQLITE_ROW ? sqlite3_column_int64(count, 0)
						 : index_fail(index, err);
}

int portal_index_list(struct portal_index *index, const struct portal_query *query,
		      struct str *answer, struct err *err)
{
	struct str rows cleanup_str = {0};

	index->viewer = query->viewer;
	int64_t count = append_page(index, query, &rows, err);
	/* A page that is not full is the last. */
	bool is_last = count < query->limit && (count > 0 || query->offset == 0);
	int64_t total = is_last ? query->offset + count : count_all(index, query, err);

	if (count < 0 || total < 0)
		return -1;
	str_append_format(answer, "{\"total\":%lld,\"jobs\":[", (long long)total);
	str_append_bytes(answer, rows.text, rows.length);
	str_append(answer, "]}");
	return 0;
}

/* ---- one ---------------------------------------------------------------------------------- */

void portal_job_finish(struct portal_job *job)
{
	mem_replace(&job->user, NULL);
	mem_replace(&job->view_acl, NULL);
	mem_replace(&job->summary, NULL);
	mem_replace(&job->location, NULL);
	mem_replace(&job->path, NULL);
}

static char *text_at(sqlite3_stmt *statement, int column)
{
	return mem_strdup((const char *)sqlite3_column_text(statement, column));
}

int portal_index_find(struct portal_index *index, const char *id,
		      const struct portal_viewer *viewer, struct portal_job *job, struct err *err)
{
	struct str sql cleanup_str = {0};

	*job = (struct portal_job){0};
	index->viewer = viewer;
	str_append(&sql,
		   "SELECT jobs.user, view_acl, json, location, path || '/' || jobs.id FROM jobs "
		   "JOIN summaries ON summaries.id = jobs.id AND summaries.user = jobs.user "
		   "LEFT JOIN folders ON folders.number = jobs.folder WHERE jobs.id = :id");
	if (viewer)
		str_append(&sql, " AND may_see(jobs.user, view_acl)");
	str_append(&sql, " ORDER BY jobs.user = :viewer DESC, jobs.user = :me DESC, "
			 "jobs.folder = 0 DESC LIMIT 1");
	sqlite3_stmt *find cleanup_statement = index_prepare(index, sql.text, err);
	if (!find)
		return -1;
	index_bind(find, ":id", id);
	index_bind(find, ":viewer", viewer && viewer->user.name ? viewer->user.name : "");
	index_bind(find, ":me", index->me);
	int got = sqlite3_step(find);
	if (got == SQLITE_DONE)
		return err_set(err, ERR_NOT_FOUND, "there is no job \"%.256s\"", id);
	if (got != SQLITE_ROW)
		return index_fail(index, err);
	job->user = text_at(find, 0);
	job->view_acl = text_at(find, 1);
	job->summary = text_at(find, 2);
	job->location = text_at(find, 3);
	job->path = text_at(find, 4);
	return 0;
}

int portal_index_runs(struct portal_index *index, const struct portal_runs *runs,
		      void (*visit)(void *data, const char *summary, size_t length), void *data,
		      struct err *err)
{
	sqlite3_stmt *find cleanup_statement = index_prepare(
		index,
		"SELECT json FROM (SELECT id, user FROM jobs WHERE submitted_ms >= :since AND user "
		"= "
		":user "
		"AND name = :name AND view_acl IS :acl AND folder > 0 AND state != '" PORTAL_DAMAGED
		"' ORDER BY submitted_ms DESC LIMIT :most) AS runs "
		"CROSS JOIN summaries ON summaries.id = runs.id AND summaries.user = runs.user",
		err);
	int got;

	if (!find)
		return -1;
	index_bind_int(find, ":since", runs->since_ms);
	index_bind(find, ":user", runs->user);
	index_bind(find, ":name", runs->name);
	index_bind(find, ":acl", runs->view_acl);
	index_bind_int(find, ":most", runs->most);
	while ((got = sqlite3_step(find)) == SQLITE_ROW)
		visit(data, (const char *)sqlite3_column_text(find, 0),
		      (size_t)sqlite3_column_bytes(find, 0));
	return got == SQLITE_DONE ? 0 : index_fail(index, err);
}

int portal_index_count(struct portal_index *index,
		       void (*visit)(void *data, const char *state, int64_t jobs), void *data,
		       struct err *err)
{
	sqlite3_stmt *count cleanup_statement =
		index_prepare(index, "SELECT state, count(*) FROM jobs GROUP BY state", err);
	int got;

	if (!count)
		return -1;
	while ((got = sqlite3_step(count)) == SQLITE_ROW)
		visit(data, (const char *)sqlite3_column_text(count, 0),
		      sqlite3_column_int64(count, 1));
	return got == SQLITE_DONE ? 0 : index_fail(index, err);
}
