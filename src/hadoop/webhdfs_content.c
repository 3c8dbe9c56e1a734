/* The content of files: to and from DataNodes, or through an HttpFS gateway. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hadoop/webhdfs_client.h"
#include "hadoop/webhdfs_request.h"

static bool on_sent(void *data, int64_t bytes)
{
	struct webhdfs_request *request = data;

	return !request->progress || request->progress->tell(request->progress->data, bytes);
}

static bool on_bytes(void *data, const char *bytes, size_t length)
{
	struct webhdfs_request *request = data;

	/* No more than was asked for, whatever comes. */
	if ((int64_t)length > request->length)
		length = (size_t)request->length;
	request->has_progressed = true;
	request->offset += (int64_t)length;
	request->length -= (int64_t)length;
	request->is_stopped = !request->on_bytes(request->data, bytes, length);
	return !request->is_stopped;
}

/* The exchange that moves the content, with a gateway or a DataNode. */
static enum webhdfs_exchange_end move_content(struct webhdfs_request *request, const char *url,
					      struct webhdfs_exchange *exchange, struct err *err)
{
	*exchange = (struct webhdfs_exchange){
		.method = webhdfs_op_method(request->question.op),
		.url = url,
		.body = request->body,
		.on_sent = request->progress ? on_sent : NULL,
		.on_bytes = request->on_bytes ? on_bytes : NULL,
		.data = request,
		.ask_once = !request->tries.is_harmless,
	};
	return webhdfs_curl_run(request->client->curl, exchange, err);
}

/* With HttpFS the question and the content are one exchange. */
static enum webhdfs_verdict move_by_gateway(struct webhdfs_request *request, struct err *err)
{
	struct webhdfs_exchange exchange cleanup_webhdfs_exchange = {0};
	char *url cleanup_free = webhdfs_request_url(request, request->body ? "&data=true" : "");
	enum webhdfs_exchange_end end = move_content(request, url, &exchange, err);

	if (request->is_stopped)
		return WEBHDFS_DONE;
	return webhdfs_request_verdict(request, end, &exchange, err);
}

/* Where the NameNode sends us, in one of its two ways to say so. */
static enum webhdfs_verdict ask_location(struct webhdfs_request *request, char **location,
					 struct err *err)
{
	char *url cleanup_free = webhdfs_request_url(request, "&noredirect=true");
	struct webhdfs_exchange exchange cleanup_webhdfs_exchange = {
		.method = webhdfs_op_method(request->question.op),
		.url = url,
	};
	enum webhdfs_exchange_end end = webhdfs_curl_run(request->client->curl, &exchange, err);

	if (end == WEBHDFS_EXCHANGE_ANSWERED && exchange.status == 307 && exchange.location) {
		*location = mem_steal(&exchange.location);
		return WEBHDFS_DONE;
	}
	enum webhdfs_verdict verdict = webhdfs_request_verdict(request, end, &exchange, err);
	if (verdict == WEBHDFS_DONE)
		*location = webhdfs_answer_location(&request->question, str_text(&exchange.answer),
						    exchange.answer.length, err);
	if (verdict == WEBHDFS_DONE && !*location)
		return WEBHDFS_REFUSED;
	/* To be told a place does nothing yet. */
	return verdict == WEBHDFS_BROKEN ? WEBHDFS_NOT_HERE : verdict;
}

/* A DataNode that fails says nothing about the NameNode, which may name another one next time. */
static enum webhdfs_verdict data_node_verdict(struct webhdfs_request *request,
					      enum webhdfs_exchange_end end,
					      const struct webhdfs_exchange *exchange,
					      const struct net_url *url, struct err *err)
{
	if (end == WEBHDFS_EXCHANGE_NO_NAME || end == WEBHDFS_EXCHANGE_NOT_SENT) {
		struct err why cleanup_err = *err;
		*err = (struct err){0};
		webhdfs_err_data_node(&request->question, url, err_message(&why), err);
		return end == WEBHDFS_EXCHANGE_NO_NAME ? WEBHDFS_REFUSED : WEBHDFS_NOT_NOW;
	}
	if (end != WEBHDFS_EXCHANGE_ANSWERED && end != WEBHDFS_EXCHANGE_STOPPED)
		err_wrap(err, "DataNode %s", url->address);
	enum webhdfs_verdict verdict = webhdfs_request_verdict(request, end, exchange, err);
	if (verdict == WEBHDFS_BROKEN)
		return request->tries.is_harmless ? WEBHDFS_NOT_NOW : WEBHDFS_REFUSED;
	return verdict == WEBHDFS_NOT_HERE ? WEBHDFS_NOT_NOW : verdict;
}

