#include "history/upload.h"

#include <dirent.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "history/layout.h"
#include "history/summary.h"

enum { AT_ONCE = 32 }; /* files on their way */

/* One after the other; each begins when all calls of the one before were answered. */
enum step {
	STEP_LOOK, /* at the location's permission, and whether the history is there already */
	/* Its directories are made. Each by itself: HDFS takes the sticky bit off those that it
	 * makes on the way. */
	STEP_YEAR,
	STEP_MONTH,
	STEP_DAY,
	STEP_DIRECTORIES, /* those of the job */
	STEP_OWNER,	  /* where the place is taken: whose is what we make? */
	STEP_SUMMARY,	  /* what is there is this user's: is it this job's? */
	STEP_FILES,
	STEP_RENAME, /* of objects: the summary */
	STEP_CLEAR,  /* what is beside the place, when it did not become the history */
	STEP_END,
};

struct call {
	LIST_ENTRY(call) link;
	struct history_upload *upload;
	void (*take)(struct history_upload *upload, const struct store_answer *answer,
		     const struct err *err);
	int fd; /* of the file that is sent; -1: none */
};

struct history_upload {
	struct store *store;
	enum step step;
	char *from;
	char *side, *place; /* in the store */
	struct history_access access;
	unsigned day_permission;
	struct str_list directories, files; /* relative to `from` and `side` */
	size_t next;			    /* of `files` */
	LIST_HEAD(, call) calls;	    /* that were not answered yet */
	size_t call_count;
	struct err err; /* the first failure */
	char *taker;	/* the owner of what is at the place already; NULL: nothing is */
	bool is_there;	/* it was published before, by this user */
	bool is_held;	/* it does not appear before it is decided upon */
	void (*done)(void *data, const struct err *err);
	void *data;
};

static void go_on(struct history_upload *upload);

static void call_free(struct call *call)
{
	LIST_REMOVE(call, link);
	if (call->fd >= 0)
		close(call->fd);
	call->upload->call_count--;
	free(call);
}

void history_upload_destroy(struct history_upload *upload)
{
	if (!upload)
		return;
	while (!LIST_EMPTY(&upload->calls))
		call_free(LIST_FIRST(&upload->calls));
	str_list_finish(&upload->directories);
	str_list_finish(&upload->files);
	err_finish(&upload->err);
	free(upload->from);
	free(upload->side);
	free(upload->place);
	free(upload->taker);
	free(upload);
}

static bool has_objects(const struct history_upload *upload)
{
	return store_traits(upload->store)->holds_objects;
}

/* ---- calls -------------------------------------------------------------------------------- */

static void on_answer(void *data, const struct store_answer *answer, const struct err *err)
{
	struct call *call = data;
	struct history_upload *upload = call->upload;

	call->take(upload, answer, err);
	call_free(call);
	go_on(upload);
}

static struct call *start(struct history_upload *upload, struct store_request request,
			  void (*take)(struct history_upload *upload,
				       const struct store_answer *answer, const struct err *err))
{
	struct call *call = mem_alloc(sizeof(*call));

	*call = (struct call){.upload = upload, .take = take, .fd = -1};
	LIST_INSERT_HEAD(&upload->calls, call, link);
	upload->call_count++;
	store_start(upload->store, request, on_answer, call);
	return call;
}

static void take_failure(struct history_upload *upload, const struct store_answer *answer,
			 const struct err *err)
{
	if (err && upload->err.kind == ERR_NONE)
		err_copy(&upload->err, err);
}

/* Where nothing is yet, the directories are to be their owner's alone. */
static void take_location(struct history_upload *upload, const struct store_answer *answer,
			  const struct err *err)
{
	if (answer)
		upload->day_permission = answer->item->permission;
	else if (err->kind != ERR_NOT_FOUND)
		take_failure(upload, answer, err);
}

static void take_place(struct history_upload *upload, const struct store_answer *answer,
		       const struct err *err)
{
	if (answer)
		upload->taker = mem_strdup(answer->item->owner);
}

static void refuse_place(struct history_upload *upload)
{
	err_set(&upload->err, ERR_DENIED,
		"%s/%s: is there already, belongs to %s and is not this job's history, which is "
		"not "
		"published; %s or the owner of %s can remove it",
		store_root(upload->store), upload->place, upload->taker, upload->taker,
		store_root(upload->store));
}

