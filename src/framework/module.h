/*
 * Whether a Python program can import its framework, known before it is started.
 */
#ifndef TONY_FRAMEWORK_MODULE_H
#define TONY_FRAMEWORK_MODULE_H

#include <stdint.h>

#include "framework/environment.h"
#include "job/job.h"

/* For an interpreter to answer: a program takes as long to start. */
enum { MODULE_PATIENCE_MS = 10000 };

/* "python3 -u train.py --epochs 3": a Python program, as words of the command. */
struct module_program {
	char *interpreter, *script;
};
/* False: the command starts something else, or only the shell can tell. */
bool module_find_program(const char *command, struct module_program *program);
void module_program_finish(struct module_program *program);
#define cleanup_module_program __attribute__((cleanup(module_program_finish)))

/* The first place where the script finds modules: its directory, behind symbolic links. The caller
 * frees. */
char *module_directory(const char *script);

/* Does the script import the module before it does anything else? Without the module it then cannot
 * run. Docstrings and other imports may precede it, but no file beside the script: like any other
 * statement, an import of that may change sys.path or install a package. */
bool module_is_imported(const char *script, const char *module);

/* Adds what the type sets, as its programs see it; templates are not expanded. */
void module_add_environment(const struct job_type *type, struct environment *environment);

enum module_verdict {
	MODULE_FOUND,
	MODULE_MISSING,
	MODULE_UNKNOWN, /* no answer in time, or none that can be understood */
};
/* Asks the interpreter (a path), as it would find the module for a script in `directory`. Takes
 * patience_ms at most. */
enum module_verdict module_ask(const char *interpreter, const char *directory, const char *module,
			       const struct environment *environment, int64_t patience_ms);

#endif
