/* Answers of a server that speaks S3: the first byte says as the answer to what the rest is read.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/s3_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void visit(void *data, const struct s3_entry *entry)
{
	if (!entry->key || entry->length < 0 || entry->modified_ms < 0)
		BUG("an entry");
}

static void read_failure(const char *bytes, size_t length)
{
	struct s3_failure failure cleanup_s3_failure = {0};
	struct err err cleanup_err = {0};

	s3_answer_failure(bytes, length, &failure);
	s3_failure_err(&failure, 403, "s3://bucket/key", &err);
	if (err.kind == ERR_NONE || strchr(err_message(&err), '\x1b'))
		BUG("%s", err_message(&err));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data + 1;
	char *token = NULL;

	if (size < 1)
		return 0;
	if (data[0] % 3 == 0)
		s3_answer_list(bytes, size - 1, visit, NULL, &token, NULL);
	else if (data[0] % 3 == 1)
		free(s3_answer_upload(bytes, size - 1, NULL));
	else
		read_failure(bytes, size - 1);
	free(token);
	return 0;
}
