/* The tokens of the file that HADOOP_TOKEN_FILE_LOCATION names: a container's, or those that
 * whoever started tony has got already. Under Oozie, or in a container of another job, there is no
 * Kerberos ticket, and they are all. */
#ifndef TONY_HADOOP_TOKEN_FILE_H
#define TONY_HADOOP_TOKEN_FILE_H

#include "base/err.h"
#include "base/str.h"
#include "hadoop/token.h"

#define TOKEN_FILE_VARIABLE "HADOOP_TOKEN_FILE_LOCATION"

/* `token` ({0}): one of the first of these kinds that is for one of `services`; it stays {0} where
 * there is none, or no variable. ERR_CONFIG: the file cannot be read. */
int token_file_find(const char *const *kinds, size_t kind_count, const struct str_list *services,
		    struct hadoop_token *token, struct err *err);

/* The file has these from now on, in place of those of the same services; of "HDTS" bytes those
 * alone that are for tasks. A reader sees the old or the new file. 1: it had them all; -1: `err`,
 * and it is as it was; ERR_INPUT: they are no such bytes; ERR_DENIED: of another user than those in
 * the file. */
int token_file_take(const void *bytes, size_t length, struct err *err);

/* Of the tokens for tasks in the file, the one that ends first. */
struct token_file_end {
	char *name; /* "HDFS_DELEGATION_TOKEN for 10.0.0.5:8020"; the caller frees */
	int64_t issued_ms, ends_ms;
};
/* False: there is none, or no file that can be read. */
bool token_file_look(struct token_file_end *end);
/* The same of "HDTS" bytes. */
bool token_bytes_look(const void *bytes, size_t length, struct token_file_end *end);

/* Sets `err`: the server takes this one of them no longer. Returns -1. */
int token_file_say_ended(const struct hadoop_token *token, struct err *err);

/* That file; NULL: there is no variable. */
const char *token_file_path(void);
/* *owner: whose delegation tokens they are; NULL where there are none. The caller frees. */
int token_file_owner(char **owner, struct err *err);

#endif
