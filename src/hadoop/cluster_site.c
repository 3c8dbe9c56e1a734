#include "hadoop/cluster_site.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/fields.h"
#include "base/mem.h"
#include "base/user.h"
#include "hadoop/sasl.h"

#define MS_CAP	     (365LL * 86400 * 1000)
#define LOCAL_HOST   "127.0.0.1"
#define ANY_ADDRESS  "0.0.0.0"
#define DEFAULT_PORT "8020" /* of a NameNode's RPC */

struct reader {
	struct hadoop_site *site;
	struct hadoop_cluster *cluster;
	struct err *err;
};

/* ---- addresses ---------------------------------------------------------------------------- */

/* "host" of "host:port"; the caller frees. */
static char *host_of(const char *address)
{
	const char *colon = strrchr(address, ':');

	return colon ? mem_strndup(address, (size_t)(colon - address)) : mem_strdup(address);
}

static const char *port_of(const char *address)
{
	const char *colon = strrchr(address, ':');

	return colon ? colon + 1 : NULL;
}

/* A server's "every address of mine" is, to a client, `host`. */
static char *reachable(const char *address, const char *host)
{
	char *named cleanup_free = host_of(address);
	bool is_any = !*named || str_equal(named, ANY_ADDRESS);

	return mem_printf("%s:%s", is_any ? host : named, port_of(address));
}

static int check_address(const struct reader *reader, const char *key, const char *address)
{
	const char *port = address ? port_of(address) : NULL;
	int64_t number;

	if (port && port > address + 1 && str_parse_int(port, 1, 65535, &number) == 0 &&
	    !strpbrk(address, "/${} \t"))
		return 0;
	return err_set(reader->err, ERR_CONFIG, "%s: \"%s\" is not HOST:PORT (in %s)", key,
		       address ? address : "", hadoop_site_origin(reader->site));
}

static bool is_https_only(struct hadoop_site *site, const char *key)
{
	return str_equal_nocase(hadoop_site_get(site, key), "HTTPS_ONLY");
}

/* ---- the ResourceManager ------------------------------------------------------------------ */

/* Of one of a pair: `key`.ID, or the port of `key`'s default at hostname.ID. */
static int add_of_pair(const struct reader *reader, const char *key, const char *port,
		       const char *id, struct str_list *list)
{
	const char *address = hadoop_site_get_format(reader->site, "%s.%s", key, id);
	const char *host =
		hadoop_site_get_format(reader->site, "yarn.resourcemanager.hostname.%s", id);

	if (!address && !host)
		return err_set(reader->err, ERR_CONFIG,
			       "yarn.resourcemanager.ha.rm-ids has %s, but neither %s.%s nor "
			       "yarn.resourcemanager.hostname.%s is set (in %s)",
			       id, key, id, id, hadoop_site_origin(reader->site));
	char *full cleanup_free = address && port_of(address)
					  ? mem_strdup(address)
					  : mem_printf("%s:%s", address ? address : host, port);
	if (check_address(reader, key, full) < 0)
		return -1;
	str_list_take(list, reachable(full, LOCAL_HOST));
	return 0;
}

static int add_single(const struct reader *reader, const char *key, const char *port,
		      struct str_list *list)
{
	const char *address = hadoop_site_get(reader->site, key);
	char *full cleanup_free = address && !port_of(address) && *address
					  ? mem_printf("%s:%s", address, port)
					  : mem_strdup(address);

	if (check_address(reader, key, full) < 0)
		return -1;
	str_list_take(list, reachable(full, LOCAL_HOST));
	return 0;
}

static int read_rm(const struct reader *reader, const char *key, const char *port,
		   struct str_list *list)
{
	struct str_list ids cleanup_str_list = {0};

	if (!hadoop_site_bool(reader->site, "yarn.resourcemanager.ha.enabled"))
		return add_single(reader, key, port, list);
	hadoop_site_list(reader->site, "yarn.resourcemanager.ha.rm-ids", &ids);
	if (ids.count == 0)
		return err_set(reader->err, ERR_CONFIG,
			       "yarn.resourcemanager.ha.enabled is true, but "
			       "yarn.resourcemanager.ha.rm-ids is not set (in %s)",
			       hadoop_site_origin(reader->site));
	for (size_t i = 0; i < ids.count && i < FIELD_LIST_CAP; i++)
		if (add_of_pair(reader, key, port, ids.items[i], list) < 0)
			return -1;
	return 0;
}

