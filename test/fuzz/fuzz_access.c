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

	json_t *written cleanup_json = json_object(), *written_again cleanup_json = json_object();

	if (!stores || store_access_from_json(stores, &access, NULL) < 0 || !access.has_hdfs)
		return 0;
	if (access.hdfs.webhdfs.count == 0)
		abort();
	hdfs_access_write(&access.hdfs, written);
	if (store_access_from_json(written, &again, NULL) < 0)
		abort();
	hdfs_access_write(&again.hdfs, written_again);
	if (!json_equal(written, written_again))
		abort();
	return 0;
}
