#include "client/provenance.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/proc.h"
#include "client/program.h"
#include "client/provenance_git.h"
#include "history/layout.h"

#define COMMAND_MAX 20	      /* files that are, of those that commands name */
#define PIPE_BYTES  (1 << 20) /* so that the whole answer waits in the pipe */

/* ---- the process beside the submission ---------------------------------------------------- */

struct inquiry {
	const char *directory; /* that the code is in */
	char *archive;	       /* of the sources; NULL: none */
	struct str_list files; /* that commands name; without an archive, which counts for all */
	const struct job *job;
	const struct str_list *left_out; /* files whose content is not told; NULL: none */
	bool with_git, with_diff;
	int answer;
};

static void add_named(struct inquiry *inquiry, const struct str_list *words)
{
	struct stat info;

	for (size_t i = 0; i < words->count && inquiry->files.count < COMMAND_MAX; i++) {
		char *path cleanup_free = fs_join(inquiry->directory, words->items[i]);
		if (stat(path, &info) == 0 && S_ISREG(info.st_mode) &&
		    !str_list_has(&inquiry->files, words->items[i]))
			str_list_add(&inquiry->files, words->items[i]);
	}
}

static void find_files(struct inquiry *inquiry)
{
	for (size_t i = 0; !inquiry->archive && i < inquiry->job->type_count; i++) {
		struct str_list programs cleanup_str_list = {0}, arguments cleanup_str_list = {0};
		const struct job_type *type = &inquiry->job->types[i];
		if (type->instances == 0 || !type->command)
			continue;
		program_words(type->command, &programs, &arguments);
		add_named(inquiry, &programs);
		add_named(inquiry, &arguments);
	}
}

static json_t *hash_files(const struct inquiry *inquiry)
{
	json_t *files = json_array();

	if (inquiry->archive)
		json_array_append_new(files, provenance_hash("/", inquiry->archive));
	for (size_t i = 0; i < inquiry->files.count; i++) {
		json_t *object = provenance_hash(inquiry->directory, inquiry->files.items[i]);
		if (json_object_get(object, "sha256"))
			json_array_append(files, object);
		json_decref(object);
	}
	return files;
}

static json_t *describe_files(const struct inquiry *inquiry)
{
	json_t *object = json_object();

	json_set_text(object, "directory", inquiry->directory);
	json_object_set_new(object, "files", hash_files(inquiry));
	return object;
}

static void answer(const struct inquiry *inquiry, const json_t *object)
{
	char *text cleanup_free = json_text(object);

	if (fs_write_all(inquiry->answer, text, strlen(text), NULL) == 0)
		fs_write_all(inquiry->answer, "\n", 1, NULL);
}

/* Two lines of JSON, of which the second takes longer, and the difference. */
static void inquire(const struct inquiry *inquiry)
{
	json_t *first cleanup_json = describe_files(inquiry), *second cleanup_json = json_object();
	struct str diff cleanup_str = {0};
	struct provenance_git git cleanup_provenance_git = {.left_out = inquiry->left_out};

	bool has_git = inquiry->with_git && provenance_git_open(&git, inquiry->directory, first);
	answer(inquiry, first);
	if (!has_git)
		return;
	provenance_git_compare(&git, inquiry->with_diff, second, &diff);
	answer(inquiry, second);
	fs_write_all(inquiry->answer, str_text(&diff), diff.length, NULL);
}

/* ---- the submission ----------------------------------------------------------------------- */

static const char *source_of(const struct stage *stage)
{
	for (size_t i = 0; i < stage->type_count; i++)
		for (size_t k = 0; k < stage->types[i].count; k++)
			if (stage_is_source(&stage->types[i].items[k]))
				return stage->types[i].items[k].source;
	return NULL;
}

/* The directory that the code is in; NULL: it is not of this machine. The caller frees. */
static char *find_directory(const struct job *job, const struct stage *stage, char **archive)
{
	const char *source = source_of(stage);

	if (!source)
		return mem_strdup(job->work_dir);
	if (*source != '/')
		return NULL;
	if (fs_is_directory(source))
		return mem_strdup(source);
	*archive = mem_strdup(source);
	return fs_dirname(source);
}

