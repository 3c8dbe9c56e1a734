#include "hadoop/principal.h"

#include <ctype.h>
#include <fnmatch.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/blocking.h"
#include "net/interrupt.h"

#define PART_CAP    255 /* bytes of what a server says of itself */
#define PATTERN_CAP 1024
#define BRACES_CAP  8

/* ---- patterns ----------------------------------------------------------------------------- */

/* The end of the alternative that begins here: a comma, the closing brace, or the end. */
static const char *skip_alternative(const char *text)
{
	int depth = 0;

	for (; *text; text++) {
		if (*text == '\\' && text[1])
			text++;
		else if (*text == '{')
			depth++;
		else if (depth == 0 && (*text == ',' || *text == '}'))
			break;
		else if (*text == '}')
			depth--;
	}
	return text;
}

static const char *find_brace(const char *pattern)
{
	for (; *pattern && *pattern != '{'; pattern++)
		if (*pattern == '\\' && pattern[1])
			pattern++;
	return *pattern ? pattern : NULL;
}

static bool matches(const char *pattern, const char *text, int braces)
{
	const char *brace = find_brace(pattern), *end = brace;

	if (!brace)
		return fnmatch(pattern, text, 0) == 0;
	if (braces == 0)
		return false;
	while (*end && *end != '}')
		end = skip_alternative(end + 1);
	if (!*end)
		return false;
	for (const char *from = brace + 1; from <= end;) {
		const char *to = skip_alternative(from);
		char *one cleanup_free = mem_printf("%.*s%.*s%s", (int)(brace - pattern), pattern,
						    (int)(to - from), from, end + 1);
		if (matches(one, text, braces - 1))
			return true;
		from = to + 1;
	}
	return false;
}

bool principal_matches(const char *pattern, const char *principal)
{
	return strlen(pattern) <= PATTERN_CAP && matches(pattern, principal, BRACES_CAP);
}

/* ---- _HOST -------------------------------------------------------------------------------- */

#define HOST "_HOST"

/* The text of "rm/_HOST@REALM" around the host; false: it has none to be put in. */
static bool split_at_host(const char *principal, char **service, const char **realm)
{
	const char *slash = strchr(principal, '/');

	if (!slash || !str_starts_with(slash + 1, HOST))
		return false;
	*realm = slash + 1 + strlen(HOST);
	if (**realm && **realm != '@')
		return false;
	*service = mem_strndup(principal, (size_t)(slash - principal));
	return true;
}

/* Whether the name that the name server has for one of these addresses is this. */
static bool is_named(const struct addrinfo *found, const char *name)
{
	char host[NI_MAXHOST];

	if (found->ai_canonname && strcasecmp(found->ai_canonname, name) == 0)
		return true;
	for (; found; found = found->ai_next)
		if (getnameinfo(found->ai_addr, found->ai_addrlen, host, sizeof(host), NULL, 0,
				NI_NAMEREQD) == 0 &&
		    strcasecmp(host, name) == 0)
			return true;
	return false;
}

/* A question to the name server. */
struct lookup {
	char *host, *name;
	bool is_it;
};

static void destroy_lookup(void *data)
{
	struct lookup *lookup = data;

	free(lookup->host);
	free(lookup->name);
	free(lookup);
}

static void run_lookup(void *data)
{
	const struct addrinfo hints = {.ai_flags = AI_CANONNAME, .ai_socktype = SOCK_STREAM};
	struct lookup *lookup = data;
	struct addrinfo *found = NULL;

	if (getaddrinfo(lookup->host, NULL, &hints, &found) != 0)
		return;
	lookup->is_it = is_named(found, lookup->name);
	freeaddrinfo(found);
}

/* Java asks for the name of the address. Here the name that the configuration has is good as it is:
 * no name server has to be trusted for that. 1: it is; 0: it is not; -1: a signal cut the wait. */
static int names_host(const char *host, const char *server_id, struct err *err)
{
	if (strcasecmp(host, server_id) == 0)
		return 1;
	struct lookup *lookup = mem_alloc(sizeof(*lookup));
	*lookup = (struct lookup){.host = mem_strdup(host), .name = mem_strdup(server_id)};
	if (!blocking_run(run_lookup, destroy_lookup, lookup))
		return interrupt_set(err, host);
	const bool is_it = lookup->is_it;
	destroy_lookup(lookup);
	return is_it;
}

/* ---- which it may be ---------------------------------------------------------------------- */

/* Of a service or a host: nothing that could make another principal of it. */
static bool is_part(const char *text)
{
	const size_t length = strlen(text);

	if (length == 0 || length > PART_CAP)
		return false;
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("-_.", text[i]))
			return false;
	return true;
}

static int check_host(const struct sasl_peer *peer, const char *server_id, struct err *err)
{
	const int is_it = names_host(peer->host, server_id, err);

	if (is_it != 0)
		return is_it > 0 ? 0 : -1;
	return err_set(
		err, ERR_DENIED,
		"the server says that it is the host %s, and %s is reached under another name: "
		"it may not be the real one; have the name server name %s for that address, or "
		"write %s in the address of the configuration",
		server_id, peer->host, server_id, server_id);
}

/* "@REALM" of the pattern; NULL: none, or several. */
static const char *realm_of(const char *pattern)
{
	const char *realm = strrchr(pattern, '@');

	return realm && realm[1] && !strpbrk(realm, "*?[{\\") ? realm : NULL;
}

static char *choose_by_pattern(const struct sasl_peer *peer, const char *protocol,
			       const char *server_id)
{
	const char *realm = realm_of(peer->pattern);

	return mem_printf("%s/%s%s", protocol, server_id, realm ? realm : "");
}

static char *choose_by_name(const struct sasl_peer *peer, const char *protocol,
			    const char *server_id, struct err *err)
{
	char *service cleanup_free = NULL;
	const char *realm = strrchr(peer->name, '@');
	char *said cleanup_free = mem_printf("%s/%s%s", protocol, server_id, realm ? realm : "");
	bool is_it = str_equal(said, peer->name);

	if (split_at_host(peer->name, &service, &realm)) {
		is_it = str_equal(service, protocol);
		if (is_it && check_host(peer, server_id, err) < 0)
			return NULL;
	}
	if (is_it)
		return mem_steal(&said);
	err_set(err, ERR_DENIED,
		"the server says that it is %s, and %s is %s: it may not be the real one, or the "
		"key "
		"differs from the server's",
		said, peer->key, peer->name);
	return NULL;
}

char *principal_choose(const struct sasl_peer *peer, const char *protocol, const char *server_id,
		       struct err *err)
{
	if (!peer->key || (!peer->name && !peer->pattern)) {
		err_set(err, ERR_DENIED,
			"the cluster uses Kerberos, and %s is not set: without it any server could "
			"take the place of the real one; copy the cluster's own yarn-site.xml",
			peer->key ? peer->key : "the server's principal");
		return NULL;
	}
	if (!is_part(protocol) || !is_part(server_id)) {
		err_set(err, ERR_INPUT, "the server's principal is none that a server can have");
		return NULL;
	}
	return peer->pattern ? choose_by_pattern(peer, protocol, server_id)
			     : choose_by_name(peer, protocol, server_id, err);
}

int principal_check(const struct sasl_peer *peer, const char *principal, struct err *err)
{
	if (!peer->pattern || principal_matches(peer->pattern, principal))
		return 0;
	return err_set(
		err, ERR_DENIED,
		"the server says that it is %s, which %s.pattern, %s, does not have: it may not "
		"be the real one, or the key differs from the server's",
		principal, peer->key, peer->pattern);
}
