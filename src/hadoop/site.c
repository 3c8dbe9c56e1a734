#include "hadoop/site.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/xml_include.h"
#include "hadoop/site_value.h"

#define SYSTEM_DIRECTORY "/etc/hadoop/conf"

struct value {
	char *raw;
	bool final;
};

struct hadoop_site {
	struct map *values;   /* name -> struct value */
	struct map *resolved; /* name -> text */
	struct str_list paths;
	char *directory, *origin;
	bool is_told; /* by a daemon: it names no files of this machine */
};

/* Those of the keys that are asked for. */
static const char *const defaults[][2] = {

	{"dfs.federation.router.http-address", "0.0.0.0:50071"},
	{"dfs.federation.router.https-address", "0.0.0.0:50072"},
	{"dfs.federation.router.rpc-address", "0.0.0.0:8888"},
	{"dfs.http.policy", "HTTP_ONLY"},
	{"dfs.namenode.http-address", "0.0.0.0:9870"},
	{"dfs.namenode.https-address", "0.0.0.0:9871"},
	{"dfs.user.home.dir.prefix", "/user"},
	{"dfs.webhdfs.enabled", "true"},
	{"fs.defaultFS", "file:///"},
	{"hadoop.rpc.protection", "authentication"},
	{"hadoop.http.authentication.type", "simple"},
	{"hadoop.security.authentication", "simple"},
	{"hadoop.tmp.dir", "/tmp/hadoop-${user.name}"},
	{"ipc.client.connect.timeout", "20000"},
	{"ipc.client.rpc-timeout.ms", "120000"},
	{"yarn.http.policy", "HTTP_ONLY"},
	{"yarn.log-aggregation-enable", "false"},
	{"yarn.nodemanager.remote-app-log-dir", "/tmp/logs"},
	{"yarn.nodemanager.remote-app-log-dir-suffix", "logs"},
	{"yarn.resourcemanager.address", "${yarn.resourcemanager.hostname}:8032"},
	{"yarn.resourcemanager.connect.max-wait.ms", "900000"},
	{"yarn.resourcemanager.connect.retry-interval.ms", "30000"},
	{"yarn.resourcemanager.ha.enabled", "false"},
	{"yarn.resourcemanager.hostname", "0.0.0.0"},
	{"yarn.resourcemanager.scheduler.address", "${yarn.resourcemanager.hostname}:8030"},
	{"yarn.resourcemanager.webapp.address", "${yarn.resourcemanager.hostname}:8088"},
	{"yarn.resourcemanager.webapp.https.address", "${yarn.resourcemanager.hostname}:8090"},
	{"yarn.timeline-service.client.best-effort", "false"},
	{"yarn.timeline-service.enabled", "false"},
	{"yarn.timeline-service.hostname", "0.0.0.0"},
	{"yarn.timeline-service.http-authentication.type", "simple"},
	{"yarn.timeline-service.version", "1.0f"},
	{"yarn.timeline-service.webapp.address", "${yarn.timeline-service.hostname}:8188"},
	{"yarn.timeline-service.webapp.https.address", "${yarn.timeline-service.hostname}:8190"},
};

/* Names that Hadoop takes for them, too: the DeprecationDeltas of its Configuration and
 * HdfsConfiguration. A file that uses an old name says the same of the new one. */
static const char *const old_names[][2] = {
	{"dfs.federation.nameservices", "dfs.nameservices"},
	{"dfs.http.address", "dfs.namenode.http-address"},
	{"dfs.https.address", "dfs.namenode.https-address"},
	{"fs.default.name", "fs.defaultFS"},
};

static const char *present_name(const char *name)
{
	for (size_t i = 0; i < array_length(old_names); i++)
		if (str_equal(name, old_names[i][0]))
			return old_names[i][1];
	return name;
}

/* ---- files -------------------------------------------------------------------------------- */

static void value_free(void *data)
{
	struct value *value = data;

	free(value->raw);
	free(value);
}

static char *trim(const char *text, size_t length)
{
	static const char blanks[] = " \t\r\n";

	while (length > 0 && strchr(blanks, *text)) {
		text++;
		length--;
	}
	while (length > 0 && strchr(blanks, text[length - 1]))
		length--;
	return mem_strndup(text, length);
}

