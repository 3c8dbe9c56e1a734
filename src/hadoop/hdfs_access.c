#include "hadoop/hdfs_access.h"

#include <stdlib.h>
#include <string.h>

#include "base/fields.h"
#include "base/json.h"
#include "base/mem.h"
#include "hadoop/hdfs_token.h"
#include "net/tls.h"

_Static_assert(FIELD_LINES_CAP >= TLS_AUTHORITIES_CAP, "all authorities find room");

#define NAME "hdfs"

#define OTHERS_CAP 64
#define HDFS	   "hdfs:"
#define VIEW	   "viewfs:"

#define NAME_NODES     "name_nodes"
#define TOKEN_SERVICES "token_services"

#define MEMBER(member) #member, offsetof(struct hdfs_access, member)

static const struct field fields[] = {
	{MEMBER(user), FIELD_TEXT},
	{MEMBER(fs), FIELD_TEXT},
	{MEMBER(name_nodes), FIELD_LIST},
	{MEMBER(webhdfs), FIELD_LIST},
	{MEMBER(http_fs), FIELD_BOOL},
	{MEMBER(authorities), FIELD_LINES},
	{MEMBER(connect_timeout_ms), FIELD_MS},
	{MEMBER(token_renew_ms), FIELD_OPTIONAL_MS},
	{MEMBER(view), FIELD_OPTIONAL},
	{MEMBER(needs_token), FIELD_BOOL},
	{MEMBER(tokens_in_clear), FIELD_BOOL},
	{MEMBER(token_services), FIELD_LIST},
};

void hdfs_access_finish(struct hdfs_access *access)
{
	fields_finish(fields, array_length(fields), access);
	for (size_t i = 0; i < access->other_count; i++) {
		free(access->others[i].fs);
		str_list_finish(&access->others[i].webhdfs);
		str_list_finish(&access->others[i].name_nodes);
		str_list_finish(&access->others[i].token_services);
	}
	str_list_finish(&access->behind);
	str_list_finish(&access->behind_services);
	free(access->others);
	for (size_t i = 0; i < access->link_count; i++) {
		free(access->links[i].path);
		free(access->links[i].to);
	}
	free(access->links);
	*access = (struct hdfs_access){0};
}

void hdfs_access_add_other(struct hdfs_access *access, char *fs, struct str_list *webhdfs,
			   struct str_list *name_nodes)
{
	access->others =
		mem_realloc_array(access->others, access->other_count + 1, sizeof(*access->others));
	access->others[access->other_count++] =
		(struct hdfs_other){.fs = fs, .webhdfs = *webhdfs, .name_nodes = *name_nodes};
	*webhdfs = *name_nodes = (struct str_list){0};
}

void hdfs_access_add_link(struct hdfs_access *access, char *path, char *to)
{
	access->links =
		mem_realloc_array(access->links, access->link_count + 1, sizeof(*access->links));
	access->links[access->link_count++] = (struct hdfs_link){path, to};
}

/* ---- which file system -------------------------------------------------------------------- */

static struct hdfs_token_server token_server(const struct hdfs_access *access)
{
	return (struct hdfs_token_server){
		.name = access->fs,
		.services = &access->token_services,
		.name_nodes = &access->name_nodes,
		.is_encrypted = webhdfs_are_https(&access->webhdfs),
		.tokens_in_clear = access->tokens_in_clear,
		.gateways = access->http_fs ? &access->webhdfs : NULL,
		.gateway_path = WEBHDFS_PATH,
		.web = &access->webhdfs,
		.authorities = access->authorities,
	};
}

static struct webhdfs_options make_options(const struct hdfs_access *access)
{
	int64_t patience_ms = access->patience_ms;

	return (struct webhdfs_options){
		.addresses = access->webhdfs,
		.http_fs = access->http_fs,
		.authorities = access->authorities,
		.user = access->user,
		.connect_timeout_ms = patience_ms ? patience_ms : access->connect_timeout_ms,
		.silence_timeout_ms = patience_ms,
		.max_wait_ms = patience_ms,
	};
}

struct webhdfs_options hdfs_access_webhdfs(const struct hdfs_access *access)
{
	const struct hdfs_token_server server = token_server(access);
	struct webhdfs_options options = make_options(access);

	if (access->needs_token && access->fs)
		options.token = hdfs_token_of(&server);
	return options;
}

int hdfs_access_open_behind(const struct hdfs_access *access, struct err *err)
{
	struct hdfs_token_server server = token_server(access);

	server.services = &access->behind_services;
	server.name_nodes = &access->behind;
	server.gateways = NULL;
	server.is_encrypted = true; /* it goes into no request of ours */
	return hdfs_token_get(hdfs_token_of(&server), HDFS_TOKEN_PATIENCE_MS, err);
}

