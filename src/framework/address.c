#include "framework/address.h"

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
