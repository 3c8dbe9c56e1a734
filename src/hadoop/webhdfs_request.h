/* What the files of webhdfs_client.h share: one of its calls, over all of its tries. */
#ifndef TONY_HADOOP_WEBHDFS_REQUEST_H
#define TONY_HADOOP_WEBHDFS_REQUEST_H

#include "hadoop/webhdfs_client.h"
#include "hadoop/webhdfs_curl.h"
#include "hadoop/webhdfs_tries.h"

struct webhdfs_client {
	struct webhdfs_options options;
	struct webhdfs_curl *curl;
	size_t active; /* the address that answered last */
};

/* Initialise with {0}. */
struct webhdfs_request {
	struct webhdfs_client *client;
	struct webhdfs_question question;
	struct webhdfs_tries tries;
	struct str parameters; /* "&permission=755" */
	struct str answer;     /* of the try that succeeded: metadata only */

	/* Content: webhdfs_content.c. */
	const struct webhdfs_body *body;
	const struct webhdfs_progress *progress;
	int64_t offset, length; /* what is still to be received */
	bool (*on_bytes)(void *data, const char *bytes, size_t length);
	void *data;
	bool has_progressed; /* in the present try */
	bool is_stopped;
};
#define cleanup_webhdfs_request __attribute__((cleanup(webhdfs_request_finish)))

/* `path` is borrowed; -1: it is none. */
int webhdfs_request_begin(struct webhdfs_request *request, struct webhdfs_client *client,
			  enum webhdfs_op op, const char *path, bool is_harmless, struct err *err);
void webhdfs_request_finish(struct webhdfs_request *request);

/* One try, with the server that the question names. */
typedef enum webhdfs_verdict webhdfs_try(struct webhdfs_request *request, struct err *err);

/* Tries until it is done, or there is no hope. */
int webhdfs_request_run(struct webhdfs_request *request, webhdfs_try *try_once, struct err *err);

/* The question's URL with its parameters and some more. The caller frees. */
char *webhdfs_request_url(const struct webhdfs_request *request, const char *parameters);

/* What an exchange means for the try: `err`, if there is one, gets its context. */
enum webhdfs_verdict webhdfs_request_verdict(const struct webhdfs_request *request,
					     enum webhdfs_exchange_end end,
					     const struct webhdfs_exchange *exchange,
					     struct err *err);

#endif
