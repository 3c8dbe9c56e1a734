/*
 * tony's WebHDFS client at a shell: hdfs [--http-fs] URL[,URL...] VERB ARGUMENT...
 *
 *   put FILE PATH MODE [new]   get PATH FILE [OFFSET LENGTH]   stat PATH   ls PATH
 *   mkdir PATH MODE   rm PATH   mv FROM TO [over]   touch PATH MS   notes PATH   note PATH NAME HEX
 *
 * Acts as $HADOOP_USER_NAME; repeats what could not be served for $HDFS_WAIT_MS (-1: not at all).
 */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/webhdfs_async.h"

struct run {
	struct webhdfs_async *hdfs;
	struct event_base *base;
	int fd; /* of put and get */
	int result;
	int64_t told;
	struct err *err;
};

static unsigned mode_of(const char *text)
{
	return (unsigned)strtoul(text, NULL, 8);
}

static void show(void *data, const struct webhdfs_file *file)
{
	printf("%s %o %lld %lld %s %s %s\n", file->is_directory ? "d" : "f", file->permission,
	       (long long)file->length, (long long)file->modified_ms, file->owner, file->group,
	       file->name);
}

static void show_note(void *data, const char *name, const char *value)
{
	printf("%s %s\n", name, value);
}

/* ---- verbs -------------------------------------------------------------------------------- */

static void on_done(void *data, const struct webhdfs_result *result, const struct err *err)
{
	struct run *run = data;

	event_base_loopbreak(run->base);
	if (err)
		run->result = err_set(run->err, err->kind, "%s", err_message(err));
	else if (result->file)
		show(run, result->file);
}

static bool tell(void *data, int64_t bytes)
{
	struct run *run = data;

	run->told = bytes;
	return true;
}

static int put(struct run *run, char **arguments, struct err *err)
{
	const struct webhdfs_create create = {mode_of(arguments[2]), !arguments[3]};
	const struct webhdfs_progress progress = {tell, run};
	struct stat status;

	run->fd = open(arguments[0], O_RDONLY | O_CLOEXEC);
	if (run->fd < 0 || fstat(run->fd, &status) < 0)
		return err_set_errno(err, "%s", arguments[0]);
	webhdfs_async_upload(run->hdfs, arguments[1], &create, run->fd, status.st_size, &progress,
			     on_done, run);
	event_base_dispatch(run->base);
	if (run->result == 0 && run->told != status.st_size)
		return err_set(err, ERR_FAILED, "told of %lld bytes only", (long long)run->told);
	return run->result;
}

static bool take(void *data, const char *bytes, size_t length)
{
	struct run *run = data;

	return fs_write_all(run->fd, bytes, length, run->err) == 0;
}

static int get(struct run *run, char **arguments, struct err *err)
{
	int64_t offset = arguments[2] ? strtoll(arguments[2], NULL, 10) : 0;
	int64_t length = arguments[2] && arguments[3] ? strtoll(arguments[3], NULL, 10) : INT64_MAX;

	run->fd = open(arguments[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (run->fd < 0)
		return err_set_errno(err, "%s", arguments[1]);
	webhdfs_async_stream(run->hdfs, arguments[0], offset, length, take, on_done, run);
	event_base_dispatch(run->base);
	return run->result;
}

static int run_verb(struct run *run, const char *verb, char **arguments, struct err *err)
{
	const char *path = arguments[0];

	if (strcmp(verb, "put") == 0)
		return put(run, arguments, err);
	if (strcmp(verb, "get") == 0)
		return get(run, arguments, err);
	if (strcmp(verb, "stat") == 0)
		webhdfs_async_stat(run->hdfs, path, on_done, run);
	else if (strcmp(verb, "ls") == 0)
		webhdfs_async_list(run->hdfs, path, show, on_done, run);
	else if (strcmp(verb, "notes") == 0)
		webhdfs_async_attributes(run->hdfs, path, show_note, on_done, run);
	else if (strcmp(verb, "note") == 0)
		webhdfs_async_set_attribute(run->hdfs, path, arguments[1], arguments[2], on_done,
					    run);
	else if (strcmp(verb, "mkdir") == 0)
		webhdfs_async_make_directories(run->hdfs, path, mode_of(arguments[1]), on_done,
					       run);
	else if (strcmp(verb, "rm") == 0)
		webhdfs_async_remove(run->hdfs, path, on_done, run);
	else if (strcmp(verb, "mv") == 0)
		webhdfs_async_rename(run->hdfs, path, arguments[1], arguments[2], on_done, run);
	else if (strcmp(verb, "touch") == 0)
		webhdfs_async_set_times(run->hdfs, path, strtoll(arguments[1], NULL, 10), -1,
					on_done, run);
	else
		return err_set(err, ERR_USAGE, "%s: no such verb", verb);
	event_base_dispatch(run->base);
	return run->result;
}

/* By name: numbers change with the list. */
static const char *kind_name(enum err_kind kind)
{
	static const char *const names[] = {
		[ERR_FAILED] = "failed",	   [ERR_INPUT] = "input",
		[ERR_NOT_FOUND] = "not found",	   [ERR_DENIED] = "denied",
		[ERR_UNREACHABLE] = "unreachable",
	};

	return kind < array_length(names) && names[kind] ? names[kind] : "another";
}

int main(int argc, char **argv)
{
	struct webhdfs_options options = {.user = getenv("HADOOP_USER_NAME")};
	const char *ca_file = getenv("HDFS_CA_FILE");
	const char *wait = getenv("HDFS_WAIT_MS");
	struct err err cleanup_err = {0};
	struct run run = {.fd = -1, .err = &err};

	for (argv++; *argv && str_starts_with(*argv, "--"); argv++)
		options.http_fs = options.http_fs || strcmp(*argv, "--http-fs") == 0;
	if (!argv[0] || !argv[1] || !argv[2]) {
		fprintf(stderr, "usage: hdfs [--http-fs] URL VERB ARGUMENT...\n");
		return 2;
	}
	if (ca_file)
		options.authorities = fs_read_file(ca_file, 1 << 20, &(size_t){0}, NULL);
	options.max_wait_ms = wait ? strtoll(wait, NULL, 10) : 0;
	str_split(&options.addresses, argv[0], ',');
	run.base = event_base_new();
	run.hdfs = webhdfs_async_create(run.base, &options, &err);
	int result = run.hdfs ? run_verb(&run, argv[1], argv + 2, &err) : -1;
	if (result < 0)
		fprintf(stderr, "%s: %s\n", kind_name(err.kind), err_message(&err));
	webhdfs_async_destroy(run.hdfs);
	event_base_free(run.base);
	if (run.fd >= 0)
		close(run.fd);
	str_list_finish(&options.addresses);
	free(options.authorities);
	return result < 0;
}
