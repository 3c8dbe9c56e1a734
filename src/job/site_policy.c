#include "job/site_policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"

enum { POLICY_CAP = 1 << 20 };

/* "root" of a user namespace is whoever made it. */
static int check_owner(int fd, const char *path, struct err *err)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return err_set_errno(err, "%s", path);
	if (status.st_uid == 0 && !fs_others_may_write(status.st_mode))
		return 0;
	return err_set(err, ERR_DENIED,
		       "%s: mode %04o, owner %u: a policy must be root's, and only root may write "
		       "to it; no job begins here until the administrator has mended that",
		       path, (unsigned)status.st_mode & 07777, (unsigned)status.st_uid);
}

/* *policy is NULL where there is no file. */
static int read_policy(const char *path, json_t **policy, struct err *err)
{
	int fd cleanup_close = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	size_t length;

	*policy = NULL;
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0)
		return err_set_errno(err, "%s", path);
	char *text cleanup_free = check_owner(fd, path, err) < 0
					  ? NULL
					  : fs_read_descriptor(fd, path, POLICY_CAP, &length, err);
	if (!text)
		return -1;
	*policy = json_parse(text, length, err);
	if (*policy && !json_is_object(*policy))
		err_set(err, ERR_INPUT, "no object of keys and values");
	return json_is_object(*policy) ? 0 : err_wrap(err, "%s", path);
}

/* As the configuration has it; NULL: no such value. The caller frees. */
static char *value_text(const json_t *value)
{
	if (json_is_null(value))
		return mem_strdup("");
	if (json_is_string(value))
		return mem_strdup(json_string_value(value));
	if (json_is_boolean(value))
		return mem_strdup(json_is_true(value) ? "true" : "false");
	return json_is_number(value) ? json_text(value) : NULL;
}

int site_policy_check(const char *path, const struct job *job, struct err *err)
{
	struct str remedy cleanup_str = {0};
	json_t *policy cleanup_json = NULL, *value;
	const char *key;

	if (read_policy(path, &policy, err) < 0)
		return -1;
	json_object_foreach(policy, key, value)
	{
		char *demanded cleanup_free = value_text(value);
		const char *present = job_config(job, key);
		if (!demanded)
			return err_set(err, ERR_INPUT,
				       "%s: %s: not a text, a number, true, false or null", path,
				       key);
		if (str_equal(present ? present : "", demanded))
			continue;
		char *setting cleanup_free = mem_printf("%s=%s", key, demanded);
		char *quoted cleanup_free = str_shell_quote(setting);
		str_append_format(&remedy, " --conf %s", quoted);
	}
	return remedy.length == 0
		       ? 0
		       : err_set(err, ERR_DENIED,
				 "the job has other values than the administrator demands in %s: "
				 "add%s",
				 path, str_text(&remedy));
}