static enum webhdfs_verdict move_by_data_node(struct webhdfs_request *request, struct err *err)
{
	struct webhdfs_exchange exchange cleanup_webhdfs_exchange = {0};
	struct net_url url cleanup_net_url = {0};
	char *location cleanup_free = NULL;
	enum webhdfs_verdict verdict = ask_location(request, &location, err);

	if (verdict != WEBHDFS_DONE)
		return verdict;
	if (webhdfs_location_parse(&request->question, location, &url, err) < 0)
		return WEBHDFS_REFUSED;
	char *target cleanup_free =
		mem_printf("%s://%s%s", url.is_tls ? "https" : "http", url.address, url.target);
	enum webhdfs_exchange_end end = move_content(request, target, &exchange, err);
	if (request->is_stopped)
		return WEBHDFS_DONE;
	return data_node_verdict(request, end, &exchange, &url, err);
}

static enum webhdfs_verdict move(struct webhdfs_request *request, struct err *err)
{
	return request->client->options.http_fs ? move_by_gateway(request, err)
						: move_by_data_node(request, err);
}

static int create(struct webhdfs_client *client, const char *path,
		  const struct webhdfs_create *create, const struct webhdfs_body *body,
		  const struct webhdfs_progress *progress, struct err *err)
{
	struct webhdfs_request request cleanup_webhdfs_request = {0};

	if (webhdfs_request_begin(&request, client, WEBHDFS_CREATE, path, create->overwrite, err) <
	    0)
		return -1;
	str_append_format(&request.parameters, "&overwrite=%s&permission=%o",
			  create->overwrite ? "true" : "false",
			  create->permission ? create->permission : 0644);
	request.body = body;
	request.progress = progress;
	return webhdfs_request_run(&request, move, err);
}

int webhdfs_create(struct webhdfs_client *client, const char *path,
		   const struct webhdfs_create *how, int fd, int64_t length,
		   const struct webhdfs_progress *progress, struct err *err)
{
	return create(client, path, how, &(struct webhdfs_body){.fd = fd, .length = length},
		      progress, err);
}

int webhdfs_write(struct webhdfs_client *client, const char *path, const struct webhdfs_create *how,
		  const void *bytes, size_t length, struct err *err)
{
	return create(client, path, how,
		      &(struct webhdfs_body){.bytes = length > 0 ? bytes : "",
					     .fd = -1,
					     .length = (int64_t)length},
		      NULL, err);
}

/* What is left, in each try anew. */
static enum webhdfs_verdict receive(struct webhdfs_request *request, struct err *err)
{
	if (request->length == 0)
		return WEBHDFS_DONE;
	str_truncate(&request->parameters, 0);
	str_append_format(&request->parameters, "&offset=%lld&length=%lld",
			  (long long)request->offset, (long long)request->length);
	return move(request, err);
}

int webhdfs_read(struct webhdfs_client *client, const char *path, int64_t offset, int64_t length,
		 bool (*on_piece)(void *data, const char *bytes, size_t length), void *data,
		 struct err *err)
{
	struct webhdfs_request request cleanup_webhdfs_request = {0};

	if (length < 0) {
		struct webhdfs_file file cleanup_webhdfs_file = {0};
		if (webhdfs_stat(client, path, &file, err) < 0)
			return -1;
		if (offset > file.length)
			return err_set(err, ERR_INPUT, "%s: has %lld bytes, none from %lld on",
				       path, (long long)file.length, (long long)offset);
		length = file.length - offset;
	}
	if (webhdfs_request_begin(&request, client, WEBHDFS_OPEN, path, true, err) < 0)
		return -1;
	request.offset = offset;
	request.length = length;
	request.on_bytes = on_piece;
	request.data = data;
	return webhdfs_request_run(&request, receive, err);
}

struct gathering {
	struct str *bytes;
	size_t cap, got;
};

static bool gather(void *data, const char *bytes, size_t length)
{
	struct gathering *gathering = data;

	gathering->got += length;
	if (gathering->got > gathering->cap)
		return false;
	str_append_bytes(gathering->bytes, bytes, length);
	return true;
}

int webhdfs_read_file(struct webhdfs_client *client, const char *path, size_t cap,
		      struct str *bytes, struct err *err)
{
	struct gathering gathering = {.bytes = bytes, .cap = cap};

	if (webhdfs_read(client, path, 0, -1, gather, &gathering, err) < 0)
		return -1;
	if (gathering.got > cap)
		return err_set(err, ERR_INPUT, "%s: is larger than %zu bytes", path, cap);
	return 0;
}
