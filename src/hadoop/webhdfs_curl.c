#include "hadoop/webhdfs_curl.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

struct webhdfs_curl {
	CURL *easy;
	struct curl_slist *headers;
	const struct webhdfs_options *options; /* borrowed */
	char error[CURL_ERROR_SIZE];

	/* The exchange in progress. */
	struct webhdfs_exchange *exchange;
	int64_t sent;
	bool is_stopped;
	const char *flaw; /* of the source or the answer; NULL: none */
};

struct webhdfs_curl *webhdfs_curl_create(const struct webhdfs_options *options, struct err *err)
{
	struct webhdfs_curl *curl = mem_alloc(sizeof(*curl));

	curl->options = options;
	if (curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
		curl->easy = curl_easy_init();
	if (!curl->easy) {
		err_set(err, ERR_FAILED, "libcurl could not be started");
		free(curl);
		return NULL;
	}
	/* What HttpFS demands of content, and nobody else minds. */
	curl->headers = curl_slist_append(NULL, "Content-Type: application/octet-stream");
	return curl;
}

void webhdfs_curl_destroy(struct webhdfs_curl *curl)
{
	if (!curl)
		return;
	curl_easy_cleanup(curl->easy);
	curl_slist_free_all(curl->headers);
	curl_global_cleanup();
	free(curl);
}

void webhdfs_exchange_finish(struct webhdfs_exchange *exchange)
{
	str_finish(&exchange->answer);
	free(exchange->location);
	exchange->location = NULL;
}

/* ---- callbacks ---------------------------------------------------------------------------- */

static ssize_t read_source(const struct webhdfs_body *body, int64_t offset, void *bytes,
			   size_t room)
{
	size_t left = (size_t)(body->length - offset);
	ssize_t got;

	if (room > left)
		room = left;
	if (body->bytes) {
		memcpy(bytes, (const char *)body->bytes + offset, room);
		return (ssize_t)room;
	}
	do
		got = pread(body->fd, bytes, room, offset);
	while (got < 0 && errno == EINTR);
	return got;
}

static size_t on_read(char *bytes, size_t size, size_t count, void *data)
{
	struct webhdfs_curl *curl = data;
	const struct webhdfs_body *body = curl->exchange->body;

	if (!body || curl->sent == body->length)
		return 0;
	ssize_t got = read_source(body, curl->sent, bytes, size * count);
	if (got <= 0) {
		curl->flaw =
			got < 0 ? strerror(errno) : "the file became shorter while it was sent";
		return CURL_READFUNC_ABORT;
	}
	curl->sent += got;
	return (size_t)got;
}

/* A kept connection turned out to be dead after some was sent. */
static int on_seek(void *data, curl_off_t offset, int origin)
{
	struct webhdfs_curl *curl = data;

	if (origin != SEEK_SET)
		return CURL_SEEKFUNC_FAIL;
	curl->sent = offset;
	return CURL_SEEKFUNC_OK;
}

static int on_progress(void *data, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
		       curl_off_t up)
{
	struct webhdfs_curl *curl = data;
	struct webhdfs_exchange *exchange = curl->exchange;

	if (exchange->on_sent && !exchange->on_sent(exchange->data, up))
		curl->is_stopped = true;
	return curl->is_stopped;
}

static size_t on_write(char *bytes, size_t size, size_t count, void *data)
{
	struct webhdfs_curl *curl = data;
	struct webhdfs_exchange *exchange = curl->exchange;
	size_t length = size * count;
	long status = 0;

	curl_easy_getinfo(curl->easy, CURLINFO_RESPONSE_CODE, &status);
	if (exchange->on_bytes && status >= 200 && status < 300) {
		if (exchange->on_bytes(exchange->data, bytes, length))
			return length;
		curl->is_stopped = true;
		return 0;
	}
	if (exchange->answer.length + length > WEBHDFS_ANSWER_CAP) {
		curl->flaw = "the answer is too large";
		return 0;
	}
	str_append_bytes(&exchange->answer, bytes, length);
	return length;
}

/* ---- an exchange -------------------------------------------------------------------------- */

static void set_limits(struct webhdfs_curl *curl)
{
	CURL *easy = curl->easy;

	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)curl->options->connect_timeout_ms);
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME,
			 (long)(curl->options->silence_timeout_ms + 999) / 1000);
	if (curl->options->authorities) {
		/* These, and none of the system's. */
		struct curl_blob blob = {.data = curl->options->authorities,
					 .len = strlen(curl->options->authorities),
					 .flags = CURL_BLOB_NOCOPY};
		curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob);
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	}
}

