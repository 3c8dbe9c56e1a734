/* Would the first word of a command be found, and the script of an interpreter? Nothing is run. */
#ifndef TONY_CLIENT_PROGRAM_H
#define TONY_CLIENT_PROGRAM_H

#include "client/stage.h"
#include "framework/module.h"

enum program_verdict {
	PROGRAM_FOUND,
	PROGRAM_MISSING,  /* on this machine */
	PROGRAM_UNSTAGED, /* below the working directory: nothing brings it there, on no machine */
	PROGRAM_UNKNOWN,  /* only the shell will know */
};

/* `path` is a PATH; `files` are those of the task's type; `work_dir`: as of struct job. *text says
 * where it is, or what is wrong and what to do; the caller frees. */
enum program_verdict program_find(const char *command, const char *work_dir,
				  const struct stage_files *files, const char *path, char **text);

/* Appends to `programs` the words of a command that name something to run: a program with a slash,
 * the file behind an interpreter, a script by its suffix; to `arguments` other words that look like
 * files: with a slash or a dot. Left out: programs that PATH finds, words that the shell expands,
 * and the targets of ">". */
void program_words(const char *command, struct str_list *programs, struct str_list *arguments);

/* Where the interpreter and the script of a command that starts a Python program are on this
 * machine. False: it starts something else, or one of them is not to be found. The caller finishes
 * `found`. */
bool program_find_python(const char *command, const char *work_dir, const struct stage_files *files,
			 const char *path, struct module_program *found);

#endif