/* A daemon of its own, or a part of each ResourceManager. On a cluster with Kerberos none is
 * trusted whose own login proves nothing: with Hadoop's default, "simple", it takes any name out of
 * the URL. */
static void read_web_proxies(const struct reader *reader, const struct str_list *rm_web)
{
	const char *own = hadoop_site_get(reader->site, "yarn.web-proxy.address");
	struct str_list *hosts = &reader->cluster->web_proxies;

	if (!reader->cluster->web_asks_proof &&
	    str_equal_nocase(hadoop_site_get(reader->site, "hadoop.security.authentication"),
			     "kerberos"))
		return;
	if (own && *own) {
		char *full cleanup_free = reachable(own, LOCAL_HOST);
		str_list_take(hosts, host_of(full));
		reader->cluster->web_proxy_is_apart = !str_list_has(rm_web, full);
		return;
	}
	for (size_t i = 0; i < rm_web->count; i++) {
		char *host cleanup_free = host_of(rm_web->items[i]);
		if (!str_list_has(hosts, host))
			str_list_add(hosts, host);
	}
}

static int read_rm_web(const struct reader *reader)
{
	bool https = is_https_only(reader->site, "yarn.http.policy");
	struct str_list addresses cleanup_str_list = {0};

	if (read_rm(reader,
		    https ? "yarn.resourcemanager.webapp.https.address"
			  : "yarn.resourcemanager.webapp.address",
		    https ? "8090" : "8088", &addresses) < 0)
		return -1;
	reader->cluster->web_asks_proof = !str_equal_nocase(
		hadoop_site_get(reader->site, "hadoop.http.authentication.type"), "simple");
	read_web_proxies(reader, &addresses);
	for (size_t i = 0; i < addresses.count; i++)
		str_list_add_format(&reader->cluster->rm_web, "http%s://%s", https ? "s" : "",
				    addresses.items[i]);
	return 0;
}

static int read_rm_address(const struct reader *reader, struct str_list *list)
{
	return read_rm(reader, "yarn.resourcemanager.address", "8032", list);
}

int hadoop_cluster_find_rm(struct hadoop_site *site, struct str_list *rm, struct err *err)
{
	const struct reader reader = {.site = site, .err = err};

	return read_rm_address(&reader, rm);
}

static int read_yarn(const struct reader *reader)
{
	struct hadoop_cluster *cluster = reader->cluster;

	if (read_rm_address(reader, &cluster->rm) < 0 ||
	    read_rm(reader, "yarn.resourcemanager.scheduler.address", "8030",
		    &cluster->rm_scheduler) < 0)
		return -1;
	return read_rm_web(reader);
}

/* ---- RPC ---------------------------------------------------------------------------------- */

static int read_protections(const struct reader *reader)
{
	static const struct {
		const char *word;
		unsigned protection;
	} words[] = {{"authentication", SASL_AUTH},
		     {"integrity", SASL_INTEGRITY},
		     {"privacy", SASL_PRIVACY}};
	struct str_list list cleanup_str_list = {0};

	hadoop_site_list(reader->site, "hadoop.rpc.protection", &list);
	for (size_t i = 0; i < list.count; i++) {
		unsigned found = 0;
		for (size_t k = 0; k < array_length(words); k++)
			if (str_equal_nocase(list.items[i], words[k].word))
				found = words[k].protection;
		if (found == 0)
			return err_set(reader->err, ERR_CONFIG,
				       "hadoop.rpc.protection: \"%s\" is none of authentication, "
				       "integrity, privacy (in %s)",
				       list.items[i], hadoop_site_origin(reader->site));
		reader->cluster->protections |= found;
	}
	if (list.count == 0)
		reader->cluster->protections = SASL_AUTH;
	return 0;
}

/* NULL: not set, or to nothing. The caller frees. */
static char *read_text(const struct reader *reader, const char *key)
{
	const char *text = hadoop_site_get(reader->site, key);

	return text && *text ? mem_strdup(text) : NULL;
}

