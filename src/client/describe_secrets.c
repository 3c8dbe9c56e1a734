/* The values that the user has in files. */
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "client/describe_internal.h"
#include "client/secret_file.h"

/* All types' programs get it. */
static char *find_flaw(const struct describer *describer, const char *name)
{
	const struct job *job = describer->job;

	for (size_t t = 0; t < job->type_count; t++) {
		char *flaw = describe_name_flaw(describer, &job->types[t], name);
		if (flaw)
			return flaw;
	}
	if (job_secrets_find(&job->secrets, name))
		return mem_printf("\"%s\": is given twice; give one", name);
	if (job->secrets.count >= JOB_MAX_SECRETS)
		return mem_printf("\"%s\": is one too many; put several values into one file",
				  name);
	return NULL;
}

/* The user may well keep it beside the program. */
static void note_file(const struct describer *describer, const char *pair)
{
	char *path cleanup_free = fs_expand_home(strchr(pair, '=') + 1);
	char *absolute = fs_absolute(path, NULL);

	if (absolute)
		str_list_take(&describer->out->secret_files, absolute);
}

static void take_secret(const struct describer *describer, const char *pair, bool is_file)
{
	const char *option = is_file ? "--secret-file" : "--secret";
	struct err err cleanup_err = {0};
	struct job_secret secret;

	if (secret_file_read(pair, is_file, &secret, &err) < 0) {
		problems_error(describer->problems,
			       err.kind == ERR_USAGE ? PROBLEM_TYPED : PROBLEM_FILE, "%s",
			       err_message(&err));
		return;
	}
	char *flaw cleanup_free = find_flaw(describer, secret.name);
	if (!flaw) {
		job_secrets_add(&describer->job->secrets, secret);
		note_file(describer, pair);
		return;
	}
	problems_error(describer->problems, PROBLEM_TYPED, "%s: %s", option, flaw);
	job_secret_finish(&secret);
}

/* Of the job that this one repeats. A history has names only. */
static void take_earlier(const struct describer *describer, const struct job_secret *earlier)
{
	struct job_secrets *secrets = &describer->job->secrets;
	struct job_secret copy;

	if (job_secrets_find(secrets, earlier->name))
		return;
	if (!earlier->value) {
		problems_error(describer->problems, PROBLEM_TYPED,
			       "%s: the value of %s was not kept; give it again with %s %s=FILE",
			       describer->options->earlier_name, earlier->name,
			       earlier->is_file ? "--secret-file" : "--secret", earlier->name);
		return;
	}
	job_secret_copy(earlier, &copy);
	job_secrets_add(secrets, copy);
}

void describe_secrets(const struct describer *describer)
{
	const struct job_options *options = describer->options;
	const struct job_secrets *earlier = options->earlier_secrets;

	for (size_t i = 0; i < options->secret.count; i++)
		take_secret(describer, options->secret.items[i], false);
	for (size_t i = 0; i < options->secret_file.count; i++)
		take_secret(describer, options->secret_file.items[i], true);
	for (size_t i = 0; earlier && i < earlier->count; i++)
		take_earlier(describer, &earlier->items[i]);
}
