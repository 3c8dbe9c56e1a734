#include "framework/mpi_host.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static const char prefix[] = "tony-";

char *mpi_host_name(const char *type, size_t index)
{
	return mem_printf("%s%s-%zu", prefix, type, index);
}

/* -1: not a name as above. */
static int parse(const char *name, char **type, int64_t *index)
{
	if (!str_starts_with(name, prefix))
		return -1;
	name += strlen(prefix);
	const char *hyphen = strrchr(name, '-');
	if (!hyphen || str_parse_int(hyphen + 1, 0, INT32_MAX, index) < 0)
		return -1;
	*type = mem_strndup(name, (size_t)(hyphen - name));
	return 0;
}

char *mpi_host_address(const json_t *cluster, const char *name, struct err *err)
{
	char *type cleanup_free = NULL;
	int64_t index;

	if (parse(name, &type, &index) < 0) {
		err_set(err, ERR_USAGE, "\"%s\" is no host of this job; they are called %sworker-0",
			name, prefix);
		return NULL;
	}
	const json_t *list = json_object_get(json_object_get(cluster, "types"), type);
	const char *address = json_string_value(json_array_get(list, (size_t)index));
	if (!address)
		err_set(err, ERR_NOT_FOUND, "\"%s\": the job has %zu task%s of type %s", name,
			json_array_size(list), str_plural(json_array_size(list)), type);
	return mem_strdup(address);
}
