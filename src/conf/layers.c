/* Which files there are. */
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "conf/conf_internal.h"

#define DEFAULT_SITE_DIRECTORY "/etc/tony"
#define JOB_FILE	       "tony.xml"

int conf_load_site(struct conf *conf, struct err *err)
{
	const char *directory = getenv("TONY_CONF_DIR");
	char *path cleanup_free = fs_join(
		directory && *directory ? directory : DEFAULT_SITE_DIRECTORY, "tony-site.xml");

	return fs_exists(path) ? conf_load_file(conf, CONF_LAYER_SITE, path, err) : 0;
}

static int load_job(struct conf *conf, const char *path, struct err *err)
{
	if (!path && !fs_exists(JOB_FILE))
		return 0;
	if (path && strstr(path, "://") && !str_starts_with(path, "file:///"))
		return err_set(
			err, ERR_CONFIG,
			"--conf_file: \"%s\" is neither a path nor of hdfs, http or https; copy it "
			"here and write its path",
			path);
	if (path && str_starts_with(path, "file:///"))
		path += strlen("file://");
	conf->has_file = true;
	return conf_load_file(conf, CONF_LAYER_FILE, path ? path : JOB_FILE, err);
}

int conf_load_files(struct conf *conf, const char *conf_file, struct err *err)
{
	if (conf_load_site(conf, err) < 0)
		return -1;
	return load_job(conf, conf_file, err);
}
