/* Any bytes as a tony.xml over a site file: through all layers, substitution and checks. */
#include <stdint.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "conf/conf.h"

static const char site[] = "<configuration><property><name>tony.worker.max-instances</name>"
			   "<value>2</value><final>true</final></property></configuration>";

/* Everything that describe_job() would read. */
static void read_all(const struct conf *conf)
{
	const struct conf_entry *entry;

	for (size_t i = 0; conf_next(conf, &i, &entry);) {
		struct str_list list cleanup_str_list = {0};
		if (!entry->key)
			continue;
		conf_text(conf, "%s", entry->name);
		switch (entry->key->type) {
		case KEY_BOOL:
			conf_bool(conf, "%s", entry->name);
			break;
		case KEY_INT:
			conf_int(conf, "%s", entry->name);
			break;
		case KEY_SIZE:
			conf_mib(conf, "%s", entry->name);
			break;
		case KEY_DURATION:
			conf_ms(conf, "%s", entry->name);
			break;
		default:
			conf_list(conf, &list, "%s", entry->name);
			break;
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct conf *conf cleanup_conf = conf_create();
	struct err err cleanup_err = {0};

	if (conf_load_bytes(conf, CONF_LAYER_SITE, NULL, site, sizeof(site) - 1, NULL) < 0)
		abort();
	if (conf_load_bytes(conf, CONF_LAYER_FILE, NULL, (const char *)bytes, size, &err) < 0) {
		/* A refusal always says why. */
		if (err.kind != ERR_CONFIG || !err.message)
			abort();
		return 0;
	}
	conf_resolve(conf, size % 2);
	read_all(conf);
	if (conf_int(conf, "tony.worker.max-instances") != 2)
		abort();
	return 0;
}
