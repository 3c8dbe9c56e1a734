#include "executor/secrets.h"

#include "base/fs.h"
#include "base/mem.h"

static char *path_of(const struct settings *settings, const struct job_secret *secret)
{
	char *directory cleanup_free = fs_join(settings->container_dir, "secrets");

	return secret ? fs_join(directory, secret->name) : mem_steal(&directory);
}

int secrets_write(const struct settings *settings, struct err *err)
{
	const struct job_secrets *secrets = &settings->job->secrets;
	char *directory cleanup_free = path_of(settings, NULL);

	for (size_t i = 0; i < secrets->count; i++) {
		const struct job_secret *secret = &secrets->items[i];
		char *path cleanup_free = path_of(settings, secret);
		if (!secret->is_file || !secret->value)
			continue;
		if (fs_make_directories(directory, 0700, err) < 0 ||
		    fs_write_private(path, secret->value, secret->length, err) < 0)
			return -1;
	}
	return 0;
}

void secrets_set(const struct settings *settings, struct environment *environment)
{
	const struct job_secrets *secrets = &settings->job->secrets;

	for (size_t i = 0; i < secrets->count; i++) {
		const struct job_secret *secret = &secrets->items[i];
		char *path cleanup_free = path_of(settings, secret);
		if (secret->value)
			environment_set(environment, secret->name,
					secret->is_file ? path : secret->value);
	}
}

void secrets_remove(const struct settings *settings)
{
	char *directory cleanup_free = path_of(settings, NULL);

	if (settings->job->secrets.count > 0)
		fs_remove_tree(directory, NULL);
}
