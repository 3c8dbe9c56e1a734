#include "client/stage.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "client/archive.h"
#include "client/input.h"
#include "client/stage_cache.h"
#include "client/stage_clone.h"
#include "client/stage_fetch.h"
#include "conf/problems.h"
#include "scheduler/fetch.h"
#include "scheduler/local_sources.h"
#include "scheduler/scheduler.h"
#include "scheduler/state_dir.h"

struct planner {
	const struct description *description;
	struct stage_files *files; /* of the type at hand */
	struct problems problems;
};

/* ---- plan --------------------------------------------------------------------------------- */

/* Told once, however many types ask for the same file. */
static void tell(struct planner *planner, char *text)
{
	if (!str_list_has(&planner->problems.errors, text))
		problems_error(&planner->problems, PROBLEM_FILE, "%s", text);
	free(text);
}

static void add(struct planner *planner, enum stage_kind kind, const char *source, const char *name)
{
	struct stage_files *files = planner->files;

	for (size_t i = 0; i < files->count; i++)
		if (str_equal(files->items[i].name, name))
			tell(planner, mem_printf("\"%s\" and \"%s\" would both appear as \"%s\"; "
						 "write the resource as SOURCE::OTHER-NAME",
						 files->items[i].source, source, name));
	files->items = mem_realloc_array(files->items, files->count + 1, sizeof(*files->items));
	files->items[files->count++] = (struct stage_file){
		.kind = kind, .source = mem_strdup(source), .name = mem_strdup(name)};
}

/* Of a source that may be a directory or an archive, and nothing else. */
static void add_either(struct planner *planner, const char *what,
		       const struct stage_file *directory, enum stage_kind if_archive)
{
	const char *source = directory->source;

	if (fs_is_directory(source))
		add(planner, directory->kind, source, directory->name);
	else if (archive_is_archive(source))
		add(planner, if_archive, source, directory->name);
	else
		tell(planner, mem_printf("%s: \"%s\" is neither a directory nor an archive (zip, "
					 "tar, tar.gz, tar.zst, tar.xz, tar.bz2)",
					 what, source));
}

static bool is_remote(const char *source)
{
	return *source != '/';
}

static void plan_venv(struct planner *planner, const char *source)
{
	if (is_remote(source))
		add(planner, STAGE_REMOTE_UNPACK, source, "venv");
	else
		add_either(planner, "--python_venv",
			   &(struct stage_file){STAGE_LINK, (char *)source, "venv"}, STAGE_UNPACK);
}

static void plan_type(struct planner *planner, const struct resource_list *resources)
{
	const struct description *from = planner->description;

	if (from->src_dir && is_remote(from->src_dir))
		add(planner, STAGE_SOURCE_REMOTE, from->src_dir, ".");
	else if (from->src_dir)
		add_either(planner, "src_dir",
			   &(struct stage_file){STAGE_SOURCE, from->src_dir, "."},
			   STAGE_SOURCE_ARCHIVE);
	if (from->python_venv)
		plan_venv(planner, from->python_venv);
	for (size_t i = 0; i < resources->count; i++) {
		const struct resource_spec *spec = &resources->items[i];
		if (spec->remote) {
			add(planner, spec->archive ? STAGE_REMOTE_UNPACK : STAGE_REMOTE,
			    spec->source, spec->name);
			planner->files->items[planner->files->count - 1].optional = spec->optional;
			continue;
		}
		char *source cleanup_free = fs_absolute(spec->source, NULL);
		/* TonY packs a directory to send it, and unpacks it again: it is one in any case.
		 */
		if (spec->archive)
			add_either(planner, "resource",
				   &(struct stage_file){STAGE_LINK, source, spec->name},
				   STAGE_UNPACK);
		else
			add(planner, STAGE_LINK, source, spec->name);
	}
}

int stage_plan(const struct description *description, struct stage *stage, struct err *err)
{
	struct planner planner = {.description = description};
	const struct job *job = description->job;

	stage->type_count = job->type_count;
	str_list_copy(&stage->left_out, &description->secret_files);
	stage->types = mem_alloc_array(job->type_count, sizeof(*stage->types));
	for (size_t i = 0; i < job->type_count; i++) {
		planner.files = &stage->types[i];
		plan_type(&planner, &description->resources[i]);
	}
	int result = problems_to_err(&planner.problems, err);
	problems_finish(&planner.problems);
	return result;
}

int stage_plan_stdin(const struct job *job, struct stage *stage, struct err *err)
{
	int tasks = 0;

	for (size_t i = 0; i < job->type_count; i++) {
		int count = job_type_slots(&job->types[i]);
		if (job->types[i].role == JOB_ROLE_SIDECAR || count == 0)
			continue;
		stage->stdin_type = i;
		tasks += count;
	}
	if (tasks != 1)
		return err_set(
			err, ERR_USAGE,
			"--stdin: the job has %d tasks, and only a job of one can read "
			"standard input; put it into a file that all open (see --src_dir and "
			"tony.containers.resources)",
			tasks);
	stage->has_stdin = true;
	return 0;
}

