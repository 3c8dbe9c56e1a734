/* What NameNodes, DataNodes and gateways answer: org.apache.hadoop.hdfs.web.JsonUtil writes it. */
#include <jansson.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "hadoop/token.h"
#include "hadoop/webhdfs.h"

/* ---- exceptions --------------------------------------------------------------------------- */

struct exception {
	char *class, *text; /* owned; never NULL once read */
};

static void finish_exception(struct exception *exception)
{
	free(exception->class);
	free(exception->text);
}
#define cleanup_exception __attribute__((cleanup(finish_exception)))

/* Behind the first line there is a Java stack. */
static char *first_line(const char *text)
{
	return str_printable(text, strcspn(text, "\r\n"));
}

/* Of {"RemoteException": {"exception": "FileNotFoundException", "message": ...}}. */
static bool read_exception(const char *body, size_t length, struct exception *exception)
{
	json_t *answer cleanup_json = json_parse(body, length, NULL);
	const json_t *remote = json_object_get(answer, "RemoteException");
	const char *class = json_string_value(json_object_get(remote, "exception"));
	const char *text = json_string_value(json_object_get(remote, "message"));

	if (!class || !*class)
		return false;
	exception->class = first_line(class);
	exception->text = first_line(text ? text : "");
	return true;
}

static const struct meaning {
	const char *class;
	enum webhdfs_verdict verdict;
	enum err_kind kind;
} meanings[] = {
	{"StandbyException", WEBHDFS_NOT_HERE, ERR_UNREACHABLE},
	{"ObserverRetryOnActiveException", WEBHDFS_NOT_HERE, ERR_UNREACHABLE},
	{"RetriableException", WEBHDFS_NOT_NOW, ERR_UNREACHABLE},
	{"SafeModeException", WEBHDFS_NOT_NOW, ERR_UNREACHABLE},
	/* A gateway that does not reach the NameNode itself. */
	{"ConnectException", WEBHDFS_BROKEN, ERR_UNREACHABLE},
	{"NoRouteToHostException", WEBHDFS_BROKEN, ERR_UNREACHABLE},
	{"SocketTimeoutException", WEBHDFS_BROKEN, ERR_UNREACHABLE},
	{"ConnectTimeoutException", WEBHDFS_BROKEN, ERR_UNREACHABLE},
	{"FileNotFoundException", WEBHDFS_REFUSED, ERR_NOT_FOUND},
	{"AccessControlException", WEBHDFS_REFUSED, ERR_DENIED},
	{"ParentNotDirectoryException", WEBHDFS_REFUSED, ERR_DENIED}, /* a file is in the way */
	{"AuthorizationException", WEBHDFS_REFUSED, ERR_DENIED},
	{"AuthenticationException", WEBHDFS_REFUSED, ERR_DENIED},
	{"SecurityException", WEBHDFS_REFUSED, ERR_DENIED},
	{"InvalidToken", WEBHDFS_REFUSED, ERR_EXPIRED},
	{"DSQuotaExceededException", WEBHDFS_REFUSED, ERR_STORE_FULL},
	{"NSQuotaExceededException", WEBHDFS_REFUSED, ERR_STORE_FULL},
	{"QuotaByStorageTypeExceededException", WEBHDFS_REFUSED, ERR_STORE_FULL},
};

/* No DataNode takes the file, though some are running. */
static bool says_full(const struct exception *exception)
{
	return (strstr(exception->text, "could only be replicated to 0 nodes") ||
		strstr(exception->text, "could only be written to 0 of the")) &&
	       !strstr(exception->text, "There are 0 datanode(s) running");
}

static enum webhdfs_verdict judge_exception(const struct webhdfs_question *question,
					    const struct exception *exception, struct err *err)
{
	struct meaning meaning = {NULL, WEBHDFS_REFUSED, ERR_FAILED};

	for (size_t i = 0; i < array_length(meanings); i++)
		if (strcmp(meanings[i].class, exception->class) == 0)
			meaning = meanings[i];
	if (says_full(exception))
		meaning.kind = ERR_STORE_FULL;
	if (meaning.kind == ERR_DENIED && strstr(exception->text, "InvalidToken"))
		meaning.kind = ERR_EXPIRED;
	err_set(err, meaning.kind, "%s: %s %s: %s%s%s%s", question->server,
		webhdfs_op_name(question->op), question->path, exception->class,
		*exception->text ? ": " : "", exception->text,
		meaning.kind == ERR_STORE_FULL ? "; remove files in HDFS, or ask for more room"
					       : "");
	return meaning.verdict;
}