static void set(struct hadoop_site *site, const char *name, const char *raw, bool final)
{
	const struct value *old = map_get(site->values, name);

	if (old && old->final)
		return;
	struct value *value = mem_alloc(sizeof(*value));
	value->raw = mem_strdup(raw);
	value->final = final;
	map_set(site->values, name, value);
}

/* One of <name>, <value> and <final>, as an element or, since Hadoop 3, an attribute. */
static void take_member(const char *member, const char *text, char **name, char **value,
			bool *final)
{
	char *trimmed cleanup_free = trim(text, strlen(text));

	if (str_equal(member, "name"))
		mem_replace(name, mem_steal(&trimmed));
	else if (str_equal(member, "value"))
		mem_replace(value, mem_strdup(text));
	else if (str_equal(member, "final"))
		*final = str_equal_nocase(trimmed, "true");
}

static void read_property(struct hadoop_site *site, const struct xml_node *property)
{
	char *name cleanup_free = NULL, *value cleanup_free = NULL;
	bool final = false;

	for (char **pair = property->attributes; pair && *pair; pair += 2)
		take_member(pair[0], pair[1], &name, &value, &final);
	for (const struct xml_node *node = property->children; node; node = node->next) {
		char *text cleanup_free = xml_text(node);
		take_member(node->name, text, &name, &value, &final);
	}
	if (name && *name && value)
		set(site, present_name(name), value, final);
}

static int read_document(struct hadoop_site *site, const struct xml_file *file, const char *bytes,
			 size_t length, struct err *err);
static int read_children(struct hadoop_site *site, const struct xml_file *file,
			 const struct xml_node *parent, struct err *err);

static int read_include(struct hadoop_site *site, const struct xml_file *file,
			const struct xml_node *element, struct err *err)
{
	struct xml_included included cleanup_xml_included = {0};

	if (site->is_told)
		return err_set(err, ERR_CONFIG, "%s: names another file", file->path);
	if (xml_include(file, element, &included, err) < 0) {
		if (err)
			err->kind = ERR_CONFIG; /* also where the file is missing */
		return -1;
	}
	return included.fallback
		       ? read_children(site, file, included.fallback, err)
		       : read_document(site, &included.file, included.bytes, included.length, err);
}

static int read_children(struct hadoop_site *site, const struct xml_file *file,
			 const struct xml_node *parent, struct err *err)
{
	for (const struct xml_node *node = parent->children; node; node = node->next) {
		if (str_equal(node->name, "property"))
			read_property(site, node);
		else if ((str_equal(node->name, "configuration") &&
			  read_children(site, file, node, err) < 0) ||
			 (str_equal(node->name, "include") &&
			  read_include(site, file, node, err) < 0))
			return -1;
	}
	return 0;
}

static int read_document(struct hadoop_site *site, const struct xml_file *file, const char *bytes,
			 size_t length, struct err *err)
{
	struct xml_flaw flaw = {0};
	struct xml_node *root = xml_parse(bytes, length, XML_DOCTYPE_PLAIN, &flaw);

	if (!root) {
		char *text cleanup_free = flaw.text;
		return err_set(err, ERR_CONFIG, "%s: line %d: %s", file->path, flaw.line, text);
	}
	int result = 0;
	if (str_equal(root->name, "configuration"))
		result = read_children(site, file, root, err);
	else if (str_equal(root->name, "property") && file->outer)
		read_property(site, root);
	else
		result = err_set(err, ERR_CONFIG,
				 "%s: is no Hadoop configuration: its first element is not "
				 "<configuration>",
				 file->path);
	xml_free(root);
	return result;
}

static int read_file(struct hadoop_site *site, const char *path, struct err *err)
{
	size_t length, budget = HADOOP_SITE_CAP;
	const struct xml_file file = {.path = path, .budget = &budget};

	if (str_list_has(&site->paths, path))
		return 0;
	char *bytes cleanup_free = fs_read_file(path, budget, &length, err);
	if (!bytes)
		return -1;
	budget -= length;
	str_list_add(&site->paths, path);
	return read_document(site, &file, bytes, length, err);
}

/* `directory` NULL: there is none. */
static int read_if_there(struct hadoop_site *site, const char *directory, const char *name,
			 struct err *err)
{
	char *path cleanup_free = directory ? fs_join(directory, name) : NULL;

