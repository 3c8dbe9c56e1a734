/* The webhook: a POST of JSON, repeated while that may help. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "am/notice.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/random.h"
#include "net/backoff.h"
#include "net/http_client.h"
#include "net/tls.h"
#include "net/url.h"

enum {
	TRIES = 3,
	TRY_MS = 10000,
	FIRST_PAUSE_MS = 2000,
	PAUSE_CAP_MS = 8000,
};

#define TRUST_REMEDY                                                                               \
	"name a file with the authority that signed it in tony.application.on-end-ca-file"

struct post {
	struct net_url url;
	struct tls_context *tls; /* NULL: http */
	char *authorization;	 /* NULL: none */
	char *body;
	int status; /* of the last answer; 0: there was none */
	struct err err;
};

static void finish(struct post *post)
{
	net_url_finish(&post->url);
	tls_context_destroy(post->tls);
	mem_free_secret(post->authorization);
	free(post->body);
	err_finish(&post->err);
}
#define cleanup_post __attribute__((cleanup(finish)))

/* The description may be of another version, which takes other URLs. */
static int prepare(struct post *post, const struct job *job, const json_t *facts)
{
	if (net_url_parse(job->on_end_webhook, &post->url, &post->err) < 0)
		return -1;
	if (post->url.is_tls)
		post->tls = tls_context_create_client(job->on_end_authorities, TRUST_REMEDY,
						      &post->err);
	if (post->url.is_tls && !post->tls)
		return -1;
	if (post->url.user) {
		char *code cleanup_free = base64_encode(post->url.user, strlen(post->url.user));
		post->authorization = mem_printf("Basic %s", code);
	}
	post->body = json_text(facts);
	return 0;
}

static void try_once(struct post *post)
{
	const struct http_question question = {
		.method = "POST",
		.path = *post->url.target ? post->url.target : "/",
		.content_type = "application/json",
		.authorization = post->authorization,
		.body = post->body,
		.body_length = strlen(post->body),
		.timeout_ms = TRY_MS,
		.is_last = true,
	};

	err_finish(&post->err);
	post->status = 0;
	http_ask(post->url.address, post->tls, &question, &post->status, &post->err);
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
	char *origin cleanup_free = net_url_origin(&post->url);
	char *count cleanup_free = tries > 1 ? mem_printf(" at try %d", tries) : mem_strdup("");

	if (is_taken(post))
		return mem_printf("%s took it%s", origin, count);
	if (post->status != 0)
		return mem_printf("%s answered with status %d%s", origin, post->status, count);
	return mem_printf("%s%s", err_message(&post->err), count);
}

char *notice_post(const struct job *job, const json_t *facts, bool *failed)
{
	struct post post cleanup_post = {0};
	struct backoff backoff = {.first_ms = FIRST_PAUSE_MS, .cap_ms = PAUSE_CAP_MS};
	int tries = 0;

	*failed = true;
	if (prepare(&post, job, facts) < 0)
		return mem_strdup(err_message(&post.err));
	do {
		if (tries > 0)
			pause_before(&backoff);
		try_once(&post);
		tries++;
	} while (tries < TRIES && !is_taken(&post) && may_help_again(&post));
	*failed = !is_taken(&post);
	return describe(&post, tries);
}
