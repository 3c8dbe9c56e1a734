#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "job/job_family.h"
#include "portal/index_internal.h"

/* ---- which -------------------------------------------------------------------------------- */

/* What is wanted of each member: SQL, and what of the query it stands for. */
struct condition {
	const char *parameter, *sql;
	size_t offset;
	bool is_list; /* several words, each with a space after it */
};
#define WANTED(member) offsetof(struct portal_query, member)
static const struct condition conditions[] = {
	{":anything", "instr(text, :anything) > 0", WANTED(anything), false},
	{":user", "user LIKE :user ESCAPE '\\'", WANTED(user), false},
	{":name", "name LIKE :name ESCAPE '\\'", WANTED(name), false},
	{":type", "' ' || types || ' ' LIKE :type ESCAPE '\\'", WANTED(type), true},
	{":queue", "queue LIKE :queue ESCAPE '\\'", WANTED(queue), false},
	{":tag", "' ' || tags || ' ' LIKE :tag ESCAPE '\\'", WANTED(tag), true},
	{":state", "state = :state", WANTED(state), false},
};

static const char *value_of(const struct portal_query *query, const struct condition *condition)
{
	const char *value = *(const char *const *)((const char *)query + condition->offset);

	return value && *value ? value : NULL;
}

/* The sweep's own job stands for its trials, and the newest one for the others, as far as they may
 * be seen. */
static void append_fold(struct str *sql, bool has_viewer)
{
	str_append_format(
		sql,
		" AND (family IS NULL OR NOT (EXISTS (SELECT 1 FROM jobs AS head WHERE "
		"head.id = jobs.family AND head.user = jobs.user%s) OR EXISTS (SELECT 1 FROM jobs "
		"AS other WHERE other.family = jobs.family AND other.user = jobs.user AND "
		"(other.submitted_ms, other.id) > (jobs.submitted_ms, jobs.id)%s)))",
		has_viewer ? " AND may_see(head.user, head.view_acl)" : "",
		has_viewer ? " AND may_see(other.user, other.view_acl)" : "");
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
	if (query->folds)
		append_fold(sql, query->viewer);
}

/* "%text%", with nothing in it that means more than itself; of a text in double quotes what is
 * between these is all, or a word of a list. The caller frees. */