/* A user's name in HDFS shows in what it makes, whichever way it has proved it. */
static void take_owner(struct history_upload *upload, const struct store_answer *answer,
		       const struct err *err)
{
	if (err)
		take_failure(upload, answer, err);
	else if (!str_equal(answer->item->owner, upload->taker))
		refuse_place(upload);
}

/* The owner of the day can give an entry of this user's another job's name. */
static void take_summary(struct history_upload *upload, const struct store_answer *answer,
			 const struct err *err)
{
	if (has_objects(upload) && err && err->kind == ERR_NOT_FOUND)
		return;
	if (err && err->kind != ERR_NOT_FOUND && err->kind != ERR_INPUT) {
		take_failure(upload, answer, err);
		return;
	}
	json_t *summary cleanup_json =
		answer ? json_parse(answer->bytes, answer->length, NULL) : NULL;
	upload->is_there = str_equal(json_string_value(json_object_get(summary, "id")),
				     fs_basename(upload->place));
	if (!upload->is_there)
		refuse_place(upload);
}

/* What is left beside the place hurts nobody. */
static void take_nothing(struct history_upload *upload, const struct store_answer *answer,
			 const struct err *err)
{
}

static void make_directory(struct history_upload *upload, const char *path, unsigned permission)
{
	start(upload, store_make_directories(path, permission), take_failure);
}

/* ---- steps -------------------------------------------------------------------------------- */

/* The directory so many levels above the place. */
static void make_above(struct history_upload *upload, int levels)
{
	char *path cleanup_free = mem_strdup(upload->place);

	for (int i = 0; i < levels; i++)
		mem_replace(&path, fs_dirname(path));
	make_directory(upload, path, upload->day_permission);
}

static void make_directories(struct history_upload *upload)
{
	unsigned permission = (unsigned)upload->access.directory;

	make_directory(upload, upload->side, permission);
	for (size_t i = 0; i < upload->directories.count; i++) {
		char *path cleanup_free = fs_join(upload->side, upload->directories.items[i]);
		make_directory(upload, path, permission);
	}
}

static void read_summary(struct history_upload *upload)
{
	char *path cleanup_free = fs_join(upload->place, HISTORY_SUMMARY);

	start(upload, store_read(path, HISTORY_SUMMARY_CAP), take_summary);
}

static int send_file(struct history_upload *upload, const char *name)
{
	char *from cleanup_free = fs_join(upload->from, name);
	char *to cleanup_free = fs_join(upload->side, name);
	int fd cleanup_close = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return err_set_errno(&upload->err, "%s", from);
	struct call *call =
		start(upload, store_upload(to, (unsigned)upload->access.file, fd, status.st_size),
		      take_failure);
	call->fd = mem_steal_fd(&fd);
	return 0;
}

/* As many as may be on their way. */
static void send_files(struct history_upload *upload)
{
	while (upload->err.kind == ERR_NONE && upload->call_count < AT_ONCE &&
	       upload->next < upload->files.count)
		send_file(upload, upload->files.items[upload->next++]);
}

static void begin(struct history_upload *upload)
{
	switch (upload->step) {
	case STEP_LOOK:
		start(upload, store_stat(""), take_location);
		start(upload, store_stat(upload->place), take_place);
		return;
	case STEP_YEAR:
		make_above(upload, 3);
		return;
	case STEP_MONTH:
		make_above(upload, 2);
		return;
	case STEP_DAY:
		make_above(upload, 1);
		return;
	case STEP_DIRECTORIES:
		make_directories(upload);
		return;
	case STEP_OWNER:
		start(upload, store_stat(upload->side), take_owner);
		return;
	case STEP_SUMMARY:
		read_summary(upload);
		return;
	case STEP_FILES:
		send_files(upload);
		return;
	case STEP_RENAME:
		if (has_objects(upload)) {
			send_file(upload, HISTORY_SUMMARY);
			return;
		}
		start(upload, store_rename_keeping(upload->side, upload->place), take_failure);
		return;
	case STEP_CLEAR:
		/* Another process may be at the same place. */
		if (has_objects(upload))
			return;
		start(upload, store_remove(upload->side), take_nothing);
		return;
	case STEP_END:
		return;
	}
}

