/* Any bytes as what a server says of itself, "SERVICE/HOST", and as the principal of a ticket: the
 * patterns and rules are the site files' own. */
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "hadoop/auth_to_local.h"
#include "hadoop/principal.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void try_server(const char *protocol, const char *server_id)
{
	static const char *const patterns[] = {"*", "{nn,rm}/*.example@R", "rm/[a-c]?*@*",
					       "{{a,b},}c/*", "\\rm/*@R"};

	for (size_t i = 0; i < array_length(patterns); i++) {
		const struct sasl_peer peer = {"key", "rm/a.example@R", patterns[i], "a.example"};
		struct err err cleanup_err = {0};
		char *chosen cleanup_free = principal_choose(&peer, protocol, server_id, &err);
		if (!chosen && !err.message)
			BUG("a refusal without a reason");
		/* One service, one host, one realm. */
		if (chosen && (strchr(strchr(chosen, '/') + 1, '/') || strpbrk(chosen, "\\ ") ||
			       strchr(chosen, '@') != strrchr(chosen, '@')))
			BUG("\"%s\" is another principal", chosen);
		if (chosen)
			principal_check(&peer, chosen, NULL);
	}
	const struct sasl_peer named = {"key", "rm/a.example@R", NULL, "a.example"};
	char *chosen cleanup_free = principal_choose(&named, protocol, server_id, NULL);
	if (chosen && strcmp(chosen, named.name) != 0)
		BUG("\"%s\" is not the configuration's", chosen);
}

static void try_user(const char *principal)
{
	static const char *const rules[] = {
		"DEFAULT",
		"RULE:[1:$1@$0](.*@R)s/@.*// RULE:[2:$1%$2](^.*%admin$)s/%admin$//L DEFAULT",
		"RULE:[1:$1]s/(a*)(b?)/$2$1/g RULE:[2:$2]s/x*/y/g"};

	for (size_t i = 0; i < array_length(rules); i++) {
		struct err err cleanup_err = {0};
		char *name cleanup_free = auth_to_local(rules[i], "R", principal, &err);
		if (!name == !err.message)
			BUG("neither a name nor a reason, or both");
		if (name && (!*name || strpbrk(name, "/@")))
			BUG("\"%s\" is no name", name);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	char *text cleanup_free = mem_strndup((const char *)bytes, length);
	char *slash = strchr(text, '/');

	try_user(text);
	if (slash)
		*slash = '\0';
	try_server(text, slash ? slash + 1 : "");
	return 0;
}
