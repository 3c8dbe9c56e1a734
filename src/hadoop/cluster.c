#include "hadoop/cluster.h"

#include <stdlib.h>
#include <string.h>

#include "base/fields.h"
#include "base/json.h"
#include "base/mem.h"
#include "hadoop/placement.h"
#include "hadoop/sasl.h"

#define LIST_CAP 100000 /* entries of a type's lists */

#define MEMBER(member) #member, offsetof(struct hadoop_cluster, member)

static const struct field fields[] = {
	{MEMBER(user), FIELD_TEXT},
	{MEMBER(principal), FIELD_OPTIONAL},
	{MEMBER(keytab), FIELD_OPTIONAL},
	{MEMBER(admin_acl), FIELD_OPTIONAL},
	{MEMBER(rm), FIELD_LIST},
	{MEMBER(rm_scheduler), FIELD_LIST},
	{MEMBER(rm_web), FIELD_LIST},
	{MEMBER(web_proxies), FIELD_LIST},
	{MEMBER(web_asks_proof), FIELD_BOOL},
	{MEMBER(web_proxy_is_apart), FIELD_BOOL},
	{MEMBER(nodes), FIELD_LIST},
	{MEMBER(racks), FIELD_LIST},
	{MEMBER(queue), FIELD_OPTIONAL},
	{MEMBER(is_within_guarantee), FIELD_BOOL},
	{MEMBER(node_label), FIELD_OPTIONAL},
	{MEMBER(placement), FIELD_OPTIONAL},
	{MEMBER(require_sasl), FIELD_BOOL},
	{MEMBER(connect_timeout_ms), FIELD_MS},
	{MEMBER(call_timeout_ms), FIELD_MS},
	{MEMBER(retry_interval_ms), FIELD_MS},
	{MEMBER(max_wait_ms), FIELD_MS},
	{MEMBER(client_wait_ms), FIELD_MS},
	{MEMBER(fs), FIELD_OPTIONAL},
	{MEMBER(home), FIELD_TEXT},
	{MEMBER(log_dir), FIELD_OPTIONAL},
	{MEMBER(log_suffix), FIELD_OPTIONAL},
	{MEMBER(job_dir), FIELD_OPTIONAL},
	{MEMBER(history_dir), FIELD_OPTIONAL},
	{MEMBER(rm_principal), FIELD_OPTIONAL},
	{MEMBER(token_services), FIELD_LIST},
	{MEMBER(rm_principal_pattern), FIELD_OPTIONAL},
	{MEMBER(user_rules), FIELD_LINES},
	{MEMBER(realm), FIELD_OPTIONAL},
};

/* Else it is HDFS's. */
static const struct field without_hdfs[] = {
	{"authorities", offsetof(struct hadoop_cluster, hdfs.authorities), FIELD_LINES},
};

bool hadoop_cluster_has_hdfs(const struct hadoop_cluster *cluster)
{
	return cluster->hdfs.fs;
}

const char *hadoop_cluster_fs(const struct hadoop_cluster *cluster)
{
	return cluster->fs ? cluster->fs : cluster->hdfs.fs;
}

const char *hadoop_cluster_fs_name(const struct hadoop_cluster *cluster)
{
	return cluster->fs ? cluster->fs : hdfs_access_name(&cluster->hdfs);
}

/* ---- destroy ------------------------------------------------------------------------------ */

static void finish_type(struct hadoop_cluster_type *type)
{
	for (size_t i = 0; i < type->link_count; i++)
		free(type->links[i].name);
	free(type->links);
	for (size_t i = 0; i < type->amount_count; i++)
		free(type->amounts[i].name);
	free(type->amounts);
	str_list_finish(&type->environment);
	free(type->placement);
	str_list_finish(&type->allocation_tags);
	str_list_finish(&type->node_attributes);
	str_list_finish(&type->near_nodes);
	str_list_finish(&type->near_racks);
}

