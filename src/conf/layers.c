/* The layers that are loaded: files, and what another job had in effect. */
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "conf/conf_internal.h"

#define DEFAULT_SITE_DIRECTORY "/etc/tony"
#define NO_FILE		       "/dev/null"

/* ---- a file and its form ------------------------------------------------------------------- */

/* By its name; of what has none (a pipe, standard input), by how it begins. */
static bool is_yaml(const struct conf_input *source, const char *bytes, size_t length)
{
	static const char blanks[] = " \t\r\n\xef\xbb\xbf"; /* and UTF-8's mark */
	size_t start = 0;

	if (source->layer != CONF_LAYER_FILE)
		return false;
	if (str_ends_with(source->path, ".yaml") || str_ends_with(source->path, ".yml"))
		return true;
	if (!source->is_stream)
		return false;
	while (start < length && bytes[start] && strchr(blanks, bytes[start]))
		start++;
	return start < length && bytes[start] != '<';
}

static int load(const struct conf_input *source, const char *bytes, size_t length, struct err *err)
{
	if (length > CONF_FILE_CAP)
		return err_set(err, ERR_CONFIG, "%s: is larger than 16 MiB", source->path);
	return is_yaml(source, bytes, length) ? conf_read_yaml(source, bytes, length, err)
					      : conf_read_xml(source, bytes, length, err);
}

int conf_load_bytes(struct conf *conf, enum conf_layer layer, const char *path, const char *bytes,
		    size_t length, struct err *err)
{
	const struct conf_input source = {
		.conf = conf,
		.layer = layer,
		.path = path ? path : "input",
		.may_include = path != NULL,
	};

	return load(&source, bytes, length, err);
}

int conf_load_alone(struct conf *conf, const char *name, bool is_stream, const char *bytes,
		    size_t length, struct err *err)
{
	const struct conf_input source = {
		.conf = conf, .layer = CONF_LAYER_FILE, .path = name, .is_stream = is_stream};

	conf->has_file = true;
	return load(&source, bytes, length, err);
}

int conf_load_file(struct conf *conf, enum conf_layer layer, const char *path, struct err *err)
{
	size_t length;
	char *bytes cleanup_free = fs_read_file(path, CONF_FILE_CAP, &length, err);

	if (!bytes)
		return -1;
	return conf_load_bytes(conf, layer, path, bytes, length, err);
}

/* ---- which files there are ---------------------------------------------------------------- */

/* The first that is in the current directory. */
static const char *const job_files[] = {"tony.xml", "tony.yaml", "tony.yml"};

int conf_load_site(struct conf *conf, struct err *err)
{
	const char *named = getenv("TONY_CONF_DIR");
	bool is_named = named && *named;
	char *path cleanup_free =
		fs_join(is_named ? named : DEFAULT_SITE_DIRECTORY, "tony-site.xml");

	if (is_named && !fs_is_directory(named))
		problems_warning(&conf->problems,
				 "TONY_CONF_DIR: there is no directory \"%s\": no tony-site.xml is "
				 "read; name another one, or unset the variable",
				 named);
	return fs_exists(path) ? conf_load_file(conf, CONF_LAYER_SITE, path, err) : 0;
}

/* NULL: there is none. */
static const char *find_job_file(struct conf *conf)
{
	const char *found = NULL;

	for (size_t i = 0; i < array_length(job_files); i++) {
		if (!fs_exists(job_files[i]))
			continue;
		if (found)
			problems_warning(conf_problems(conf),
					 "%s is not read, for there is a %s; take one of them out, "
					 "or write --conf_file %s",
					 job_files[i], found, job_files[i]);
		found = found ? found : job_files[i];
	}
	return found;
}

static int load_found(struct conf *conf, struct err *err)
{
	const char *path = find_job_file(conf);
	size_t length;

	if (!path)
		return 0;
	char *named cleanup_free =
		mem_printf("--conf_file %s. To read no job file: --conf_file " NO_FILE, path);
	char *bytes cleanup_free = fs_read_own(path, named, CONF_FILE_CAP, &length, err);
	if (!bytes)
		return -1;
	conf->has_file = true;
	conf->found = path;
	return conf_load_bytes(conf, CONF_LAYER_FILE, path, bytes, length, err);
}

static int load_named(struct conf *conf, const char *path, struct err *err)
{
	if (str_equal(path, NO_FILE))
		return 0;
	if (strstr(path, "://") && !str_starts_with(path, "file:///"))
		return err_set(
			err, ERR_CONFIG,
			"--conf_file: \"%s\" is neither a path nor of hdfs, http or https; copy it "
			"here and write its path",
			path);
	if (str_starts_with(path, "file:///"))
		path += strlen("file://");
	conf->has_file = true;
	return conf_load_file(conf, CONF_LAYER_FILE, path, err);
}

int conf_load_files(struct conf *conf, const char *conf_file, struct err *err)
{
	if (conf_load_site(conf, err) < 0)
		return -1;
	return conf_file ? load_named(conf, conf_file, err) : load_found(conf, err);
}

int conf_load_job(struct conf *conf, const char *name, const json_t *config, struct err *err)
{
	const struct conf_place place = {CONF_LAYER_FILE, name, 0};
	const char *key;
	json_t *row;

	if (conf_load_site(conf, err) < 0)
		return -1;
	conf->has_file = true;
	json_object_foreach((json_t *)config, key, row)
	{
		conf_set_recorded(conf, &place, json_string_value(json_object_get(row, "origin")),
				  key, json_string_value(json_object_get(row, "value")));
	}
	return 0;
}
