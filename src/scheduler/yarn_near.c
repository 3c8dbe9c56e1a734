#include "scheduler/yarn_near.h"

#include <stdlib.h>
#include <string.h>

#include "base/fields.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "hadoop/methods.h"
#include "hadoop/webhdfs_client.h"
#include "scheduler/yarn_cluster.h"

enum { FILES_MAX = 200 /* of a directory, that are looked at */ };

/* How much of the data each machine has, by its name and its address. */
struct holder {
	char *host, *ip; /* `ip`: NULL: not told */
	int64_t bytes;
};

struct search {
	struct map *holders; /* by host */
	struct str_list files;
};

static void free_holder(void *data)
{
	struct holder *holder = data;

	free(holder->host);
	free(holder->ip);
	free(holder);
}

/* ---- what the NameNode tells -------------------------------------------------------------- */

static void add_place(struct search *search, const struct webhdfs_place *place, int64_t bytes)
{
	struct holder *holder = map_get(search->holders, place->host);

	if (!holder) {
		holder = mem_alloc(sizeof(*holder));
		holder->host = mem_strdup(place->host);
		holder->ip = mem_strdup(place->ip);
		map_set(search->holders, place->host, holder);
	}
	holder->bytes += bytes;
}

static void on_block(void *data, const struct webhdfs_block *block)
{
	for (size_t i = 0; i < block->place_count; i++)
		add_place(data, &block->places[i], block->length);
}

static void on_file(void *data, const struct webhdfs_file *file)
{
	struct search *search = data;

	if (!file->is_directory && search->files.count < FILES_MAX)
		str_list_add(&search->files, file->name);
}

/* A file is listed under the name "". */
static int look_at(struct webhdfs_client *client, const char *path, struct search *search,
		   struct err *err)
{
	str_list_finish(&search->files);
	search->files = (struct str_list){0};
	if (webhdfs_list(client, path, on_file, search, err) < 0)
		return -1;
	for (size_t i = 0; i < search->files.count; i++) {
		const char *name = search->files.items[i];
		char *file cleanup_free = *name ? fs_join(path, name) : mem_strdup(path);
		if (webhdfs_blocks(client, file, on_block, search, err) < 0)
			return -1;
	}
	return 0;
}

static int look_at_url(const struct hadoop_cluster *cluster, const char *text,
		       struct search *search, struct err *err)
{
	char *url cleanup_free = hdfs_access_resolve(&cluster->hdfs, text);
	const char *path = url ? strchr(url + strlen(HDFS_SCHEME), '/') : NULL;

	if (!path)
		return err_set(err, ERR_CONFIG,
			       "%s is not in an HDFS that the site files name; write hdfs:///PATH",
			       text);
	const struct webhdfs_options options = hdfs_access_webhdfs_of(&cluster->hdfs, url);
	struct webhdfs_client *client = webhdfs_client_create(&options, err);
	int result = client ? look_at(client, path, search, err) : -1;
	webhdfs_client_destroy(client);
	return result;
}

/* ---- nodes -------------------------------------------------------------------------------- */

static const struct holder *holder_of(const struct search *search,
				      const Hadoop__NodeReportProto *node)
{
	const char *host = node->nodeid ? node->nodeid->host : NULL, *name;
	void *value;

	if (!host || !node->rackname)
		return NULL;
	for (size_t i = 0; map_next(search->holders, &i, &name, &value);) {
		const struct holder *holder = value;
		if (str_equal_nocase(holder->host, host) || str_equal(holder->ip, host))
			return holder;
	}
	return NULL;
}

/* Nodes that have at least half as much of the data as the one with most. */
static void choose(const struct search *search, const Hadoop__GetClusterNodesResponseProto *nodes,
		   struct hadoop_cluster_type *type)
{
	int64_t most = 0;

	for (size_t i = 0; i < nodes->n_nodereports; i++) {
		const struct holder *holder = holder_of(search, nodes->nodereports[i]);
		if (holder && holder->bytes > most)
			most = holder->bytes;
	}
	for (size_t i = 0; i < nodes->n_nodereports; i++) {
		const Hadoop__NodeReportProto *node = nodes->nodereports[i];
		const struct holder *holder = holder_of(search, node);
		if (!holder || most == 0 || holder->bytes * 2 < most ||
		    type->near_nodes.count >= FIELD_LIST_CAP ||
		    str_list_has(&type->near_nodes, node->nodeid->host))
			continue;
		str_list_add(&type->near_nodes, node->nodeid->host);
		if (!str_list_has(&type->near_racks, node->rackname))
			str_list_add(&type->near_racks, node->rackname);
	}
}

static int ask_nodes(const struct hadoop_cluster *cluster, ProtobufCMessage **response,
		     struct err *err)
{
	Hadoop__NodeStateProto running = HADOOP__NODE_STATE_PROTO__NS_RUNNING;
	Hadoop__GetClusterNodesRequestProto request = HADOOP__GET_CLUSTER_NODES_REQUEST_PROTO__INIT;

	request.n_nodestates = 1;
	request.nodestates = &running;
	return yarn_call(cluster, &RM_GET_CLUSTER_NODES, &request.base, response, NULL, err);
}

static int find_of_type(const struct hadoop_cluster *cluster, const struct str_list *urls,
			struct hadoop_cluster_type *type, struct err *err)
{
	struct search search = {.holders = map_create(free_holder)};
	ProtobufCMessage *response cleanup_message = NULL;
	int result = 0;

	for (size_t i = 0; result == 0 && i < urls->count; i++)
		result = look_at_url(cluster, urls->items[i], &search, err);
	if (result == 0)
		result = ask_nodes(cluster, &response, err);
	if (result == 0)
		choose(&search, (const Hadoop__GetClusterNodesResponseProto *)response, type);
	map_destroy(search.holders);
	str_list_finish(&search.files);
	return result;
}

int yarn_near_find(struct hadoop_cluster *cluster, const struct job *job, struct err *err)
{
	for (size_t i = 0; i < job->type_count; i++) {
		const char *name = job->types[i].name;
		const char *wanted = job_config_format(job, "tony.%s.locality", name);
		struct str_list urls cleanup_str_list = {0};
		struct err why cleanup_err = {0};
		str_split(&urls, wanted ? wanted : "", ',');
		if (urls.count == 0 || find_of_type(cluster, &urls, &cluster->types[i], &why) == 0)
			continue;
		if (!err_is_silence(&why)) {
			err_copy(err, &why);
			return err_wrap(err, "tony.%s.locality", name);
		}
		log_warning("tony.%s.locality: nodes with the data are not known, and any will do: "
			    "%s",
			    name, err_message(&why));
	}
	return 0;
}
