/* Git, asked about a directory. For the process that provenance.c starts: all of this waits. */
#ifndef TONY_CLIENT_PROVENANCE_GIT_H
#define TONY_CLIENT_PROVENANCE_GIT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/str.h"

struct provenance_git {
	char *program;
	char *top;			/* the repository's directory */
	char *config, *worktree_config; /* the files that git reads as the repository's own */
	struct str_list environment;
	struct str_list settings;	 /* "-c", "NAME=VALUE" ... */
	const struct str_list *left_out; /* absolute: files that are not told of; NULL: none */
};
void provenance_git_finish(struct provenance_git *git);
#define cleanup_provenance_git __attribute__((cleanup(provenance_git_finish)))

/* Is it in a work tree of git's? Nothing is run. */
bool provenance_git_is_there(const char *directory);

/* Sets "repository", "commit" and "branch". False: git does not know the directory, or there is no
 * commit. Fills a zeroed `git`. */
bool provenance_git_open(struct provenance_git *git, const char *directory, json_t *object);

/* Sets "dirty" and "changed": tracked files that are not as the commit has them; with `with_diff`
 * also "diff_bytes" and, where it was longer, "diff_cut", and appends the difference. */
void provenance_git_compare(struct provenance_git *git, bool with_diff, json_t *object,
			    struct str *diff);

/* Adds the tracked files that are not as this commit has them. */
void provenance_git_names(struct provenance_git *git, const char *commit, struct str_list *names);

/* {"path", "sha256"} of a file; without the hash where it is none, or a large one. */
json_t *provenance_hash(const char *directory, const char *path);

#endif