void stage_finish(struct stage *stage)
{
	for (size_t i = 0; i < stage->type_count; i++) {
		for (size_t k = 0; k < stage->types[i].count; k++) {
			free(stage->types[i].items[k].source);
			free(stage->types[i].items[k].name);
		}
		free(stage->types[i].items);
	}
	free(stage->types);
	str_list_finish(&stage->left_out);
	*stage = (struct stage){0};
}

const char *stage_kind_name(enum stage_kind kind)
{
	switch (kind) {
	case STAGE_LINK:
		return "link";
	case STAGE_UNPACK:
		return "unpacked archive";
	case STAGE_SOURCE:
		return "copy of the content";
	case STAGE_SOURCE_ARCHIVE:
		return "content of the archive";
	case STAGE_SOURCE_REMOTE:
		return "content from HDFS";
	case STAGE_REMOTE:
		return "from HDFS";
	case STAGE_REMOTE_UNPACK:
		return "unpacked archive from HDFS";
	}
	BUG("kind of file %d", (int)kind);
}

/* A file of the user's that is not as it should be is the user's to mend. */
static int blame(struct err *err)
{
	if (err && err->kind == ERR_INPUT)
		err->kind = ERR_CONFIG;
	return -1;
}

/* ---- resolve ------------------------------------------------------------------------------ */

struct resolver {
	const char *state, *job_dir;
	const struct job *job;
	struct map *unpacked; /* archive -> directory; several types may share one */
	struct map *fetched;  /* URI -> path, "" of one that is left out; likewise */
};

static const char *unpack(struct resolver *resolver, const char *archive, struct err *err)
{
	char *cache cleanup_free = fs_join(resolver->state, "cache");
	char *directory = map_get(resolver->unpacked, archive);

	if (directory)
		return directory;
	directory = stage_cache_unpack(cache, archive, err);
	if (directory)
		map_set(resolver->unpacked, archive, directory);
	return directory;
}

static void add_file(struct job_files *files, enum job_file_kind kind, char *source,
		     const char *name)
{
	files->items = mem_realloc_array(files->items, files->count + 1, sizeof(*files->items));
	files->items[files->count++] =
		(struct job_file){.kind = kind, .source = source, .name = mem_strdup(name)};
}

/* Of what HDFS has. NULL: `err`. */
static const char *fetch(struct resolver *resolver, const struct stage_file *file, struct err *err)
{
	bool unpack = file->kind == STAGE_REMOTE_UNPACK;
	char *cache cleanup_free = fs_join(resolver->state, "cache");
	char *key cleanup_free = mem_printf("%d%s", unpack, file->source);
	char *path = map_get(resolver->fetched, key);
	struct err missing cleanup_err = {0};

	if (path)
		return path;
	path = stage_fetch(resolver->job, cache, file->source, unpack, &missing);
	if (!path && file->optional && missing.kind == ERR_NOT_FOUND) {
		log_warning("\"%s\" is not there and is left out", file->source);
		path = mem_strdup("");
	}
	if (path)
		map_set(resolver->fetched, key, path);
	else
		err_set(err, missing.kind, "resource \"%s\": %s", file->source,
			err_message(&missing));
	return path;
}

