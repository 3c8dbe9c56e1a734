#include "executor/imports.h"

#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "framework/module.h"

/* The caller frees; NULL: nowhere. */
static char *find_interpreter(const char *word, const char *work_dir,
			      const struct environment *environment)
{
	struct str_list directories cleanup_str_list = {0};
	const char *path = environment_get(environment, "PATH");

	if (strchr(word, '/'))
		return fs_join(work_dir, word);
	str_split(&directories, path ? path : "", ':');
	for (size_t i = 0; i < directories.count; i++) {
		char *candidate cleanup_free = fs_join(directories.items[i], word);
		if (access(candidate, X_OK) == 0)
			return mem_steal(&candidate);
	}
	return NULL;
}

static int check(const struct module_program *program, const char *module, const char *work_dir,
		 const struct environment *environment, struct err *err)
{
	char *script cleanup_free = fs_join(work_dir, program->script);
	char *directory cleanup_free = fs_dirname(script);

	if (!module_is_imported(script, module))
		return 0;
	char *interpreter cleanup_free =
		find_interpreter(program->interpreter, work_dir, environment);
	if (!interpreter || module_ask(interpreter, directory, module, environment,
				       MODULE_PATIENCE_MS) != MODULE_MISSING)
		return 0;
	return err_set(err, ERR_CONFIG,
		       "%s imports %s, which %s of this machine does not have; install it there, "
		       "or give --python_venv",
		       program->script, module, interpreter);
}

int imports_check(const struct settings *settings, struct err *err)
{
	const struct job_type *type = &settings->job->types[settings->type];
	struct module_program program cleanup_module_program = {0};
	struct environment environment cleanup_environment = {0};
	const char *module = module_of(settings->job);

	if (!module || !type->command || !module_find_program(type->command, &program))
		return 0;
	settings_copy_environment(&environment);
	module_add_environment(type, &environment);
	return check(&program, module, settings->work_dir, &environment, err);
}