static void begin(struct provenance *provenance, struct inquiry *inquiry,
		  void (*ask)(const struct inquiry *inquiry))
{
	int pipes[2];

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return;
	fcntl(pipes[1], F_SETPIPE_SZ, PIPE_BYTES);
	provenance->begun_ms = clock_monotonic_ms();
	provenance->answer = pipes[0];
	provenance->pid = fork();
	if (provenance->pid == 0) {
		proc_reset_signals();
		inquiry->answer = pipes[1];
		ask(inquiry);
		_exit(0);
	}
	close(pipes[1]);
	if (provenance->pid < 0) {
		close(pipes[0]);
		provenance->pid = 0;
	}
}

/* There is nothing to read, so a process of its own would cost more than it saves. */
static void answer_at_once(struct provenance *provenance, const struct inquiry *inquiry)
{
	json_t *object cleanup_json = describe_files(inquiry);
	char *text cleanup_free = json_text(object);

	str_append_format(&provenance->text, "%s\n", text);
	provenance->is_whole = true;
}

void provenance_begin(struct provenance *provenance, const struct description *description,
		      const struct stage *stage)
{
	const char *what = job_config(description->job, "tony.application.provenance");
	struct inquiry inquiry = {.job = description->job, .left_out = &stage->left_out};

	if (str_equal(what, "none"))
		return;
	inquiry.with_diff = !str_equal(what, "commit");
	char *directory cleanup_free = find_directory(description->job, stage, &inquiry.archive);
	char *archive cleanup_free __attribute__((unused)) = inquiry.archive;
	inquiry.directory = directory;
	if (!directory)
		return;
	inquiry.with_git = provenance_git_is_there(directory);
	find_files(&inquiry);
	if (inquiry.with_git || inquiry.archive || inquiry.files.count > 0)
		begin(provenance, &inquiry, inquire);
	else
		answer_at_once(provenance, &inquiry);
	str_list_finish(&inquiry.files);
}

/* False: nothing comes, until then. */
static bool read_some(struct provenance *provenance, int64_t until_ms)
{
	struct pollfd poller = {.fd = provenance->answer, .events = POLLIN};
	int64_t left = until_ms - clock_monotonic_ms();
	char piece[65536];

	if (poll(&poller, 1, left > 0 ? (int)left : 0) <= 0)
		return false;
	ssize_t got = read(provenance->answer, piece, sizeof(piece));
	provenance->is_whole = got <= 0;
	if (got > 0)
		str_append_bytes(&provenance->text, piece, (size_t)got);
	return got > 0;
}

/* Returns where the next line begins; NULL: this one is not there to its end. */
static const char *take_line(const char *line, const char *end, json_t *object)
{
	const char *newline = line ? memchr(line, '\n', (size_t)(end - line)) : NULL;
	json_t *told cleanup_json =
		newline ? json_parse(line, (size_t)(newline - line), NULL) : NULL;

	if (!told)
		return NULL;
	json_object_update(object, told);
	return newline + 1;
}

bool provenance_take(struct provenance *provenance, struct job *job, int64_t limit_ms)
{
	if (provenance->pid == 0 && !provenance->is_whole)
		return true;
	while (!provenance->is_whole && read_some(provenance, provenance->begun_ms + limit_ms))
		continue;
	const char *text = str_text(&provenance->text), *end = text + provenance->text.length;
	json_t *object = json_object();
	const char *rest = take_line(text, end, object);
	/* It tells of the difference, too. */
	if (provenance->is_whole)
		take_line(rest, end, object);
	json_decref(job->provenance);
	job->provenance = object;
	return provenance->is_whole;
}

/* The new job does not name a difference that cannot be had any more. */
static json_t *copy_provenance(const struct opened *earlier)
{
	const char *job_dir = earlier->door.job_dir;
	char *diff cleanup_free = fs_join(job_dir, HISTORY_DIFF);
	json_t *copy = json_deep_copy(earlier->job->provenance);

	if (earlier->ops->traits->staged)
		earlier->ops->fetch_diff(earlier->job, job_dir, NULL);
	if (!fs_exists(diff)) {
		json_object_del(copy, "diff_bytes");
		json_object_del(copy, "diff_cut");
	}
	return copy;
}

void provenance_inherit(struct provenance *provenance, const struct opened *earlier,
			struct job *job)
{
	job->provenance = copy_provenance(earlier);
	provenance->earlier = mem_strdup(earlier->door.job_dir);
}

static void copy_diff(const char *from, const char *path)
{
	char *earlier cleanup_free = fs_join(from, HISTORY_DIFF);

	if (fs_exists(earlier))
		fs_clone_tree(earlier, path, 0, NULL);
}

