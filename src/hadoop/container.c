#include "hadoop/container.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "hadoop/credentials.h"
#include "job/job.h"

enum {
	TOKEN_LENGTH = 64, /* 256 bits in hex */
	ID_PARTS = 5,	   /* container, timestamp, application, attempt, container */
};

static const char *need(const char *name, struct err *err)
{
	const char *value = getenv(name);

	if (!value || !*value) {
		err_set(err, ERR_USAGE, "%s is not set: this is no container of YARN", name);
		return NULL;
	}
	return value;
}

bool hadoop_container_is_here(void)
{
	const char *id = getenv("CONTAINER_ID");

	return id && *id;
}

static int read_attempt(const char *id, int *attempt, struct err *err)
{
	struct str_list parts cleanup_str_list = {0};
	int64_t number;

	str_split(&parts, id, '_');
	if (parts.count < ID_PARTS || !str_equal(parts.items[0], "container") ||
	    str_parse_int(parts.items[parts.count - 2], 1, INT_MAX, &number) < 0)
		return err_set(err, ERR_INPUT, "CONTAINER_ID: \"%s\" is not one", id);
	*attempt = (int)number;
	return 0;
}

int hadoop_container_read(struct hadoop_container *container, struct err *err)
{
	struct str_list directories cleanup_str_list = {0};
	const char *id = need("CONTAINER_ID", err);
	const char *logs = id ? need("LOG_DIRS", err) : NULL;
	const char *host = logs ? need("NM_HOST", err) : NULL;
	int attempt = 0;

	if (!host || read_attempt(id, &attempt, err) < 0)
		return -1;
	str_split(&directories, logs, ',');
	if (directories.count == 0 || directories.items[0][0] != '/')
		return err_set(err, ERR_INPUT, "LOG_DIRS: \"%s\" has no absolute path", logs);
	char *work_dir cleanup_free = getcwd(NULL, 0);
	if (!work_dir)
		return err_set_errno(err, "the working directory");
	*container = (struct hadoop_container){
		.id = mem_strdup(id),
		.am_attempt = attempt,
		.work_dir = mem_steal(&work_dir),
		.log_dir = mem_strdup(directories.items[0]),
		.host = mem_strdup(host),
	};
	return 0;
}

void hadoop_container_finish(struct hadoop_container *container)
{
	free(container->id);
	free(container->work_dir);
	free(container->log_dir);
	free(container->host);
	*container = (struct hadoop_container){0};
}

int hadoop_container_credentials(struct credentials *credentials, struct err *err)
{
	const char *path = need("HADOOP_TOKEN_FILE_LOCATION", err);

	return path ? credentials_read_file(path, credentials, err) : -1;
}

static bool is_token(const unsigned char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isxdigit(bytes[i]))
			return false;
	return length == TOKEN_LENGTH;
}

char *hadoop_container_token(struct err *err)
{
	struct credentials credentials cleanup_credentials = {0};
	size_t length = 0;

	if (hadoop_container_credentials(&credentials, err) < 0)
		return NULL;
	const unsigned char *bytes =
		credentials_find_secret(&credentials, HADOOP_SECRET_TOKEN, &length);
	if (!bytes || !is_token(bytes, length)) {
		err_set(err, ERR_INPUT, "%s: there is no secret \"%s\" of %d hex digits in it",
			getenv("HADOOP_TOKEN_FILE_LOCATION"), HADOOP_SECRET_TOKEN, TOKEN_LENGTH);
		return NULL;
	}
	return mem_strndup((const char *)bytes, length);
}

struct job *hadoop_container_job(struct err *err)
{
	struct credentials credentials cleanup_credentials = {0};
	size_t length = 0;

	if (hadoop_container_credentials(&credentials, err) < 0)
		return NULL;
	const unsigned char *bytes =
		credentials_find_secret(&credentials, HADOOP_SECRET_JOB, &length);
	if (!bytes) {
		err_set(err, ERR_INPUT, "%s: there is no secret \"%s\" in it",
			getenv("HADOOP_TOKEN_FILE_LOCATION"), HADOOP_SECRET_JOB);
		return NULL;
	}
	return job_from_text((const char *)bytes, length, err);
}
