/* A framework of the user's own: tony.framework.file, or a member of job.json. */
#include <stdint.h>

#include "base/mem.h"
#include "framework/definition.h"

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
	return 0;
}
