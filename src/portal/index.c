#include "portal/index.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/user.h"
#include "job/job_family.h"
#include "portal/index_internal.h"

enum {
	VERSION = 8,
	BUSY_MS = 10000,
	TEXT_MESSAGE = 300, /* bytes of a message that are looked through */
};

/* In the order of time, so that the newest are read first and without the others. What is shown of
 * a job is kept apart from what is looked through. */
static const char schema[] =
	"PRAGMA journal_mode = WAL;"
	"CREATE TABLE folders (number INTEGER PRIMARY KEY, location TEXT NOT NULL, path TEXT NOT "
	"NULL,"
	" modified_ms INTEGER NOT NULL, UNIQUE (location, path));"
	"CREATE TABLE jobs (submitted_ms INTEGER NOT NULL, id TEXT NOT NULL, name TEXT, user TEXT,"
	" framework TEXT, queue TEXT, state TEXT, tags TEXT, types TEXT, task_count INTEGER,"
	" begun_ms INTEGER, ended_ms INTEGER, view_acl TEXT, modify_acl TEXT,"
	" folder INTEGER NOT NULL,"
	" modified_ms INTEGER NOT NULL, text TEXT, family TEXT,"
	" PRIMARY KEY (submitted_ms DESC, id, user)) WITHOUT ROWID;"
	"CREATE UNIQUE INDEX jobs_id ON jobs (id, user);"
	"CREATE INDEX jobs_folder ON jobs (folder);"
	"CREATE INDEX jobs_state ON jobs (state);"
	"CREATE INDEX jobs_family ON jobs (family, user, submitted_ms, id) WHERE family NOT NULL;"
	"CREATE TABLE summaries (id TEXT, user TEXT, json TEXT NOT NULL, PRIMARY KEY (id, user))"
	" WITHOUT ROWID;"
	"CREATE TABLE age (ms INTEGER NOT NULL);"
	"INSERT INTO age VALUES (0);"
	"PRAGMA user_version = 8;";

static const char settings[] = "PRAGMA synchronous = OFF; PRAGMA cache_size = -4096;"
			       "PRAGMA temp_store = MEMORY;";

/* ---- statements --------------------------------------------------------------------------- */

int index_fail(struct portal_index *index, struct err *err)
{
	return err_set(err, ERR_IO, "%s: %s", index->path, sqlite3_errmsg(index->db));
}

sqlite3_stmt *index_prepare(struct portal_index *index, const char *sql, struct err *err)
{
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v2(index->db, sql, -1, &statement, NULL) == SQLITE_OK)
		return statement;
	index_fail(index, err);
	return NULL;
}

void index_cleanup(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
}

void index_bind(sqlite3_stmt *statement, const char *name, const char *text)
{
	int number = sqlite3_bind_parameter_index(statement, name);

	if (number > 0)
		sqlite3_bind_text(statement, number, text, -1, SQLITE_TRANSIENT);
}

void index_bind_int(sqlite3_stmt *statement, const char *name, int64_t value)
{
	int number = sqlite3_bind_parameter_index(statement, name);

	if (number > 0)
		sqlite3_bind_int64(statement, number, value);
}

/* To its end. */
static int run(struct portal_index *index, sqlite3_stmt *statement, struct err *err)
{
	int got;

	while ((got = sqlite3_step(statement)) == SQLITE_ROW)
		continue;
	return got == SQLITE_DONE ? 0 : index_fail(index, err);
}

