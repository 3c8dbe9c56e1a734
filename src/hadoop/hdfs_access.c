#include "hadoop/hdfs_access.h"

#include <string.h>

#include "base/fields.h"
#include "base/json.h"
#include "base/mem.h"
#include "net/tls.h"

_Static_assert(FIELD_LINES_CAP >= TLS_AUTHORITIES_CAP, "all authorities find room");

#define NAME "hdfs"

#define MEMBER(member) #member, offsetof(struct hdfs_access, member)

static const struct field fields[] = {
	{MEMBER(user), FIELD_TEXT},
	{MEMBER(fs), FIELD_TEXT},
	{MEMBER(name_nodes), FIELD_LIST},
	{MEMBER(webhdfs), FIELD_LIST},
	{MEMBER(http_fs), FIELD_BOOL},
	{MEMBER(authorities), FIELD_LINES},
	{MEMBER(connect_timeout_ms), FIELD_MS},
};

void hdfs_access_finish(struct hdfs_access *access)
{
	fields_finish(fields, array_length(fields), access);
	*access = (struct hdfs_access){0};
}

struct webhdfs_options hdfs_access_webhdfs(const struct hdfs_access *access)
{
	return (struct webhdfs_options){
		.addresses = access->webhdfs,
		.http_fs = access->http_fs,
		.authorities = access->authorities,
		.user = access->user,
		.connect_timeout_ms = access->connect_timeout_ms,
	};
}

const char *hdfs_access_path(const struct hdfs_access *access, const char *url)
{
	size_t length = strlen(access->fs);

	if (str_starts_with(url, "hdfs:///"))
		return url + strlen("hdfs://");
	if (str_starts_with(url, "hdfs:/") && !str_starts_with(url, "hdfs://"))
		return url + strlen("hdfs:");
	return strncmp(url, access->fs, length) == 0 && url[length] == '/' ? url + length : NULL;
}

int hdfs_access_read(struct hdfs_access *access, const json_t *stores, struct err *err)
{
	const json_t *object = json_object_get(stores, NAME);

	*access = (struct hdfs_access){0};
	if (fields_read(fields, array_length(fields), object, access, err) == 0) {
		if (access->webhdfs.count > 0)
			return 0;
		err_set(err, ERR_INPUT, "webhdfs: has no address");
	}
	hdfs_access_finish(access);
	return err_wrap(err, "stores: " NAME);
}

void hdfs_access_write(const struct hdfs_access *access, json_t *stores)
{
	json_t *object = json_object();

	fields_write(fields, array_length(fields), access, object);
	json_object_set_new(stores, NAME, object);
}
