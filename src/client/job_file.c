#include "client/job_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "client/input.h"
#include "client/web_file.h"
#include "scheduler/fetch.h"

#define STDIN_TEXT "standard input"

bool job_file_is_stdin(const char *location)
{
	return str_equal(location, "-") || str_equal(location, "/dev/stdin");
}

static bool is_of_web(const char *location)
{
	return str_starts_with(location, "http://") || str_starts_with(location, "https://");
}

/* "<(make-job)" of the shell, which writes by then. A FIFO by another name may have no writer. */
static bool is_pipe(const char *location)
{
	return str_starts_with(location, "/dev/fd/");
}

bool job_file_is_stream(const char *location)
{
	return job_file_is_stdin(location) || is_pipe(location);
}

bool job_file_is_elsewhere(const char *location)
{
	return job_file_is_stream(location) || is_of_web(location) ||
	       str_starts_with(location, "hdfs:") || str_starts_with(location, "viewfs:");
}

static int load_stream(struct conf *conf, int fd, const char *name, struct err *err)
{
	size_t length;

	if (input_check(fd, "--conf_file", err) < 0)
		return -1;
	input_announce(fd, "the job file");
	char *bytes cleanup_free = fs_read_descriptor(fd, name, CONF_FILE_CAP, &length, err);
	return bytes ? conf_load_alone(conf, name, true, bytes, length, err)
		     : err_wrap(err, "--conf_file");
}

static int load_pipe(struct conf *conf, const char *path, struct err *err)
{
	int fd cleanup_close = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? err_set_errno(err, "--conf_file: %s", path)
		      : load_stream(conf, fd, path, err);
}

static int load_hdfs(struct conf *conf, const char *uri, struct err *err)
{
	struct str bytes cleanup_str = {0};

	if (fetch_text(uri, CONF_FILE_CAP, &bytes, err) < 0)
		return err_wrap(err, "--conf_file");
	return conf_load_alone(conf, uri, false, str_text(&bytes), bytes.length, err);
}

static int load_web(struct conf *conf, const char *url, struct err *err)
{
	struct str bytes cleanup_str = {0};
	char *name cleanup_free = web_file_name(url, err);

	if (!name || web_file_read(url, name, CONF_FILE_CAP, &bytes, err) < 0)
		return err_wrap(err, "--conf_file");
	return conf_load_alone(conf, name, false, str_text(&bytes), bytes.length, err);
}

int job_file_load(struct conf *conf, const char *location, struct err *err)
{
	if (job_file_is_stdin(location))
		return load_stream(conf, STDIN_FILENO, STDIN_TEXT, err);
	if (is_pipe(location))
		return load_pipe(conf, location, err);
	return is_of_web(location) ? load_web(conf, location, err) : load_hdfs(conf, location, err);
}