static char *pattern_of(const char *text, bool is_list)
{
	struct str pattern = {0};
	size_t length = strlen(text);
	bool is_whole = length > 2 && text[0] == '"' && text[length - 1] == '"';
	const char *end = text + length - (is_whole ? 1 : 0);

	str_append(&pattern, !is_whole ? "%" : is_list ? "% " : "");
	for (text += is_whole ? 1 : 0; text < end; text++) {
		if (strchr("%_\\", *text))
			str_append_char(&pattern, '\\');
		str_append_char(&pattern, *text);
	}
	str_append(&pattern, !is_whole ? "%" : is_list ? " %" : "");
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
		char *text cleanup_free =
			strstr(condition->sql, "LIKE") ? pattern_of(value, condition->is_list)
			: condition->offset == WANTED(anything) ? lower_of(value)
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
	{"duration", "(CASE WHEN ended_ms > 0 THEN ended_ms ELSE :now END) - submitted_ms"},
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

#define GROUPS " GROUP BY name, user"

static sqlite3_stmt *prepare_page(struct portal_index *index, const struct portal_query *query,
				  struct err *err)
{
	struct str sql cleanup_str = {0};

	str_append_format(
		&sql,
		"SELECT json, runs, failed, coalesce(page.family, page.id), page.user "
		"FROM (SELECT id, family, %s AS submitted_ms, name, "
		"user, queue, state, task_count, framework, begun_ms, ended_ms, %s FROM jobs",
		query->groups ? "max(submitted_ms)" : "submitted_ms",
		query->groups ? "count(*) AS runs, sum(state = 'failed') AS failed"
			      : "1 AS runs, 0 AS failed");
	append_conditions(&sql, query);
	if (query->groups)
		str_append(&sql, GROUPS);
	append_order(&sql, query);
	str_append(&sql, ") AS page CROSS JOIN summaries ON summaries.id = page.id AND "
			 "summaries.user = page.user");
	sqlite3_stmt *find = index_prepare(index, sql.text, err);
	if (!find)
		return NULL;
	bind_conditions(find, query);
	index_bind_int(find, ":limit", query->limit);
	index_bind_int(find, ":offset", query->offset);
	index_bind_int(find, ":now", query->now_ms);
	return find;
}

/* A page's rows in three ways, each a JSON array without its brackets. */
struct page_text {
	struct str jobs, runs, families;
};

static void page_text_finish(struct page_text *text)
{
	str_finish(&text->jobs);
	str_finish(&text->runs);
	str_finish(&text->families);
}
#define cleanup_page_text __attribute__((cleanup(page_text_finish)))

/* Times and number of the jobs of a family in each state. */
static sqlite3_stmt *prepare_family(struct portal_index *index, const struct portal_query *query,
				    struct err *err)
{
	char *sql cleanup_free =
		mem_printf("SELECT state, count(*), min(submitted_ms), max(ended_ms) FROM jobs "
			   "WHERE family = :family AND user = :user%s GROUP BY state",
			   query->viewer ? " AND may_see(user, view_acl)" : "");

	return index_prepare(index, sql, err);
}

/* The newest of its jobs in the state that matters most. A damaged one matters less than others
 * that did not succeed. */
static sqlite3_stmt *prepare_foremost(struct portal_index *index, const struct portal_query *query,
				      struct err *err)
{
	struct str sql cleanup_str = {0};

	str_append_format(&sql,
			  "SELECT json FROM jobs JOIN summaries USING (id, user) "
			  "WHERE family = :family AND user = :user%s ORDER BY CASE state",
			  query->viewer ? " AND may_see(user, view_acl)" : "");
	for (int i = 0; i < JOB_STATE_COUNT; i++)
		str_append_format(&sql, " WHEN '%s' THEN %d", job_state_name(job_state_order[i]),
				  i);
	str_append_format(&sql, " ELSE %d.5 END, submitted_ms DESC, id DESC LIMIT 1",
			  JOB_STATE_COUNT - 2);
	return index_prepare(index, sql.text, err);
}

static int set_foremost(struct portal_index *index, sqlite3_stmt *foremost, sqlite3_stmt *page,
			json_t *told, struct err *err)
{
	index_bind(foremost, ":family", (const char *)sqlite3_column_text(page, 3));
	index_bind(foremost, ":user", (const char *)sqlite3_column_text(page, 4));
	int got = sqlite3_step(foremost);
	if (got == SQLITE_ROW)
		json_object_set_new(
			told, "foremost",
			json_loads((const char *)sqlite3_column_text(foremost, 0), 0, NULL));
	sqlite3_reset(foremost);
	return got == SQLITE_ROW || got == SQLITE_DONE ? 0 : index_fail(index, err);
}

/* Of the families of a page. */
struct family_finds {
	sqlite3_stmt *states, *foremost;
};

/* Appends the family whose id and user are columns of `page`, or null. */
static int append_family(struct portal_index *index, struct family_finds finds, sqlite3_stmt *page,
			 struct str *families, struct err *err)
{
	const char *id = (const char *)sqlite3_column_text(page, 3);
	json_t *told cleanup_json = json_object(), *states cleanup_json = json_object();
	sqlite3_stmt *family = finds.states;
	int64_t count = 0, submitted_ms = INT64_MAX, ended_ms = 0;
	int got;

	index_bind(family, ":family", id);
	index_bind(family, ":user", (const char *)sqlite3_column_text(page, 4));
	while ((got = sqlite3_step(family)) == SQLITE_ROW) {
		json_set_int(states, (const char *)sqlite3_column_text(family, 0),
			     sqlite3_column_int64(family, 1));
		count += sqlite3_column_int64(family, 1);
		if (sqlite3_column_int64(family, 2) < submitted_ms)
			submitted_ms = sqlite3_column_int64(family, 2);
		if (sqlite3_column_int64(family, 3) > ended_ms)
			ended_ms = sqlite3_column_int64(family, 3);
	}
	if (got != SQLITE_DONE)
		return index_fail(index, err);
	sqlite3_reset(family);
	str_append(families, families->length > 0 ? "," : "");
	if (count == 0) {
		str_append(families, "null");
		return 0;
	}
	json_set_text(told, "id", id);
	json_set_int(told, "count", count);
	json_set_int(told, "submitted_ms", submitted_ms);
	json_set_int(told, "ended_ms", ended_ms);
	json_object_set(told, "states", states);
	if (!job_family_has_head(id) && set_foremost(index, finds.foremost, page, told, err) < 0)
		return -1;
	char *text cleanup_free = json_text(told);
	str_append(families, text);
	return 0;
}

/* How many rows; -1: `err`. */
static int64_t append_page(struct portal_index *index, const struct portal_query *query,
			   struct page_text *out, struct err *err)
{
	sqlite3_stmt *find cleanup_statement = prepare_page(index, query, err);
	sqlite3_stmt *family cleanup_statement =
		find && query->folds ? prepare_family(index, query, err) : NULL;
	sqlite3_stmt *foremost cleanup_statement =
		family ? prepare_foremost(index, query, err) : NULL;
	struct family_finds finds = {family, foremost};
	int64_t count = 0;
	int got;

	if (!find || (query->folds && !foremost))
		return -1;
	while ((got = sqlite3_step(find)) == SQLITE_ROW) {
		const char *comma = count++ > 0 ? "," : "";
		str_append(&out->jobs, comma);
		str_append_bytes(&out->jobs, sqlite3_column_text(find, 0),
				 (size_t)sqlite3_column_bytes(find, 0));
		if (foremost && append_family(index, finds, find, &out->families, err) < 0)
			return -1;
		str_append_format(&out->runs, "%s{\"count\":%lld,\"failed\":%lld}", comma,
				  (long long)sqlite3_column_int64(find, 1),
				  (long long)sqlite3_column_int64(find, 2));
	}
	return got == SQLITE_DONE ? count : index_fail(index, err);
}

static int64_t count_all(struct portal_index *index, const struct portal_query *query,
			 struct err *err)
{
	struct str sql cleanup_str = {0};

	str_append(&sql, "SELECT count(*) FROM (SELECT 1 FROM jobs");
	append_conditions(&sql, query);
	str_append(&sql, query->groups ? GROUPS ")" : ")");
	sqlite3_stmt *count cleanup_statement = index_prepare(index, sql.text, err);
	if (!count)
		return -1;
	bind_conditions(count, query);
	return sqlite3_step(count) == SQLITE_ROW ? sqlite3_column_int64(count, 0)
						 : index_fail(index, err);
}

/* Calls `visit` for each state that there are jobs in. */
static int count_states(struct portal_index *index, const struct portal_query *query,
			void (*visit)(void *data, const char *state, int64_t jobs), void *data,
			struct err *err)
{
	struct portal_query all = *query;
	struct str sql cleanup_str = {0};
	int got;

	all.state = NULL;
	all.folds = false;
	str_append(&sql, "SELECT state, count(*) FROM jobs");
	append_conditions(&sql, &all);
	str_append(&sql, " GROUP BY state");
	sqlite3_stmt *count cleanup_statement = index_prepare(index, sql.text, err);
	if (!count)
		return -1;
	bind_conditions(count, &all);
	while ((got = sqlite3_step(count)) == SQLITE_ROW)
		visit(data, (const char *)sqlite3_column_text(count, 0),
		      sqlite3_column_int64(count, 1));
	return got == SQLITE_DONE ? 0 : index_fail(index, err);
}

/* States are names of ours. */
static void append_state(void *data, const char *state, int64_t jobs)
{
	struct str *states = data;

	str_append_format(states, "%s\"%s\":%lld", states->length > 0 ? "," : "", state,
			  (long long)jobs);
}

int portal_index_list(struct portal_index *index, const struct portal_query *query,
		      struct str *answer, struct err *err)
{
	struct page_text page cleanup_page_text = {0};
	struct str states cleanup_str = {0};

	index->viewer = query->viewer;
	int64_t count = append_page(index, query, &page, err);
	/* A page that is not full is the last. */
	bool is_last = count < query->limit && (count > 0 || query->offset == 0);
	int64_t total = is_last ? query->offset + count : count_all(index, query, err);

	if (count < 0 || total < 0 ||
	    (query->counts && count_states(index, query, append_state, &states, err) < 0))
		return -1;
	str_append_format(answer, "{\"total\":%lld,\"jobs\":[%s]", (long long)total,
			  str_text(&page.jobs));
	if (query->groups)
		str_append_format(answer, ",\"runs\":[%s]", str_text(&page.runs));
	if (query->folds)
		str_append_format(answer, ",\"families\":[%s]", str_text(&page.families));
	if (query->counts)
		str_append_format(answer, ",\"states\":{%s}", str_text(&states));
	str_append_char(answer, '}');
	return 0;
}

/* ---- what can be asked for ---------------------------------------------------------------- */

static const struct {
	const char *name, *column;
} words[] = {
	{"user", "user"}, {"name", "name"}, {"queue", "queue"}, {"tag", "tags"}, {"type", "types"},
};

static const char *word_column(const char *of)
{
	for (size_t i = 0; i < array_length(words); i++)
		if (str_equal(of, words[i].name))
			return words[i].column;
	return NULL;
}

bool portal_index_is_word(const char *of)
{
	return word_column(of);
}

/* Of a column that is a list its words, else all of it; `part` is in small letters. */
static void add_words(const char *text, const char *part, bool is_list, size_t most,
		      struct str_list *values)
{
	while (text && *text && values->count < most) {
		size_t length = is_list ? strcspn(text, " ") : strlen(text);
		char *word cleanup_free = mem_strndup(text, length);
		char *lower cleanup_free = lower_of(word);
		if (length > 0 && strstr(lower, part) && !str_list_has(values, word))
			str_list_add(values, word);
		text += length + (text[length] == ' ');
	}
}

int portal_index_words(struct portal_index *index, const struct portal_query *query, const char *of,
		       const char *part, size_t most, struct str_list *values, struct err *err)
{
	const char *column = word_column(of);
	bool is_list = str_equal(of, "tag") || str_equal(of, "type");
	char *lower cleanup_free = lower_of(part);
	char *pattern cleanup_free = pattern_of(lower, false);
	struct str sql cleanup_str = {0};
	int got = SQLITE_ROW;

	index->viewer = query->viewer;
	str_append_format(&sql, "SELECT DISTINCT %s FROM jobs", column);
	append_conditions(&sql, query);
	str_append_format(&sql, " AND %s LIKE :part ESCAPE '\\' ORDER BY 1", column);
	sqlite3_stmt *find cleanup_statement = index_prepare(index, sql.text, err);
	if (!find)
		return -1;
	bind_conditions(find, query);
	index_bind(find, ":part", pattern);
	while (values->count < most && (got = sqlite3_step(find)) == SQLITE_ROW)
		add_words((const char *)sqlite3_column_text(find, 0), lower, is_list, most, values);
	return values->count == most || got == SQLITE_DONE ? 0 : index_fail(index, err);
}

/* ---- one ---------------------------------------------------------------------------------- */

void portal_job_finish(struct portal_job *job)
{
	mem_replace(&job->user, NULL);
	mem_replace(&job->view_acl, NULL);
	mem_replace(&job->modify_acl, NULL);
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
		   "SELECT jobs.user, view_acl, json, location, path || '/' || jobs.id, modify_acl "
		   "FROM jobs "
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
	job->modify_acl = text_at(find, 5);
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
	const struct portal_query all = {0};

	return count_states(index, &all, visit, data, err);
}

int portal_index_live(struct portal_index *index, size_t most,
		      void (*visit)(void *data, const char *state, const char *user,
				    const char *queue, int64_t jobs),
		      void *data, struct err *err)
{
	struct str sql cleanup_str = {0};
	int got;

	str_append(&sql, "SELECT state, user, queue, count(*) FROM jobs WHERE state IN (");
	for (int state = 0; state < JOB_STATE_COUNT; state++)
		if (!job_state_is_final((enum job_state)state))
			str_append_format(&sql, "%s'%s'", state > 0 ? "," : "",
					  job_state_name((enum job_state)state));
	str_append(&sql, ") GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3 LIMIT :most");
	sqlite3_stmt *count cleanup_statement = index_prepare(index, sql.text, err);
	if (!count)
		return -1;
	index_bind_int(count, ":most", (int64_t)most);
	while ((got = sqlite3_step(count)) == SQLITE_ROW)
		visit(data, (const char *)sqlite3_column_text(count, 0),
		      (const char *)sqlite3_column_text(count, 1),
		      (const char *)sqlite3_column_text(count, 2), sqlite3_column_int64(count, 3));
	return got == SQLITE_DONE ? 0 : index_fail(index, err);
}
