#include "hadoop/webhdfs_request.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/random.h"

int webhdfs_request_begin(struct webhdfs_request *request, struct webhdfs_client *client,
			  enum webhdfs_op op, const char *path, bool is_harmless, struct err *err)
{
	request->client = client;
	request->question = (struct webhdfs_question){.op = op, .path = path};
	if (webhdfs_path_check(path, err) < 0)
		return -1;
	webhdfs_tries_begin(&request->tries, &client->options, client->active, is_harmless,
			    clock_monotonic_ms());
	return 0;
}

void webhdfs_request_finish(struct webhdfs_request *request)
{
	webhdfs_tries_finish(&request->tries);
	str_finish(&request->parameters);
	str_finish(&request->answer);
}

static void pause_ms(int64_t ms)
{
	struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	while (ms > 0 && nanosleep(&left, &left) < 0)
		continue;
}

int webhdfs_request_run(struct webhdfs_request *request, webhdfs_try *try_once, struct err *err)
{
	for (;;) {
		struct err failure cleanup_err = {0};
		request->question.server = webhdfs_tries_server(&request->tries);
		enum webhdfs_verdict verdict = try_once(request, &failure);
		if (verdict == WEBHDFS_DONE) {
			request->client->active = request->tries.address;
			return 0;
		}
		if (request->has_progressed)
			webhdfs_tries_progress(&request->tries, clock_monotonic_ms());
		request->has_progressed = false;
		int64_t pause = webhdfs_tries_next(&request->tries, verdict, clock_monotonic_ms(),
						   random_u64(), &failure);
		if (pause < 0)
			return err_copy(err, &failure);
		pause_ms(pause);
	}
}

char *webhdfs_request_url(const struct webhdfs_request *request, const char *parameters)
{
	const char *server = request->question.server;
	struct str url cleanup_str = {0};
	size_t origin = (size_t)(strstr(server, "://") + 3 - server);

	origin += strcspn(server + origin, "/");
	str_append_bytes(&url, server, origin);
	webhdfs_target(&url, &request->client->options, &request->question);
	str_append(&url, str_text(&request->parameters));
	str_append(&url, parameters);
	return str_steal(&url);
}

static enum webhdfs_verdict wrap(const struct webhdfs_request *request,
				 enum webhdfs_verdict verdict, struct err *err)
{
	err_wrap(err, "%s: %s %s", request->question.server, webhdfs_op_name(request->question.op),
		 request->question.path);
	return verdict;
}

enum webhdfs_verdict webhdfs_request_verdict(const struct webhdfs_request *request,
					     enum webhdfs_exchange_end end,
					     const struct webhdfs_exchange *exchange,
					     struct err *err)
{
	switch (end) {
	case WEBHDFS_EXCHANGE_NO_NAME:
	case WEBHDFS_EXCHANGE_NOT_SENT:
		return wrap(request, WEBHDFS_NOT_HERE, err);
	case WEBHDFS_EXCHANGE_BROKEN:
		return wrap(request, WEBHDFS_BROKEN, err);
	case WEBHDFS_EXCHANGE_STOPPED:
		err_set(err, ERR_FAILED, "interrupted");
		return wrap(request, WEBHDFS_REFUSED, err);
	case WEBHDFS_EXCHANGE_FAILED:
		return wrap(request, WEBHDFS_REFUSED, err);
	default:
		return webhdfs_judge(&request->question, exchange->status,
				     str_text(&exchange->answer), exchange->answer.length, err);
	}
}