const char *hdfs_access_authority(const char *fs)
{
	return str_starts_with(fs, HDFS_SCHEME) ? fs + strlen(HDFS_SCHEME) : fs;
}

const char *hdfs_access_name(const struct hdfs_access *access)
{
	return access->view ? access->view : access->fs;
}

/* The path behind "<fs>" in a URL; NULL: it is in another file system. */
static const char *behind(const char *fs, const char *url)
{
	size_t length = strlen(fs);

	return strncmp(url, fs, length) == 0 && url[length] == '/' ? url + length : NULL;
}

static const struct hdfs_other *find_other(const struct hdfs_access *access, const char *url)
{
	for (size_t i = 0; i < access->other_count; i++)
		if (behind(access->others[i].fs, url))
			return &access->others[i];
	return NULL;
}

struct webhdfs_options hdfs_access_webhdfs_of(const struct hdfs_access *access, const char *url)
{
	const struct hdfs_other *other = find_other(access, url);

	if (!other)
		return hdfs_access_webhdfs(access);
	struct webhdfs_options options = make_options(access);
	const struct hdfs_token_server server = {
		.name = other->fs,
		.services = &other->token_services,
		.name_nodes = &other->name_nodes,
		.is_encrypted = webhdfs_are_https(&other->webhdfs),
		.tokens_in_clear = access->tokens_in_clear,
		.web = &other->webhdfs,
		.authorities = access->authorities,
	};
	options.addresses = other->webhdfs;
	options.http_fs = false;
	if (access->needs_token)
		options.token = hdfs_token_of(&server);
	return options;
}

/* The path in the default file system: of "hdfs:///x", "hdfs:/x" and, with a view,
 * "viewfs://cluster/x", "viewfs:///x" and "viewfs:/x". NULL: it names another one. */
static const char *default_path(const struct hdfs_access *access, const char *url)
{
	bool is_view = access->view && str_starts_with(url, VIEW);

	if (access->view && behind(access->view, url))
		return behind(access->view, url);
	if (!is_view && !str_starts_with(url, HDFS))
		return NULL;
	url += strlen(is_view ? VIEW : HDFS);
	if (str_starts_with(url, "//"))
		url += 2;
	else if (*url != '/')
		return NULL;
	return *url == '/' ? url : NULL;
}

/* The one with the longest path: links may be within each other. */
static const struct hdfs_link *find_link(const struct hdfs_access *access, const char *path)
{
	const struct hdfs_link *best = NULL;

	for (size_t i = 0; i < access->link_count; i++) {
		const struct hdfs_link *link = &access->links[i];
		bool fits = str_equal(link->path, "/") || str_equal(link->path, path) ||
			    behind(link->path, path);
		if (fits && (!best || strlen(link->path) > strlen(best->path)))
			best = link;
	}
	return best;
}

char *hdfs_access_follow(const struct hdfs_access *access, const char *path)
{
	const struct hdfs_link *link = find_link(access, path);

	if (!link)
		return NULL;
	const char *rest = str_equal(link->path, "/") ? path : path + strlen(link->path);
	size_t length = strlen(link->to);
	while (length > 0 && link->to[length - 1] == '/')
		length--;
	return mem_printf("%.*s%s", (int)length, link->to, *rest ? rest : "/");
}

char *hdfs_access_resolve(const struct hdfs_access *access, const char *url)
{
	const char *path = default_path(access, url);
	char *full cleanup_free = path && access->view ? hdfs_access_follow(access, path)
				  : path	       ? mem_printf("%s%s", access->fs, path)
						       : mem_strdup(url);

	return full && (behind(access->fs, full) || find_other(access, full)) ? mem_steal(&full)
									      : NULL;
}

char *hdfs_access_path(const struct hdfs_access *access, const char *url)
{
	char *full cleanup_free = hdfs_access_resolve(access, url);

	return mem_strdup(full ? behind(access->fs, full) : NULL);
}

/* Such URLs have no place for a path of the gateway's own. */
char *hdfs_access_localized(const struct hdfs_access *access, const char *url)
{
	const char *path = access->http_fs && access->needs_token && access->fs
				   ? behind(access->fs, url)
				   : NULL;
	struct net_url gateway cleanup_net_url = {0};

	if (!path || webhdfs_url_parse(access->webhdfs.items[0], &gateway, NULL) < 0 ||
	    strspn(gateway.target, "/") != strlen(gateway.target))
		return mem_strdup(url);
	return mem_printf("%swebhdfs://%s%s", gateway.is_tls ? "s" : "", gateway.address, path);
}

