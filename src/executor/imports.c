#include "executor/imports.h"

#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "framework/framework.h"
#include "framework/module.h"

static int check(const struct module_program *program, const char *module, const char *work_dir,
		 const struct environment *environment, struct err *err)
{
	char *script cleanup_free = fs_join(work_dir, program->script);
	char *directory cleanup_free = module_directory(script);

	if (!module_is_imported(script, module))
		return 0;
	char *interpreter cleanup_free =
		strchr(program->interpreter, '/')
			? fs_join(work_dir, program->interpreter)
			: fs_find_program(program->interpreter,
					  environment_get(environment, "PATH"));
	if (!interpreter || module_ask(interpreter, directory, module, environment,
				       MODULE_PATIENCE_MS) != MODULE_MISSING)
		return 0;
	return err_set(err, ERR_CONFIG,
		       "%s imports %s, which %s of this machine does not have; install it there, "
		       "or give --python_venv and write venv/bin/python3 %s",
		       program->script, module, interpreter, program->script);
}

int imports_check(const struct settings *settings, struct err *err)
{
	const struct job_type *type = &settings->job->types[settings->type];
	struct module_program program cleanup_module_program = {0};
	struct environment environment cleanup_environment = {0};
	char *module cleanup_free = framework_module(settings->job);

	if (!module || !type->command || !module_find_program(type->command, &program))
		return 0;
	settings_copy_environment(&environment);
	module_add_environment(type, &environment);
	return check(&program, module, settings->work_dir, &environment, err);
}
