/* Files for containers: in the user's own place under the hash of their content, so that nothing is
 * sent twice and each node unpacks an archive once for all jobs of the user. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/keeper.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "scheduler/agent.h"
#include "scheduler/yarn_cache.h"
#include "scheduler/yarn_client.h"

#define CACHE_PERMISSION 0700
#define FILE_PERMISSION	 0600

struct stager {
	const struct scheduler_staging *staging;
	struct job *job;
	struct hadoop_cluster *cluster;
	struct store *own;
	struct map *numbers;	 /* what was staged -> its number in cluster->files, from 1 */
	struct map *urls;	 /* where it is -> the same number */
	struct str_list missing; /* of what may be */
	struct err *err;
};

/* ---- the cluster's files ------------------------------------------------------------------ */

/* The number of what may be there already, under another name of the user's. Takes `url`. */
static size_t add_file(struct stager *stager, char *url, const struct store_item *status,
		       bool archive)
{
	struct hadoop_cluster *cluster = stager->cluster;
	char *key cleanup_free = mem_printf("%d%s", archive, url);
	size_t number = (size_t)(uintptr_t)map_get(stager->urls, key);

	if (number > 0) {
		free(url);
		return number - 1;
	}
	cluster->files =
		mem_realloc_array(cluster->files, cluster->file_count + 1, sizeof(*cluster->files));
	cluster->files[cluster->file_count++] = (struct hadoop_file){
		.url = url,
		.length = status->length,
		.timestamp = status->modified_ms,
		.archive = archive,
	};
	map_set(stager->urls, key, (void *)(uintptr_t)cluster->file_count);
	return cluster->file_count - 1;
}

/* NodeManagers give a file one name in a container; the others are laid by the executor. */
static void add_link(struct stager *stager, size_t type, const char *name, size_t file)
{
	struct hadoop_cluster_type *to = &stager->cluster->types[type];
	struct job_files *files = &stager->job->types[type].files;

	for (size_t i = 0; i < to->link_count; i++) {
		if (to->links[i].file != file)
			continue;
		files->items =
			mem_realloc_array(files->items, files->count + 1, sizeof(*files->items));
		files->items[files->count++] = (struct job_file){
			.kind = JOB_FILE_LINK,
			.source = mem_printf("container:%s", to->links[i].name),
			.name = mem_strdup(name),
		};
		return;
	}
	to->links = mem_realloc_array(to->links, to->link_count + 1, sizeof(*to->links));
	to->links[to->link_count++] = (struct hadoop_link){mem_strdup(name), file};
}

/* ---- sending ------------------------------------------------------------------------------ */

struct sending {
	const struct scheduler_staging *staging;
	const char *name;
	int64_t total;
};

static bool on_progress(void *data, int64_t bytes)
{
	const struct sending *sending = data;
	const struct scheduler_staging *staging = sending->staging;

	return !staging->progress ||
	       staging->progress(staging->data, sending->name, bytes, sending->total);
}

/* Whoever is first has made it: the content is the same. */
static int publish(struct stager *stager, const char *part, const char *path)
{
	struct store_item there cleanup_store_item = {0};

	if (store_run(stager->own, store_rename_keeping(part, path), stager->err) == 0)
		return 0;
	if (store_look(stager->own, path, &there, NULL) < 0)
		return -1;
	err_finish(stager->err);
	return store_run(stager->own, store_remove(part), stager->err);
}

/* NodeManagers compare it; some versions of Java know only the seconds of a file. */
static int round_time(struct stager *stager, const char *part)
{
	int64_t now_s = clock_wall_ms() / 1000;

	return stager->cluster->fs
		       ? store_run(stager->own, store_set_time(part, now_s * 1000), stager->err)
		       : 0;
}

