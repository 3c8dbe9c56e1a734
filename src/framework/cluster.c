#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "framework/address.h"
#include "framework/framework.h"

json_t *cluster_to_json(const struct cluster *cluster)
{
	json_t *types = json_object();
	json_t *json = json_object();

	for (size_t i = 0; i < cluster->type_count; i++)
		json_object_set_new(types, cluster->types[i].name,
				    address_list_to_json(&cluster->types[i]));
	json_set_int(json, "epoch", cluster->epoch);
	json_object_set_new(json, "types", types);
	if (cluster->rendezvous.host) {
		char *text cleanup_free = address_text(&cluster->rendezvous);
		json_set_text(json, "rendezvous", text);
	}
	return json;
}

static int read_type(struct cluster_type *type, int instances, const json_t *list, struct err *err)
{
	if (!json_is_array(list))
		return err_set(err, ERR_INPUT, "types.%s: not a list", type->name);
	if (json_array_size(list) > (size_t)instances)
		return err_set(err, ERR_INPUT, "types.%s: %zu addresses for %d tasks", type->name,
			       json_array_size(list), instances);
	type->count = json_array_size(list);
	type->addresses = mem_alloc_array(type->count, sizeof(*type->addresses));
	for (size_t i = 0; i < type->count; i++) {
		const json_t *item = json_array_get(list, i);
		if (json_is_null(item))
			continue; /* FCFS: that task is not registered yet */
		if (!json_is_string(item) ||
		    address_parse(json_string_value(item), &type->addresses[i]) < 0)
			return err_set(err, ERR_INPUT, "types.%s[%zu]: not \"host:port\"",
				       type->name, i);
	}
	return 0;
}

static int read_types(struct cluster *cluster, const struct job *job, json_t *types,
		      struct err *err)
{
	const char *name;
	json_t *list;

	json_object_foreach(types, name, list)
	{
		int type = job_find_type(job, name);
		if (type < 0)
			return err_set(err, ERR_INPUT, "types.%s: the job has no such type", name);
		if (read_type(&cluster->types[type], job->types[type].instances, list, err) < 0)
			return -1;
	}
	return 0;
}

static int read_rendezvous(struct cluster *cluster, const json_t *json, struct err *err)
{
	char *text cleanup_free = NULL;

	if (json_read_text(json, "rendezvous", &text, err) < 0)
		return -1;
	if (text && address_parse(text, &cluster->rendezvous) < 0)
		return err_set(err, ERR_INPUT, "rendezvous: not \"host:port\"");
	return 0;
}

struct cluster *cluster_from_json(const struct job *job, const json_t *json, struct err *err)
{
	json_t *types = json_object_get(json, "types");
	int64_t epoch;

	if (json_need_int(json, "epoch", 1, INT32_MAX, &epoch, err) < 0)
		return NULL;
	if (!json_is_object(types)) {
		err_set(err, ERR_INPUT, "types: not an object");
		return NULL;
	}
	struct cluster *cluster = mem_alloc(sizeof(*cluster));
	cluster->epoch = (int)epoch;
	cluster->type_count = job->type_count;
	cluster->types = mem_alloc_array(job->type_count, sizeof(*cluster->types));
	for (size_t i = 0; i < job->type_count; i++)
		cluster->types[i].name = job->types[i].name;
	if (read_types(cluster, job, types, err) < 0 || read_rendezvous(cluster, json, err) < 0) {
		cluster_destroy(cluster);
		return NULL;
	}
	return cluster;
}

void cluster_destroy(struct cluster *cluster)
{
	if (!cluster)
		return;
	for (size_t i = 0; i < cluster->type_count; i++) {
		for (size_t k = 0; k < cluster->types[i].count; k++)
			free(cluster->types[i].addresses[k].host);
		free(cluster->types[i].addresses);
	}
	free(cluster->types);
	free(cluster->rendezvous.host);
	free(cluster);
}