static void read_principals(const struct reader *reader)
{
	reader->cluster->rm_principal = read_text(reader, "yarn.resourcemanager.principal");
	reader->cluster->rm_principal_pattern =
		read_text(reader, "yarn.resourcemanager.principal.pattern");
}

static int read_rpc(const struct reader *reader)
{
	struct hadoop_cluster *cluster = reader->cluster;
	const char *authentication =
		hadoop_site_get(reader->site, "hadoop.security.authentication");
	const struct {
		const char *key;
		int64_t min, *value;
	} times[] = {
		{"ipc.client.connect.timeout", 1, &cluster->connect_timeout_ms},
		{"ipc.client.rpc-timeout.ms", 0, &cluster->call_timeout_ms},
		{"yarn.resourcemanager.connect.retry-interval.ms", 1, &cluster->retry_interval_ms},
		{"yarn.resourcemanager.connect.max-wait.ms", -1, &cluster->max_wait_ms},
		{"dfs.namenode.delegation.token.renew-interval", 1, &cluster->hdfs.token_renew_ms},
	};

	cluster->require_sasl = str_equal_nocase(authentication, "kerberos");
	if (!cluster->require_sasl && authentication && *authentication &&
	    !str_equal_nocase(authentication, "simple"))
		return err_set(reader->err, ERR_CONFIG,
			       "hadoop.security.authentication: \"%s\" is neither \"simple\" nor "
			       "\"kerberos\"",
			       authentication);
	if (cluster->require_sasl)
		cluster->user_rules =
			mem_strdup(hadoop_site_get(reader->site, "hadoop.security.auth_to_local"));
	read_principals(reader);
	for (size_t i = 0; i < array_length(times); i++)
		if (hadoop_site_int(reader->site, times[i].key, times[i].min, MS_CAP,
				    times[i].value, reader->err) < 0)
			return -1;
	cluster->hdfs.connect_timeout_ms = cluster->connect_timeout_ms;
	if (cluster->call_timeout_ms == 0)
		cluster->call_timeout_ms = MS_CAP; /* Hadoop's "none" */
	return read_protections(reader);
}

/* ---- files -------------------------------------------------------------------------------- */

static bool uses_https(struct hadoop_site *site)
{
	return is_https_only(site, "dfs.http.policy");
}

/* A NameNode's RPC address as clients use it. */
static char *rpc_address(const char *text)
{
	char *full cleanup_free =
		port_of(text) ? mem_strdup(text) : mem_printf("%s:" DEFAULT_PORT, text);

	return reachable(full, LOCAL_HOST);
}

/* A file system's NameNodes. */
struct name_nodes {
	struct str_list rpc, web;
};

static void name_nodes_finish(struct name_nodes *found)
{
	str_list_finish(&found->rpc);
	str_list_finish(&found->web);
}
#define cleanup_name_nodes __attribute__((cleanup(name_nodes_finish)))

#define ANY_HOST "0.0.0.0:"

/* Routers stand for NameNodes of a nameservice, and have a web port of their own. */
static bool is_router(const struct reader *reader, const char *rpc)
{
	const char *own = hadoop_site_get(reader->site, "dfs.federation.router.rpc-address");

	return str_equal(port_of(rpc), port_of(own));
}

static char *web_of_router(const struct reader *reader, const char *rpc, bool https)
{
	const char *key = https ? "dfs.federation.router.https-address"
				: "dfs.federation.router.http-address";
	char *host cleanup_free = host_of(rpc);
	const char *web = hadoop_site_get(reader->site, key);

	return mem_printf("%s:%s", host, port_of(web) ? port_of(web) : "");
}

/* `suffix`: "", ".NAMESERVICE" or ".NAMESERVICE.NAMENODE". */
static int add_name_node(const struct reader *reader, const char *rpc, const char *suffix,
			 struct name_nodes *found)
{
	bool https = uses_https(reader->site);
	const char *key = https ? "dfs.namenode.https-address" : "dfs.namenode.http-address";
	const char *own = hadoop_site_get_format(reader->site, "%s%s", key, suffix);
	char *host cleanup_free = host_of(rpc);
	char *web cleanup_free = NULL;

