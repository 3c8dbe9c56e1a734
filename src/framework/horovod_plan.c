#include "framework/horovod_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "framework/address.h"

#define FILE_SUFFIX "HOROVOD_RENDEZVOUS_SERVER____"

/* The members of a slot, and the variables that they become. */
static const struct {
	const char *member, *variable;
} numbers[] = {
	{"rank", "HOROVOD_RANK"},
	{"localRank", "HOROVOD_LOCAL_RANK"},
	{"crossRank", "HOROVOD_CROSS_RANK"},
	{"size", "HOROVOD_SIZE"},
	{"localSize", "HOROVOD_LOCAL_SIZE"},
	{"crossSize", "HOROVOD_CROSS_SIZE"},
};

/* TonY's code looks for four underscores, its manual shows five. */
int horovod_plan_port(const char *file_name)
{
	size_t digits = strspn(file_name, "0123456789");
	size_t lines = strspn(file_name + digits, "_");
	char *port cleanup_free = mem_strndup(file_name, digits);
	int64_t number;

	if (lines < 4 || !str_equal(file_name + digits + lines, FILE_SUFFIX) ||
	    str_parse_int(port, 1, 65535, &number) < 0)
		return 0;
	return (int)number;
}

/* TonY's own example writes numbers as texts. */
static int read_number(const json_t *slot, const char *name, int64_t *number, struct err *err)
{
	const json_t *member = json_object_get(slot, name);

	if (json_is_string(member)) {
		if (str_parse_int(json_string_value(member), 0, INT32_MAX, number) == 0)
			return 0;
		return err_set(err, ERR_INPUT, "%s: \"%s\" is not a whole number", name,
			       json_string_value(member));
	}
	return json_need_int(slot, name, 0, INT32_MAX, number, err);
}

static json_t *read_slot(const json_t *slot, struct err *err)
{
	char *host cleanup_free = NULL;
	json_t *clean cleanup_json = json_object();

	if (json_need_text(slot, "hostname", &host, err) < 0)
		return NULL;
	json_set_text(clean, "hostname", host);
	for (size_t i = 0; i < array_length(numbers); i++) {
		int64_t number;
		if (read_number(slot, numbers[i].member, &number, err) < 0)
			return NULL;
		json_set_int(clean, numbers[i].member, number);
	}
	return mem_steal(&clean);
}

static json_t *read_slots(const json_t *slots, struct err *err)
{
	json_t *clean cleanup_json = json_array();
	const json_t *slot;
	size_t i;

	if (!json_is_array(slots) || json_array_size(slots) == 0) {
		err_set(err, ERR_INPUT, "not a list of slots");
		return NULL;
	}
	json_array_foreach(slots, i, slot)
	{
		json_t *one = read_slot(slot, err);
		if (!one) {
			err_wrap(err, "slot %zu", i);
			return NULL;
		}
		json_array_append_new(clean, one);
	}
	return mem_steal(&clean);
}

char *horovod_plan_make(int port, const char *host, const char *bytes, size_t length,
			struct err *err)
{
	json_t *given cleanup_json = json_parse(bytes, length, err);
	json_t *slots cleanup_json = given ? read_slots(given, err) : NULL;
	json_t *plan cleanup_json = json_object();

	if (!slots)
		return NULL;
	char *text cleanup_free = mem_printf("%d", port);
	json_set_text(plan, "port", text);
	json_set_text(plan, "host", host);
	json_object_set(plan, "slotInfos", slots);
	return json_text(plan);
}

/* The one at `place` among those of the host, by their local ranks. */
static const json_t *find_slot(const json_t *slots, const char *host, int64_t place)
{
	const json_t *slot, *found = NULL;
	int64_t last = -1;

	for (int64_t i = 0; i <= place; i++) {
		int64_t least = INT64_MAX;
		size_t k;
		json_array_foreach(slots, k, slot)
		{
			int64_t rank = json_integer_value(json_object_get(slot, "localRank"));
			const char *name = json_string_value(json_object_get(slot, "hostname"));
			if (str_equal(name, host) && rank > last && rank < least) {
				least = rank;
				found = slot;
			}
		}
		if (least == INT64_MAX)
			return NULL;
		last = least;
	}
	return found;
}

/* CLUSTER_SPEC as TonY gave it: the part that is known without the driver is there already. */
static void complete_spec(const json_t *plan, struct environment *variables)
{
	const char *given = environment_get(variables, "CLUSTER_SPEC");
	json_t *spec cleanup_json = given ? json_parse(given, strlen(given), NULL) : NULL;

	if (!spec)
		return;
	json_object_set(spec, "slotInfos", json_object_get(plan, "slotInfos"));
	json_object_set(spec, "port", json_object_get(plan, "port"));
	json_object_set(spec, "amHost", json_object_get(plan, "host"));
	char *text cleanup_free = json_text(spec);
	if (strlen(text) + sizeof("CLUSTER_SPEC=") <= ENVIRONMENT_ENTRY_MAX)
		environment_set(variables, "CLUSTER_SPEC", text);
}

static int apply(const json_t *plan, const json_t *slots, struct environment *variables,
		 struct err *err)
{
	const char *host = environment_get(variables, "HOROVOD_HOSTNAME");
	const char *place = environment_get(variables, "HOROVOD_LOCAL_RANK");
	int64_t number;

	if (!host || !place || str_parse_int(place, 0, INT32_MAX, &number) < 0)
		return err_set(err, ERR_INPUT,
			       "HOROVOD_HOSTNAME and HOROVOD_LOCAL_RANK are not set");
	const json_t *slot = find_slot(slots, host, number);
	if (!slot)
		return err_set(err, ERR_INPUT,
			       "the driver's plan has no slot for process %lld of host %s; "
			       "CLUSTER_WORKER_LIST tells the driver how many each host needs",
			       (long long)number, host);
	for (size_t i = 0; i < array_length(numbers); i++)
		environment_set_format(
			variables, numbers[i].variable, "%lld",
			(long long)json_integer_value(json_object_get(slot, numbers[i].member)));
	return 0;
}

int horovod_plan_apply(const char *bytes, size_t length, struct environment *variables,
		       struct err *err)
{
	json_t *plan cleanup_json = json_parse(bytes, length, err);
	char *host cleanup_free = NULL, *port cleanup_free = NULL;

	if (!plan || json_need_text(plan, "host", &host, err) < 0 ||
	    json_need_text(plan, "port", &port, err) < 0)
		return -1;
	json_t *slots cleanup_json = read_slots(json_object_get(plan, "slotInfos"), err);
	if (!slots || apply(plan, slots, variables, err) < 0)
		return -1;
	environment_set(variables, "HOROVOD_GLOO_RENDEZVOUS_ADDR", host);
	environment_set(variables, "HOROVOD_GLOO_RENDEZVOUS_PORT", port);
	complete_spec(plan, variables);
	return 0;
}

char *horovod_plan_path(const char *epoch)
{
	return mem_printf("/v1/kv/horovod/driver/%s", epoch);
}