void hadoop_cluster_destroy(struct hadoop_cluster *cluster)
{
	if (!cluster)
		return;
	fields_finish(fields, array_length(fields), cluster);
	hdfs_access_finish(&cluster->hdfs);
	free(cluster->timeline);
	for (size_t i = 0; i < cluster->file_count; i++)
		free(cluster->files[i].url);
	free(cluster->files);
	for (size_t i = 0; i < cluster->type_count; i++)
		finish_type(&cluster->types[i]);
	free(cluster->types);
	free(cluster);
}

/* ---- writing ------------------------------------------------------------------------------ */

static json_t *file_to_json(const struct hadoop_file *file)
{
	json_t *object = json_object();

	json_set_text(object, "url", file->url);
	json_set_int(object, "length", file->length);
	json_set_int(object, "timestamp", file->timestamp);
	json_set_bool(object, "archive", file->archive);
	json_set_bool(object, "shared", file->shared);
	return object;
}

static json_t *type_to_json(const struct hadoop_cluster_type *type)
{
	json_t *object = json_object(), *links = json_array(), *amounts = json_object();

	for (size_t i = 0; i < type->link_count; i++) {
		json_t *link = json_object();
		json_set_text(link, "name", type->links[i].name);
		json_set_int(link, "file", (int64_t)type->links[i].file);
		json_array_append_new(links, link);
	}
	for (size_t i = 0; i < type->amount_count; i++)
		json_set_int(amounts, type->amounts[i].name, type->amounts[i].value);
	json_object_set_new(object, "links", links);
	json_object_set_new(object, "amounts", amounts);
	json_set_list(object, "environment", &type->environment);
	json_set_text(object, "placement", type->placement);
	json_set_list(object, "allocation_tags", &type->allocation_tags);
	if (type->node_attributes.count > 0)
		json_set_list(object, "node_attributes", &type->node_attributes);
	if (type->near_nodes.count > 0) {
		json_set_list(object, "near_nodes", &type->near_nodes);
		json_set_list(object, "near_racks", &type->near_racks);
	}
	if (type->is_opportunistic)
		json_set_bool(object, "opportunistic", true);
	return object;
}

json_t *hadoop_cluster_to_json(const struct hadoop_cluster *cluster)
{
	json_t *object = json_object(), *files = json_array(), *types = json_array();

	fields_write(fields, array_length(fields), cluster, object);
	if (!hadoop_cluster_has_hdfs(cluster))
		fields_write(without_hdfs, array_length(without_hdfs), cluster, object);
	json_set_int(object, "protections", cluster->protections);
	for (size_t i = 0; i < cluster->file_count; i++)
		json_array_append_new(files, file_to_json(&cluster->files[i]));
	for (size_t i = 0; i < cluster->type_count; i++)
		json_array_append_new(types, type_to_json(&cluster->types[i]));
	json_object_set_new(object, "files", files);
	json_object_set_new(object, "types", types);
	json_set_int(object, "agent", (int64_t)cluster->agent);
	return object;
}

/* ---- reading ------------------------------------------------------------------------------ */

static int get_list(const json_t *object, const char *name, size_t cap, json_t **list,
		    struct err *err)
{
	*list = json_object_get(object, name);
	if (*list && !json_is_array(*list))
		return err_set(err, ERR_INPUT, "%s: is not a list", name);
	if (json_array_size(*list) > cap)
		return err_set(err, ERR_INPUT, "%s: has more than %zu entries", name, cap);
	return 0;
}

static int read_file(const json_t *object, struct hadoop_file *file, struct err *err)
{
	if (json_need_text(object, "url", &file->url, err) < 0 ||
	    field_check_text("url", file->url, err) < 0 ||
	    json_need_int(object, "length", 0, INT64_MAX, &file->length, err) < 0 ||
	    json_need_int(object, "timestamp", 0, INT64_MAX, &file->timestamp, err) < 0 ||
	    json_read_bool(object, "archive", &file->archive, err) < 0 ||
	    json_read_bool(object, "shared", &file->shared, err) < 0)
		return -1;
	if (!strstr(file->url, "://"))
		return err_set(err, ERR_INPUT, "url: \"%.128s\" is no URL", file->url);
	return 0;
}