/* Not worth waiting for the disk: a start that fails removes all of the directory. */
void provenance_write_diff(const struct provenance *provenance, const char *job_dir)
{
	const char *text = str_text(&provenance->text), *end = text + provenance->text.length;
	json_t *object cleanup_json = json_object();
	const char *diff = take_line(take_line(text, end, object), end, object);
	char *path cleanup_free = fs_join(job_dir, HISTORY_DIFF);

	if (provenance->earlier)
		copy_diff(provenance->earlier, path);
	if (!provenance->is_whole || !diff || diff == end)
		return;
	int fd cleanup_close = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 && fs_write_all(fd, diff, (size_t)(end - diff), NULL) < 0)
		unlink(path);
}

void provenance_finish(struct provenance *provenance)
{
	if (provenance->pid > 0) {
		kill(provenance->pid, SIGKILL); /* and git with it: see provenance_git.c */
		waitpid(provenance->pid, NULL, 0);
		close(provenance->answer);
	}
	str_finish(&provenance->text);
	free(provenance->earlier);
	*provenance = (struct provenance){0};
}

/* ---- since then --------------------------------------------------------------------------- */

#define CHANGES_LIMIT_MS 2000

/* Of paths that are relative to `base`: "model/net.py" below the directory, or the whole path. */
static void add_change(const struct inquiry *inquiry, const char *base, const char *path,
		       struct str_list *names)
{
	char *whole cleanup_free = fs_join(base, path);
	size_t length = strlen(inquiry->directory);
	bool is_below = str_starts_with(whole, inquiry->directory) && whole[length] == '/';
	const char *name = is_below ? whole + length + 1 : whole;

	if (!str_list_has(names, name))
		str_list_add(names, name);
}

static bool is_same(const char *base, const json_t *file)
{
	json_t *now cleanup_json =
		provenance_hash(base, json_string_value(json_object_get(file, "path")));

	return json_equal(json_object_get(now, "sha256"), json_object_get(file, "sha256"));
}

/* Of a list of the files as they were; `known` gets their paths. */
static void compare_files(const struct inquiry *inquiry, const char *base, const json_t *files,
			  struct str_list *known, struct str_list *names)
{
	json_t *file;
	size_t i;

	json_array_foreach(files, i, file)
	{
		const char *path = json_string_value(json_object_get(file, "path"));
		if (!path)
			continue;
		str_list_add(known, path);
		if (!is_same(base, file))
			add_change(inquiry, base, path, names);
	}
}

static void compare_commit(const struct inquiry *inquiry, const json_t *code,
			   struct str_list *names)
{
	struct provenance_git git cleanup_provenance_git = {0};
	struct str_list known cleanup_str_list = {0}, now cleanup_str_list = {0};
	json_t *present cleanup_json = json_object();

	if (!provenance_git_is_there(inquiry->directory) ||
	    !provenance_git_open(&git, inquiry->directory, present))
		return;
	compare_files(inquiry, git.top, json_object_get(code, "changed"), &known, names);
	provenance_git_names(&git, json_string_value(json_object_get(code, "commit")), &now);
	for (size_t i = 0; i < now.count; i++)
		if (!str_list_has(&known, now.items[i]))
			add_change(inquiry, git.top, now.items[i], names);
}

static void inquire_changes(const struct inquiry *inquiry)
{
	const json_t *code = inquiry->job->provenance;
	struct str_list known cleanup_str_list = {0}, names cleanup_str_list = {0};

	compare_files(inquiry, inquiry->directory, json_object_get(code, "files"), &known, &names);
	/* Of files beyond those that were named it is not known how they were. */
	if (!json_is_true(json_object_get(code, "changed_more")))
		compare_commit(inquiry, code, &names);
	str_list_sort(&names);
	for (size_t i = 0; i < names.count; i++) {
		fs_write_all(inquiry->answer, names.items[i], strlen(names.items[i]), NULL);
		fs_write_all(inquiry->answer, "\n", 1, NULL);
	}
}

void provenance_changes(const struct job *job, struct str_list *names)
{
	struct provenance asked cleanup_provenance = {0};
	struct inquiry inquiry = {.job = job, .directory = job->work_dir};

	if (!job->work_dir || !job->provenance)
		return;
	begin(&asked, &inquiry, inquire_changes);
	while (asked.pid > 0 && !asked.is_whole &&
	       read_some(&asked, asked.begun_ms + CHANGES_LIMIT_MS))
		continue;
	if (asked.is_whole)
		str_split(names, str_text(&asked.text), '\n');
}
