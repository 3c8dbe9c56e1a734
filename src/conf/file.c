/* A file's bytes, and which form they are of. */
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "conf/conf_internal.h"

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