	if (check_address(reader, "dfs.namenode.rpc-address", rpc) < 0)
		return -1;
	const char *common = hadoop_site_get(reader->site, key);
	if (own && *suffix)
		web = mem_strdup(own);
	else if (is_router(reader, rpc) && str_starts_with(common, ANY_HOST)) /* not set */
		web = web_of_router(reader, rpc, https);
	else
		web = mem_strdup(common);
	if (check_address(reader, key, web) < 0)
		return -1;
	char *reached cleanup_free = reachable(web, host);
	str_list_add(&found->rpc, rpc);
	str_list_add_format(&found->web, "http%s://%s", https ? "s" : "", reached);
	return 0;
}

static int read_pair(const struct reader *reader, const char *nameservice,
		     const struct str_list *ids, struct name_nodes *found)
{
	for (size_t i = 0; i < ids->count && i < FIELD_LIST_CAP; i++) {
		char *suffix cleanup_free = mem_printf(".%s.%s", nameservice, ids->items[i]);
		const char *rpc =
			hadoop_site_get_format(reader->site, "dfs.namenode.rpc-address%s", suffix);
		if (!rpc)
			return err_set(reader->err, ERR_CONFIG,
				       "dfs.ha.namenodes.%s has %s, but "
				       "dfs.namenode.rpc-address%s is not set (in %s)",
				       nameservice, ids->items[i], suffix,
				       hadoop_site_origin(reader->site));
		char *reached cleanup_free = rpc_address(rpc);
		if (add_name_node(reader, reached, suffix, found) < 0)
			return -1;
	}
	return 0;
}

/* `authority`: what stands behind "hdfs://": a nameservice, or a NameNode. */
static int read_name_nodes(const struct reader *reader, const char *authority,
			   struct name_nodes *found)
{
	struct str_list ids cleanup_str_list = {0};
	char *ids_key cleanup_free = mem_printf("dfs.ha.namenodes.%s", authority);
	char *suffix cleanup_free = mem_printf(".%s", authority);

	hadoop_site_list(reader->site, ids_key, &ids);
	if (ids.count > 0)
		return read_pair(reader, authority, &ids, found);
	/* A federated NameNode has keys of its own; else the authority is its address. */
	const char *rpc =
		hadoop_site_get_format(reader->site, "dfs.namenode.rpc-address%s", suffix);
	char *reached cleanup_free = rpc_address(rpc ? rpc : authority);
	return add_name_node(reader, reached, rpc ? suffix : "", found);
}

#define VIEW_SCHEME "viewfs://"
#define MOUNT_TABLE "fs.viewfs.mounttable."

/* "nameservice" of "hdfs://nameservice/x"; NULL: it is of another scheme, or can be none. The
 * caller frees. */
static char *authority_of(const char *url, const char *scheme)
{
	const char *start = str_starts_with(url, scheme) ? url + strlen(scheme) : "";
	size_t length = strcspn(start, "/");

	return length > 0 && strcspn(start, "${} \t") >= length ? mem_strndup(start, length) : NULL;
}

/* Beside the jobs' own: users may name its files. */
static int add_other(const struct reader *reader, const char *authority)
{
	struct hdfs_access *hdfs = &reader->cluster->hdfs;
	struct name_nodes found cleanup_name_nodes = {0};
	char *fs cleanup_free = mem_printf(HDFS_SCHEME "%s", authority);

	if (str_equal(fs, hdfs->fs))
		return 0;
	for (size_t i = 0; i < hdfs->other_count; i++)
		if (str_equal(hdfs->others[i].fs, fs))
			return 0;
	if (hdfs->other_count == FIELD_LIST_CAP)
		return err_set(reader->err, ERR_CONFIG, "%s: tony takes %d file systems at most",
			       fs, FIELD_LIST_CAP);
	if (read_name_nodes(reader, authority, &found) < 0)
		return -1;
	hdfs_access_add_other(hdfs, mem_steal(&fs), &found.web, &found.rpc);
	return 0;
}

static void add_others(const struct reader *reader)
{
	const struct hdfs_access *hdfs = &reader->cluster->hdfs;
	const struct reader quiet = {reader->site, reader->cluster, NULL};
	struct str_list names cleanup_str_list = {0};

	hadoop_site_list(reader->site, "dfs.nameservices", &names);
	for (size_t i = 0; i < names.count; i++)
		add_other(&quiet, names.items[i]);
	for (size_t i = 0; i < hdfs->link_count; i++) {
		char *authority cleanup_free = authority_of(hdfs->links[i].to, HDFS_SCHEME);
		if (authority)
			add_other(&quiet, authority);
	}
}

