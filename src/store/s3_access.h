/* How buckets of S3, or of a server like it, are reached. The client finds it out; it travels in
 * job.json as job->stores' member "s3". */
#ifndef TONY_STORE_S3_ACCESS_H
#define TONY_STORE_S3_ACCESS_H

#include <jansson.h>

#include "base/err.h"

struct s3_access {
	char *endpoint; /* "http://host:port" of a server other than Amazon's; NULL: Amazon's */
	char *region;
	/* Secrets. */
	char *key_id, *secret_key;
	char *session_token; /* NULL: the key is no session's */
	/* No secret: PEM of those that the server's certificate is to be of; NULL: those that the
	 * machine trusts. */
	char *authorities;
};

void s3_access_finish(struct s3_access *access);
#define cleanup_s3_access __attribute__((cleanup(s3_access_finish)))

/* From the environment, as Amazon's own programs do: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
 * AWS_SESSION_TOKEN, or the profile AWS_PROFILE ("default") of ~/.aws/credentials and
 * ~/.aws/config; AWS_CA_BUNDLE names a file of authorities, AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL
 * a server. `endpoint` and `region`: the keys tony.s3.endpoint and tony.s3.region, which come
 * first; may be NULL. -1: `err` (ERR_CONFIG), and
 * `access` is empty. */
int s3_access_find(const char *endpoint, const char *region, struct s3_access *access,
		   struct err *err);

/* Reads and checks the member "s3" of `stores`, as if written by an enemy. -1: `err` (ERR_INPUT),
 * and `access` is empty. */
int s3_access_read(struct s3_access *access, const json_t *stores, struct err *err);
/* Sets that member. */
void s3_access_write(const struct s3_access *access, json_t *stores);

/* Copies all; the caller finishes `to`. */
void s3_access_copy(const struct s3_access *from, struct s3_access *to);

#endif
