#include "hadoop/cluster_trust.h"

#include "base/fs.h"
#include "net/trust_store.h"
#include "net/url.h"

static bool uses_tls(const struct str_list *urls)
{
	for (size_t i = 0; i < urls->count; i++)
		if (net_url_is_https(urls->items[i]))
			return true;
	return false;
}

/* Who has only copies of the other site files may have the authority elsewhere. */
static int read_hadoops(struct hadoop_site *site, struct str *pem, struct err *err)
{
	static const char key[] = "ssl.client.truststore.location";

	hadoop_site_load_ssl(site);
	const char *path = hadoop_site_get(site, key);
	const char *password = hadoop_site_get(site, "ssl.client.truststore.password");
	if (!path || !*path || !fs_exists(path))
		return 0;
	struct err flaw cleanup_err = {0};
	if (trust_store_read(path, password, pem, &flaw) == 0)
		return 0;
	return err_set(err, ERR_CONFIG, "%s: %s; " WEBHDFS_TRUST_REMEDY, key, err_message(&flaw));
}

int hadoop_cluster_trust(struct hadoop_cluster *cluster, struct hadoop_site *site,
			 const char *ca_file, struct err *err)
{
	struct str pem cleanup_str = {0};
	struct err flaw cleanup_err = {0};

	if (!uses_tls(&cluster->hdfs.webhdfs) && !uses_tls(&cluster->rm_web))
		return 0;
	if (ca_file && trust_store_read(ca_file, NULL, &pem, &flaw) < 0)
		return err_set(err, ERR_CONFIG, "tony.hdfs.ca-file: %s; " WEBHDFS_TRUST_REMEDY,
			       err_message(&flaw));
	if (!ca_file && read_hadoops(site, &pem, err) < 0)
		return -1;
	if (pem.length > 0)
		cluster->hdfs.authorities = str_steal(&pem);
	return 0;
}
