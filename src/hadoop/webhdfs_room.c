/* How much room HDFS has. WebHDFS itself tells it from Hadoop 3.5 on only; the NameNode's servlet
 * for its metrics does in all versions. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hadoop/webhdfs_request.h"

#define QUERY "/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"

char *webhdfs_describe_room(struct webhdfs_client *client)
{
	const struct webhdfs_options *options = &client->options;
	char *url cleanup_free = mem_printf("%s" QUERY, options->addresses.items[client->active]);
	struct webhdfs_exchange exchange cleanup_webhdfs_exchange = {.method = "GET", .url = url};
	struct webhdfs_room room;

	if (options->http_fs ||
	    webhdfs_curl_run(client->curl, &exchange, NULL) != WEBHDFS_EXCHANGE_ANSWERED ||
	    exchange.status != 200 ||
	    webhdfs_answer_room(str_text(&exchange.answer), exchange.answer.length, &room) < 0)
		return NULL;
	char *left cleanup_free = str_format_bytes(room.left);
	char *total cleanup_free = str_format_bytes(room.total);
	return mem_printf("HDFS has %s of %s free, on %lld DataNode%s", left, total,
			  (long long)room.data_nodes, room.data_nodes == 1 ? "" : "s");
}

/* A NameNode that finds no place for a block names no reason. */
#define NO_DATA_NODE "Failed to find datanode"

int webhdfs_explain_full(struct webhdfs_client *client, struct err *err)
{
	bool finds_none = strstr(err_message(err), NO_DATA_NODE) != NULL;

	if ((err->kind != ERR_STORE_FULL && !finds_none) ||
	    strstr(err_message(err), "QuotaExceeded")) /* which tells its numbers itself */
		return -1;
	char *room cleanup_free = webhdfs_describe_room(client);
	if (!room)
		return -1;
	return err_set(err, ERR_STORE_FULL, "%s; %s%s", err_message(err), room,
		       finds_none ? " (each keeps dfs.datanode.du.reserved free): remove files in "
				    "HDFS, or have DataNodes added"
				  : "");
}