static void set_callbacks(struct webhdfs_curl *curl)
{
	CURL *easy = curl->easy;

	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, curl->error);
	curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
	curl_easy_setopt(easy, CURLOPT_READDATA, curl);
	curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_seek);
	curl_easy_setopt(easy, CURLOPT_SEEKDATA, curl);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_write);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, curl);
	curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(easy, CURLOPT_XFERINFODATA, curl);
	curl_easy_setopt(easy, CURLOPT_NOPROGRESS, curl->exchange->on_sent ? 0L : 1L);
}

static void set_question(struct webhdfs_curl *curl)
{
	const struct webhdfs_exchange *exchange = curl->exchange;
	CURL *easy = curl->easy;

	curl_easy_setopt(easy, CURLOPT_URL, exchange->url);
	curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, exchange->ask_once ? 1L : 0L);
	if (strcmp(exchange->method, "PUT") == 0) {
		/* Without content, too: web servers want to be told that there is none. */
		curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE,
				 (curl_off_t)(exchange->body ? exchange->body->length : 0));
		curl_easy_setopt(easy, CURLOPT_HTTPHEADER, exchange->body ? curl->headers : NULL);
	} else if (strcmp(exchange->method, "GET") != 0) {
		curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, exchange->method);
	}
}

static enum webhdfs_exchange_end classify(const struct webhdfs_curl *curl, CURLcode code)
{
	curl_off_t connected = 0;

	switch (code) {
	case CURLE_COULDNT_RESOLVE_HOST:
		return WEBHDFS_EXCHANGE_NO_NAME;
	case CURLE_COULDNT_CONNECT:
		return WEBHDFS_EXCHANGE_NOT_SENT;
	case CURLE_OPERATION_TIMEDOUT:
		curl_easy_getinfo(curl->easy, CURLINFO_PRETRANSFER_TIME_T, &connected);
		return connected > 0 ? WEBHDFS_EXCHANGE_BROKEN : WEBHDFS_EXCHANGE_NOT_SENT;
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_GOT_NOTHING:
	case CURLE_PARTIAL_FILE:
		return WEBHDFS_EXCHANGE_BROKEN;
	default:
		return WEBHDFS_EXCHANGE_FAILED;
	}
}

static void describe(const struct webhdfs_curl *curl, CURLcode code, enum webhdfs_exchange_end end,
		     struct err *err)
{
	const char *text = *curl->error ? curl->error : curl_easy_strerror(code);
	char *shown cleanup_free = str_printable(text, strcspn(text, "\r\n"));
	long flaw = 0; /* of the certificate; none: it is for another host */

	curl_easy_getinfo(curl->easy, CURLINFO_SSL_VERIFYRESULT, &flaw);

	if (end != WEBHDFS_EXCHANGE_FAILED)
		err_set(err, ERR_UNREACHABLE, "%s", shown);
	else if (curl->flaw)
		err_set(err, code == CURLE_WRITE_ERROR ? ERR_INPUT : ERR_IO, "%s", curl->flaw);
	else if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE)
		err_set(err, ERR_DENIED, "%s%s", shown, flaw ? "; " WEBHDFS_TRUST_REMEDY : "");
	else
		err_set(err, ERR_INPUT, "%s", shown);
}

static void read_answer(struct webhdfs_curl *curl)
{
	char *location = NULL;
	long status = 0;

	curl_easy_getinfo(curl->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(curl->easy, CURLINFO_REDIRECT_URL, &location);
	curl->exchange->status = (int)status;
	curl->exchange->location = mem_strdup(location);
}

enum webhdfs_exchange_end webhdfs_curl_run(struct webhdfs_curl *curl,
					   struct webhdfs_exchange *exchange, struct err *err)
{
	curl->exchange = exchange;
	curl->sent = 0;
	curl->is_stopped = false;
	curl->flaw = NULL;
	curl->error[0] = '\0';
	/* Connections stay. CURLOPT_NOSIGNAL stays unset: so libcurl keeps SIGPIPE from us. */
	curl_easy_reset(curl->easy);
	set_limits(curl);
	set_callbacks(curl);
	set_question(curl);
	CURLcode code = curl_easy_perform(curl->easy);
	read_answer(curl);
	if (curl->is_stopped)
		return WEBHDFS_EXCHANGE_STOPPED;
	/* Who refuses content may hang up while it is still being sent. */
	if (code == CURLE_OK || (code == CURLE_SEND_ERROR && exchange->status >= 400))
		return WEBHDFS_EXCHANGE_ANSWERED;
	enum webhdfs_exchange_end end = classify(curl, code);
	describe(curl, code, end, err);
	return end;
}
