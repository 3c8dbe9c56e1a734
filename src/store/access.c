#include "store/access.h"

#include "base/json.h"

void store_access_finish(struct store_access *access)
{
	hdfs_access_finish(&access->hdfs);
	*access = (struct store_access){0};
}

int store_access_from_json(const json_t *stores, struct store_access *access, struct err *err)
{
	*access = (struct store_access){0};
	if (!json_object_get(stores, "hdfs"))
		return 0;
	if (hdfs_access_read(&access->hdfs, stores, err) < 0)
		return -1;
	access->has_hdfs = true;
	return 0;
}
