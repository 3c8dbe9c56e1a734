/*
 * tony's two WebHDFS clients at a shell: hdfs [--agent] [--http-fs] URL[,URL...] VERB ARGUMENT...
 *
 *   put FILE PATH MODE [new]   get PATH FILE [OFFSET LENGTH]   stat PATH   ls PATH   mkdir PATH
 * MODE rm PATH   mv FROM TO [over]   chmod PATH MODE   touch PATH MS
 *
 * --agent: the asynchronous one, which has put, get, stat, mkdir, rm, mv, notes, and note PATH NAME
 * HEX. Acts as $HADOOP_USER_NAME; repeats what could not be served for $HDFS_WAIT_MS (-1: not at
 * all).
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
#include "hadoop/webhdfs_client.h"

struct run {
	struct webhdfs_client *client;
	struct webhdfs_async *agent;
	struct event_base *base;
	const char *file; /* of get */
	int fd;
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

/* ---- the client --------------------------------------------------------------------------- */

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
	int fd cleanup_close = open(arguments[0], O_RDONLY | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return err_set_errno(err, "%s", arguments[0]);
	if (webhdfs_create(run->client, arguments[1], &create, fd, status.st_size, &progress, err) <
	    0)
		return -1;
	if (run->told != status.st_size)
		return err_set(err, ERR_FAILED, "told of %lld bytes only", (long long)run->told);
	return 0;
}

static bool take(void *data, const char *bytes, size_t length)
{
	struct run *run = data;

	return fs_write_all(run->fd, bytes, length, run->err) == 0;
}

static int get(struct run *run, char **arguments, struct err *err)
{
	int fd cleanup_close = open(arguments[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int64_t offset = arguments[2] ? strtoll(arguments[2], NULL, 10) : 0;
	int64_t length = arguments[2] && arguments[3] ? strtoll(arguments[3], NULL, 10) : -1;

	if (fd < 0)
		return err_set_errno(err, "%s", arguments[1]);
	run->fd = fd;
	run->err = err;
	return webhdfs_read(run->client, arguments[0], offset, length, take, run, err);
}

static int run_client(struct run *run, const char *verb, char **arguments, struct err *err)
{
	struct webhdfs_file file cleanup_webhdfs_file = {0};

	if (strcmp(verb, "put") == 0)
		return put(run, arguments, err);
	if (strcmp(verb, "get") == 0)
		return get(run, arguments, err);
	if (strcmp(verb, "ls") == 0)
		return webhdfs_list(run->client, arguments[0], show, run, err);
	if (strcmp(verb, "mkdir") == 0)
		return webhdfs_make_directories(run->client, arguments[0], mode_of(arguments[1]),
						err);
	if (strcmp(verb, "rm") == 0)
		return webhdfs_remove(run->client, arguments[0], err);
	if (strcmp(verb, "mv") == 0)
		return webhdfs_rename(run->client, arguments[0], arguments[1], arguments[2], err);
	if (strcmp(verb, "chmod") == 0)
		return webhdfs_set_permission(run->client, arguments[0], mode_of(arguments[1]),
					      err);
	if (strcmp(verb, "touch") == 0)
		return webhdfs_set_times(run->client, arguments[0], strtoll(arguments[1], NULL, 10),
					 -1, err);
	if (strcmp(verb, "stat") != 0)
		return err_set(err, ERR_USAGE, "%s: no such verb", verb);
	if (webhdfs_stat(run->client, arguments[0], &file, err) < 0)
		return -1;
	show(run, &file);
	return 0;
}

/* ---- the agent ---------------------------------------------------------------------------- */

static void on_done(void *data, const struct webhdfs_result *result, const struct err *err)
{
	struct run *run = data;

	event_base_loopbreak(run->base);
	if (err)
		run->result = err_set(run->err, err->kind, "%s", err_message(err));
	else if (result->file)
		show(run, result->file);
	else if (result->bytes)
		run->result =
			fs_write_file(run->file, result->bytes, result->length, 0600, run->err);
}

static int agent_put(struct run *run, char **arguments, struct err *err)
{
	const struct webhdfs_create create = {mode_of(arguments[2]), !arguments[3]};
	size_t length;
	char *bytes cleanup_free = fs_read_file(arguments[0], WEBHDFS_BODY_CAP, &length, err);

	if (bytes)
		webhdfs_async_write(run->agent, arguments[1], &create, bytes, length, on_done, run);
	return bytes ? 0 : -1;
}

static int run_agent(struct run *run, const char *verb, char **arguments, struct err *err)
{
	run->err = err;
	run->file = arguments[1];
	if (strcmp(verb, "put") == 0 && agent_put(run, arguments, err) < 0)
		return -1;
	if (strcmp(verb, "get") == 0)
		webhdfs_async_read(run->agent, arguments[0], on_done, run);
	else if (strcmp(verb, "stat") == 0)
		webhdfs_async_stat(run->agent, arguments[0], on_done, run);
	else if (strcmp(verb, "notes") == 0)
		webhdfs_async_attributes(run->agent, arguments[0], show_note, on_done, run);
	else if (strcmp(verb, "note") == 0)
		webhdfs_async_set_attribute(run->agent, arguments[0], arguments[1], arguments[2],
					    on_done, run);
	else if (strcmp(verb, "mkdir") == 0)
		webhdfs_async_make_directories(run->agent, arguments[0], mode_of(arguments[1]),
					       on_done, run);
	else if (strcmp(verb, "rm") == 0)
		webhdfs_async_remove(run->agent, arguments[0], on_done, run);
	else if (strcmp(verb, "mv") == 0)
		webhdfs_async_rename(run->agent, arguments[0], arguments[1], arguments[2], on_done,
				     run);
	else if (strcmp(verb, "put") != 0)
		return err_set(err, ERR_USAGE, "%s: no such verb", verb);
	event_base_dispatch(run->base);
	return run->result;
}

static int start(struct run *run, const struct webhdfs_options *options, bool is_agent,
		 char **words, struct err *err)
{
	if (is_agent) {
		run->base = event_base_new();
		run->agent = webhdfs_async_create(run->base, options, err);
		return run->agent ? run_agent(run, words[0], words + 1, err) : -1;
	}
	run->client = webhdfs_client_create(options, err);
	return run->client ? run_client(run, words[0], words + 1, err) : -1;
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
	struct run run = {0};
	bool is_agent = false;

	for (argv++; *argv && str_starts_with(*argv, "--"); argv++) {
		is_agent = is_agent || strcmp(*argv, "--agent") == 0;
		options.http_fs = options.http_fs || strcmp(*argv, "--http-fs") == 0;
	}
	if (!argv[0] || !argv[1] || !argv[2]) {
		fprintf(stderr, "usage: hdfs [--agent] [--http-fs] URL VERB ARGUMENT...\n");
		return 2;
	}
	if (ca_file)
		options.authorities = fs_read_file(ca_file, 1 << 20, &(size_t){0}, NULL);
	options.max_wait_ms = wait ? strtoll(wait, NULL, 10) : 0;
	str_split(&options.addresses, argv[0], ',');
	int result = start(&run, &options, is_agent, argv + 1, &err);
	if (result < 0)
		fprintf(stderr, "%s: %s\n", kind_name(err.kind), err_message(&err));
	webhdfs_client_destroy(run.client);
	webhdfs_async_destroy(run.agent);
	if (run.base)
		event_base_free(run.base);
	str_list_finish(&options.addresses);
	free(options.authorities);
	return result < 0;
}