/* An answer that HDFS did not write: a gateway's, or that of a server without WebHDFS. */
static enum webhdfs_verdict judge_status(const struct webhdfs_question *question, int status,
					 struct err *err)
{
	enum webhdfs_verdict verdict = WEBHDFS_REFUSED;
	enum err_kind kind = ERR_FAILED;
	const char *text = "is there WebHDFS at that address?";

	if (status == 401 || status == 403) {
		kind = ERR_DENIED;
		text = "it wants to know who asks";
	} else if (status == 404) {
		text = "there is no WebHDFS at that address: is dfs.webhdfs.enabled set to false?";
	} else if (status == 429) {
		verdict = WEBHDFS_NOT_NOW;
		kind = ERR_UNREACHABLE;
		text = "it is too busy";
	} else if (status >= 500 && status != 501) {
		verdict = WEBHDFS_BROKEN;
		kind = ERR_UNREACHABLE;
		text = "the server or a gateway in front of it failed";
	}
	err_set(err, kind, "%s: %s %s: HTTP status %d: %s", question->server,
		webhdfs_op_name(question->op), question->path, status, text);
	return verdict;
}

enum webhdfs_verdict webhdfs_judge(const struct webhdfs_question *question, int status,
				   const char *body, size_t length, struct err *err)
{
	struct exception exception cleanup_exception = {0};

	if (status >= 200 && status < 300)
		return WEBHDFS_DONE;
	if (read_exception(body, length, &exception))
		return judge_exception(question, &exception, err);
	return judge_status(question, status, err);
}

/* ---- results ------------------------------------------------------------------------------ */

static int err_answer(const struct webhdfs_question *question, struct err *err)
{
	return err_wrap(err, "%s: %s %s: the answer", question->server,
			webhdfs_op_name(question->op), question->path);
}

/* "755", or "1777" with the sticky bit. */
static int read_permission(const json_t *object, unsigned *permission, struct err *err)
{
	char *text cleanup_free = NULL;
	char *end;

	if (json_need_text(object, "permission", &text, err) < 0)
		return -1;
	unsigned long value = strtoul(text, &end, 8);
	if (strlen(text) > 4 || strspn(text, "01234567") != strlen(text) || end == text)
		return err_set(err, ERR_INPUT, "permission: \"%s\" is not octal", text);
	*permission = (unsigned)value;
	return 0;
}

static int read_type(const json_t *object, bool *is_directory, struct err *err)
{
	char *text cleanup_free = NULL;

	if (json_need_text(object, "type", &text, err) < 0)
		return -1;
	*is_directory = strcmp(text, "DIRECTORY") == 0;
	if (*is_directory || strcmp(text, "FILE") == 0 || strcmp(text, "SYMLINK") == 0)
		return 0;
	return err_set(err, ERR_INPUT, "type: \"%s\" is not known", text);
}

static int read_members(const json_t *object, struct webhdfs_file *file, struct err *err)
{
	if (read_type(object, &file->is_directory, err) < 0 ||
	    json_need_text(object, "pathSuffix", &file->name, err) < 0 ||
	    json_need_int(object, "length", 0, INT64_MAX, &file->length, err) < 0 ||
	    json_need_int(object, "modificationTime", 0, INT64_MAX, &file->modified_ms, err) < 0 ||
	    json_read_int(object, "accessTime", 0, INT64_MAX, &file->accessed_ms, err) < 0 ||
	    json_read_int(object, "fileId", 0, INT64_MAX, &file->inode, err) < 0 ||
	    json_need_text(object, "owner", &file->owner, err) < 0 ||
	    json_need_text(object, "group", &file->group, err) < 0)
		return -1;
	return read_permission(object, &file->permission, err);
}

static int read_file(const json_t *object, struct webhdfs_file *file, struct err *err)
{
	*file = (struct webhdfs_file){0};
	if (read_members(object, file, err) == 0)
		return 0;
	webhdfs_file_finish(file);
	return -1;
}

int webhdfs_answer_file(const struct webhdfs_question *question, const char *body, size_t length,
			struct webhdfs_file *file, struct err *err)
{
	json_t *answer cleanup_json = json_parse(body, length, err);

	if (!answer || read_file(json_object_get(answer, "FileStatus"), file, err) < 0)
		return err_answer(question, err);
	return 0;
}

/* A name leads to nothing but what is in the directory. */
static int check_name(const struct webhdfs_file *file, size_t count, struct err *err)
{
	if ((file->name[0] == '\0' && count > 1) || strchr(file->name, '/') ||
	    strcmp(file->name, ".") == 0 || strcmp(file->name, "..") == 0)
		return err_set(err, ERR_INPUT, "pathSuffix: \"%s\" is not the name of a file",
			       file->name);
	return 0;
}