static int read_files(struct hadoop_cluster *cluster, const json_t *object, struct err *err)
{
	json_t *list;
	int64_t agent = 0;

	if (get_list(object, "files", HADOOP_MAX_FILES, &list, err) < 0)
		return -1;
	cluster->files = mem_alloc_array(json_array_size(list), sizeof(*cluster->files));
	for (size_t i = 0; i < json_array_size(list); i++) {
		cluster->file_count = i + 1;
		if (read_file(json_array_get(list, i), &cluster->files[i], err) < 0)
			return err_wrap(err, "files[%zu]", i);
	}
	int64_t last = cluster->file_count > 0 ? (int64_t)cluster->file_count - 1 : 0;
	if (json_read_int(object, "agent", 0, last, &agent, err) < 0)
		return -1;
	cluster->agent = (size_t)agent;
	return 0;
}

/* Relative, and no part of it is "..". */
static bool is_inside(const char *name)
{
	struct str_list parts cleanup_str_list = {0};

	str_split(&parts, name, '/');
	return *name && *name != '/' && !str_list_has(&parts, "..") && !strpbrk(name, "\r\n");
}

static int read_link(const struct hadoop_cluster *cluster, const json_t *object,
		     struct hadoop_link *link, struct err *err)
{
	int64_t file = 0;

	if (json_need_text(object, "name", &link->name, err) < 0 ||
	    json_need_int(object, "file", 0, (int64_t)cluster->file_count - 1, &file, err) < 0)
		return -1;
	link->file = (size_t)file;
	return is_inside(link->name)
		       ? 0
		       : err_set(err, ERR_INPUT,
				 "name: \"%.256s\" leads out of the working directory", link->name);
}

static int read_links(const struct hadoop_cluster *cluster, const json_t *object,
		      struct hadoop_cluster_type *type, struct err *err)
{
	json_t *list;

	if (get_list(object, "links", LIST_CAP, &list, err) < 0)
		return -1;
	type->links = mem_alloc_array(json_array_size(list), sizeof(*type->links));
	for (size_t i = 0; i < json_array_size(list); i++) {
		type->link_count = i + 1;
		if (read_link(cluster, json_array_get(list, i), &type->links[i], err) < 0)
			return err_wrap(err, "links[%zu]", i);
	}
	return 0;
}

static int read_amounts(const json_t *object, struct hadoop_cluster_type *type, struct err *err)
{
	json_t *amounts = json_object_get(object, "amounts"), *value;
	const char *name;

	if (amounts && !json_is_object(amounts))
		return err_set(err, ERR_INPUT, "amounts: is not an object");
	type->amounts = mem_alloc_array(json_object_size(amounts), sizeof(*type->amounts));
	json_object_foreach(amounts, name, value)
	{
		if (!json_is_integer(value) || json_integer_value(value) < 0)
			return err_set(err, ERR_INPUT, "amounts: \"%.128s\" is no amount", name);
		type->amounts[type->amount_count++] = (struct hadoop_amount){
			.name = mem_strdup(name), .value = json_integer_value(value)};
	}
	return 0;
}

/* These lines go unquoted between double quotes into a script of the NodeManager's. */
static int check_environment(const struct hadoop_cluster_type *type, struct err *err)
{
	for (size_t i = 0; i < type->environment.count; i++) {
		const char *line = type->environment.items[i], *equals = strchr(line, '=');
		if (!equals || equals == line || strpbrk(line, "\"$`\\"))
			return err_set(err, ERR_INPUT,
				       "environment[%zu]: is not KEY=VALUE that a shell leaves as "
				       "it is",
				       i);
	}
	return field_check_list("environment", &type->environment, LIST_CAP, err);
}

