/* Any JSON as job->stores: what is taken is written and read again to the same bytes. */
#include <stdint.h>
#include <stdlib.h>

#include "base/json.h"
#include "store/access.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct store_access access cleanup_store_access = {0}, again cleanup_store_access = {0};
	json_t *stores cleanup_json = json_parse((const char *)bytes, length, NULL);

	if (!stores || store_access_from_json(stores, &access, NULL) < 0)
		return 0;
	if (access.has_hdfs && access.hdfs.webhdfs.count == 0)
		abort();
	json_t *written cleanup_json = store_access_to_json(&access);
	if (store_access_from_json(written, &again, NULL) < 0)
		abort();
	json_t *written_again cleanup_json = store_access_to_json(&again);
	if (written && !json_equal(written, written_again))
		abort();
	return 0;
}