static enum step step_after(const struct history_upload *upload)
{
	if (upload->is_there || upload->err.kind != ERR_NONE)
		return upload->step < STEP_CLEAR ? STEP_CLEAR : STEP_END;
	if (upload->step == STEP_DIRECTORIES && !upload->taker)
		return STEP_FILES;
	return upload->step < STEP_RENAME ? upload->step + 1 : STEP_END;
}

static bool waits(const struct history_upload *upload)
{
	return upload->is_held && upload->step == STEP_FILES && upload->err.kind == ERR_NONE;
}

static void go_on(struct history_upload *upload)
{
	if (upload->step == STEP_FILES)
		send_files(upload);
	while (upload->call_count == 0 && upload->step != STEP_END && !waits(upload)) {
		upload->step = step_after(upload);
		begin(upload);
	}
	if (upload->step == STEP_END)
		upload->done(upload->data, upload->err.kind == ERR_NONE ? NULL : &upload->err);
}

void history_upload_hold(struct history_upload *upload)
{
	upload->is_held = true;
}

void history_upload_decide(struct history_upload *upload, bool appears, const char *why)
{
	if (upload->step == STEP_END)
		return;
	upload->is_held = false;
	if (!appears && upload->err.kind == ERR_NONE)
		err_set(&upload->err, ERR_FAILED, "%s", why);
	if (upload->call_count == 0)
		go_on(upload);
}

/* ---- the beginning ------------------------------------------------------------------------ */

static int scan(struct history_upload *upload, const char *name, struct err *err)
{
	char *path cleanup_free = fs_join(upload->from, name);
	DIR *directory cleanup_dir = opendir(path);
	const struct dirent *entry;

	if (!directory)
		return err_set_errno(err, "%s", path);
	while ((entry = readdir(directory))) {
		char *member cleanup_free = fs_join(name, entry->d_name);
		char *full cleanup_free = fs_join(upload->from, member);
		if (*entry->d_name == '.')
			continue;
		if (has_objects(upload) && str_equal(member, HISTORY_SUMMARY))
			continue;
		if (!fs_is_directory(full)) {
			str_list_add(&upload->files, member);
			continue;
		}
		str_list_add(&upload->directories, member);
		if (scan(upload, member, err) < 0)
			return -1;
	}
	return 0;
}

struct history_upload *history_upload_start(struct store *store, const char *directory,
					    const struct history_target *target,
					    void (*done)(void *data, const struct err *err),
					    void *data, struct err *err)
{
	struct history_upload *upload = mem_alloc(sizeof(*upload));

	*upload = (struct history_upload){
		.store = store,
		.from = mem_strdup(directory),
		.place = history_path(target->submitted_ms, target->job_id),
		.access = target->access,
		.day_permission = 0700,
		.done = done,
		.data = data,
	};
	LIST_INIT(&upload->calls);
	if (has_objects(upload)) {
		upload->step = STEP_SUMMARY;
		upload->side = mem_strdup(upload->place);
		upload->taker = mem_strdup("somebody");
	} else {
		upload->side =
			history_side_path(target->submitted_ms, target->job_id, target->attempt);
	}
	if (scan(upload, "", err) < 0) {
		history_upload_destroy(upload);
		return NULL;
	}
	begin(upload);
	return upload;
}

/* ---- at once ------------------------------------------------------------------------------ */

struct uploading {
	struct err *err;
	int result;
	bool is_done;
};

static void on_uploaded(void *data, const struct err *err)
{
	struct uploading *uploading = data;

	uploading->result = err ? err_copy(uploading->err, err) : 0;
	uploading->is_done = true;
}

int history_upload(struct store *store, const char *directory, const struct history_target *target,
		   struct err *err)
{
	struct uploading uploading = {.err = err};
	struct history_upload *upload =
		history_upload_start(store, directory, target, on_uploaded, &uploading, err);

	if (!upload)
		return -1;
	while (!uploading.is_done)
		event_base_loop(store_loop(store), EVLOOP_ONCE);
	history_upload_destroy(upload);
	return uploading.result;
}
