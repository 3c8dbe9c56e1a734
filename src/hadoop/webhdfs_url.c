/* URLs as they come from a cluster's configuration and from its NameNodes. */
#include <string.h>

#include "base/mem.h"
#include "hadoop/webhdfs.h"

int webhdfs_url_parse(const char *text, struct net_url *url, struct err *err)
{
	if (net_url_parse(text, url, err) == 0 && !url->user)
		return 0;
	if (url->user)
		err_set(err, ERR_INPUT, "it has a user or password in it");
	/* There may be a token in the query. */
	char *shown cleanup_free = str_printable(text, strcspn(text, "?"));
	net_url_finish(url);
	return err_wrap(err, "\"%s\" is not a URL such as http://namenode:9870", shown);
}

int webhdfs_location_parse(const struct webhdfs_question *question, const char *location,
			   struct net_url *url, struct err *err)
{
	bool was_tls = net_url_is_https(question->server);

	if (webhdfs_url_parse(location, url, err) < 0)
		return err_wrap(err, "%s: %s %s: the place of the content", question->server,
				webhdfs_op_name(question->op), question->path);
	if (!was_tls || url->is_tls)
		return 0;
	/* The URL carries a token, and the content would travel in the open. */
	err_set(err, ERR_INPUT,
		"%s: %s %s: leads from https to http://%s; set dfs.http.policy to HTTPS_ONLY for "
		"NameNodes and DataNodes alike",
		question->server, webhdfs_op_name(question->op), question->path, url->address);
	net_url_finish(url);
	return -1;
}

int webhdfs_err_data_node(const struct webhdfs_question *question, const struct net_url *url,
			  const char *why, struct err *err)
{
	return err_set(err, ERR_UNREACHABLE,
		       "%s: %s %s: DataNode %s cannot be reached from this machine: %s; content "
		       "goes straight to the DataNodes, so their names must resolve here and their "
		       "HTTP port be open; or set tony.hdfs.httpfs to an HttpFS gateway",
		       question->server, webhdfs_op_name(question->op), question->path,
		       url->address, why);
}
