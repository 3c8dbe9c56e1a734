#include "executor/mirror.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/timer.h"
#include "executor/mirror_look.h"
#include "executor/mirror_store.h"
#include "store/store.h"

enum {
	/* Of so many looks one takes every file for settled: some change all the time. */
	LOOKS_PER_ROUND = 5,
	LOOKS_PER_FETCH = 5, /* of who follows */
	FETCH_TRIES = 5,     /* while others write */
};

enum activity { ACTIVITY_NONE, ACTIVITY_FETCH, ACTIVITY_STORE };

struct mirror {
	char *directory, *scratch;
	struct mirror_store *store;
	int64_t interval_ms, patience_ms;
	int64_t moved_ms; /* when something went well last, by the monotonic clock */
	struct event *timer;

	struct map *stored; /* path -> struct mirror_file: what the store has, as far as we know */
	struct mirror_files seen; /* by the last look */
	unsigned looks;
	bool follow, watching, flush_next;
	int tries;	/* of this fetch */
	bool is_shared; /* a program writes here during this fetch */
	char *trouble;	/* logged already */
	int64_t trouble_since_ms;
	int64_t waiting_files, waiting_bytes; /* seen by the last look, and not stored since */
	int64_t waiting_since_ms; /* nothing was stored since then, or had to be; 0: none waits */
	bool has_stored;	  /* since the last look */

	enum activity activity;	  /* also while the next try of it is awaited */
	struct mirror_files todo; /* to be fetched or stored, one after the other */
	struct mirror_files gone; /* then to be removed */
	size_t next;
	int fd;		     /* of the file in hand; -1: none */
	int64_t seen_length; /* of that, by the last look */

	mirror_done *done; /* of a fetch or flush; NULL: none */
	void *done_data;
};

/* What advances the work in hand returns true when the next piece can be done at once; false: it
 * is being waited for, or all has ended. */
static void go_on(struct mirror *mirror);
static void look(struct mirror *mirror);

/* ---- what the store has ------------------------------------------------------------------- */

static void free_file(void *value)
{
	struct mirror_file *file = value;

	free(file->path);
	free(file);
}

static void remember(struct mirror *mirror, const struct mirror_file *file)
{
	struct mirror_file *copy = mem_alloc(sizeof(*copy));

	*copy = *file;
	copy->path = mem_strdup(file->path);
	map_set(mirror->stored, copy->path, copy);
}

static bool is_stored(const struct mirror *mirror, const struct mirror_file *file)
{
	const struct mirror_file *stored = map_get(mirror->stored, file->path);

	return stored && mirror_file_same(stored, file);
}

/* ---- ends --------------------------------------------------------------------------------- */

static void plan(struct mirror *mirror)
{
	if (mirror->watching)
		timer_start(mirror->timer, mirror->interval_ms);
}

/* A look that left out a file which is being written to cannot tell whether the store takes it. */
static bool shows_nothing(const struct mirror *mirror)
{
	return mirror->activity == ACTIVITY_STORE && mirror->waiting_files > 0 &&
	       !mirror->has_stored;
}

/* A store that is out of reach is said once, not at every look. */
static void complain(struct mirror *mirror, const struct err *err)
{
	const char *text = err ? err_message(err) : NULL;

	if (!text && shows_nothing(mirror))
		return;
	if (!mirror->trouble)
		mirror->trouble_since_ms = clock_monotonic_ms();
	if (text && !str_equal(text, mirror->trouble))
		log_warning("%s; trying again", text);
	mem_replace(&mirror->trouble, mem_strdup(text));
}

static void tell(struct mirror *mirror, const struct err *err)
{
	mirror_done *done = mirror->done;

	mirror->done = NULL;
	if (done)
		done(mirror->done_data, err);
}

static void drop_work(struct mirror *mirror)
{
	mem_cleanup_close(&mirror->fd);
	mirror_files_finish(&mirror->todo);
	mirror_files_finish(&mirror->gone);
	mirror->next = 0;
}

