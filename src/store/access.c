#include "store/access.h"

#include "base/json.h"
#include "store/location.h"

void store_access_finish(struct store_access *access)
{
	hdfs_access_finish(&access->hdfs);
	s3_access_finish(&access->s3);
	*access = (struct store_access){0};
}

int store_access_from_json(const json_t *stores, struct store_access *access, struct err *err)
{
	*access = (struct store_access){0};
	access->has_hdfs = json_object_get(stores, "hdfs") != NULL;
	access->has_s3 = json_object_get(stores, "s3") != NULL;
	if ((!access->has_hdfs || hdfs_access_read(&access->hdfs, stores, err) == 0) &&
	    (!access->has_s3 || s3_access_read(&access->s3, stores, err) == 0))
		return 0;
	store_access_finish(access);
	return -1;
}

bool store_access_reaches(const json_t *stores, const char *place)
{
	struct store_location location cleanup_store_location = {0};

	return store_location_parse(place, &location, NULL) == 0 &&
	       store_location_is_remote(&location) &&
	       json_object_get(stores, location.kind == STORE_S3 ? "s3" : "hdfs");
}