/* ---- as JSON ------------------------------------------------------------------------------ */

static int read_other(struct hdfs_access *access, const json_t *object, struct err *err)
{
	struct str_list webhdfs cleanup_str_list = {0}, name_nodes cleanup_str_list = {0};
	char *fs cleanup_free = NULL;

	if (json_need_text(object, "fs", &fs, err) < 0 || field_check_text("fs", fs, err) < 0 ||
	    json_read_list(object, "webhdfs", &webhdfs, err) < 0 ||
	    field_check_list("webhdfs", &webhdfs, FIELD_LIST_CAP, err) < 0 ||
	    json_read_list(object, NAME_NODES, &name_nodes, err) < 0 ||
	    field_check_list(NAME_NODES, &name_nodes, FIELD_LIST_CAP, err) < 0)
		return -1;
	if (webhdfs.count == 0)
		return err_set(err, ERR_INPUT, "webhdfs: has no address");
	hdfs_access_add_other(access, mem_steal(&fs), &webhdfs, &name_nodes);
	struct str_list *services = &access->others[access->other_count - 1].token_services;
	if (json_read_list(object, TOKEN_SERVICES, services, err) < 0)
		return -1;
	return field_check_list(TOKEN_SERVICES, services, FIELD_LIST_CAP, err);
}

static int read_link(struct hdfs_access *access, const json_t *object, struct err *err)
{
	char *path cleanup_free = NULL, *to cleanup_free = NULL;

	if (json_need_text(object, "path", &path, err) < 0 ||
	    field_check_text("path", path, err) < 0 || json_need_text(object, "to", &to, err) < 0 ||
	    field_check_text("to", to, err) < 0)
		return -1;
	if (*path != '/')
		return err_set(err, ERR_INPUT, "path: is not absolute");
	hdfs_access_add_link(access, mem_steal(&path), mem_steal(&to));
	return 0;
}

static int
read_array(struct hdfs_access *access, const json_t *object, const char *name, size_t cap,
	   int (*read)(struct hdfs_access *access, const json_t *object, struct err *err),
	   struct err *err)
{
	const json_t *list = json_object_get(object, name);

	if (list && (!json_is_array(list) || json_array_size(list) > cap))
		return err_set(err, ERR_INPUT, "%s: is no list of at most %zu", name, cap);
	for (size_t i = 0; i < json_array_size(list); i++)
		if (read(access, json_array_get(list, i), err) < 0)
			return err_wrap(err, "%s[%zu]", name, i);
	return 0;
}

int hdfs_access_read(struct hdfs_access *access, const json_t *stores, struct err *err)
{
	const json_t *object = json_object_get(stores, NAME);

	*access = (struct hdfs_access){0};
	if (fields_read(fields, array_length(fields), object, access, err) == 0 &&
	    read_array(access, object, "others", OTHERS_CAP, read_other, err) == 0 &&
	    read_array(access, object, "links", HDFS_LINKS_MAX, read_link, err) == 0) {
		/* Of a tony that did not say so. */
		if (access->token_services.count > 0)
			access->needs_token = true;
		if (access->webhdfs.count > 0)
			return 0;
		err_set(err, ERR_INPUT, "webhdfs: has no address");
	}
	hdfs_access_finish(access);
	return err_wrap(err, "stores: " NAME);
}

static void set_unless_empty(json_t *object, const char *name, json_t *list)
{
	if (json_array_size(list) > 0)
		json_object_set(object, name, list);
	json_decref(list);
}

void hdfs_access_write(const struct hdfs_access *access, json_t *stores)
{
	json_t *object = json_object(), *others = json_array(), *links = json_array();

	fields_write(fields, array_length(fields), access, object);
	for (size_t i = 0; i < access->other_count; i++) {
		json_t *other = json_object();
		json_set_text(other, "fs", access->others[i].fs);
		json_set_list(other, "webhdfs", &access->others[i].webhdfs);
		if (access->needs_token) {
			json_set_list(other, NAME_NODES, &access->others[i].name_nodes);
			json_set_list(other, TOKEN_SERVICES, &access->others[i].token_services);
		}
		json_array_append_new(others, other);
	}
	for (size_t i = 0; i < access->link_count; i++) {
		json_t *link = json_object();
		json_set_text(link, "path", access->links[i].path);
		json_set_text(link, "to", access->links[i].to);
		json_array_append_new(links, link);
	}
	set_unless_empty(object, "others", others);
	set_unless_empty(object, "links", links);
	json_object_set_new(stores, NAME, object);
}
