/* Variables in values of Hadoop's configuration files, as org.apache.hadoop.conf.Configuration
 * resolves them. */
#ifndef TONY_HADOOP_SITE_VALUE_H
#define TONY_HADOOP_SITE_VALUE_H

/* What `raw` is with its variables resolved, the innermost first and at most 20 in all; from one
 * that is not known on it stays as written. `find` gives the raw value of a key, or NULL. The
 * caller frees. */
char *site_value_resolve(const char *raw, const char *(*find)(const void *data, const char *key),
			 const void *data);

#endif