/* A store that is away for a moment costs neither a program's start nor its success; where a token
 * has ended, its user has all the time to bring another one. */
static bool is_worth_a_try(const struct mirror *mirror, const struct err *err)
{
	return err && !mirror->watching &&
	       (err->kind == ERR_EXPIRED ||
		(err->kind == ERR_UNREACHABLE &&
		 clock_monotonic_ms() - mirror->moved_ms < mirror->patience_ms));
}

static void end(struct mirror *mirror, const struct err *err)
{
	drop_work(mirror);
	if (!mirror->flush_next && is_worth_a_try(mirror, err)) {
		complain(mirror, err);
		timer_start(mirror->timer, mirror->interval_ms);
		return;
	}
	if (mirror->watching || !err)
		complain(mirror, err);
	mirror->activity = ACTIVITY_NONE;
	if (mirror->flush_next) {
		mirror->flush_next = false;
		look(mirror);
	} else if (mirror->watching) {
		plan(mirror);
	} else {
		tell(mirror, err);
	}
}

static bool end_with_errno(struct mirror *mirror, const char *what, const char *path)
{
	struct err err cleanup_err = {0};

	err_set_errno(&err, "%s %s", what, path);
	end(mirror, &err);
	return false;
}

static void advance_by_one(struct mirror *mirror)
{
	mirror->next++;
	mirror->moved_ms = clock_monotonic_ms();
}

/* ---- storing ------------------------------------------------------------------------------ */

static void add_waiting(struct mirror *mirror, const struct mirror_file *file)
{
	mirror->waiting_files++;
	mirror->waiting_bytes += file->length;
	if (mirror->waiting_since_ms == 0)
		mirror->waiting_since_ms = clock_monotonic_ms();
}

/* Of the file in hand, which the look found so long. */
static void end_waiting(struct mirror *mirror, int64_t length)
{
	mirror->waiting_files--;
	mirror->waiting_bytes -= length;
	mirror->waiting_since_ms = mirror->waiting_files > 0 ? clock_monotonic_ms() : 0;
}

static void on_stored(void *data, const struct err *err)
{
	struct mirror *mirror = data;

	if (err && (err->kind != ERR_STALE || !mirror->watching)) {
		end(mirror, err);
		return;
	}
	if (!err) {
		remember(mirror, &mirror->todo.items[mirror->next]);
		end_waiting(mirror, mirror->seen_length);
		mirror->has_stored = true;
	}
	advance_by_one(mirror);
	go_on(mirror);
}

static bool store_next(struct mirror *mirror)
{
	struct mirror_file *file = &mirror->todo.items[mirror->next];
	char *path cleanup_free = fs_join(mirror->directory, file->path);
	struct stat info;

	mirror->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	mirror->seen_length = file->length;
	if (mirror->fd < 0 && errno == ENOENT) {
		mirror->next++; /* removed since: the next look tells */
		end_waiting(mirror, mirror->seen_length);
		return true;
	}
	if (mirror->fd < 0 || fstat(mirror->fd, &info) < 0)
		return end_with_errno(mirror, "cannot read", path);
	/* It may have grown since the look: stored is what it is now. */
	file->length = info.st_size;
	file->modified = mirror_time(&info);
	mirror_store_put(mirror->store, file, mirror->fd, on_stored, mirror);
	return false;
}

static void on_removed(void *data, const struct err *err)
{
	struct mirror *mirror = data;

	if (err) {
		end(mirror, err);
		return;
	}
	map_remove(mirror->stored, mirror->gone.items[mirror->next++ - mirror->todo.count].path);
	go_on(mirror);
}

static bool remove_next(struct mirror *mirror)
{
	const char *path = mirror->gone.items[mirror->next - mirror->todo.count].path;

	mirror_store_remove(mirror->store, path, on_removed, mirror);
	return false;
}

