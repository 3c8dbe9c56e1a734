#include "framework/address.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/mem.h"

const struct cluster_address *address_of_task(const struct framework_task *task)
{
	const struct cluster_type *type = &task->cluster->types[task->type];

	if ((size_t)task->index >= type->count || !type->addresses[task->index].host)
		return NULL;
	return &type->addresses[task->index];
}

char *address_text(const struct cluster_address *address)
{
	bool literal_v6 = strchr(address->host, ':') != NULL;

	return mem_printf(literal_v6 ? "[%s]:%d" : "%s:%d", address->host, address->port);
}

/* The last colon parts them. */
int address_parse(const char *text, struct cluster_address *address)
{
	const char *colon = strrchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : 0;
	int64_t port;

	if (length == 0 || str_parse_int(colon + 1, 1, 65535, &port) < 0)
		return -1;
	if (text[0] == '[' && text[length - 1] == ']') {
		text++;
		length -= 2;
	} else if (memchr(text, ':', length)) {
		return -1;
	}
	if (length == 0 || length > 255 || memchr(text, '[', length) || memchr(text, ']', length))
		return -1;
	address->host = mem_strndup(text, length);
	address->port = (int)port;
	return 0;
}

bool address_is_ipv4(const char *host)
{
	struct in_addr address;

	return inet_pton(AF_INET, host, &address) == 1;
}

json_t *address_list_to_json(const struct cluster_type *type)
{
	json_t *list = json_array();

	for (size_t i = 0; i < type->count; i++) {
		if (!type->addresses[i].host) {
			json_array_append_new(list, json_null());
			continue;
		}
		char *text cleanup_free = address_text(&type->addresses[i]);
		json_array_append_new(list, json_string(text));
	}
	return list;
}
