/* Any bytes as a job file in YAML, through substitution and checks. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct conf *conf cleanup_conf = conf_create();
	const struct conf_entry *entry;
	struct err err cleanup_err = {0};
	size_t said = 0;

	if (conf_load_bytes(conf, CONF_LAYER_FILE, "job.yaml", (const char *)bytes, size, &err) <
	    0) {
		/* A refusal always says why. */
		if (err.kind != ERR_CONFIG || !err.message)
			abort();
		return 0;
	}
	/* Nothing grows beyond what was written: names are joined of at most 32 parts. */
	for (size_t i = 0; conf_next(conf, &i, &entry);)
		said += strlen(entry->raw);
	if (said > 3 * size + 3)
		abort();
	conf_resolve(conf, size % 2);
	return 0;
}