static int execute(struct portal_index *index, const char *sql, struct err *err)
{
	return sqlite3_exec(index->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0
									   : index_fail(index, err);
}

/* ---- opening ------------------------------------------------------------------------------ */

/* may_see(user, view_acl), of the index's viewer */
static void may_see(sqlite3_context *context, int count, sqlite3_value **values)
{
	const struct portal_index *index = sqlite3_user_data(context);
	const struct portal_viewer *viewer = index->viewer;
	const struct acl_rule rule = {
		.owner = (const char *)sqlite3_value_text(values[0]),
		.acl = (const char *)sqlite3_value_text(values[1]),
		.administrators = viewer->administrators,
	};

	sqlite3_result_int(context, acl_allows(&rule, &viewer->user));
}

static int64_t ask_number(struct portal_index *index, const char *sql)
{
	sqlite3_stmt *statement cleanup_statement = index_prepare(index, sql, NULL);

	return statement && sqlite3_step(statement) == SQLITE_ROW
		       ? sqlite3_column_int64(statement, 0)
		       : -1;
}

static bool is_sound(struct portal_index *index)
{
	sqlite3_stmt *statement cleanup_statement =
		index_prepare(index, "PRAGMA quick_check(1)", NULL);

	return statement && sqlite3_step(statement) == SQLITE_ROW &&
	       str_equal((const char *)sqlite3_column_text(statement, 0), "ok") &&
	       ask_number(index, "PRAGMA user_version") == VERSION;
}

/* SQLite would give it the mode that the umask leaves; it gives -wal and -shm the mode of this. */
static int make_private(const char *path, struct err *err)
{
	int fd cleanup_close = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || fchmod(fd, 0600) < 0)
		return err_set_errno(err, "%s", path);
	return 0;
}

