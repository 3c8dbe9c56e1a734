/* Answers of a server that speaks S3, and texts of questions: pure functions over bytes of XML,
 * that may come from an enemy. Source: Amazon S3 API Reference. */
#ifndef TONY_STORE_S3_ANSWER_H
#define TONY_STORE_S3_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define S3_OTHER_SERVER "tony.s3.endpoint names a server that is not Amazon's"

struct s3_entry {
	const char *key; /* whole */
	bool is_prefix;	 /* of other keys; it ends in "/" */
	int64_t length, modified_ms;
};
typedef void s3_visit(void *data, const struct s3_entry *entry);

/* One page of ListObjectsV2 that was asked for with encoding-type=url. *token: where the next one
 * begins, or NULL: this was the last; the caller frees. */
int s3_answer_list(const char *bytes, size_t length, s3_visit *visit, void *data, char **token,
		   struct err *err);

/* That it is a <`root`>. */
int s3_answer_check(const char *bytes, size_t length, const char *root, struct err *err);

/* The UploadId of CreateMultipartUpload; NULL: `err`. The caller frees. */
char *s3_answer_upload(const char *bytes, size_t length, struct err *err);

/* An answer with status 200 may be one nevertheless, where the server says so only after it has
 * begun. All is NULL where it is none. */
struct s3_failure {
	char *code, *message, *region;
};
void s3_failure_finish(struct s3_failure *failure);
#define cleanup_s3_failure __attribute__((cleanup(s3_failure_finish)))

/* Of <Error>, or of the first one within DeleteResult. */
void s3_answer_failure(const char *bytes, size_t length, struct s3_failure *failure);

/* The message of it: `thing` is "s3://bucket/key". True: the same request may succeed later. */
bool s3_failure_err(const struct s3_failure *failure, int status, const char *thing,
		    struct err *err);

/* Appends a text to the XML of a question. */
void s3_append_text(struct str *to, const char *text);

#endif
