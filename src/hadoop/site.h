/*
 * Hadoop's configuration, read as Hadoop reads it: core-site.xml, hdfs-site.xml and yarn-site.xml,
 * a later file overriding an earlier one except where that says <final>; XInclude; ${key},
 * ${env.NAME}, ${env.NAME:-default}, ${env.NAME-default}; old names of keys; Hadoop's own defaults
 * of the keys that tony asks for (core-, hdfs- and yarn-default.xml of Hadoop 3.4).
 */
#ifndef TONY_HADOOP_SITE_H
#define TONY_HADOOP_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define HADOOP_SITE_CAP (16u << 20) /* bytes of a file and what it includes */

struct hadoop_site;

struct hadoop_site_files {
	/* NULL: HADOOP_CONF_DIR, yarn-site.xml rather from YARN_CONF_DIR. Where neither is set,
	 * etc/hadoop of HADOOP_HOME if the files there name a cluster, else /etc/hadoop/conf; and
	 * not that one where HADOOP_CONF_DIR is set to nothing. */
	const char *directory;
	const char *hdfs_site; /* read last; NULL: none */
	const char *yarn_site; /* likewise */
};

/* Does HADOOP_CONF_DIR or YARN_CONF_DIR hold a yarn-site.xml, or else hadoop_site_found() one? */
bool hadoop_site_has_yarn(void);
/* Is there a directory with that, or one that a variable names? */
bool hadoop_site_is_there(void);
/* The directory that no variable names and whose yarn-site.xml names a ResourceManager; NULL: there
 * is none or, with `err`, it cannot be read. The caller frees. */
char *hadoop_site_found(struct err *err);

/* A file that is not there says nothing; ERR_CONFIG: one that is no configuration, and when there
 * is none at all. */
struct hadoop_site *hadoop_site_load(const struct hadoop_site_files *files, struct err *err);
/* Also what Hadoop's clients know of TLS: ssl-client.xml, or what hadoop.ssl.client.conf names, if
 * it can be read; there may be passwords in it. */
void hadoop_site_load_ssl(struct hadoop_site *site);
/* Also how the CapacityScheduler's queues are to be: capacity-scheduler.xml, if it can be read. */
void hadoop_site_load_queues(struct hadoop_site *site);
/* A daemon's own configuration as it tells it, from `origin`: what it says is all that is known,
 * and includes are refused. ERR_CONFIG. */
struct hadoop_site *hadoop_site_parse(const char *bytes, size_t length, const char *origin,
				      struct err *err);
void hadoop_site_destroy(struct hadoop_site *site); /* NULL is fine */
#define cleanup_hadoop_site __attribute__((cleanup(hadoop_site_cleanup)))
void hadoop_site_cleanup(struct hadoop_site **site);

/* The files that were read, for messages: "/etc/hadoop/conf/core-site.xml, ...". */
const char *hadoop_site_origin(const struct hadoop_site *site);

/* With variables resolved and blanks around it taken off; NULL: neither set nor known. What cannot
 * be resolved stays as written. Valid as long as `site` is. */
const char *hadoop_site_get(struct hadoop_site *site, const char *key);
/* The same of a key that is put together: "yarn.resourcemanager.address.%s". */
const char *hadoop_site_get_format(struct hadoop_site *site, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Each key that begins with `prefix`; the value as hadoop_site_get() has it. */
void hadoop_site_each(struct hadoop_site *site, const char *prefix,
		      void (*visit)(void *data, const char *key, const char *value), void *data);

bool hadoop_site_bool(struct hadoop_site *site, const char *key); /* anything but "true": false */
/* ERR_CONFIG when the value is no number within [min, max]. Unset: *value stays as it is. */
int hadoop_site_int(struct hadoop_site *site, const char *key, int64_t min, int64_t max,
		    int64_t *value, struct err *err);
void hadoop_site_list(struct hadoop_site *site, const char *key, struct str_list *list);

#endif