int hadoop_cluster_add_others(struct hadoop_cluster *cluster, struct hadoop_site *site,
			      const struct str_list *urls, struct err *err)
{
	const struct reader reader = {site, cluster, err};

	for (size_t i = 0; i < urls->count; i++) {
		const char *url = urls->items[i];
		char *authority cleanup_free = authority_of(url, HDFS_SCHEME);
		if (!authority)
			return err_set(err, ERR_CONFIG,
				       "\"%s\" is not hdfs://NAMESERVICE or hdfs://HOST:PORT", url);
		if (add_other(&reader, authority) < 0)
			return -1;
	}
	return 0;
}

/* ---- ViewFS ------------------------------------------------------------------------------- */

struct table {
	struct hdfs_access *hdfs;
	size_t prefix;
	char *unknown; /* a key of a kind of link that is not spoken */
};

/* The root of the table is the target's, or what no link has is there: either is the link of "/".
 */
static void on_link(void *data, const char *key, const char *value)
{
	struct table *table = data;
	const char *kind = key + table->prefix;
	bool is_root = str_equal(kind, "linkFallback") || str_equal(kind, "linkMergeSlash");
	const char *path = is_root ? "/" : kind + strlen("link.");

	if (is_root || (str_starts_with(kind, "link.") && *path == '/'))
		hdfs_access_add_link(table->hdfs, mem_strdup(path), mem_strdup(value));
	else if (str_starts_with(kind, "link"))
		mem_replace(&table->unknown, mem_strdup(key));
}

static int err_view(const struct reader *reader, const char *fs, const char *why)
{
	return err_set(reader->err, ERR_CONFIG,
		       "fs.defaultFS: \"%s\": %s (in %s); set HADOOP_CONF_DIR to site files whose "
		       "fs.defaultFS is hdfs://NAMESERVICE",
		       fs, why, hadoop_site_origin(reader->site));
}

/* The mount table of `name`; *count: 0 when there is none. */
static int read_links(const struct reader *reader, const char *fs, const char *name)
{
	char *prefix cleanup_free = mem_printf(MOUNT_TABLE "%s.", name);
	struct table table = {&reader->cluster->hdfs, strlen(prefix), NULL};

	hadoop_site_each(reader->site, prefix, on_link, &table);
	if (!table.unknown && reader->cluster->hdfs.link_count > HDFS_LINKS_MAX) {
		char *why cleanup_free =
			mem_printf("its mount table has %zu links, and tony takes "
				   "%d at most",
				   reader->cluster->hdfs.link_count, HDFS_LINKS_MAX);
		return err_view(reader, fs, why);
	}
	if (!table.unknown)
		return 0;
	char *why cleanup_free = mem_printf("tony does not follow %s", table.unknown);
	free(table.unknown);
	return err_view(reader, fs, why);
}

/* Where jobs' files are: in the file system of the user's home. NULL: it is not in HDFS, `err` if
 * it is needed. The caller frees. */
static char *find_home(const struct reader *reader, const char *fs, const char *name,
		       bool is_needed)
{
	struct hdfs_access *hdfs = &reader->cluster->hdfs;
	const char *prefix = hadoop_site_get_format(reader->site, MOUNT_TABLE "%s.homedir", name);
	char *home cleanup_free =
		mem_printf("%s/%s", prefix ? prefix : "/user", reader->cluster->user);
	char *url cleanup_free = hdfs_access_follow(hdfs, home);

	if (url && str_starts_with(url, HDFS_SCHEME))
		return mem_steal(&url);
	if (!is_needed)
		return NULL;
	char *why cleanup_free =
		hdfs->link_count == 0
			? mem_printf("there is no mount table " MOUNT_TABLE "%s.link./...", name)
			: mem_printf("no link of its mount table leads the home directory %s to "
				     "HDFS",
				     home);
	err_view(reader, fs, why);
	return NULL;
}

/* The file system's name; NULL: it is none of ViewFS. Its clients may call it hdfs://. The caller
 * frees. */