/* ---- fetching ----------------------------------------------------------------------------- */

static int put_in_place(const struct mirror *mirror, const struct mirror_file *file,
			struct err *err)
{
	int64_t ms = file->modified / MIRROR_NS_PER_MS;
	const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * MIRROR_NS_PER_MS};
	const struct timespec times[] = {time, time};
	char *path cleanup_free = fs_join(mirror->directory, file->path);
	char *parent cleanup_free = fs_dirname(path);

	if (fs_make_directories(parent, 0700, err) < 0)
		return -1;
	if (futimens(mirror->fd, times) < 0 || rename(mirror->scratch, path) < 0)
		return err_set_errno(err, "cannot write %s", path);
	return 0;
}

static void fetch_all(struct mirror *mirror);

/* ERR_NOT_FOUND: somebody has removed or replaced it since it was listed. */
static int take_fetched(const struct mirror *mirror, const struct mirror_file *file,
			struct err *err)
{
	struct stat info;

	if (fstat(mirror->fd, &info) < 0)
		return err_set_errno(err, "%s", mirror->scratch);
	if (info.st_size != file->length)
		return err_set(err, ERR_NOT_FOUND, "%s has changed while it was fetched",
			       file->path);
	return put_in_place(mirror, file, err);
}

static void on_fetched(void *data, const struct err *err)
{
	struct mirror *mirror = data;
	struct err own cleanup_err = {0};

	if (!err && take_fetched(mirror, &mirror->todo.items[mirror->next], &own) < 0)
		err = &own;
	if (!err) {
		advance_by_one(mirror);
		go_on(mirror);
	} else if (err->kind == ERR_NOT_FOUND && ++mirror->tries < FETCH_TRIES) {
		drop_work(mirror);
		fetch_all(mirror);
	} else {
		end(mirror, err);
	}
}