	return path && fs_exists(path) ? read_file(site, path, err) : 0;
}

/* ---- which files -------------------------------------------------------------------------- */

static const char *directory_of(const char *variable)
{
	const char *directory = getenv(variable);

	return directory && *directory ? directory : NULL;
}

static bool holds_yarn(const char *directory)
{
	char *path cleanup_free = directory ? fs_join(directory, "yarn-site.xml") : NULL;

	return path && fs_exists(path);
}

/* Packages put files there that name nothing. */
static bool names_resource_manager(struct hadoop_site *site)
{
	const char *address = hadoop_site_get(site, "yarn.resourcemanager.address");

	return hadoop_site_bool(site, "yarn.resourcemanager.ha.enabled") ||
	       !str_starts_with(address, "0.0.0.0:");
}

/* Has a directory that nobody named a yarn-site.xml of a cluster? `err`: it cannot be read. */
static bool describes_yarn(const char *directory, struct err *err)
{
	const struct hadoop_site_files files = {.directory = directory};
	struct hadoop_site *site cleanup_hadoop_site =
		holds_yarn(directory) ? hadoop_site_load(&files, err) : NULL;

	return site && names_resource_manager(site);
}

static bool describes_files(const char *directory)
{
	const struct hadoop_site_files files = {.directory = directory};
	struct hadoop_site *site cleanup_hadoop_site = hadoop_site_load(&files, NULL);

	return site && !str_equal(hadoop_site_get(site, "fs.defaultFS"), "file:///");
}

/* As HADOOP_CONF_DIR or YARN_CONF_DIR says. */
static const char *named_directory(void)
{
	const char *hadoop = directory_of("HADOOP_CONF_DIR");

	return hadoop ? hadoop : directory_of("YARN_CONF_DIR");
}

/* Where Hadoop's own programs look, too. NULL: HADOOP_CONF_DIR is set to nothing. The caller frees.
 */
static char *unnamed_directory(void)
{
	const char *home = directory_of("HADOOP_HOME");
	char *own = home ? fs_join(home, "etc/hadoop") : NULL;

	if (own && (describes_yarn(own, NULL) || describes_files(own)))
		return own;
	free(own);
	return getenv("HADOOP_CONF_DIR") ? NULL : mem_strdup(SYSTEM_DIRECTORY);
}

char *hadoop_site_found(struct err *err)
{
	char *directory cleanup_free = named_directory() ? NULL : unnamed_directory();

	return directory && describes_yarn(directory, err) ? mem_steal(&directory) : NULL;
}

bool hadoop_site_has_yarn(void)
{
	char *found cleanup_free = hadoop_site_found(NULL);

	return found || holds_yarn(directory_of("YARN_CONF_DIR")) ||
	       holds_yarn(directory_of("HADOOP_CONF_DIR"));
}

bool hadoop_site_is_there(void)
{
	return named_directory() || hadoop_site_has_yarn();
}

/* `yarn`: of the yarn-site.xml alone; NULL: the same. */
static int read_directory(struct hadoop_site *site, const char *directory, const char *yarn,
			  struct err *err)
{
	site->directory = mem_strdup(directory);
	return read_if_there(site, directory, "core-site.xml", err) < 0 ||
			       read_if_there(site, directory, "hdfs-site.xml", err) < 0 ||
			       read_if_there(site, holds_yarn(yarn) ? yarn : directory,
					     "yarn-site.xml", err) < 0
		       ? -1
		       : 0;
}

static int read_all(struct hadoop_site *site, const struct hadoop_site_files *files,
		    struct err *err)
{
	const char *named = files->directory ? files->directory : named_directory();
	const char *yarn = files->directory ? NULL : directory_of("YARN_CONF_DIR");
	char *unnamed cleanup_free = named ? NULL : unnamed_directory();

	if (read_directory(site, named ? named : unnamed, yarn, err) < 0 ||
	    (files->hdfs_site && read_file(site, files->hdfs_site, err) < 0) ||
	    (files->yarn_site && read_file(site, files->yarn_site, err) < 0))
		return -1;
	if (site->paths.count > 0)
		return 0;
	if (!site->directory)
		return err_set(err, ERR_CONFIG,
			       "HADOOP_CONF_DIR is set to nothing, which means no cluster; set "
			       "HADOOP_CONF_DIR to the directory of the cluster's configuration");
	return err_set(err, ERR_CONFIG,
		       "%s has no core-site.xml, hdfs-site.xml or yarn-site.xml; set "
		       "HADOOP_CONF_DIR to the directory of the cluster's configuration",
		       site->directory);
}