static int visit_file(const json_t *object, size_t count,
		      void (*visit)(void *data, const struct webhdfs_file *file), void *data,
		      struct err *err)
{
	struct webhdfs_file file cleanup_webhdfs_file = {0};

	if (read_file(object, &file, err) < 0 || check_name(&file, count, err) < 0)
		return -1;
	visit(data, &file);
	return 0;
}

static int visit_files(const json_t *list,
		       void (*visit)(void *data, const struct webhdfs_file *file), void *data,
		       struct err *err)
{
	if (!json_is_array(list))
		return err_set(err, ERR_INPUT, "FileStatuses.FileStatus: is not a list");
	for (size_t i = 0; i < json_array_size(list); i++)
		if (visit_file(json_array_get(list, i), json_array_size(list), visit, data, err) <
		    0)
			return -1;
	return 0;
}

static const json_t *list_of(const json_t *parent)
{
	return json_object_get(json_object_get(parent, "FileStatuses"), "FileStatus");
}

int webhdfs_answer_list(const struct webhdfs_question *question, const char *body, size_t length,
			void (*visit)(void *data, const struct webhdfs_file *file), void *data,
			struct err *err)
{
	json_t *answer cleanup_json = json_parse(body, length, err);

	if (!answer || visit_files(list_of(answer), visit, data, err) < 0)
		return err_answer(question, err);
	return 0;
}

int webhdfs_answer_batch(const struct webhdfs_question *question, const char *body, size_t length,
			 void (*visit)(void *data, const struct webhdfs_file *file), void *data,
			 int64_t *left, struct err *err)
{
	json_t *answer cleanup_json = json_parse(body, length, err);
	const json_t *listing = json_object_get(answer, "DirectoryListing");

	if (!answer || json_need_int(listing, "remainingEntries", 0, INT64_MAX, left, err) < 0 ||
	    visit_files(list_of(json_object_get(listing, "partialListing")), visit, data, err) < 0)
		return err_answer(question, err);
	return 0;
}

/* ---- blocks ------------------------------------------------------------------------------- */

/* Either {"hostName": "dn1", "ipAddr": "10.0.0.1", "xferPort": 9866, ...} or "dn1". */
static int read_place(const json_t *json, struct webhdfs_place *place, struct err *err)
{
	const json_t *name = json_is_string(json) ? json : json_object_get(json, "hostName");

	place->host = json_string_value(name);
	if (!place->host)
		return err_set(err, ERR_INPUT, "hostName: is missing");
	if (name == json)
		return 0;
	place->ip = json_string_value(json_object_get(json, "ipAddr"));
	return json_read_int(json, "xferPort", 0, 65535, &place->xfer_port, err) < 0 ||
			       json_read_int(json, "infoPort", 0, 65535, &place->http_port, err) <
				       0 ||
			       json_read_int(json, "infoSecurePort", 0, 65535, &place->https_port,
					     err) < 0
		       ? -1
		       : 0;
}

static int visit_block(const json_t *json, bool is_of_gateway,
		       void (*visit)(void *data, const struct webhdfs_block *block), void *data,
		       struct err *err)
{
	const json_t *places = json_object_get(json, is_of_gateway ? "hosts" : "locations");
	struct webhdfs_place *read cleanup_free =
		mem_alloc_array(json_array_size(places) + 1, sizeof(*read));
	struct webhdfs_block block = {.places = read, .place_count = json_array_size(places)};

	for (size_t i = 0; i < block.place_count; i++)
		if (read_place(json_array_get(places, i), &read[i], err) < 0)
			return -1;
	const json_t *length = is_of_gateway ? json : json_object_get(json, "block");
	if (json_need_int(json, is_of_gateway ? "offset" : "startOffset", 0, INT64_MAX,
			  &block.offset, err) < 0 ||
	    json_need_int(length, is_of_gateway ? "length" : "numBytes", 0, INT64_MAX,
			  &block.length, err) < 0)
		return -1;
	visit(data, &block);
	return 0;
}

int webhdfs_answer_blocks(const struct webhdfs_question *question, const char *body, size_t length,
			  void (*visit)(void *data, const struct webhdfs_block *block), void *data,
			  struct err *err)
{
	json_t *answer cleanup_json = json_parse(body, length, err);
	bool is_of_gateway = question->op == WEBHDFS_GETFILEBLOCKLOCATIONS;
	const json_t *top =
		json_object_get(answer, is_of_gateway ? "BlockLocations" : "LocatedBlocks");
	const json_t *list =
		json_object_get(top, is_of_gateway ? "BlockLocation" : "locatedBlocks");

