/*
 * A container's credentials: Hadoop's token storage ("HDTS"), the file that
 * HADOOP_TOKEN_FILE_LOCATION names and the bytes of ContainerLaunchContext.tokens. Version 0
 * (Writable) is what every Hadoop reads and all write by default; version 1 (protobuf, Hadoop 3) is
 * read as well. The format is that of org.apache.hadoop.security.Credentials.
 */
#ifndef TONY_HADOOP_CREDENTIALS_H
#define TONY_HADOOP_CREDENTIALS_H

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "hadoop/token.h"

#define CREDENTIALS_CAP	      (8u << 20) /* bytes of a file */
#define CREDENTIALS_COUNT_CAP 10000	 /* of its tokens, and of its secrets */

struct credentials_token {
	char *alias; /* often the service, or "" */
	struct hadoop_token token;
};

struct credentials_secret {
	char *alias;
	unsigned char *bytes; /* not NUL-terminated */
	size_t length;
};

/* Initialise with {0}. */
struct credentials {
	struct credentials_token *tokens;
	size_t token_count;
	struct credentials_secret *secrets;
	size_t secret_count;
};
#define cleanup_credentials __attribute__((cleanup(credentials_finish)))

/* Fills what was empty; on failure it is empty again, and err (ERR_INPUT) says what is wrong where.
 * Bytes behind the end are ignored, as Hadoop ignores them. */
int credentials_parse(const void *bytes, size_t length, struct credentials *credentials,
		      struct err *err);
int credentials_read_file(const char *path, struct credentials *credentials, struct err *err);

/* Appends version 0. */
void credentials_write(const struct credentials *credentials, struct str *out);
/* For its owner only; a reader sees the old or the new file. */
int credentials_write_file(const struct credentials *credentials, const char *path,
			   struct err *err);

/* Copied; what had the alias is replaced. */
void credentials_add_token(struct credentials *credentials, const char *alias,
			   const struct hadoop_token *token);
void credentials_add_secret(struct credentials *credentials, const char *alias, const void *bytes,
			    size_t length);

/* NULL: there is none. They point into `credentials`. An AMRMToken's alias and service are empty in
 * a container's file: it is found by its kind. Of several, it is the last. */
const struct hadoop_token *credentials_find_kind(const struct credentials *credentials,
						 const char *kind);
/* The token of that kind whose service is one of `services`; that of a pair of ResourceManagers has
 * both of theirs, "ip:port,ip:port". Of several, it is the last. NULL: there is none. */
const struct hadoop_token *credentials_find(const struct credentials *credentials, const char *kind,
					    const struct str_list *services);
const unsigned char *credentials_find_secret(const struct credentials *credentials,
					     const char *alias, size_t *length);

/* Wipes and frees. */
void credentials_finish(struct credentials *credentials);

#endif