static int send(struct stager *stager, const char *name, int fd, const char *path)
{
	struct stat info;

	if (fstat(fd, &info) < 0)
		return err_set_errno(stager->err, "%s", name);
	char *part cleanup_free = yarn_cache_part(fs_basename(path));
	struct sending sending = {stager->staging, name, info.st_size};
	const struct store_progress progress = {on_progress, &sending};
	struct store_request upload = store_upload(part, FILE_PERMISSION, fd, info.st_size);
	upload.progress = &progress;
	if (store_run(stager->own, upload, stager->err) == 0 && round_time(stager, part) == 0 &&
	    publish(stager, part, path) == 0)
		return 0;
	/* Only this submission knows the part. A file that is complete is every job's. */
	store_run(stager->own, store_remove(part), NULL);
	return err_wrap(stager->err, "cannot send %s", name);
}

/* A file without a name, gone when it is closed. */
static int scratch_file(struct err *err)
{
	const char *directory = getenv("TMPDIR");
	int fd = open(directory && *directory ? directory : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC,
		      0600);

	return fd < 0 ? err_set_errno(err, "no room to pack in %s", directory ? directory : "/tmp")
		      : fd;
}

/* What the NodeManager unpacks by itself, told by the name. */
static const char *unpackable_suffix(const char *source)
{
	static const char *const suffixes[] = {".tar.gz", ".tgz", ".zip", ".tar", ".jar"};

	for (size_t i = 0; i < array_length(suffixes); i++)
		if (str_ends_with(source, suffixes[i]))
			return suffixes[i];
	return NULL;
}

/* Who has no home directory cannot make one. */
static int make_cache(struct stager *stager)
{
	const char *home = stager->cluster->home, *user = stager->cluster->user;
	struct store_item item cleanup_store_item = {0};
	struct err refusal cleanup_err = {0}, missing cleanup_err = {0};

	if (store_run(stager->own, store_make_directories(YARN_CACHE, CACHE_PERMISSION),
		      &refusal) == 0)
		return 0;
	struct store *at_home cleanup_yarn_store =
		yarn_store_open(stager->cluster, home, NULL, NULL);
	if (!stager->cluster->fs && at_home && refusal.kind == ERR_DENIED &&
	    store_look(at_home, "", &item, &missing) < 0 && missing.kind == ERR_NOT_FOUND)
		return err_set(stager->err, ERR_DENIED,
			       "%s; %s has no home directory in HDFS: have an administrator type "
			       "\"hdfs dfs -mkdir %s && hdfs dfs -chown %s %s\"",
			       err_message(&refusal), user, home, user, home);
	return err_copy(stager->err, &refusal);
}

