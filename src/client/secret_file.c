#include "client/secret_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"

static int check_pair(const char *pair, bool is_file, const char *name, struct err *err)
{
	const char *option = is_file ? "--secret-file" : "--secret";
	const char *equals = strchr(pair, '=');

	if (!job_secret_is_name(name))
		return err_set(err, ERR_USAGE,
			       "%s: \"%s\" is not a variable's name; write NAME=FILE", option,
			       name);
	if (!equals || !equals[1])
		return err_set(err, ERR_USAGE,
			       "%s: \"%s\" names no file; write %s %s=FILE, or --env %s for a "
			       "variable of tony's own environment",
			       option, pair, option, name, name);
	return 0;
}

static int read_bytes(const char *name, struct job_secret *secret, struct err *err)
{
	char *path cleanup_free = fs_expand_home(name);
	FILE *file cleanup_file = fopen(path, "re");
	char *bytes = mem_alloc(JOB_SECRET_CAP + 2);

	if (file) /* no copy of it stays in a buffer */
		setvbuf(file, NULL, _IONBF, 0);
	secret->value = bytes;
	secret->length = file ? fread(bytes, 1, JOB_SECRET_CAP + 1, file) : 0;
	if (!file || ferror(file))
		return err_set(err, ERR_CONFIG, "%s; %s", strerror(errno),
			       errno == EACCES ? "make it readable (chmod)"
					       : "write the path of the file that holds the value");
	if (secret->length > JOB_SECRET_CAP)
		return err_set(err, ERR_CONFIG,
			       "is larger than %d KiB; store it where the tasks can read it, and "
			       "pass its path",
			       JOB_SECRET_CAP / 1024);
	return 0;
}

/* Editors, and `echo TOKEN > FILE`, end the last line. */
static void cut_line_end(struct job_secret *secret)
{
	if (secret->length > 0 && secret->value[secret->length - 1] == '\n')
		secret->length--;
	if (secret->length > 0 && secret->value[secret->length - 1] == '\r')
		secret->length--;
	secret->value[secret->length] = '\0';
}

static int check_value(const struct job_secret *secret, struct err *err)
{
	const char *flaw = memchr(secret->value, '\0', secret->length)	 ? "holds a NUL"
			   : !str_is_utf8(secret->value, secret->length) ? "is not UTF-8 text"
									 : NULL;

	if (secret->length == 0)
		return err_set(err, ERR_CONFIG, "is empty; write the value into it");
	if (flaw && !secret->is_file)
		return err_set(err, ERR_CONFIG,
			       "%s, which no variable can hold; give programs a file of it: "
			       "--secret-file %s=FILE",
			       flaw, secret->name);
	return 0;
}

int secret_file_read(const char *pair, bool is_file, struct job_secret *secret, struct err *err)
{
	size_t length = strcspn(pair, "=");
	char *name cleanup_free = mem_strndup(pair, length);

	if (check_pair(pair, is_file, name, err) < 0)
		return -1;
	struct job_secret made = {.name = mem_steal(&name), .is_file = is_file};
	int result = read_bytes(pair + length + 1, &made, err);
	if (result == 0 && !is_file)
		cut_line_end(&made);
	if (result == 0)
		result = check_value(&made, err);
	if (result == 0) {
		*secret = made;
		return 0;
	}
	err_wrap(err, "%s: %s: \"%s\"", is_file ? "--secret-file" : "--secret", made.name,
		 pair + length + 1);
	job_secret_finish(&made);
	return -1;
}
