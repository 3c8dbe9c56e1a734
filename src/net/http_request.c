#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/secret.h"
#include "net/address.h"
#include "net/http_internal.h"
#include "net/socket_owner.h"
#include "net/tls.h"

void http_request_free(struct http_request *request)
{
	http_head_finish(&request->head);
	http_pairs_finish(&request->parameters);
	http_pairs_finish(&request->query);
	str_finish_secret(&request->body); /* of PUT /v1/job/tokens */
	str_finish(&request->answer_headers);
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
	return secret_equal(given, token);
}

/* Of a caller that does not show the token. */
static enum http_access find_access(const struct http_request *request)
{
	const struct http_server *server = request->connection->server;

	if (!server->token)
		return HTTP_ACCESS_ALL;
	return server->config.authorize ? server->config.authorize(server->config.data, request)
					: HTTP_ACCESS_NONE;
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
		if (strcmp(route->method, request->head.method) == 0 ||
		    strcmp(route->method, "*") == 0)
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

/* "node-7.example" and "node-7" of a machine of that name. */
static bool is_own_name(const struct http_server *server, const char *name)
{
	size_t length = strlen(name);

	if (str_equal_nocase(name, server->host))
		return true;
	return strncasecmp(name, server->host_name, length) == 0 &&
	       (server->host_name[length] == '\0' || length == strcspn(server->host_name, "."));
}

static bool is_own_place(const struct http_server *server, const char *name, int port)
{
	bool is_own_port = port < 0 || port == server->port;
	struct net_address address;

	/* net_address_from_host() knows it in small letters. */
	if (strcasecmp(name, "localhost") == 0)
		return true;
	/* A number cannot be rebound. */
	if (net_address_from_host(name, 0, &address) == 0)
		return is_own_port || net_address_is_loopback(&address);
	return is_own_port && is_own_name(server, name);
}

static bool is_known_host(const struct http_request *request, const char *host)
{
	const struct http_server_config *config = &request->connection->server->config;
	char *name cleanup_free = NULL;
	int port;

	if (net_address_split_host(host, &name, &port, NULL) < 0)
		return false;
	return is_own_place(request->connection->server, name, port) ||
	       (config->knows_host && config->knows_host(config->data, request, name));
}

static int admit_by_host(struct http_request *request)
{
	const struct http_server *server = request->connection->server;
	const char *host = http_head_find(&request->head, "Host");

	/* Browsers send one. */
	if (server->config.any_host || !host || is_known_host(request, host))
		return 0;
	char *message cleanup_free =
		mem_printf("Host: \"%s\" is no name of this server at its port %d; call it by its "
			   "address, or show the token",
			   host, server->port);
	return refuse(request, 400, "bad-host", message);
}

static int admit_by_access(struct http_request *request)
{
	const struct http_server_config *config = &request->connection->server->config;
	enum http_access needed = http_request_need(request);
	bool shows_token = has_token(request);

	/* No page of a browser's has proven who it is. */
	if (!shows_token && !http_request_user(request) && admit_by_host(request) < 0)
		return -1;
	request->access = shows_token ? HTTP_ACCESS_ALL : find_access(request);
	if (request->access == HTTP_ACCESS_LATER &&
	    (needed < HTTP_ACCESS_NONE || request->route->differs))
		return 1;
	if (request->access == HTTP_ACCESS_LATER)
		request->access = HTTP_ACCESS_NONE;
	if (request->access < HTTP_ACCESS_NONE && request->connection->server->token)
		http_server_know(request->connection->server, request->connection,
				 request->access == HTTP_ACCESS_ALL ? HTTP_KNOWN : HTTP_LOOKER);
	if (request->access <= needed)
		return 0;
	char *words cleanup_free = config->refused ? config->refused(config->data, request) : NULL;
	if (words)
		return refuse(request, 403, "forbidden", words);
	const char *owner = config->token_owner ? config->token_owner : "the job";
	char *message cleanup_free =
		http_head_find(&request->head, "Authorization")
			? mem_printf("the token is not that of %s", owner)
			: mem_printf("send the token of %s as \"Authorization: Bearer TOKEN\"",
				     owner);
	return refuse(request, 401, "unauthorized", message);
}

void http_request_refuse_body(struct http_request *request)
{
	http_answer_refusal(request, 413, "too-large",
			    request->body_cap > 0
				    ? "the body is too large"
				    : "this call takes no body from a caller without the token");
}

static int admit_body(struct http_request *request)
{
	const struct http_limits *limits = &request->connection->server->config.limits;
	const struct http_route *route = request->route;

	request->body_cap =
		request->access < HTTP_ACCESS_NONE ? limits->body_bytes : route->stranger_body;
	if (route->raw || request->head.content_length <= (int64_t)request->body_cap)
		return 0;
	http_request_refuse_body(request);
	return -1;
}

int http_request_admit(struct http_request *request)
{
	bool path_exists;

	request->route = find_route(request, &path_exists);
	int result = admit_by_access(request);
	if (result != 0)
		return result;
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
	return admit_body(request);
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

/* Good enough for what browsers, their proxies and executors send. */
bool http_request_takes_gzip(const struct http_request *request)
{
	const char *encodings = http_head_find(&request->head, "Accept-Encoding");

	return encodings && strstr(encodings, "gzip");
}

const struct http_head *http_request_head(const struct http_request *request)
{
	return &request->head;
}

enum http_access http_request_access(const struct http_request *request)
{
	return request->access;
}

char *http_request_peer(const struct http_request *request)
{
	struct net_address peer = {.length = sizeof(peer.storage)};

	if (getpeername(request->connection->wire.fd, (struct sockaddr *)&peer.storage,
			&peer.length) < 0)
		return mem_strdup("");
	return net_address_host(&peer);
}

bool http_request_comes_from(const struct http_request *request, const struct str_list *hosts,
			     const struct str_list *users)
{
	char *peer cleanup_free = http_request_peer(request);

	return str_list_has(hosts, peer) &&
	       socket_owner_lets_in(request->connection->wire.fd, users);
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

bool http_request_is_https(const struct http_request *request)
{
	return request->connection->server->config.tls != NULL;
}

const char *http_request_user(const struct http_request *request)
{
	const struct tls *tls = request->connection->wire.tls;

	return tls ? tls_user(tls) : NULL;
}

enum http_access http_request_need(const struct http_request *request)
{
	return request->route ? request->route->needs : HTTP_ACCESS_READ;
}

void http_request_end_point(const struct http_request *request, struct str *bytes)
{
	if (request->connection->wire.tls)
		tls_end_point(request->connection->wire.tls, bytes);
}

void http_request_note(struct http_request *request, void *note, void (*forget)(void *note))
{
	struct http_connection *connection = request->connection;

	if (connection->note)
		connection->forget(connection->note);
	connection->note = note;
	connection->forget = forget;
}

void *http_request_noted(const struct http_request *request)
{
	return request->connection->note;
}

void http_request_trust(struct http_request *request)
{
	http_server_know(request->connection->server, request->connection, HTTP_KNOWN);
}

void http_request_hold(struct http_request *request, void (*closed)(void *data), void *data)
{
	request->is_held = true;
	request->closed = closed;
	request->closed_data = data;
	/* Thousands are held at once, and all has been read. */
	str_finish_secret(&request->body);
}

void http_request_take_over(struct http_request *request, const struct http_raw *raw)
{
	http_request_hold(request, raw->closed, raw->data);
	request->changed = raw->changed;
	http_connection_begin_raw(request->connection);
}

struct evbuffer *http_raw_input(struct http_request *request)
{
	return request->connection->wire.input;
}

struct evbuffer *http_raw_output(struct http_request *request)
{
	return request->connection->wire.output;
}

void http_raw_go_on(struct http_request *request)
{
	wire_flush(&request->connection->wire);
	wire_resume(&request->connection->wire);
}