static struct hadoop_site *create(void)
{
	struct hadoop_site *site = mem_alloc(sizeof(*site));

	site->values = map_create(value_free);
	site->resolved = map_create(free);
	return site;
}

struct hadoop_site *hadoop_site_parse(const char *bytes, size_t length, const char *origin,
				      struct err *err)
{
	size_t budget = 0;
	const struct xml_file file = {.path = origin, .budget = &budget};
	struct hadoop_site *site = create();

	site->is_told = true;
	site->origin = mem_strdup(origin);
	if (read_document(site, &file, bytes, length, err) == 0)
		return site;
	hadoop_site_destroy(site);
	return NULL;
}

struct hadoop_site *hadoop_site_load(const struct hadoop_site_files *files, struct err *err)
{
	struct hadoop_site *site = create();

	for (size_t i = 0; i < array_length(defaults); i++)
		set(site, defaults[i][0], defaults[i][1], false);
	if (read_all(site, files, err) == 0) {
		site->origin = str_list_join(&site->paths, ", ");
		return site;
	}
	hadoop_site_destroy(site);
	return NULL;
}

void hadoop_site_destroy(struct hadoop_site *site)
{
	if (!site)
		return;
	map_destroy(site->values);
	map_destroy(site->resolved);
	str_list_finish(&site->paths);
	free(site->directory);
	free(site->origin);
	free(site);
}

void hadoop_site_cleanup(struct hadoop_site **site)
{
	hadoop_site_destroy(*site);
}

const char *hadoop_site_origin(const struct hadoop_site *site)
{
	return site->origin;
}

void hadoop_site_load_ssl(struct hadoop_site *site)
{
	const char *name = hadoop_site_get(site, "hadoop.ssl.client.conf");

	read_if_there(site, site->directory, name ? name : "ssl-client.xml", NULL);
}

void hadoop_site_load_queues(struct hadoop_site *site)
{
	read_if_there(site, site->directory, "capacity-scheduler.xml", NULL);
}

/* ---- values ------------------------------------------------------------------------------- */

static const char *raw_value(const void *data, const char *key)
{
	const struct hadoop_site *site = data;
	const struct value *value = map_get(site->values, present_name(key));

	return value ? value->raw : NULL;
}

const char *hadoop_site_get(struct hadoop_site *site, const char *key)
{
	const char *known = map_get(site->resolved, key), *raw = raw_value(site, key);

	if (known || !raw)
		return known;
	char *resolved cleanup_free = site_value_resolve(raw, raw_value, site);
	map_set(site->resolved, key, trim(resolved, strlen(resolved)));
	return map_get(site->resolved, key);
}

const char *hadoop_site_get_format(struct hadoop_site *site, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *key cleanup_free = mem_vprintf(format, args);
	va_end(args);
	return hadoop_site_get(site, key);
}

void hadoop_site_each(struct hadoop_site *site, const char *prefix,
		      void (*visit)(void *data, const char *key, const char *value), void *data)
{
	const char *key;
	void *value;

	for (size_t i = 0; map_next(site->values, &i, &key, &value);)
		if (str_starts_with(key, prefix))
			visit(data, key, hadoop_site_get(site, key));
}

bool hadoop_site_bool(struct hadoop_site *site, const char *key)
{
	return str_equal_nocase(hadoop_site_get(site, key), "true");
}

int hadoop_site_int(struct hadoop_site *site, const char *key, int64_t min, int64_t max,
		    int64_t *value, struct err *err)
{
	const char *text = hadoop_site_get(site, key);

	if (!text || !*text || str_parse_int(text, min, max, value) == 0)
		return 0;
	return err_set(err, ERR_CONFIG, "%s: \"%s\" is no number from %lld to %lld (in %s)", key,
		       text, (long long)min, (long long)max, site->origin);
}

void hadoop_site_list(struct hadoop_site *site, const char *key, struct str_list *list)
{
	const char *text = hadoop_site_get(site, key);

	str_split(list, text ? text : "", ',');
}