static int open_file(struct portal_index *index, struct err *err)
{
	if (sqlite3_open_v2(index->path, &index->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		return index_fail(index, err);
	sqlite3_busy_timeout(index->db, BUSY_MS);
	sqlite3_create_function(index->db, "may_see", 2, SQLITE_UTF8, index, may_see, NULL, NULL);
	return 0;
}

static void close_file(struct portal_index *index)
{
	sqlite3_close(index->db);
	index->db = NULL;
}

static void remove_file(const char *path)
{
	static const char *const ends[] = {"", "-wal", "-shm"};

	for (size_t i = 0; i < array_length(ends); i++) {
		char *file cleanup_free = mem_printf("%s%s", path, ends[i]);
		unlink(file);
	}
}

static int make_anew(struct portal_index *index, struct err *err)
{
	close_file(index);
	remove_file(index->path);
	if (make_private(index->path, err) < 0 || open_file(index, err) < 0)
		return -1;
	return execute(index, schema, err);
}

static int open_index(struct portal_index *index, struct err *err)
{
	char *directory cleanup_free = fs_dirname(index->path);
	bool was_there = fs_exists(index->path);

	if (fs_make_directories(directory, 0700, err) < 0 || make_private(index->path, err) < 0 ||
	    open_file(index, err) < 0)
		return -1;
	if (!is_sound(index)) {
		if (was_there)
			log_warning("%s is flawed, or of another version: it is made anew",
				    index->path);
		if (make_anew(index, err) < 0)
			return -1;
	}
	return execute(index, settings, err);
}

struct portal_index *portal_index_open(const char *path, struct err *err)
{
	struct portal_index *index = mem_alloc(sizeof(*index));

	index->path = mem_strdup(path);
	index->me = user_name_of(geteuid());
	if (open_index(index, err) == 0)
		return index;
	portal_index_close(index);
	return NULL;
}

struct portal_index *portal_index_open_known(const char *path, struct err *err)
{
	struct portal_index *index = mem_alloc(sizeof(*index));

	index->path = mem_strdup(path);
	index->me = user_name_of(geteuid());
	if (open_file(index, err) == 0 && execute(index, settings, err) == 0)
		return index;
	portal_index_close(index);
	return NULL;
}

void portal_index_close(struct portal_index *index)
{
	if (!index)
		return;
	close_file(index);
	free(index->path);
	free(index->me);
	free(index);
}

/* ---- writing ------------------------------------------------------------------------------ */

int portal_index_begin(struct portal_index *index, struct err *err)
{
	return execute(index, "BEGIN IMMEDIATE", err);
}

int portal_index_commit(struct portal_index *index, struct err *err)
{
	return execute(index, "COMMIT", err);
}

int portal_index_folder(struct portal_index *index, const char *location, const char *path,
			struct portal_folder *folder, struct err *err)
{
	sqlite3_stmt *insert cleanup_statement = index_prepare(
		index,
		"INSERT OR IGNORE INTO folders (location, path, modified_ms) VALUES (:l, :p, 0)",
		err);
	sqlite3_stmt *find cleanup_statement = index_prepare(
		index, "SELECT number, modified_ms FROM folders WHERE location = :l AND path = :p",
		err);

	if (!insert || !find)
		return -1;
	index_bind(insert, ":l", location);
	index_bind(insert, ":p", path);
	index_bind(find, ":l", location);
	index_bind(find, ":p", path);
	if (run(index, insert, err) < 0)
		return -1;
	if (sqlite3_step(find) != SQLITE_ROW)
		return index_fail(index, err);
	folder->number = sqlite3_column_int64(find, 0);
	folder->modified_ms = sqlite3_column_int64(find, 1);
	return 0;
}

int portal_index_set_folder(struct portal_index *index, const struct portal_folder *folder,
			    struct err *err)
{
	sqlite3_stmt *update cleanup_statement =
		index_prepare(index, "UPDATE folders SET modified_ms = :m WHERE number = :n", err);

	if (!update)
		return -1;
	index_bind_int(update, ":m", folder->modified_ms);
	index_bind_int(update, ":n", folder->number);
	return run(index, update, err);
}

static int forget_folder(struct portal_index *index, int64_t number, struct err *err)
{
	static const char *const orders[] = {
		("DELETE FROM summaries WHERE (id, user) IN "
		 "(SELECT id, user FROM jobs WHERE folder = :n)"),
		"DELETE FROM jobs WHERE folder = :n",
		"DELETE FROM folders WHERE number = :n",
	};

	for (size_t i = 0; i < array_length(orders); i++) {
		sqlite3_stmt *order cleanup_statement = index_prepare(index, orders[i], err);
		if (!order)
			return -1;
		index_bind_int(order, ":n", number);
		if (run(index, order, err) < 0)
			return -1;
	}
	return 0;
}

/* The numbers that `find` tells, unless the text beside them is kept. */
static int forget_others(struct portal_index *index, sqlite3_stmt *find,
			 const struct str_list *kept, struct err *err)
{
	int64_t *numbers cleanup_free = NULL;
	size_t count = 0;

	while (sqlite3_step(find) == SQLITE_ROW) {
		if (str_list_has(kept, (const char *)sqlite3_column_text(find, 1)))
			continue;
		numbers = mem_realloc_array(numbers, count + 1, sizeof(*numbers));
		numbers[count++] = sqlite3_column_int64(find, 0);
	}
	sqlite3_reset(find);
	for (size_t i = 0; i < count; i++)
		if (forget_folder(index, numbers[i], err) < 0)
			return -1;
	return 0;
}

int portal_index_keep_folders(struct portal_index *index, const char *location,
			      const struct str_list *paths, struct err *err)
{
	sqlite3_stmt *find cleanup_statement =
		index_prepare(index, "SELECT number, path FROM folders WHERE location = :l", err);

	if (!find)
		return -1;
	index_bind(find, ":l", location);
	return forget_others(index, find, paths, err);
}

int portal_index_keep_locations(struct portal_index *index, const struct str_list *locations,
				struct err *err)
{
	sqlite3_stmt *find cleanup_statement =
		index_prepare(index, "SELECT number, location FROM folders", err);

	return find ? forget_others(index, find, locations, err) : -1;
}

int portal_index_visit(struct portal_index *index, int64_t folder,
		       void (*visit)(void *data, const char *id, int64_t modified_ms), void *data,
		       struct err *err)
{
	sqlite3_stmt *find cleanup_statement =
		index_prepare(index, "SELECT id, modified_ms FROM jobs WHERE folder = :f", err);
	int got;

	if (!find)
		return -1;
	index_bind_int(find, ":f", folder);
	while ((got = sqlite3_step(find)) == SQLITE_ROW)
		visit(data, (const char *)sqlite3_column_text(find, 0),
		      sqlite3_column_int64(find, 1));
	return got == SQLITE_DONE ? 0 : index_fail(index, err);
}

/* ---- a job -------------------------------------------------------------------------------- */

static char *types_of(const struct history_summary *summary)
{
	struct str_list names cleanup_str_list = {0};

	for (size_t i = 0; i < summary->type_count; i++)
		str_list_add(&names, summary->types[i].name);
	return str_list_join(&names, " ");
}

static void append_lower(struct str *text, const char *part, size_t cap)
{
	for (size_t i = 0; part && part[i] && i < cap; i++)
		str_append_char(text, part[i] >= 'A' && part[i] <= 'Z' ? (char)(part[i] + 'a' - 'A')
								       : part[i]);
	str_append_char(text, '\n');
}

/* All that "anything" looks through. */
static char *text_of(const struct history_summary *summary, const char *state, const char *tags,
		     const char *types)
{
	const char *parts[] = {summary->id,    summary->name, summary->user, summary->framework,
			       summary->queue, tags,	      types,	     summary->scheduler,
			       state};
	struct str text = {0};

	for (size_t i = 0; i < array_length(parts); i++)
		append_lower(&text, parts[i], SIZE_MAX);
	append_lower(&text, summary->message, TEXT_MESSAGE);
	return str_steal(&text);
}

/* NULL: not known, "": there is none. */
struct acls {
	char *view, *modify;
};

static void acls_finish(struct acls *acls)
{
	free(acls->view);
	free(acls->modify);
}
#define cleanup_acls __attribute__((cleanup(acls_finish)))

/* Of a job in folder 0. */
static void find_acls(struct portal_index *index, const char *id, struct acls *acls)
{
	sqlite3_stmt *find cleanup_statement = index_prepare(
		index, "SELECT view_acl, modify_acl FROM jobs WHERE id = :id AND folder = 0", NULL);

	if (!find)
		return;
	index_bind(find, ":id", id);
	if (sqlite3_step(find) != SQLITE_ROW)
		return;
	acls->view = mem_strdup((const char *)sqlite3_column_text(find, 0));
	acls->modify = mem_strdup((const char *)sqlite3_column_text(find, 1));
}

static int insert_job(struct portal_index *index, const struct history_summary *summary,
		      const char *state, const struct acls *acls, int64_t folder,
		      int64_t modified_ms, struct err *err)
{
	char *tags cleanup_free = str_list_join(&summary->tags, " ");
	char *types cleanup_free = types_of(summary);
	char *text cleanup_free = text_of(summary, state, tags, types);
	int64_t begun_ms = summary->begun_ms > 0 ? summary->begun_ms : summary->submitted_ms;
	bool has_ended = job_state_is_final(summary->state) || str_equal(state, PORTAL_DAMAGED);
	sqlite3_stmt *insert cleanup_statement = index_prepare(
		index,
		"INSERT INTO jobs VALUES (:submitted, :id, :name, :user, :framework, :queue, "
		":state, :tags, :types, :task_count, :begun, :ended, :acl, :modify, :folder, "
		":modified, :text, :family)",
		err);

	if (!insert)
		return -1;
	index_bind_int(insert, ":submitted", summary->submitted_ms);
	index_bind(insert, ":id", summary->id);
	index_bind(insert, ":name", summary->name);
	index_bind(insert, ":user", summary->user ? summary->user : "");
	index_bind(insert, ":framework", summary->framework);
	index_bind(insert, ":queue", summary->queue);
	index_bind(insert, ":state", state);
	index_bind(insert, ":tags", tags);
	index_bind(insert, ":types", types);
	index_bind_int(insert, ":task_count", summary->task_count);
	index_bind_int(insert, ":begun", begun_ms);
	index_bind_int(insert, ":ended",
		       has_ended && summary->ended_ms == 0 ? begun_ms : summary->ended_ms);
	index_bind(insert, ":acl", acls->view);
	index_bind(insert, ":modify", acls->modify);
	index_bind_int(insert, ":folder", folder);
	index_bind_int(insert, ":modified", modified_ms);
	index_bind(insert, ":text", text);
	index_bind(insert, ":family", job_family(&summary->tags));
	return run(index, insert, err);
}

/* A scheduler's list of jobs that go on has fewer members than a history. */
static void leave_out_unknown(json_t *json)
{
	static const char *const members[] = {"begun_ms",
					      "forming_ms",
					      "running_ms",
					      "ended_ms",
					      "epoch",
					      "retries",
					      "infrastructure_retries",
					      "am_attempt",
					      "bytes"};

	for (size_t i = 0; i < array_length(members); i++)
		if (json_integer_value(json_object_get(json, members[i])) == 0)
			json_object_del(json, members[i]);
}

static int insert_summary(struct portal_index *index, const struct history_summary *summary,
			  const char *state, struct err *err)
{
	json_t *json cleanup_json = history_summary_to_json(summary);
	if (!job_state_is_final(summary->state))
		leave_out_unknown(json);
	json_set_text(json, "state", state);
	char *text cleanup_free = json_text(json);
	sqlite3_stmt *insert cleanup_statement = index_prepare(
		index, "INSERT OR REPLACE INTO summaries VALUES (:id, :user, :json)", err);

	if (!insert)
		return -1;
	index_bind(insert, ":id", summary->id);
	index_bind(insert, ":user", summary->user ? summary->user : "");
	index_bind(insert, ":json", text);
	return run(index, insert, err);
}

/* An order with a condition in place of its %s, which may speak of :user, :me and :folder. */
static sqlite3_stmt *prepare_which(struct portal_index *index, const char *order, const char *which,
				   const char *id, const char *user, int64_t folder,
				   struct err *err)
{
	char *sql cleanup_free = mem_printf(order, which);
	sqlite3_stmt *statement = index_prepare(index, sql, err);

	if (!statement)
		return NULL;
	index_bind(statement, ":id", id);
	index_bind(statement, ":user", user);
	index_bind(statement, ":me", index->me);
	index_bind_int(statement, ":folder", folder);
	return statement;
}

/* Forgets what is known of a job, where `which` is so. */
static int forget(struct portal_index *index, const char *which, const char *id, const char *user,
		  int64_t folder, struct err *err)
{
	static const char *const orders[] = {
		("DELETE FROM summaries WHERE (id, user) IN "
		 "(SELECT id, user FROM jobs WHERE id = :id AND %s)"),
		"DELETE FROM jobs WHERE id = :id AND %s",
	};

	for (size_t i = 0; i < array_length(orders); i++) {
		sqlite3_stmt *order cleanup_statement =
			prepare_which(index, orders[i], which, id, user, folder, err);
		if (!order || run(index, order, err) < 0)
			return -1;
	}
	return 0;
}

static bool is_known(struct portal_index *index, const char *which, const char *id,
		     const char *user, int64_t folder)
{
	sqlite3_stmt *find cleanup_statement = prepare_which(
		index, "SELECT 1 FROM jobs WHERE id = :id AND %s", which, id, user, folder, NULL);

	return find && sqlite3_step(find) == SQLITE_ROW;
}

/* Jobs that only a scheduler knows (folder 0) are this process's user's, whatever it called itself
 * when it submitted them. */
static int put(struct portal_index *index, const struct history_summary *summary, const char *state,
	       int64_t folder, int64_t modified_ms, struct err *err)
{
	struct acls acls cleanup_acls = {0};

	if (folder == 0)
		find_acls(index, summary->id, &acls);
	else
		acls.view = mem_strdup(summary->view_acl);
	if (forget(index,
		   "(user = :user OR folder = :folder OR state = '" PORTAL_DAMAGED "' OR "
		   "(folder = 0 AND :user = :me))",
		   summary->id, summary->user ? summary->user : "", folder, err) < 0 ||
	    insert_job(index, summary, state, &acls, folder, modified_ms, err) < 0)
		return -1;
	return insert_summary(index, summary, state, err);
}

int portal_index_put(struct portal_index *index, const struct history_summary *summary,
		     int64_t folder, int64_t modified_ms, struct err *err)
{
	if (folder == 0 &&
	    is_known(index, "folder > 0 AND user IN (:user, :me) AND state != '" PORTAL_DAMAGED "'",
		     summary->id, summary->user, folder))
		return 0;
	return put(index, summary, job_state_name(summary->state), folder, modified_ms, err);
}

static int find_live(struct portal_index *index, const char *sql, struct str_list *ids,
		     struct err *err)
{
	sqlite3_stmt *find cleanup_statement = index_prepare(index, sql, err);
	int got;

	if (!find)
		return -1;
	while ((got = sqlite3_step(find)) == SQLITE_ROW)
		str_list_add(ids, (const char *)sqlite3_column_text(find, 0));
	return got == SQLITE_DONE ? 0 : index_fail(index, err);
}

/* An order that speaks of :id, :value and :other. */
static int update_live(struct portal_index *index, const char *sql, const char *id,
		       const char *value, const char *other, struct err *err)
{
	sqlite3_stmt *update cleanup_statement = index_prepare(index, sql, err);

	if (!update)
		return -1;
	index_bind(update, ":id", id);
	index_bind(update, ":value", value);
	index_bind(update, ":other", other);
	return run(index, update, err);
}

int portal_index_without_acls(struct portal_index *index, struct str_list *ids, struct err *err)
{
	return find_live(index, "SELECT id FROM jobs WHERE folder = 0 AND view_acl IS NULL", ids,
			 err);
}

int portal_index_set_acls(struct portal_index *index, const char *id, const char *view_acl,
			  const char *modify_acl, struct err *err)
{
	return update_live(index,
			   "UPDATE jobs SET view_acl = :value, modify_acl = :other "
			   "WHERE id = :id AND folder = 0",
			   id, view_acl ? view_acl : "", modify_acl ? modify_acl : "", err);
}

int portal_index_running(struct portal_index *index, struct str_list *ids, struct err *err)
{
	return find_live(index, "SELECT id FROM jobs WHERE folder = 0 AND state = 'running'", ids,
			 err);
}

int portal_index_set_work(struct portal_index *index, const char *id, const char *work,
			  struct err *err)
{
	return update_live(index,
			   "UPDATE summaries SET json = json_set(json, '$.work', json(:value)) "
			   "WHERE id = :id AND user IN "
			   "(SELECT user FROM jobs WHERE id = :id AND folder = 0)",
			   id, work, NULL, err);
}

int portal_index_put_damaged(struct portal_index *index, const char *id, const char *reason,
			     int64_t submitted_ms, int64_t folder, struct err *err)
{
	const struct history_summary summary = {.id = (char *)id,
						.name = (char *)id,
						.user = "",
						.framework = "",
						.message = (char *)reason,
						.submitted_ms = submitted_ms};

	if (is_known(index, "folder != :folder", id, "", folder))
		return 0;
	return put(index, &summary, PORTAL_DAMAGED, folder, PORTAL_DAMAGED_MS, err);
}

int portal_index_remove(struct portal_index *index, const char *id, int64_t folder, struct err *err)
{
	return forget(index, "folder = :folder", id, "", folder, err);
}

int portal_index_set_age(struct portal_index *index, int64_t now_ms, struct err *err)
{
	sqlite3_stmt *update cleanup_statement =
		index_prepare(index, "UPDATE age SET ms = :ms", err);

	if (!update)
		return -1;
	index_bind_int(update, ":ms", now_ms);
	return run(index, update, err);
}

int64_t portal_index_age(struct portal_index *index)
{
	int64_t age = ask_number(index, "SELECT ms FROM age");

	return age > 0 ? age : 0;
}
