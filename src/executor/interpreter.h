/* Why the shell could not run a script whose file is there. */
#ifndef TONY_EXECUTOR_INTERPRETER_H
#define TONY_EXECUTOR_INTERPRETER_H

/* From the shell's (or env's) own words: "./a.sh asks for /bin/x in its #! line, which is not
 * there". NULL: they are about something else. The caller frees. */
char *interpreter_fault(const char *words, const char *work_dir);

#endif
