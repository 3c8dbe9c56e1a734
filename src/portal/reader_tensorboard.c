/* The door to the TensorBoard of a job that has ended. */
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/user.h"
#include "portal/event_copy.h"
#include "portal/reader_internal.h"
#include "portal/tensorboard.h"
#include "scheduler/scheduler.h"
#include "web/ui_proxy.h"

enum { LOOKS_MAX = 10000 }; /* at files and directories */

/* NULL: `err`. */
static const char *find_log_dir(const struct job *job, struct err *err)
{
	const char *text =
		job->tensorboard_log_dir ? job->tensorboard_log_dir : job->checkpoint_dir;

	if (text && *text)
		return text;
	err_set(err, ERR_NOT_FOUND, "this job names no directory of TensorBoard's");
	return NULL;
}

/* A path is this machine's, if it is there, else the cluster's. */
static bool is_in_hdfs(const struct job *job, const char *log_dir)
{
	const struct scheduler_traits *engine = scheduler_traits_of(job);
	bool is_away = engine && !engine->shares_files;

	return str_starts_with(log_dir, "hdfs:/") || str_starts_with(log_dir, "viewfs:/") ||
	       (*log_dir == '/' && is_away && !fs_is_directory(log_dir));
}

/* ---- what is copied ----------------------------------------------------------------------- */

static void give_up(struct reader *reader, const struct err *err)
{
	reader_stop_tensorboard(reader);
	mem_replace(&reader->tensorboard_problem, mem_strdup(err_message(err)));
	log_warning("TensorBoard of %s: %s", reader->id, err_message(err));
}

static void on_copied(void *data, const struct err *err)
{
	struct reader *reader = data;
	struct err problem cleanup_err = {0};

	if (!err && !reader->tensorboard) {
		reader->tensorboard = tensorboard_start(
			reader->setup->starter, event_copy_directory(reader->events), &problem);
		err = reader->tensorboard ? NULL : &problem;
	}
	if (err)
		give_up(reader, err);
}

static int start_copy(struct reader *reader, const char *place, const char *owner, struct err *err)
{
	reader->events = event_copy_start(reader->base, place, owner, on_copied, reader, err);
	return reader->events ? 0 : -1;
}

static int start_in_hdfs(struct reader *reader, const char *log_dir, struct err *err)
{
	char *owner cleanup_free = reader_find_owner(reader, err);

	return owner ? start_copy(reader, log_dir, owner, err) : -1;
}

/* ---- what is on this machine -------------------------------------------------------------- */

static char *find_owner(struct reader *reader, struct err *err)
{
	return reader->record.is_pinned ? mem_strdup(reader->record.owner)
					: reader_find_owner(reader, err);
}

/* An entry can name any directory. So TensorBoard reads with the portal's rights only for entries
 * of the portal's own user. */
static int start_here(struct reader *reader, const char *log_dir, struct err *err)
{
	char *owner cleanup_free = find_owner(reader, err);
	char *me cleanup_free = user_name_of(geteuid());
	char *place cleanup_free = mem_printf("file://%s", log_dir);
	bool has_user = reader->user && *reader->user;

	if (!owner)
		return -1;
	if (!str_equal(owner, me))
		return start_copy(reader, place, has_user ? reader->user : owner, err);
	reader->tensorboard = tensorboard_start(reader->setup->starter, log_dir, err);
	return reader->tensorboard ? 0 : -1;
}

/* ------------------------------------------------------------------------------------------- */

static int start(struct reader *reader, struct err *err)
{
	const char *log_dir = find_log_dir(reader->job, err);

	if (!log_dir)
		return -1;
	if (is_in_hdfs(reader->job, log_dir))
		return start_in_hdfs(reader, log_dir, err);
	if (str_starts_with(log_dir, "file://"))
		log_dir += strlen("file://");
	if (*log_dir != '/')
		return err_set(err, ERR_NOT_FOUND,
			       "%s: is neither on this machine nor in HDFS; mount it, or copy it",
			       log_dir);
	return start_here(reader, log_dir, err);
}

