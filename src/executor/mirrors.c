#include "executor/mirrors.h"

#include <stdlib.h>

#include "base/fs.h"
#include "base/mem.h"
#include "protocol/report.h"
#include "store/access.h"
#include "store/store.h"

enum {
	LOOK_MS = 1000,
	PATIENCE_MS = 30000,
	MIRRORS_MAX = 2,
	TROUBLE_MS = 3000, /* what is over sooner is told to nobody */
};

struct mirrors {
	struct named_mirror {
		struct mirrors *mirrors;
		const char *name;
		struct mirror *mirror;
		const char *kept; /* where it stays when the container has ended; NULL: nowhere */
	} items[MIRRORS_MAX];
	size_t count;

	/* The work in hand: */
	void (*start)(struct mirror *mirror, mirror_done *done, void *data);
	const char *verb; /* "fetched" */
	size_t left;
	struct err failure; /* the first */
	mirror_done *done;
	void *done_data;
};

/* ---- all of them -------------------------------------------------------------------------- */

static void on_part(void *data, const struct err *err)
{
	const struct named_mirror *item = data;
	struct mirrors *mirrors = item->mirrors;
	bool is_kept = item->kept && mirrors->start == mirror_flush;

	if (err && mirrors->failure.kind == ERR_NONE)
		err_set(&mirrors->failure, err->kind, "its %s could not be %s: %s%s%s", item->name,
			mirrors->verb, err_message(err), is_kept ? "; they stay in " : "",
			is_kept ? item->kept : "");
	if (--mirrors->left > 0)
		return;
	struct err failure cleanup_err = mirrors->failure;
	mirrors->failure = (struct err){0};
	mirrors->done(mirrors->done_data, failure.kind == ERR_NONE ? NULL : &failure);
}

/* At once, so that a store that is away costs its patience once. */
static void start_all(struct mirrors *mirrors, mirror_done *done, void *data)
{
	size_t count = mirrors->count;

	mirrors->done = done;
	mirrors->done_data = data;
	mirrors->left = count;
	for (size_t i = 0; i < count; i++)
		mirrors->start(mirrors->items[i].mirror, on_part, &mirrors->items[i]);
}

void mirrors_fetch(struct mirrors *mirrors, mirror_done *done, void *data)
{
	mirrors->start = mirror_fetch;
	mirrors->verb = "fetched";
	start_all(mirrors, done, data);
}

void mirrors_flush(struct mirrors *mirrors, mirror_done *done, void *data)
{
	mirrors->start = mirror_flush;
	mirrors->verb = "stored";
	start_all(mirrors, done, data);
}

void mirrors_watch(struct mirrors *mirrors)
{
	mirrors->verb = "stored";
	for (size_t i = 0; i < mirrors->count; i++)
		mirror_watch(mirrors->items[i].mirror);
}

/* NULL: none has any. */
static const struct named_mirror *find_troubled(const struct mirrors *mirrors,
						struct mirror_backlog *backlog)
{
	for (size_t i = 0; i < mirrors->count; i++) {
		mirror_measure(mirrors->items[i].mirror, backlog);
		if (backlog->trouble_ms >= TROUBLE_MS && mirror_trouble(mirrors->items[i].mirror))
			return &mirrors->items[i];
	}
	return NULL;
}

char *mirrors_trouble(const struct mirrors *mirrors)
{
	struct mirror_backlog backlog;
	const struct named_mirror *item = find_troubled(mirrors, &backlog);

	return item ? mem_printf("its %s cannot be %s: %s; trying again", item->name, mirrors->verb,
				 mirror_trouble(item->mirror))
		    : NULL;
}

void mirrors_measure(const struct mirrors *mirrors, struct storing *storing)
{
	struct mirror_backlog backlog;

	*storing = (struct storing){0};
	if (find_troubled(mirrors, &backlog))
		storing->trouble_ms = backlog.trouble_ms;
	for (size_t i = 0; i < mirrors->count; i++) {
		mirror_measure(mirrors->items[i].mirror, &backlog);
		storing->files += backlog.files;
		storing->bytes += backlog.bytes;
		if (backlog.wait_ms > storing->wait_ms)
			storing->wait_ms = backlog.wait_ms;
	}
}

/* ---- opening ------------------------------------------------------------------------------ */

struct place {
	const char *name, *directory;
	const char *store, *path; /* the directory in the store */
	bool follow;
};

static int open_one(struct mirrors *mirrors, const struct settings *settings,
		    const struct store_access *access, const struct place *place,
		    struct event_base *base, struct err *err)
{
	char *scratch cleanup_free = mem_printf("%s.part", place->directory);
	const struct mirror_options options = {
		.directory = place->directory,
		.scratch = scratch,
		/* The mirror itself tries again, and says so meanwhile. */
		.store = store_open(place->store, access, -1, base, err),
		.path = place->path,
		.writer = settings->container,
		.interval_ms = LOOK_MS,
		.patience_ms = PATIENCE_MS,
		.follow = place->follow,
	};
	struct mirror *mirror = options.store ? mirror_create(&options, err) : NULL;

	if (!mirror) {
		store_close(options.store);
		return -1;
	}
	mirrors->items[mirrors->count++] = (struct named_mirror){
		mirrors, place->name, mirror,
		settings->scheduler->traits->shares_files ? place->directory : NULL};
	return 0;
}

static int open_all(struct mirrors *mirrors, const struct settings *settings,
		    const struct store_access *access, struct event_base *base, struct err *err)
{
	const struct job *job = settings->job;
	const struct place checkpoints = {
		"checkpoints", job->checkpoint_dir, settings->checkpoint_url, "",
		/* Those whom nobody waits for read what others write: evaluators, TensorBoard. */
		.follow = job->types[settings->type].role == JOB_ROLE_SIDECAR};
	const struct place results = {"results", job->output_dir, settings->output_url,
				      settings->output_name};

	if (checkpoints.store && open_one(mirrors, settings, access, &checkpoints, base, err) < 0)
		return err_wrap(err, "tony.application.checkpoint-dir");
	return results.store ? open_one(mirrors, settings, access, &results, base, err) : 0;
}

int mirrors_open(const struct settings *settings, struct event_base *base, struct mirrors **mirrors,
		 struct err *err)
{
	*mirrors = NULL;
	if (!settings->checkpoint_url && !settings->output_url)
		return 0;
	struct store_access access cleanup_store_access = {0};
	if (store_access_from_json(settings->job->stores, &access, err) < 0)
		return -1;
	struct mirrors *made = mem_alloc(sizeof(*made));
	int result = open_all(made, settings, &access, base, err);
	if (result == 0)
		*mirrors = made;
	else
		mirrors_destroy(made);
	return result;
}

void mirrors_destroy(struct mirrors *mirrors)
{
	if (!mirrors)
		return;
	for (size_t i = 0; i < mirrors->count; i++)
		mirror_destroy(mirrors->items[i].mirror);
	err_finish(&mirrors->failure);
	free(mirrors);
}
