#include "am/web_target.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/random.h"
#include "net/backoff.h"
#include "net/http_client.h"

enum {
	TRIES = 3,
	TRY_MS = 10000,
	FIRST_PAUSE_MS = 2000,
	PAUSE_CAP_MS = 8000,
};

struct post {
	const struct web_target *target;
	const char *path, *body;
	int status; /* of the last answer; 0: there was none */
	struct err err;
};

int web_target_open(struct web_target *target, const char *url, const char *authorities,
		    const char *remedy, struct err *err)
{
	if (net_url_parse(url, &target->url, err) < 0)
		return -1;
	if (target->url.is_tls)
		target->tls = tls_context_create_client(authorities, remedy, err);
	if (target->url.is_tls && !target->tls)
		return -1;
	if (target->url.user) {
		char *code cleanup_free = base64_encode(target->url.user, strlen(target->url.user));
		target->authorization = mem_printf("Basic %s", code);
	}
	return 0;
}

void web_target_close(struct web_target *target)
{
	net_url_finish(&target->url);
	tls_context_destroy(target->tls);
	mem_free_secret(target->authorization);
}

static void try_once(struct post *post)
{
	const struct http_question question = {
		.method = "POST",
		.path = post->path,
		.content_type = "application/json",
		.authorization = post->target->authorization,
		.body = post->body,
		.body_length = strlen(post->body),
		.timeout_ms = TRY_MS,
		.is_last = true,
	};

	err_finish(&post->err);
	post->status = 0;
	http_ask(post->target->url.address, post->target->tls, &question, &post->status,
		 &post->err);
}

static bool is_taken(const struct post *post)
{
	return post->status >= 200 && post->status < 300;
}

/* A certificate stays what it is, and so does what the server thinks of the request. */
static bool may_help_again(const struct post *post)
{
	if (post->status == 0)
		return post->err.kind != ERR_DENIED && post->err.kind != ERR_CONFIG;
	return post->status == 429 || post->status >= 500;
}

static void pause_before(struct backoff *backoff)
{
	poll(NULL, 0, (int)backoff_next(backoff, random_u64()));
}

/* The caller frees. */
static char *describe(const struct post *post, int tries)
{
	char *origin cleanup_free = net_url_origin(&post->target->url);
	char *count cleanup_free = tries > 1 ? mem_printf(" at try %d", tries) : mem_strdup("");

	if (is_taken(post))
		return mem_printf("%s took it%s", origin, count);
	if (post->status != 0)
		return mem_printf("%s answered with status %d%s", origin, post->status, count);
	return mem_printf("%s%s", err_message(&post->err), count);
}

char *web_target_post(const struct web_target *target, const char *path, const char *body,
		      bool *failed)
{
	struct post post = {.target = target, .path = path, .body = body};
	struct backoff backoff = {.first_ms = FIRST_PAUSE_MS, .cap_ms = PAUSE_CAP_MS};
	int tries = 0;

	do {
		if (tries > 0)
			pause_before(&backoff);
		try_once(&post);
		tries++;
	} while (tries < TRIES && !is_taken(&post) && may_help_again(&post));
	*failed = !is_taken(&post);
	char *outcome = describe(&post, tries);
	err_finish(&post.err);
	return outcome;
}