void reader_stop_tensorboard(struct reader *reader)
{
	tensorboard_stop(mem_steal(&reader->tensorboard));
	event_copy_stop(mem_steal(&reader->events));
	mem_replace(&reader->tensorboard_problem, NULL);
}

static bool has_event_files(const char *directory)
{
	char *const roots[] = {(char *)directory, NULL};
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
	const FTSENT *entry = NULL;
	bool found = false;
	int looks = 0;

	while (!found && looks++ < LOOKS_MAX && tree && (entry = fts_read(tree)))
		found = entry->fts_level > 0 && strstr(strrchr(entry->fts_path, '/'), "tfevents");
	if (tree)
		fts_close(tree);
	return found || looks > LOOKS_MAX;
}

/* As far as a look is cheap, and the portal's to take: start() says more. */
static bool may_have_something(struct reader *reader)
{
	const char *log_dir = find_log_dir(reader->job, NULL);
	char *owner cleanup_free = find_owner(reader, NULL);
	char *me cleanup_free = user_name_of(geteuid());

	if (!log_dir || is_in_hdfs(reader->job, log_dir) || !str_equal(owner, me))
		return log_dir != NULL;
	return has_event_files(str_starts_with(log_dir, "file://") ? log_dir + strlen("file://")
								   : log_dir);
}

/* What it says of itself, as in docs/portal.md. */
static const char *find_state(struct reader *reader, struct err *err)
{
	int state = reader->tensorboard ? tensorboard_look(reader->tensorboard, err) : 0;

	if (reader->tensorboard_problem)
		state = err_set(err, ERR_FAILED, "%s", reader->tensorboard_problem);
	if (state != 0)
		return state < 0 ? "failed" : "running";
	if (reader->tensorboard || reader->events)
		return "starting";
	return may_have_something(reader) ? "stopped" : "nothing";
}

static void answer_state(struct reader *reader, struct http_request *request)
{
	struct err err cleanup_err = {0};
	char *path cleanup_free = mem_printf("ui/%s/tensorboard/", reader->id);
	json_t *answer = json_object();

	json_set_text(answer, "state", find_state(reader, &err));
	json_set_text(answer, "path", path);
	if (err.kind != ERR_NONE)
		json_set_text(answer, "message", err_message(&err));
	else if (reader->events && event_copy_left_out(reader->events))
		json_set_text(answer, "message", event_copy_left_out(reader->events));
	http_answer_json(request, 200, answer);
}

void reader_handle_tensorboard(void *data, struct http_request *request)
{
	if (reader_open(data, request))
		answer_state(data, request);
}

void reader_handle_tensorboard_start(void *data, struct http_request *request)
{
	struct reader *reader = data;
	struct err err cleanup_err = {0};

	if (!reader_open(reader, request))
		return;
	if (reader->tensorboard && tensorboard_look(reader->tensorboard, NULL) < 0)
		reader_stop_tensorboard(reader);
	if (reader->tensorboard || reader->events) {
		answer_state(reader, request);
		return;
	}
	mem_replace(&reader->tensorboard_problem, NULL);
	if (start(reader, &err) == 0)
		answer_state(reader, request);
	else
		http_answer_error(request, 409, "conflict", "%s", err_message(&err));
}

void reader_handle_tensorboard_ui(void *data, struct http_request *request)
{
	struct reader *reader = data;

	if (!reader->tensorboard) {
		http_answer_error(request, 404, "not-found",
				  "no TensorBoard was started for this job");
		return;
	}
	const struct ui_place place = {.prefix = "/ui/tensorboard",
				       .address = tensorboard_address(reader->tensorboard),
				       .owner = geteuid()};
	ui_proxy_start(reader->base, request, &place, &reader->passed);
}
