/*
 * Command-line options from one table: parsing, `--help`, shell completion and man pages.
 * Forms accepted: --name value, --name=value, -name value (TonY's single dash, for names of two
 * and more letters), -n value; flags: --name, --no-name when negatable. "--" ends the options.
 * Options and operands may be mixed unless `stop_at_operand`. An unknown option is an error with a
 * suggestion, never an operand.
 */
#ifndef TONY_BASE_OPT_H
#define TONY_BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

enum opt_kind {
	OPT_FLAG,   /* bool * */
	OPT_TEXT,   /* char ** (owned; a repeated option replaces) */
	OPT_LIST,   /* struct str_list * (a repeated option appends) */
	OPT_NUMBER, /* int64_t * within [min, max] */
};
enum opt_completion {
	OPT_COMPLETE_NONE,
	OPT_COMPLETE_FILE, /* a path: "~" and "$HOME" at its start are the user's home */
	OPT_COMPLETE_DIRECTORY,
	OPT_COMPLETE_JOB,
	OPT_COMPLETE_KEY,
	OPT_COMPLETE_TASK, /* of the JOB on the command line, else of the newest */
	OPT_COMPLETE_QUEUE,
	OPT_COMPLETE_TAG, /* of the jobs that the verb takes */
	OPT_COMPLETE_FRAMEWORK,
	OPT_COMPLETE_SCHEDULER,
};

struct opt {
	const char *name; /* long name, without dashes; '_' and '-' are the same letter */
	char letter;	  /* 0: none */
	enum opt_kind kind;
	size_t offset;	      /* of the field in the verb's options struct */
	const char *argument; /* NULL for flags; "N", "FILE", "KEY=VALUE" */
	const char *help;     /* one sentence, no period at the end */
	int64_t min, max;     /* OPT_NUMBER */
	enum opt_completion completion;
	const char *const *choices; /* NULL, or NULL-terminated allowed values */
	bool may_be_empty; /* else an empty value, as of an unset shell variable, is refused */
};

/* The row of an option for `member` of a verb's options struct, whose type tells the kind. Further
 * members of the row may follow. */
#define OPT_ROW(long_name, type, member, text, ...)                                                  \
	{                                                                                            \
		.name = long_name, .help = text, .offset = offsetof(type, member),                 \
		.kind = _Generic(((type *)NULL)->member,                                           \
				 bool: OPT_FLAG,                                                   \
				 char *: OPT_TEXT,                                                 \
				 struct str_list: OPT_LIST,                                        \
				 int64_t: OPT_NUMBER),                                             \
		##__VA_ARGS__ \
	}

/* A word that does not exist here, and what those who type it mean: {"lines", "--tail"}. */
struct opt_word {
	const char *word; /* NULL ends a list of them */
	const char *meant;
};

/* Finds what these `length` bytes mean; '_' and '-' are the same letter. NULL: not in the list. */
const char *opt_word_find(const struct opt_word *words, const char *start, size_t length);

enum opt_jobs {
	OPT_JOBS_ALL,
	OPT_JOBS_LIVE,	/* to end it, or to ask its AM */
	OPT_JOBS_ENDED, /* to remove it */
};

struct opt_table {
	const char *verb;	 /* "submit"; "" for the program itself */
	const char *usage;	 /* "tony submit [OPTIONS] [-- COMMAND ARG...]" */
	const char *summary;	 /* one line for the verb list */
	const char *description; /* a paragraph or more for --help and the man page; may be NULL */
	const struct opt *options;
	size_t option_count;
	bool stop_at_operand;
	enum opt_jobs jobs;		  /* what a JOB of this verb may be */
	const struct opt_word *elsewhere; /* options of other tools, or NULL */
};

/* Fills `target` (the options struct, with the verb's defaults) from argv[1..]. Operands are added
 * to `operands`, and what stands after "--" too (*dashdash, if not NULL, is the index in `operands`
 * of the first such word, or operands->count when there was no "--"). */
int opt_parse(const struct opt_table *table, int argc, char **argv, void *target,
	      struct str_list *operands, size_t *dashdash, struct err *err);

/* Frees every OPT_TEXT and OPT_LIST field. */
void opt_finish(const struct opt_table *table, void *target);

/* "--help", "-h", and "-help" as TonY has it. */
bool opt_is_help(const char *argument);
/* For `--help`, in lines of `width` columns but for words that are longer; 0: of 80. */
void opt_help(const struct opt_table *table, size_t width, struct str *out);
/* Paragraphs of it, each a line of `text`; one that begins with a blank is kept as it is. */
void opt_help_text(const char *text, size_t width, struct str *out);
/* A line of it: `head`, and `text` behind it from `column` on. Where less than half of the width is
 * left for that, the text stands below. */
void opt_help_line(const char *head, const char *text, size_t column, size_t width,
		   struct str *out);
void opt_man_options(const struct opt_table *table, struct str *out); /* scdoc OPTIONS entries */

#endif
