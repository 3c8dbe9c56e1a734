/* A framework of the user's own: tony.framework.file, or a member of job.json. */
#include <stdint.h>

#include "base/mem.h"
#include "framework/definition.h"
#include "framework/environment.h"

/* A task of the chief's type, the only one of its job. */
static void expand(const struct definition *definition)
{
	struct job_type type = {.name = definition->chief.items[0], .instances = 1, .processes = 1};
	const struct job job = {.id = (char *)"tony-1", .types = &type, .type_count = 1};
	struct cluster_address address = {(char *)"127.0.0.1", 4000};
	struct cluster_type formed = {.name = type.name, .addresses = &address, .count = 1};
	const struct cluster cluster = {.epoch = 1, .types = &formed, .type_count = 1};
	const struct framework_task task = {.job = &job, .cluster = &cluster, .attempt = 1};
	struct environment environment = {0};

	definition_environment(definition, &task, &environment, NULL);
	environment_finish(&environment);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text cleanup_free = mem_strndup((const char *)data, size);
	struct framework_shape shape = {.types = &(struct str_list){0}};
	struct str_list pairs cleanup_str_list = {0};
	struct definition *definition cleanup_definition = definition_parse(text, "own.xml", NULL);

	if (!definition)
		return 0;
	if (definition->chief.count == 0 || !definition->name)
		BUG("a definition without a chief or a name");
	definition_defaults(definition, &shape, &pairs);
	expand(definition);
	return 0;
}