static int send_source(struct stager *stager, const struct scheduler_file *file, bool packs,
		       const char *path)
{
	int fd cleanup_close =
		packs ? scratch_file(stager->err) : open(file->source, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return packs ? -1 : err_set_errno(stager->err, "%s", file->source);
	if (packs && stager->staging->pack(file->source, fd, stager->err) < 0)
		return -1;
	if (make_cache(stager) < 0)
		return -1;
	return send(stager, fs_basename(file->source), fd, path);
}

/* ---- one file ----------------------------------------------------------------------------- */

/* A file that an earlier job has sent into a directory of this machine is there. NULL: `err`. */
static char *cache_name(struct stager *stager, const char *source, const char *suffix)
{
	char *cache cleanup_free = yarn_user_path(stager->cluster, YARN_CACHE);

	if (stager->cluster->fs && fs_is_below(source, cache))
		return mem_printf(YARN_CACHE "/%s", fs_basename(source));
	char *hash cleanup_free = fs_hash_tree(source, stager->err);
	return hash ? mem_printf(YARN_CACHE "/%s%s", hash, suffix) : NULL;
}

static int stage_local(struct stager *stager, const struct scheduler_file *file, size_t *number)
{
	const char *suffix = file->archive ? unpackable_suffix(file->source) : "";
	bool packs = fs_is_directory(file->source) || !suffix;
	struct store_item status cleanup_store_item = {0};
	struct err missing cleanup_err = {0};
	char *path cleanup_free = cache_name(stager, file->source, packs ? ".tar.gz" : suffix);

	if (!path)
		return -1;
	if (yarn_cache_use(stager->own, path, &status, &missing) < 0) {
		if (missing.kind != ERR_NOT_FOUND)
			return err_copy(stager->err, &missing);
		if (send_source(stager, file, packs, path) < 0 ||
		    store_look(stager->own, path, &status, stager->err) < 0)
			return -1;
	}
	*number = add_file(stager, yarn_user_url(stager->cluster, path), &status,
			   packs || file->archive);
	return 0;
}

struct directory {
	struct stager *stager;
	const struct store *store;
	size_t type;
};

static void add_of_directory(void *data, const struct store_item *file)
{
	const struct directory *directory = data;

	if (!file->is_file)
		return;
	add_link(directory->stager, directory->type, file->name,
		 add_file(directory->stager, fs_join(store_location(directory->store), file->name),
			  file, false));
}

/* What NodeManagers cannot unpack, or lies there as a directory, is fetched, and then sent as if it
 * had been here. */
static int stage_fetched(struct stager *stager, const struct scheduler_file *file,
			 struct store *from, size_t *number)
{
	struct sending sending = {.staging = stager->staging, .name = file->source};
	const struct store_progress progress = {on_progress, &sending};
	struct keeper scratch cleanup_keeper = {0};

	if (keeper_make_directory(&scratch, "tony-hdfs", stager->err) < 0)
		return -1;
	int held cleanup_close = keeper_open(&scratch, stager->err);
	if (held < 0)
		return -1;
	char *target cleanup_free = mem_printf("/proc/self/fd/%d/fetched", held);
	const struct scheduler_file fetched = {.source = target, .archive = true};
	if (store_fetch(from, "", target, NULL, &progress, stager->err) < 0 ||
	    stage_local(stager, &fetched, number) < 0)
		return err_rename(stager->err, target, file->source);
	return 0;
}

/* Several types may name it. `from`: the store that it is in; NULL: it is here. */
static int stage_once(struct stager *stager, const struct scheduler_file *file, struct store *from)
{
	bool is_tree = file->archive || (!from && fs_is_directory(file->source));
	char *key cleanup_free = mem_printf("%d%s", is_tree, file->source);
	size_t number = (size_t)(uintptr_t)map_get(stager->numbers, key);

	if (number == 0) {
		if ((from ? stage_fetched(stager, file, from, &number)
			  : stage_local(stager, file, &number)) < 0)
			return -1;
		map_set(stager->numbers, key, (void *)(uintptr_t)++number);
	}
	add_link(stager, file->type, file->name, number - 1);
	return 0;
}

/* Several types may name it. */
static void warn_of_missing(struct stager *stager, const char *source)
{
	if (str_list_has(&stager->missing, source))
		return;
	str_list_add(&stager->missing, source);
	log_warning("\"%s\" is not there and is left out", source);
}

/* Used in place. Of a directory the files right in it come, each under its own name, as in TonY. */
static int stage_remote(struct stager *stager, const struct scheduler_file *file)
{
	char *url cleanup_free = yarn_url_within(stager->cluster, file->source);
	struct store *store cleanup_yarn_store =
		url ? yarn_store_at(stager->cluster, url, NULL, stager->err) : NULL;
	struct store_item status cleanup_store_item = {0};
	struct err missing cleanup_err = {0};

	if (!url)
		return err_set(stager->err, ERR_CONFIG,
			       "resource \"%s\" is not in the cluster's file system, %s; copy it "
			       "there",
			       file->source, hadoop_cluster_fs_name(stager->cluster));
	if (!store)
		return -1;
	if (store_look(store, "", &status, &missing) < 0) {
		if (!file->optional || missing.kind != ERR_NOT_FOUND)
			return err_set(stager->err, missing.kind, "resource \"%s\": %s",
				       file->source, err_message(&missing));
		warn_of_missing(stager, file->source);
		return 0;
	}
	if (file->archive && (status.is_directory || !unpackable_suffix(url)))
		return stage_once(stager, file, store);
	if (!status.is_directory) {
		add_link(stager, file->type, file->name,
			 add_file(stager, mem_strdup(store_location(store)), &status,
				  file->archive));
		return 0;
	}
	struct directory directory = {stager, store, file->type};
	return store_run(store, store_list("", NULL, add_of_directory, &directory), stager->err);
}

static int stage_file(struct stager *stager, const struct scheduler_file *file)
{
	return *file->source == '/' ? stage_once(stager, file, NULL) : stage_remote(stager, file);
}

static int stage_agent(struct stager *stager)
{
	char *agent cleanup_free = agent_find(stager->err);
	const struct scheduler_file file = {.source = agent, .name = "tony-agent"};

	return agent ? stage_local(stager, &file, &stager->cluster->agent) : -1;
}

/* ---- the whole ---------------------------------------------------------------------------- */

static int stage_all(struct stager *stager)
{
	const struct scheduler_staging *staging = stager->staging;

	if (stage_agent(stager) < 0)
		return -1;
	for (size_t i = 0; i < staging->count; i++)
		if (stage_file(stager, &staging->files[i]) < 0)
			return -1;
	return 0;
}

/* A directory that all nodes see is used in place: tasks find it, and this machine. */
static char *place_of(const struct hadoop_cluster *cluster, const char *name)
{
	return cluster->fs ? yarn_user_path(cluster, name) : yarn_user_url(cluster, name);
}

/* Where the user chose none: in the user's directory, for as long as the user wants. */
static void choose_checkpoint_dir(const struct hadoop_cluster *cluster, struct job *job)
{
	if (job->checkpoint_dir)
		return;
	char *name cleanup_free = yarn_checkpoint_name(job->id);
	job->checkpoint_dir = place_of(cluster, name);
}

static void choose_output_dir(const struct hadoop_cluster *cluster, struct job *job)
{
	char *name cleanup_free = yarn_output_name(job->id);

	job->output_dir = place_of(cluster, name);
}

int yarn_stage(struct job *job, const struct scheduler_staging *staging, struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster =
		hadoop_cluster_from_json(job->engine, job->stores, err);
	struct store *own cleanup_yarn_store = cluster ? yarn_store_own(cluster, err) : NULL;

	if (!own)
		return -1;
	struct stager stager = {.staging = staging,
				.cluster = cluster,
				.own = own,
				.job = job,
				.numbers = map_create(NULL),
				.urls = map_create(NULL),
				.err = err};
	int result = stage_all(&stager);
	choose_checkpoint_dir(cluster, job);
	choose_output_dir(cluster, job);
	map_destroy(stager.numbers);
	map_destroy(stager.urls);
	str_list_finish(&stager.missing);
	if (result == 0)
		yarn_cluster_note(cluster, job);
	return result;
}

/* ---- what was staged ---------------------------------------------------------------------- */

/* A file that a type had under two names has one link. */
static const char *linked_name(const struct job_type *type, const char *name)
{
	static const char container[] = "container:";

	for (size_t i = 0; i < type->files.count; i++) {
		const struct job_file *file = &type->files.items[i];
		if (str_equal(file->name, name) && str_starts_with(file->source, container))
			return file->source + strlen(container);
	}
	return name;
}

int yarn_find_sent(const struct job *job, size_t type, const char *name,
		   struct scheduler_sent *sent, struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster =
		hadoop_cluster_from_json(job->engine, job->stores, err);
	const char *linked = linked_name(&job->types[type], name);

	if (!cluster)
		return -1;
	for (size_t i = 0; type < cluster->type_count && i < cluster->types[type].link_count; i++) {
		const struct hadoop_link *link = &cluster->types[type].links[i];
		if (!str_equal(link->name, linked) || link->file >= cluster->file_count)
			continue;
		const struct hadoop_file *file = &cluster->files[link->file];
		*sent = (struct scheduler_sent){mem_strdup(file->url), file->archive};
		return 0;
	}
	return 1;
}
