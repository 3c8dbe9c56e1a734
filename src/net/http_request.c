#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "net/http_internal.h"

void http_request_free(struct http_request *request)
{
	http_head_finish(&request->head);
	http_pairs_finish(&request->parameters);
	http_pairs_finish(&request->query);
	str_finish(&request->body);
	free(request);
}

static bool has_token(const struct http_request *request)
{
	static const char scheme[] = "Bearer ";
	const char *token = request->connection->server->token;
	const char *given = http_head_find(&request->head, "Authorization");

	if (!token || !given || strncasecmp(given, scheme, sizeof(scheme) - 1) != 0)
		return false;
	given += sizeof(scheme) - 1;
	/* The length is no secret; where they differ is. */
	return strlen(given) == strlen(token) && CRYPTO_memcmp(given, token, strlen(token)) == 0;
}

/* The route of path and method; NULL, and whether the path exists at all. */
static const struct http_route *find_route(const struct http_request *request, bool *path_exists)
{
	const struct http_server_config *config = &request->connection->server->config;

	*path_exists = false;
	for (size_t i = 0; i < config->route_count; i++) {
		const struct http_route *route = &config->routes[i];
		if (!http_url_match(route->pattern, request->head.target, NULL))
			continue;
		*path_exists = true;
		if (strcmp(route->method, request->head.method) == 0)
			return route;
	}
	return NULL;
}

static int refuse(struct http_request *request, int status, const char *code, const char *message)
{
	/* A body that is on its way would be taken for the next request. */
	if (request->head.chunked || request->head.content_length > 0)
		http_answer_refusal(request, status, code, message);
	else
		http_answer_error(request, status, code, "%s", message);
	return -1;
}

static int admit_by_token(struct http_request *request)
{
	if (has_token(request)) {
		http_server_know(request->connection->server, request->connection);
		return 0;
	}
	if (request->route ? request->route->open : !request->connection->server->token)
		return 0;
	return refuse(request, 401, "unauthorized",
		      http_head_find(&request->head, "Authorization")
			      ? "the token is not this job's"
			      : "send the job's token as \"Authorization: Bearer TOKEN\"");
}

int http_request_admit(struct http_request *request)
{
	const struct http_limits *limits = &request->connection->server->config.limits;
	bool path_exists;

	request->route = find_route(request, &path_exists);
	if (admit_by_token(request) < 0)
		return -1;
	if (!path_exists)
		return refuse(request, 404, "not-found", "there is no such path");
	if (!request->route)
		return refuse(request, 405, "method-not-allowed",
			      "this path does not know the method");
	if (http_url_match(request->route->pattern, request->head.target, &request->parameters) <
		    0 ||
	    http_url_query(request->head.target, &request->query) < 0)
		return refuse(request, 400, "bad-request",
			      "path or query is badly encoded, or has too many members");
	if (request->head.content_length > (int64_t)limits->body_bytes) {
		http_answer_refusal(request, 413, "too-large", "the body is too large");
		return -1;
	}
	return 0;
}

const char *http_request_parameter(const struct http_request *request, const char *name)
{
	return http_pairs_find(&request->parameters, name);
}

const char *http_request_query(const struct http_request *request, const char *name)
{
	return http_pairs_find(&request->query, name);
}

const char *http_request_header(const struct http_request *request, const char *name)
{
	return http_head_find(&request->head, name);
}

const char *http_request_body(const struct http_request *request, size_t *length)
{
	*length = request->body.length;
	return str_text(&request->body);
}

int http_request_query_int(struct http_request *request, const char *name, int64_t min, int64_t max,
			   int64_t *value)
{
	const char *text = http_request_query(request, name);

	if (!text || str_parse_int(text, min, max, value) == 0)
		return 0;
	http_answer_error(request, 400, "bad-request",
			  "%s: is not a whole number between %lld and %lld", name, (long long)min,
			  (long long)max);
	return -1;
}

void http_request_hold(struct http_request *request, void (*closed)(void *data), void *data)
{
	request->is_held = true;
	request->closed = closed;
	request->closed_data = data;
	/* Thousands are held at once, and all has been read. */
	str_finish(&request->body);
}
