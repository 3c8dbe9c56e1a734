/* One HTTP exchange at a time over libcurl, for webhdfs_client.c. Connections are kept. No proxy of
 * the environment is used: clusters are asked directly, as Hadoop's own clients do. */
#ifndef TONY_HADOOP_WEBHDFS_CURL_H
#define TONY_HADOOP_WEBHDFS_CURL_H

#include "hadoop/webhdfs.h"

/* What is sent. `bytes` in memory, or the first `length` bytes of the file `fd`. */
struct webhdfs_body {
	const void *bytes; /* NULL: of fd */
	int fd;
	int64_t length;
};

struct webhdfs_exchange {
	const char *method, *url;
	const struct webhdfs_body *body; /* NULL: none */
	/* Told of the bytes of `body` that have been sent; false stops. May be NULL. */
	bool (*on_sent)(void *data, int64_t bytes);
	/* Gets the body of a 2xx answer as it comes; false stops. NULL: it is kept in `answer`. */
	bool (*on_bytes)(void *data, const char *bytes, size_t length);
	void *data;
	/* A kept connection may be dead, and libcurl then asks a second time by itself. */
	bool ask_once;

	/* The answer. */
	int status; /* 0: none came */
	struct str answer;
	char *location; /* where a redirect leads; NULL: nowhere */
};
void webhdfs_exchange_finish(struct webhdfs_exchange *exchange);
#define cleanup_webhdfs_exchange __attribute__((cleanup(webhdfs_exchange_finish)))

enum webhdfs_exchange_end {
	WEBHDFS_EXCHANGE_ANSWERED,
	WEBHDFS_EXCHANGE_NO_NAME,  /* the host's name does not resolve */
	WEBHDFS_EXCHANGE_NOT_SENT, /* no connection: nothing was asked */
	WEBHDFS_EXCHANGE_BROKEN,   /* what the server did is not known */
	WEBHDFS_EXCHANGE_STOPPED,  /* by on_sent or on_bytes: no error is set */
	WEBHDFS_EXCHANGE_FAILED,   /* no use to try again: certificate, source, nonsense */
};

struct webhdfs_curl;

struct webhdfs_curl *webhdfs_curl_create(const struct webhdfs_options *options, struct err *err);
void webhdfs_curl_destroy(struct webhdfs_curl *curl); /* NULL is fine */

/* Anything but ANSWERED and STOPPED sets `err`, without naming URL or server. */
enum webhdfs_exchange_end webhdfs_curl_run(struct webhdfs_curl *curl,
					   struct webhdfs_exchange *exchange, struct err *err);

#endif