static int read_type(const struct hadoop_cluster *cluster, const json_t *object,
		     struct hadoop_cluster_type *type, struct err *err)
{
	if (read_links(cluster, object, type, err) < 0 || read_amounts(object, type, err) < 0 ||
	    json_read_list(object, "environment", &type->environment, err) < 0 ||
	    json_read_text(object, "placement", &type->placement, err) < 0 ||
	    json_read_list(object, "allocation_tags", &type->allocation_tags, err) < 0 ||
	    json_read_list(object, "node_attributes", &type->node_attributes, err) < 0 ||
	    json_read_list(object, "near_nodes", &type->near_nodes, err) < 0 ||
	    json_read_list(object, "near_racks", &type->near_racks, err) < 0 ||
	    json_read_bool(object, "opportunistic", &type->is_opportunistic, err) < 0 ||
	    field_check_list("allocation_tags", &type->allocation_tags, LIST_CAP, err) < 0 ||
	    field_check_list("near_nodes", &type->near_nodes, FIELD_LIST_CAP, err) < 0 ||
	    field_check_list("near_racks", &type->near_racks, FIELD_LIST_CAP, err) < 0 ||
	    (type->placement && field_check_text("placement", type->placement, err) < 0))
		return -1;
	for (size_t i = 0; i < type->node_attributes.count; i++)
		if (placement_check_attribute(type->node_attributes.items[i], err) < 0)
			return err_wrap(err, "node_attributes");
	return check_environment(type, err);
}

static int read_types(struct hadoop_cluster *cluster, const json_t *object, struct err *err)
{
	json_t *list;

	if (get_list(object, "types", LIST_CAP, &list, err) < 0)
		return -1;
	cluster->types = mem_alloc_array(json_array_size(list), sizeof(*cluster->types));
	for (size_t i = 0; i < json_array_size(list); i++) {
		cluster->type_count = i + 1;
		if (read_type(cluster, json_array_get(list, i), &cluster->types[i], err) < 0)
			return err_wrap(err, "types[%zu]", i);
	}
	return 0;
}

static int read_cluster(struct hadoop_cluster *cluster, const json_t *object, struct err *err)
{
	const unsigned all = SASL_AUTH | SASL_INTEGRITY | SASL_PRIVACY;
	int64_t protections = SASL_AUTH;

	if (fields_read(fields, array_length(fields), object, cluster, err) < 0)
		return -1;
	if (json_read_int(object, "protections", 1, all, &protections, err) < 0)
		return -1;
	cluster->protections = (unsigned)protections;
	if (cluster->rm.count == 0 || cluster->rm_scheduler.count == 0)
		return err_set(err, ERR_INPUT, "rm or rm_scheduler has no address");
	if (cluster->fs && !str_equal(cluster->fs, HADOOP_FILE_FS))
		return err_set(err, ERR_INPUT, "fs: \"%.128s\" is not " HADOOP_FILE_FS,
			       cluster->fs);
	return read_files(cluster, object, err) < 0 ? -1 : read_types(cluster, object, err);
}

static int read_access(struct hadoop_cluster *cluster, const json_t *engine, const json_t *stores,
		       struct err *err)
{
	return cluster->fs && !json_object_get(stores, "hdfs")
		       ? fields_read(without_hdfs, array_length(without_hdfs), engine, cluster, err)
		       : hdfs_access_read(&cluster->hdfs, stores, err);
}

struct hadoop_cluster *hadoop_cluster_from_json(const json_t *engine, const json_t *stores,
						struct err *err)
{
	struct hadoop_cluster *cluster = mem_alloc(sizeof(*cluster));

	if (read_cluster(cluster, engine, err) < 0)
		err_wrap(err, "engine");
	else if (read_access(cluster, engine, stores, err) == 0)
		return cluster;
	hadoop_cluster_destroy(cluster);
	return NULL;
}