	if (!answer)
		return err_answer(question, err);
	if (!json_is_array(list)) {
		err_set(err, ERR_INPUT, "locatedBlocks: is not a list");
		return err_answer(question, err);
	}
	for (size_t i = 0; i < json_array_size(list); i++)
		if (visit_block(json_array_get(list, i), is_of_gateway, visit, data, err) < 0)
			return err_answer(question, err);
	return 0;
}

/* ---- the rest ----------------------------------------------------------------------------- */

int webhdfs_answer_attributes(const struct webhdfs_question *question, const char *body,
			      size_t length,
			      void (*visit)(void *data, const char *name, const char *value),
			      void *data, struct err *err)
{
	json_t *answer cleanup_json = json_parse(body, length, err);

	if (!answer)
		return err_answer(question, err);
	const json_t *list = json_object_get(answer, "XAttrs");
	if (!json_is_array(list)) {
		err_set(err, ERR_INPUT, "XAttrs: is not a list");
		return err_answer(question, err);
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *attribute = json_array_get(list, i);
		char *name cleanup_free = NULL, *value cleanup_free = NULL;
		/* One without a value has none. */
		if (json_need_text(attribute, "name", &name, err) < 0 ||
		    json_read_text(attribute, "value", &value, err) < 0)
			return err_answer(question, err);
		visit(data, name, value ? value : "0x");
	}
	return 0;
}

bool webhdfs_attribute_decode(const char *value, struct str *bytes)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	long length;

	if (!str_starts_with(value, "0x") || strspn(value + 2, digits) != strlen(value + 2))
		return false;
	unsigned char *decoded = OPENSSL_hexstr2buf(value + 2, &length);
	if (decoded)
		str_append_bytes(bytes, (const char *)decoded, (size_t)length);
	OPENSSL_free(decoded);
	return decoded;
}

char *webhdfs_attribute_encode(const void *bytes, size_t length)
{
	size_t size = 2 * length + 1;
	char *digits cleanup_free = mem_alloc(size);

	if (!OPENSSL_buf2hexstr_ex(digits, size, NULL, bytes, (long)length, '\0'))
		BUG("%zu bytes do not hold it", size);
	return mem_printf("0x%s", digits);
}

int webhdfs_answer_boolean(const struct webhdfs_question *question, const char *body, size_t length,
			   bool *value, struct err *err)
{
	json_t *answer cleanup_json = json_parse(body, length, err);

	if (!answer)
		return err_answer(question, err);
	const json_t *member = json_object_get(answer, "boolean");
	if (!json_is_boolean(member)) {
		err_set(err, ERR_INPUT, "boolean: is missing");
		return err_answer(question, err);
	}
	*value = json_is_true(member);
	return 0;
}

int webhdfs_answer_token(const struct webhdfs_question *question, const char *body, size_t length,
			 struct hadoop_token *token, struct err *err)
{
	json_t *answer cleanup_json = json_parse(body, length, err);
	const json_t *text = json_object_get(json_object_get(answer, "Token"), "urlString");

	if (!answer)
		return err_answer(question, err);
	if (!json_is_string(text)) {
		err_set(err, ERR_INPUT, "Token: has no urlString");
		return err_answer(question, err);
	}
	return token_from_url_string(token, json_string_value(text), err) < 0
		       ? err_answer(question, err)
		       : 0;
}

char *webhdfs_answer_location(const struct webhdfs_question *question, const char *body,
			      size_t length, struct err *err)
{
	json_t *answer cleanup_json = json_parse(body, length, err);
	char *location = NULL;

	if (!answer || json_need_text(answer, "Location", &location, err) < 0)
		err_answer(question, err);
	return location;
}

int webhdfs_answer_room(const char *body, size_t length, struct webhdfs_room *room)
{
	json_t *answer cleanup_json = json_parse(body, length, NULL);
	const json_t *bean = json_array_get(json_object_get(answer, "beans"), 0);

	if (!bean ||
	    json_need_int(bean, "CapacityRemaining", 0, INT64_MAX, &room->left, NULL) < 0 ||
	    json_need_int(bean, "CapacityTotal", 0, INT64_MAX, &room->total, NULL) < 0)
		return -1;
	return json_need_int(bean, "NumLiveDataNodes", 0, INT64_MAX, &room->data_nodes, NULL);
}