static bool is_regular_file(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* The files right in it, each under its own name: so it is on a cluster. */
static int add_directory(const char *path, struct job_files *files, struct err *err)
{
	DIR *directory cleanup_dir = opendir(path);
	const struct dirent *entry;

	if (!directory)
		return err_set_errno(err, "%s", path);
	while ((entry = readdir(directory))) {
		char *source = fs_join(path, entry->d_name);
		if (is_regular_file(source))
			add_file(files, JOB_FILE_LINK, source, entry->d_name);
		else
			free(source);
	}
	return 0;
}

static int resolve_remote(struct resolver *resolver, const struct stage_file *file,
			  struct job_files *files, struct err *err)
{
	const char *path = fetch(resolver, file, err);

	if (!path)
		return -1;
	if (!*path)
		return 0;
	if (file->kind == STAGE_REMOTE && fs_is_directory(path))
		return add_directory(path, files, err);
	add_file(files, JOB_FILE_LINK, mem_strdup(path), file->name);
	return 0;
}

static int resolve_file(struct resolver *resolver, const struct stage_file *file,
			struct job_files *files, struct err *err)
{
	enum job_file_kind kind = JOB_FILE_LINK;
	char *source = NULL;

	if (file->kind == STAGE_REMOTE || file->kind == STAGE_REMOTE_UNPACK)
		return resolve_remote(resolver, file, files, err);

	if (file->kind == STAGE_UNPACK) {
		source = mem_strdup(unpack(resolver, file->source, err));
		if (!source)
			return -1;
	} else if (file->kind == STAGE_LINK) {
		source = mem_strdup(file->source);
	} else {
		source = local_sources_path(resolver->job_dir);
		kind = JOB_FILE_CONTENT;
	}
	add_file(files, kind, source, file->name);
	return 0;
}

static int resolve_types(struct resolver *resolver, const struct stage *stage, struct job *job,
			 struct err *err)
{
	for (size_t i = 0; i < stage->type_count; i++)
		for (size_t k = 0; k < stage->types[i].count; k++)
			if (resolve_file(resolver, &stage->types[i].items[k], &job->types[i].files,
					 err) < 0)
				return -1;
	return 0;
}

int stage_resolve(const struct stage *stage, struct job *job, struct err *err)
{
	char *state cleanup_free = state_dir_find(err);

	if (!state)
		return -1;
	char *job_dir cleanup_free =
		state_dir_job(state, scheduler_traits_of(job)->folder, job->id);
	if (!job->checkpoint_dir)
		job->checkpoint_dir = fs_join(job_dir, "checkpoint");
	job->output_dir =
		job->results_dir ? fs_join(job->results_dir, job->id) : fs_join(job_dir, "output");
	struct resolver resolver = {.state = state,
				    .job_dir = job_dir,
				    .job = job,
				    .unpacked = map_create(free),
				    .fetched = map_create(free)};
	if (stage->has_stdin)
		job->types[stage->stdin_type].stdin_file = local_sources_stdin(job_dir);
	int result = resolve_types(&resolver, stage, job, err);
	map_destroy(resolver.unpacked);
	map_destroy(resolver.fetched);
	return result < 0 ? blame(err) : 0;
}

/* ---- copy --------------------------------------------------------------------------------- */

bool stage_is_source(const struct stage_file *file)
{
	return file->kind == STAGE_SOURCE || file->kind == STAGE_SOURCE_ARCHIVE ||
	       file->kind == STAGE_SOURCE_REMOTE;
}

static const struct stage_file *find_source(const struct stage *stage)
{
	for (size_t i = 0; i < stage->type_count; i++)
		for (size_t k = 0; k < stage->types[i].count; k++)
			if (stage_is_source(&stage->types[i].items[k]))
				return &stage->types[i].items[k];
	return NULL;
}

bool stage_has_source(const struct stage *stage)
{
	return find_source(stage);
}

static int fetch_source(const struct job *job, const char *uri, const char *files,
			const char *target, struct err *err)
{
	char *fetched cleanup_free = fs_join(files, "fetched");

	if (fetch_tree(job, uri, fetched, err) < 0)
		return -1;
	if (fs_is_directory(fetched))
		return rename(fetched, target) < 0 ? err_set_errno(err, "%s", target) : 0;
	int result = archive_unpack(fetched, target, NULL, err);
	unlink(fetched);
	return result;
}

static int copy_source(const struct stage *stage, const struct job *job, const char *job_dir,
		       bool (*interrupted)(void), struct err *err)
{
	const struct stage_file *source = find_source(stage);
	char *files cleanup_free = fs_join(job_dir, "files");
	char *target cleanup_free = local_sources_path(job_dir);

	if (fs_make_directories(files, 0700, err) < 0)
		return -1;
	if (source->kind == STAGE_SOURCE_REMOTE)
		return fetch_source(job, source->source, files, target, err);
	if (source->kind == STAGE_SOURCE_ARCHIVE)
		return archive_unpack(source->source, target, NULL, err);
	return stage_clone(source->source, target, &stage->left_out, interrupted, err);
}

static int keep_stdin(const char *path, bool (*interrupted)(void), struct err *err)
{
	char *files cleanup_free = fs_dirname(path);

	if (fs_make_directories(files, 0700, err) < 0)
		return -1;
	return input_keep(STDIN_FILENO, path, INPUT_CAP, interrupted, err);
}

int stage_copy(const struct stage *stage, const struct job *job, const char *job_dir,
	       bool (*interrupted)(void), struct err *err)
{
	if (find_source(stage) && copy_source(stage, job, job_dir, interrupted, err) < 0) {
		err_wrap(err, "src_dir");
		return blame(err);
	}
	if (stage->has_stdin &&
	    keep_stdin(job->types[stage->stdin_type].stdin_file, interrupted, err) < 0)
		return -1;
	bool is_path = !strstr(job->checkpoint_dir, "://"); /* else the programs know what it is */
	if (is_path && fs_make_directories(job->checkpoint_dir, 0700, err) < 0) {
		err_wrap(err, "tony.application.checkpoint-dir");
		return blame(err);
	}
	return 0;
}
