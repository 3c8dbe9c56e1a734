#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "framework/address.h"
#include "framework/framework.h"

struct cluster *cluster_create(const struct job *job, int epoch)
{
	struct cluster *cluster = mem_alloc(sizeof(*cluster));

	cluster->epoch = epoch;
	cluster->type_count = job->type_count;
	cluster->types = mem_alloc_array(job->type_count, sizeof(*cluster->types));
	for (size_t i = 0; i < job->type_count; i++)
		cluster->types[i].name = job->types[i].name;
	return cluster;
}

/* The numbers ascend, so that none of them is smaller than its place. */
int cluster_find(const struct cluster *cluster, size_t type, int slot)
{
	const struct cluster_type *found = &cluster->types[type];
	size_t at = (size_t)slot < found->count ? (size_t)slot + 1 : found->count;

	if (!found->slots)
		return (size_t)slot < found->count ? slot : -1;
	while (at > 0 && found->slots[at - 1] > slot)
		at--;
	return at > 0 && found->slots[at - 1] == slot ? (int)at - 1 : -1;
}

int cluster_count(const struct cluster *cluster, const struct job *job, size_t type)
{
	size_t count = cluster->types[type].count;

	return count > 0 ? (int)count : job->types[type].instances;
}

static json_t *slots_to_json(const struct cluster *cluster)
{
	json_t *slots = json_object();

	for (size_t i = 0; i < cluster->type_count; i++) {
		const struct cluster_type *type = &cluster->types[i];
		if (!type->slots)
			continue;
		json_t *list = json_array();
		for (size_t k = 0; k < type->count; k++)
			json_array_append_new(list, json_integer(type->slots[k]));
		json_object_set_new(slots, type->name, list);
	}
	return slots;
}

json_t *cluster_to_json(const struct cluster *cluster)
{
	json_t *slots cleanup_json = slots_to_json(cluster);
	json_t *types = json_object();
	json_t *json = json_object();

	for (size_t i = 0; i < cluster->type_count; i++)
		json_object_set_new(types, cluster->types[i].name,
				    address_list_to_json(&cluster->types[i]));
	json_set_int(json, "epoch", cluster->epoch);
	json_object_set_new(json, "types", types);
	if (json_object_size(slots) > 0)
		json_object_set(json, "slots", slots);
	if (cluster->rendezvous.host) {
		char *text cleanup_free = address_text(&cluster->rendezvous);
		json_set_text(json, "rendezvous", text);
	}
	json_set_text(json, "tracking_run", cluster->tracking_run);
	return json;
}

static int read_type(struct cluster_type *type, int most, const json_t *list, struct err *err)
{
	if (!json_is_array(list))
		return err_set(err, ERR_INPUT, "types.%s: not a list", type->name);
	if (json_array_size(list) > (size_t)most)
		return err_set(err, ERR_INPUT, "types.%s: %zu addresses for %d tasks", type->name,
			       json_array_size(list), most);
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
		if (read_type(&cluster->types[type], job_type_slots(&job->types[type]), list, err) <
		    0)
			return -1;
	}
	return 0;
}

static int read_numbers(struct cluster_type *type, int most, const json_t *list, struct err *err)
{
	int64_t least = 0;

	if (!json_is_array(list) || json_array_size(list) != type->count)
		return err_set(err, ERR_INPUT, "slots.%s: not a list of %zu numbers", type->name,
			       type->count);
	type->slots = mem_alloc_array(type->count, sizeof(*type->slots));
	for (size_t i = 0; i < type->count; i++) {
		const json_t *item = json_array_get(list, i);
		int64_t number = json_is_integer(item) ? json_integer_value(item) : -1;
		if (number < least || number >= most)
			return err_set(err, ERR_INPUT,
				       "slots.%s[%zu]: not a number from %lld to %d", type->name, i,
				       (long long)least, most - 1);
		type->slots[i] = (int)number;
		least = number + 1;
	}
	return 0;
}

static int read_slots(struct cluster *cluster, const struct job *job, json_t *slots,
		      struct err *err)
{
	const char *name;
	json_t *list;

	if (slots && !json_is_object(slots))
		return err_set(err, ERR_INPUT, "slots: not an object");
	json_object_foreach(slots, name, list)
	{
		int type = job_find_type(job, name);
		if (type < 0)
			return err_set(err, ERR_INPUT, "slots.%s: the job has no such type", name);
		if (read_numbers(&cluster->types[type], job_type_slots(&job->types[type]), list,
				 err) < 0)
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
	struct cluster *cluster = cluster_create(job, (int)epoch);
	if (read_types(cluster, job, types, err) < 0 ||
	    read_slots(cluster, job, json_object_get(json, "slots"), err) < 0 ||
	    read_rendezvous(cluster, json, err) < 0 ||
	    json_read_text(json, "tracking_run", &cluster->tracking_run, err) < 0) {
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
		free(cluster->types[i].slots);
	}
	free(cluster->types);
	free(cluster->rendezvous.host);
	free(cluster->tracking_run);
	free(cluster);
}
