/* How much room HDFS has. WebHDFS itself tells it from Hadoop 3.5 on only; the NameNode's servlet
 * for its metrics does in all versions. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hadoop/webhdfs.h"

/* A NameNode that finds no place for a block names no reason. */
static bool finds_no_data_node(const struct err *err)
{
	return strstr(err_message(err), "Failed to find datanode") != NULL;
}

bool webhdfs_needs_room(const struct err *err)
{
	if (finds_no_data_node(err))
		return true;
	return err->kind == ERR_STORE_FULL &&
	       !strstr(err_message(err), "QuotaExceeded"); /* which tells its numbers itself */
}

int webhdfs_add_room(const char *body, size_t length, struct err *err)
{
	struct webhdfs_room room;

	if (webhdfs_answer_room(body, length, &room) < 0)
		return -1;
	if (room.data_nodes == 0)
		return err_set(
			err, ERR_UNREACHABLE,
			"%s; HDFS has no DataNode at the moment: start them, or see in their "
			"logs why they do not reach the NameNode",
			err_message(err));
	char *left cleanup_free = str_format_bytes(room.left);
	char *total cleanup_free = str_format_bytes(room.total);
	return err_set(err, ERR_STORE_FULL, "%s; HDFS has %s of %s free, on %lld DataNode%s%s",
		       err_message(err), left, total, (long long)room.data_nodes,
		       str_plural(room.data_nodes),
		       finds_no_data_node(err)
			       ? " (each keeps dfs.datanode.du.reserved free): remove files in "
				 "HDFS, or have DataNodes added"
			       : "");
}