static char *view_name(const struct reader *reader, const char *fs)
{
	const char *driver = hadoop_site_get(reader->site, "fs.hdfs.impl");
	const char *unnamed = hadoop_site_get(reader->site, MOUNT_TABLE "default.name.key");

	if (str_starts_with(fs, VIEW_SCHEME)) {
		char *name = authority_of(fs, VIEW_SCHEME);
		return name ? name : mem_strdup(unnamed ? unnamed : "default");
	}
	return driver && str_ends_with(driver, "ViewFileSystemOverloadScheme")
		       ? authority_of(fs, HDFS_SCHEME)
		       : NULL;
}

/* *home: of a view; NULL: `fs` is none, or with `staging` the home is not in HDFS. */
static int read_view(const struct reader *reader, const char *fs, const struct str_list *http_fs,
		     const char *staging, char **home)
{
	char *name cleanup_free = view_name(reader, fs);

	if (!name)
		return 0;
	if (read_links(reader, fs, name) < 0)
		return -1;
	/* Such a client takes what has no mount table for an HDFS. */
	if (reader->cluster->hdfs.link_count == 0 && str_starts_with(fs, HDFS_SCHEME))
		return 0;
	if (http_fs->count > 0)
		return err_view(reader, fs,
				"an HttpFS gateway (tony.hdfs.httpfs) leads to one file system, "
				"and to no mount table");
	reader->cluster->hdfs.view = mem_strndup(fs, strcspn(fs, ":") + strlen("://") +
							     strcspn(strstr(fs, "://") + 3, "/"));
	*home = find_home(reader, fs, name, !staging);
	return *home || staging ? 0 : -1;
}

/* ---- the file system ---------------------------------------------------------------------- */

static int use_gateways(struct hdfs_access *hdfs, const struct str_list *http_fs)
{
	str_list_finish(&hdfs->webhdfs);
	str_list_copy(&hdfs->webhdfs, http_fs);
	hdfs->http_fs = true;
	return 0;
}

static int read_hdfs(const struct reader *reader, const char *fs, const struct str_list *http_fs)
{
	struct hdfs_access *hdfs = &reader->cluster->hdfs;
	struct name_nodes found cleanup_name_nodes = {0};
	char *authority cleanup_free = authority_of(fs, HDFS_SCHEME);

	if (!authority)
		return err_set(reader->err, ERR_CONFIG,
			       "fs.defaultFS: \"%s\" names no NameNode (in %s)", fs,
			       hadoop_site_origin(reader->site));
	if (read_name_nodes(reader, authority, &found) < 0)
		return -1;
	hdfs->fs = mem_printf(HDFS_SCHEME "%s", authority);
	hdfs->name_nodes = found.rpc;
	hdfs->webhdfs = found.web;
	found = (struct name_nodes){0};
	if (http_fs->count > 0)
		return use_gateways(hdfs, http_fs);
	add_others(reader);
	if (hadoop_site_bool(reader->site, "dfs.webhdfs.enabled"))
		return 0;
	return err_set(reader->err, ERR_CONFIG,
		       "dfs.webhdfs.enabled is false (in %s), and files go through WebHDFS; set "
		       "tony.hdfs.httpfs to the URL of an HttpFS gateway",
		       hadoop_site_origin(reader->site));
}

static int read_file_system(const struct reader *reader, const struct str_list *http_fs,
			    const char *staging)
{
	struct hadoop_cluster *cluster = reader->cluster;
	const char *prefix =
		staging ? staging : hadoop_site_get(reader->site, "dfs.user.home.dir.prefix");
	const char *fs = hadoop_site_get(reader->site, "fs.defaultFS");
	char *home cleanup_free = NULL;

	if (read_view(reader, fs, http_fs, staging, &home) < 0)
		return -1;
	bool is_hdfs = home || str_starts_with(fs, HDFS_SCHEME);
	if (!is_hdfs && !staging)
		return err_set(reader->err, ERR_CONFIG,
			       "fs.defaultFS: \"%s\" is not HDFS, hdfs://NAMESERVICE or "
			       "hdfs://HOST:PORT (in %s); without HDFS the job's files need a "
			       "directory that all nodes see: set tony.yarn.staging-location",
			       fs, hadoop_site_origin(reader->site));
	if (is_hdfs && read_hdfs(reader, home ? home : fs, http_fs) < 0)
		return -1;
	if (staging)
		cluster->fs = mem_strdup(HADOOP_FILE_FS);
	cluster->home = home && !staging ? hdfs_access_path(&cluster->hdfs, home)
					 : mem_printf("%s/%s", prefix, cluster->user);
	return 0;
}

