#include "hadoop/webhdfs.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hadoop/hdfs_token.h"
#include "net/http_url.h"

static const struct {
	const char *name, *method;
} operations[] = {
	[WEBHDFS_GETFILESTATUS] = {"GETFILESTATUS", "GET"},
	[WEBHDFS_LISTSTATUS] = {"LISTSTATUS", "GET"},
	[WEBHDFS_LISTSTATUS_BATCH] = {"LISTSTATUS_BATCH", "GET"},
	[WEBHDFS_GET_BLOCK_LOCATIONS] = {"GET_BLOCK_LOCATIONS", "GET"},
	[WEBHDFS_GETFILEBLOCKLOCATIONS] = {"GETFILEBLOCKLOCATIONS", "GET"},
	[WEBHDFS_OPEN] = {"OPEN", "GET"},
	[WEBHDFS_MKDIRS] = {"MKDIRS", "PUT"},
	[WEBHDFS_CREATE] = {"CREATE", "PUT"},
	[WEBHDFS_APPEND] = {"APPEND", "POST"},
	[WEBHDFS_DELETE] = {"DELETE", "DELETE"},
	[WEBHDFS_RENAME] = {"RENAME", "PUT"},
	[WEBHDFS_SETTIMES] = {"SETTIMES", "PUT"},
	[WEBHDFS_SETXATTR] = {"SETXATTR", "PUT"},
	[WEBHDFS_GETXATTRS] = {"GETXATTRS", "GET"},
	[WEBHDFS_GETDELEGATIONTOKEN] = {"GETDELEGATIONTOKEN", "GET"},
};

const char *webhdfs_op_name(enum webhdfs_op op)
{
	return operations[op].name;
}

bool webhdfs_op_sends(enum webhdfs_op op)
{
	return op == WEBHDFS_CREATE || op == WEBHDFS_APPEND;
}

const char *webhdfs_op_method(enum webhdfs_op op)
{
	return operations[op].method;
}

/* ---- options ------------------------------------------------------------------------------ */

static int check_address(const char *address, struct err *err)
{
	struct net_url url cleanup_net_url = {0};

	if (webhdfs_url_parse(address, &url, err) < 0) {
		if (err)
			err->kind = ERR_CONFIG;
		return -1;
	}
	if (strchr(url.target, '?'))
		return err_set(err, ERR_CONFIG, "\"%s\" has a query; write http://HOST:PORT",
			       address);
	return 0;
}

int webhdfs_options_check(struct webhdfs_options *options, struct err *err)
{
	if (options->addresses.count == 0)
		return err_set(err, ERR_CONFIG,
			       "no address for WebHDFS is known: is "
			       "dfs.namenode.http-address in hdfs-site.xml?");
	for (size_t i = 0; i < options->addresses.count; i++)
		if (check_address(options->addresses.items[i], err) < 0)
			return -1;
	if (!options->user)
		return err_set(err, ERR_CONFIG, "WebHDFS needs to know as which user");
	if (options->connect_timeout_ms <= 0)
		options->connect_timeout_ms = WEBHDFS_CONNECT_TIMEOUT_MS;
	if (options->silence_timeout_ms <= 0)
		options->silence_timeout_ms = WEBHDFS_SILENCE_TIMEOUT_MS;
	if (options->max_wait_ms == 0)
		options->max_wait_ms = WEBHDFS_MAX_WAIT_MS;
	return 0;
}

void webhdfs_options_copy(struct webhdfs_options *to, const struct webhdfs_options *from)
{
	*to = *from;
	to->addresses = (struct str_list){0};
	str_list_copy(&to->addresses, &from->addresses);
	to->authorities = mem_strdup(from->authorities);
	to->user = mem_strdup(from->user);
}

void webhdfs_options_finish(struct webhdfs_options *options)
{
	str_list_finish(&options->addresses);
	free(options->authorities);
	free(options->user);
	*options = (struct webhdfs_options){0};
}

void webhdfs_file_finish(struct webhdfs_file *file)
{
	free(file->name);
	free(file->owner);
	free(file->group);
	*file = (struct webhdfs_file){0};
}

/* ---- targets ------------------------------------------------------------------------------ */

int webhdfs_path_check(const char *path, struct err *err)
{
	size_t length = strlen(path);

	if (path[0] != '/' || length > WEBHDFS_PATH_CAP)
		return err_set(err, ERR_INPUT, "%s: is no absolute path of at most %d bytes", path,
			       WEBHDFS_PATH_CAP);
	/* Java would put U+FFFD in place of what it cannot decode: another name. */
	if (!str_is_utf8(path, length)) {
		char *shown cleanup_free = str_printable(path, length);
		return err_set(err, ERR_INPUT, "%s: names in HDFS are UTF-8, and this is not",
			       shown);
	}
	for (const char *at = path; *at; at += strspn(at, "/")) {
		size_t segment = strcspn(at, "/");
		if ((segment == 1 || segment == 2) && strncmp(at, "..", segment) == 0)
			return err_set(err, ERR_INPUT, "%s: \".\" and \"..\" are no names in HDFS",
				       path);
		at += segment;
	}
	return 0;
}

void webhdfs_target_add(struct str *target, const char *name, const char *value)
{
	str_append_format(target, "&%s=", name);
	http_url_encode(target, value, "");
}

void webhdfs_target(struct str *target, const struct webhdfs_options *options,
		    const struct webhdfs_question *question)
{
	const char *prefix = strchr(strstr(question->server, "://") + 3, '/');
	size_t length = prefix ? strlen(prefix) : 0;

	while (length > 0 && prefix[length - 1] == '/')
		length--;
	str_append_bytes(target, prefix, length);
	str_append(target, WEBHDFS_PATH);
	http_url_encode(target, question->path, "/");
	str_append_format(target, "?op=%s", webhdfs_op_name(question->op));
	if (options->token)
		webhdfs_target_add(target, "delegation", hdfs_token_url(options->token));
	else if (options->user)
		webhdfs_target_add(target, "user.name", options->user);
}

/* ---- where content is --------------------------------------------------------------------- */

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
	/* Its name resolves, and nothing swallows what is sent. */
	const char *remedy =
		strstr(why, "Connection refused")
			? "nothing listens there: \"hdfs dfsadmin -report\" shows whether it "
			  "lives, "
			  "and by which address the NameNode knows it"
			: "content goes straight to the DataNodes, so their names must resolve "
			  "here and their HTTP port be open; or set tony.hdfs.httpfs to an HttpFS "
			  "gateway";

	return err_set(err, ERR_UNREACHABLE,
		       "%s: %s %s: DataNode %s cannot be reached from this machine: %s; %s",
		       question->server, webhdfs_op_name(question->op), question->path,
		       url->address, why, remedy);
}
