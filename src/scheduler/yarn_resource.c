#include "scheduler/yarn_resource.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "hadoop/message.h"

/* "hdfs://host:8020/path" or "file:///path" in its parts, as the NodeManager puts them together
 * again. */
static int fill_url(Hadoop__URLProto *url, const char *text, struct err *err)
{
	const char *scheme_end = strstr(text, "://");
	const char *host = scheme_end ? scheme_end + strlen("://") : NULL;
	const char *path = host ? strchr(host, '/') : NULL;
	int64_t port;

	if (!path)
		return err_set(err, ERR_INPUT, "\"%s\" is no URL of a file", text);
	const char *colon = memrchr(host, ':', (size_t)(path - host));
	url->scheme = mem_strndup(text, (size_t)(scheme_end - text));
	if (path > host) /* a file of the node's has none */
		url->host = mem_strndup(host, (size_t)((colon ? colon : path) - host));
	url->file = mem_strdup(path);
	if (!colon)
		return 0;
	char *number cleanup_free = mem_strndup(colon + 1, (size_t)(path - colon - 1));
	if (str_parse_int(number, 1, 65535, &port) < 0)
		return err_set(err, ERR_INPUT, "\"%s\": \"%s\" is no port", text, number);
	url->has_port = true;
	url->port = (int32_t)port;
	return 0;
}

/* Built as if it had been unpacked, so that message_free() frees all of it. */
Hadoop__LocalResourceProto *yarn_resource(const struct hadoop_cluster *cluster,
					  const struct hadoop_file *file, struct err *err)
{
	char *url cleanup_free = hdfs_access_localized(&cluster->hdfs, file->url);
	Hadoop__LocalResourceProto *resource = mem_alloc(sizeof(*resource));

	hadoop__local_resource_proto__init(resource);
	resource->has_size = resource->has_timestamp = true;
	resource->size = file->length;
	resource->timestamp = file->timestamp;
	resource->has_type = resource->has_visibility = true;
	resource->type = file->archive ? HADOOP__LOCAL_RESOURCE_TYPE_PROTO__ARCHIVE
				       : HADOOP__LOCAL_RESOURCE_TYPE_PROTO__FILE;
	resource->visibility = file->shared ? HADOOP__LOCAL_RESOURCE_VISIBILITY_PROTO__PUBLIC
					    : HADOOP__LOCAL_RESOURCE_VISIBILITY_PROTO__PRIVATE;
	resource->resource = mem_alloc(sizeof(*resource->resource));
	hadoop__urlproto__init(resource->resource);
	if (fill_url(resource->resource, url, err) == 0)
		return resource;
	message_free(resource);
	return NULL;
}