static bool fetch_next(struct mirror *mirror)
{
	const struct mirror_file *file = &mirror->todo.items[mirror->next];

	mirror->fd = open(mirror->scratch, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (mirror->fd < 0)
		return end_with_errno(mirror, "cannot write", mirror->scratch);
	mirror_store_fetch(mirror->store, file, mirror->fd, on_fetched, mirror);
	return false;
}

static bool drop_next(struct mirror *mirror)
{
	const char *gone = mirror->gone.items[mirror->next++ - mirror->todo.count].path;
	char *path cleanup_free = fs_join(mirror->directory, gone);

	if (unlink(path) < 0 && errno != ENOENT)
		return end_with_errno(mirror, "cannot remove", path);
	return true;
}

/* A program that runs keeps what it has written and nobody has stored yet. */
static bool keeps(const struct mirror *mirror, const struct mirror_file *here)
{
	return mirror->is_shared && !is_stored(mirror, here);
}

/* A file that is here as it was stored is compared by the time that the store told then. */
static bool is_news(const struct mirror *mirror, const struct mirror_file *mine,
		    const struct mirror_file *there)
{
	const struct mirror_file *stored = map_get(mirror->stored, there->path);
	struct mirror_file own = *mine;

	if (is_stored(mirror, mine))
		own.modified = stored->told;
	return !mirror_file_same(&own, there);
}

static void compare(struct mirror *mirror, const struct mirror_files *here,
		    const struct mirror_files *there)
{
	struct map *by_path_here = mirror_files_map(here);
	struct map *by_path_there = mirror_files_map(there);

	for (size_t i = 0; i < there->count; i++) {
		const struct mirror_file *file = &there->items[i];
		const struct mirror_file *mine = map_get(by_path_here, file->path);
		if (!mine || (is_news(mirror, mine, file) && !keeps(mirror, mine)))
			mirror_files_add(&mirror->todo, file->path, file->length, file->modified);
	}
	for (size_t i = 0; i < here->count; i++) {
		const struct mirror_file *file = &here->items[i];
		if (!map_get(by_path_there, file->path) && !keeps(mirror, file))
			mirror_files_add(&mirror->gone, file->path, 0, 0);
	}
	map_destroy(by_path_here);
	map_destroy(by_path_there);
	mirror_files_sort(&mirror->todo); /* so that the list comes after its parts, here, too */
}

/* Of what the store has as it was stored from here, the time is known that it has here. */
static void remember_all(struct mirror *mirror, struct mirror_files *there)
{
	struct map *before = mirror->stored;

	mirror->stored = map_create(free_file);
	for (size_t i = 0; i < there->count; i++) {
		struct mirror_file *file = &there->items[i];
		const struct mirror_file *stored = map_get(before, file->path);
		if (stored && stored->length == file->length && stored->told == file->told)
			file->modified = stored->modified;
		remember(mirror, file);
	}
	map_destroy(before);
}

static int check_paths(const struct mirror_files *files, struct err *err)
{
	for (size_t i = 0; i < files->count; i++) {
		if (!mirror_path_is_safe(files->items[i].path))
			return err_set(err, ERR_INPUT, "\"%s\" is no name of a file to be fetched",
				       files->items[i].path);
	}
	return 0;
}

static void on_listed(void *data, const struct err *list_err)
{
	struct mirror *mirror = data;
	struct mirror_files here cleanup_mirror_files = {0};
	struct mirror_files there cleanup_mirror_files = mirror->todo;
	struct err err cleanup_err = {0};

	mirror->todo = (struct mirror_files){0};
	if (list_err) {
		end(mirror, list_err);
		return;
	}
	if (check_paths(&there, &err) < 0 || mirror_look(mirror->directory, &here, &err) < 0) {
		end(mirror, &err);
		return;
	}
	compare(mirror, &here, &there);
	remember_all(mirror, &there);
	go_on(mirror);
}

/* ---- one after the other ------------------------------------------------------------------ */

static bool advance(struct mirror *mirror)
{
	bool fetching = mirror->activity == ACTIVITY_FETCH;

	mem_cleanup_close(&mirror->fd);
	if (mirror->next < mirror->todo.count)
		return fetching ? fetch_next(mirror) : store_next(mirror);
	if (mirror->next < mirror->todo.count + mirror->gone.count)
		return fetching ? drop_next(mirror) : remove_next(mirror);
	end(mirror, NULL);
	return false;
}

static void go_on(struct mirror *mirror)
{
	while (advance(mirror))
		continue;
}

/* ---- looking ------------------------------------------------------------------------------ */

static void list_new(struct mirror *mirror, const struct mirror_files *files)
{
	struct map *before = mirror_files_map(&mirror->seen);
	bool all = !mirror->watching || mirror->looks++ % LOOKS_PER_ROUND == 0;

	mirror->waiting_files = mirror->waiting_bytes = 0;
	for (size_t i = 0; i < files->count; i++) {
		const struct mirror_file *file = &files->items[i];
		const struct mirror_file *last = map_get(before, file->path);
		bool settled = last && mirror_file_same(last, file);
		if (is_stored(mirror, file))
			continue;
		add_waiting(mirror, file);
		if (all || settled)
			mirror_files_add(&mirror->todo, file->path, file->length, file->modified);
	}
	if (mirror->waiting_files == 0)
		mirror->waiting_since_ms = 0;
	map_destroy(before);
	mirror_files_sort(&mirror->todo);
}

static void list_gone(struct mirror *mirror, const struct mirror_files *files)
{
	struct map *here = mirror_files_map(files);
	const char *path;
	void *value;

	for (size_t i = 0; map_next(mirror->stored, &i, &path, &value);) {
		if (!map_get(here, path))
			mirror_files_add(&mirror->gone, path, 0, 0);
	}
	map_destroy(here);
}

static void look(struct mirror *mirror)
{
	struct mirror_files files = {0};
	struct err err cleanup_err = {0};

	mirror->activity = ACTIVITY_STORE;
	mirror->has_stored = false;
	if (mirror_look(mirror->directory, &files, &err) < 0) {
		mirror_files_finish(&files);
		end(mirror, &err);
		return;
	}
	list_new(mirror, &files);
	list_gone(mirror, &files);
	mirror_files_finish(&mirror->seen);
	mirror->seen = files;
	go_on(mirror);
}

static void fetch_all(struct mirror *mirror)
{
	mirror->activity = ACTIVITY_FETCH;
	mirror_store_list(mirror->store, &mirror->todo, on_listed, mirror);
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
	struct mirror *mirror = data;

	mirror->flush_next = false;
	mirror->tries = 0;
	mirror->is_shared = mirror->watching;
	if (mirror->activity == ACTIVITY_FETCH) {
		fetch_all(mirror);
	} else if (mirror->watching && mirror->follow && mirror->looks % LOOKS_PER_FETCH == 0) {
		mirror->looks++;
		fetch_all(mirror);
	} else {
		look(mirror);
	}
}

/* ---- what is asked of it ------------------------------------------------------------------ */

void mirror_fetch(struct mirror *mirror, mirror_done *done, void *data)
{
	mirror->done = done;
	mirror->done_data = data;
	mirror->tries = 0;
	mirror->is_shared = false;
	mirror->moved_ms = clock_monotonic_ms();
	fetch_all(mirror);
}

void mirror_watch(struct mirror *mirror)
{
	mirror->watching = true;
	mirror->looks = 1;
	plan(mirror);
}

const char *mirror_trouble(const struct mirror *mirror)
{
	return mirror->follow && mirror->watching ? NULL : mirror->trouble;
}

void mirror_measure(const struct mirror *mirror, struct mirror_backlog *backlog)
{
	int64_t now_ms = clock_monotonic_ms();

	*backlog = (struct mirror_backlog){
		.files = mirror->waiting_files,
		.bytes = mirror->waiting_bytes,
		.wait_ms = mirror->waiting_since_ms > 0 ? now_ms - mirror->waiting_since_ms : 0,
		.trouble_ms = mirror->trouble ? now_ms - mirror->trouble_since_ms : 0,
	};
}

void mirror_flush(struct mirror *mirror, mirror_done *done, void *data)
{
	mirror->done = done;
	mirror->done_data = data;
	mirror->watching = false;
	mirror->flush_next = true;
	mirror->moved_ms = clock_monotonic_ms();
	evtimer_del(mirror->timer);
	/* `done` is told from the loop, also when there is nothing to do. */
	if (mirror->activity == ACTIVITY_NONE)
		event_active(mirror->timer, EV_TIMEOUT, 0);
}

struct mirror *mirror_create(const struct mirror_options *options, struct err *err)
{
	if (fs_make_directories(options->directory, 0700, err) < 0)
		return NULL;
	struct mirror *mirror = mem_alloc(sizeof(*mirror));
	*mirror = (struct mirror){
		.directory = mem_strdup(options->directory),
		.scratch = mem_strdup(options->scratch),
		.store = mirror_store_open(options->store, options->path, options->writer),
		.interval_ms = options->interval_ms,
		.patience_ms = options->patience_ms,
		.follow = options->follow,
		.timer = evtimer_new(store_loop(options->store), on_timer, mirror),
		.stored = map_create(free_file),
		.fd = -1,
	};
	return mirror;
}

void mirror_destroy(struct mirror *mirror)
{
	if (!mirror)
		return;
	mirror_store_close(mirror->store);
	drop_work(mirror);
	mirror_files_finish(&mirror->seen);
	map_destroy(mirror->stored);
	event_free(mirror->timer);
	free(mirror->trouble);
	free(mirror->directory);
	free(mirror->scratch);
	free(mirror);
}