/* A path is one of the default file system, which may be a view. */
static void read_log_dir(const struct reader *reader)
{
	struct hadoop_cluster *cluster = reader->cluster;
	struct hadoop_site *site = reader->site;

	if (!hadoop_site_bool(site, "yarn.log-aggregation-enable"))
		return;
	const char *text = hadoop_site_get(site, "yarn.nodemanager.remote-app-log-dir");
	char *url cleanup_free = mem_printf("%s%s", *text == '/' ? HDFS_SCHEME : "", text);
	char *found = cluster->hdfs.view ? hdfs_access_resolve(&cluster->hdfs, url) : NULL;
	cluster->log_dir = found ? found : mem_strdup(text);
	cluster->log_suffix =
		mem_strdup(hadoop_site_get(site, "yarn.nodemanager.remote-app-log-dir-suffix"));
}

/* ---- the timeline server ------------------------------------------------------------------ */

/* Of "1.0f,2.0f" the first. */
static bool has_version_1(struct hadoop_site *site)
{
	static const char several[] = "yarn.timeline-service.versions";
	struct str_list versions cleanup_str_list = {0};

	hadoop_site_list(site,
			 hadoop_site_get(site, several) ? several : "yarn.timeline-service.version",
			 &versions);
	for (size_t i = 0; i < versions.count; i++)
		if (versions.items[i][0] == '1' && !isdigit((unsigned char)versions.items[i][1]))
			return true;
	return false;
}

/* As org.apache.hadoop.yarn.client.api.impl.YarnClientImpl goes about it. */
static void read_timeline(const struct reader *reader)
{
	struct hadoop_site *site = reader->site;
	bool https = is_https_only(site, "yarn.http.policy");

	if (!reader->cluster->require_sasl ||
	    !hadoop_site_bool(site, "yarn.timeline-service.enabled") || !has_version_1(site) ||
	    !str_equal(hadoop_site_get(site, "yarn.timeline-service.http-authentication.type"),
		       "kerberos"))
		return;
	const char *address =
		hadoop_site_get(site, https ? "yarn.timeline-service.webapp.https.address"
					    : "yarn.timeline-service.webapp.address");
	char *full cleanup_free = port_of(address)
					  ? mem_strdup(address)
					  : mem_printf("%s:%s", address, https ? "8190" : "8188");
	char *reached cleanup_free = reachable(full, LOCAL_HOST);
	reader->cluster->timeline = mem_printf("http%s://%s", https ? "s" : "", reached);
	reader->cluster->needs_timeline =
		!hadoop_site_bool(site, "yarn.timeline-service.client.best-effort");
}

static void read_admin_acl(const struct reader *reader)
{
	const char *acl = hadoop_site_get(reader->site, "yarn.admin.acl");

	if (acl && !acl[strcspn(acl, "*\t\r\n")])
		reader->cluster->admin_acl = mem_strdup(acl);
}

/* ---- the whole ---------------------------------------------------------------------------- */

struct hadoop_cluster *hadoop_cluster_from_site(struct hadoop_site *site, const char *user,
						const struct str_list *http_fs, const char *staging,
						struct err *err)
{
	struct hadoop_cluster *cluster = mem_alloc(sizeof(*cluster));
	const struct reader reader = {site, cluster, err};

	cluster->user = mem_strdup(user);
	cluster->hdfs.user = mem_strdup(user);
	if (read_yarn(&reader) == 0 && read_rpc(&reader) == 0 &&
	    read_file_system(&reader, http_fs, staging) == 0) {
		read_admin_acl(&reader);
		read_log_dir(&reader);
		read_timeline(&reader);
		return cluster;
	}
	hadoop_cluster_destroy(cluster);
	return NULL;
}

char *hadoop_cluster_user(void)
{
	const char *user = getenv("HADOOP_USER_NAME");

	return user && *user ? mem_strdup(user) : user_name();
}
