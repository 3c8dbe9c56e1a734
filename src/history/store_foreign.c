/* TonY's jobs in a store: made into tony's own when the first of their files is asked for, and kept
 * until another job's is. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "history/avro.h"
#include "history/jhist.h"
#include "history/pack.h"
#include "history/store_internal.h"

struct store_foreign {
	char *path;
	char *keeper; /* of the directory that it was read in; NULL: the store cannot tell */
	struct jhist jhist;
};

void store_foreign_destroy(struct store_foreign *foreign)
{
	if (!foreign)
		return;
	jhist_finish(&foreign->jhist);
	free(foreign->path);
	free(foreign->keeper);
	free(foreign);
}

/* ---- finding ------------------------------------------------------------------------------ */

struct finding {
	char *newest; /* name of the .jhist of the last AM attempt */
	int64_t started_ms;
	const char *config; /* name of the configuration; NULL: none */
};

static void on_file(void *data, const struct store_item *item)
{
	struct finding *finding = data;
	struct jhist_name name;

	if (item->is_directory)
		return;
	if (str_equal(item->name, "tony-final.xml"))
		finding->config = "tony-final.xml";
	else if (!finding->config && str_equal(item->name, "config.xml"))
		finding->config = "config.xml";
	else if (jhist_name_parse(item->name, &name)) {
		if (!finding->newest || name.started_ms > finding->started_ms) {
			mem_replace(&finding->newest, mem_strdup(item->name));
			finding->started_ms = name.started_ms;
		}
		jhist_name_finish(&name);
	}
}

/* Both files are of the same directory, or there is no configuration. */
static int read_source(struct history_store *store, const char *path, const struct finding *finding,
		       struct store_foreign *foreign, struct err *err)
{
	struct jhist_source source = {.name = finding->newest};
	char *beside cleanup_free = NULL;
	char *events cleanup_free = store_read_file(store, path, finding->newest, AVRO_FILE_CAP,
						    &source.length, &foreign->keeper, err);
	char *config cleanup_free =
		events && finding->config
			? store_read_file(store, path, finding->config, JHIST_CONFIG_CAP,
					  &source.config_length, &beside, NULL)
			: NULL;

	if (!events)
		return -1;
	source.events = events;
	source.config = str_equal(beside, foreign->keeper) ? config : NULL;
	return jhist_read(&source, &foreign->jhist, err);
}

static struct store_foreign *load(struct history_store *store, const char *path, struct err *err)
{
	struct finding finding = {0};
	struct store_foreign *foreign = NULL;

	if (store_run(store->files, store_list(path, NULL, on_file, &finding), err) < 0) {
		free(finding.newest);
		return NULL;
	}
	if (!finding.newest) {
		err_set(err, ERR_NOT_FOUND, "%s/%s: there is no job in it",
			store_location(store->files), path);
	} else {
		foreign = mem_alloc(sizeof(*foreign));
		foreign->path = mem_strdup(path);
		foreign->jhist.events = -1;
		if (read_source(store, path, &finding, foreign, err) < 0) {
			store_foreign_destroy(foreign);
			foreign = NULL;
		}
	}
	free(finding.newest);
	return foreign;
}

static const struct jhist *find(struct history_store *store, const char *path, char **keeper,
				struct err *err)
{
	if (!store->foreign || !str_equal(store->foreign->path, path)) {
		struct store_foreign *foreign = load(store, path, err);
		if (!foreign)
			return NULL;
		store_foreign_destroy(store->foreign);
		store->foreign = foreign;
	}
	if (keeper)
		*keeper = mem_strdup(store->foreign->keeper);
	return &store->foreign->jhist;
}

/* ---- files -------------------------------------------------------------------------------- */

static char *summary_text(const struct jhist *jhist)
{
	json_t *object cleanup_json = history_summary_to_json(&jhist->summary);

	return json_text(object);
}

static char *make_text(const struct jhist *jhist, const char *name)
{
	if (str_equal(name, HISTORY_JOB))
		return job_to_text(jhist->job);
	if (str_equal(name, HISTORY_CONFIG))
		return history_configuration(jhist->job);
	if (str_equal(name, HISTORY_METRICS) && *jhist->metrics)
		return mem_strdup(jhist->metrics);
	return str_equal(name, HISTORY_SUMMARY) ? summary_text(jhist) : NULL;
}

/* A reader has a position of its own. */
static int open_events(const struct jhist *jhist, struct err *err)
{
	char *path cleanup_free = mem_printf("/proc/self/fd/%d", jhist->events);

	int fd = store_open_again(path, err);
	return fd < 0 ? err_rename(err, path, HISTORY_EVENTS) : fd;
}

int store_foreign_open(struct history_store *store, const char *path, const char *name,
		       char **keeper, struct err *err)
{
	const struct jhist *jhist = find(store, path, keeper, err);

	if (!jhist)
		return -1;
	if (str_equal(name, HISTORY_EVENTS))
		return open_events(jhist, err);
	char *text cleanup_free = make_text(jhist, name);
	if (!text)
		return err_set(err, ERR_NOT_FOUND, "%s/%s: TonY has left no %s",
			       store_location(store->files), path, name);
	int fd cleanup_close = store_make_file(err);
	if (fd < 0 || fs_write_all(fd, text, strlen(text), err) < 0)
		return -1;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_set_errno(err, "%s", name);
	return mem_steal_fd(&fd);
}

static int foreign_summary(struct history_store *store, const char *path,
			   struct history_summary *summary, char **keeper, struct err *err)
{
	const struct jhist *jhist = find(store, path, keeper, err);

	if (!jhist)
		return -1;
	/* By way of its text: a deep copy. What has not ended could not be read back so. */
	enum job_state state = jhist->summary.state;
	struct history_summary ended = jhist->summary;
	if (!job_state_is_final(state))
		ended.state = JOB_FAILED;
	json_t *object cleanup_json = history_summary_to_json(&ended);
	char *text cleanup_free = json_text(object);
	if (history_summary_from_text(text, strlen(text), summary, err) < 0)
		return err_wrap(err, "%s/%s", store_location(store->files), path);
	summary->state = state;
	return 0;
}

/* ---- whoever has made it ------------------------------------------------------------------ */

static int read_summary(struct history_store *store, const char *path,
			struct history_summary *summary, char **owner, struct err *err)
{
	char *full cleanup_free = mem_printf("%s/" HISTORY_SUMMARY, path);
	int fd = store_open_file(store->files, full, HISTORY_SUMMARY_CAP, owner, err);
	size_t length;
	char *bytes cleanup_free = store_read_opened(store, fd, path, HISTORY_SUMMARY,
						     HISTORY_SUMMARY_CAP, &length, err);

	if (!bytes)
		return -1;
	if (history_summary_from_text(bytes, length, summary, err) < 0)
		return err_wrap(err, "%s/%s/" HISTORY_SUMMARY, store_location(store->files), path);
	return 0;
}

int store_summary(struct history_store *store, const char *path, struct history_summary *summary,
		  char **owner, struct err *err)
{
	struct err missing cleanup_err = {0};

	if (read_summary(store, path, summary, owner, &missing) < 0 &&
	    (missing.kind != ERR_NOT_FOUND ? err_copy(err, &missing)
					   : foreign_summary(store, path, summary, owner, err)) < 0)
		return -1;
	if (str_equal(summary->id, fs_basename(path)))
		return 0;
	err_set(err, ERR_INPUT, "%s/%s: the job in it is another, %s", store_location(store->files),
		path, summary->id);
	history_summary_finish(summary);
	return -1;
}
