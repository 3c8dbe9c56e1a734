#include "hadoop/node_log.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "hadoop/spnego.h"
#include "net/http_url.h"

#define LIST_TIMEOUT_MS 20000
#define NAME_CAP	4096

/* ---- the list ----------------------------------------------------------------------------- */

static void add_names(const json_t *files, struct str_list *names)
{
	for (size_t i = 0; i < json_count_of(files); i++) {
		const char *name =
			json_string_value(json_object_get(json_item_of(files, i), "fileName"));
		if (name && *name && strlen(name) <= NAME_CAP && !strchr(name, '/') &&
		    !str_list_has(names, name))
			str_list_add(names, name);
	}
}

int node_log_parse_list(const char *body, size_t length, struct str_list *names, struct err *err)
{
	json_t *answer = json_loadb(body, length, JSON_REJECT_DUPLICATES, NULL);
	const json_t *infos = json_object_get(answer, "containerLogsInfo");

	if (!json_is_object(infos) && !json_is_array(infos)) {
		json_decref(answer);
		return err_set(err, ERR_INPUT, "this is no list of a container's logs");
	}
	for (size_t i = 0; i < json_count_of(infos); i++)
		add_names(json_object_get(json_item_of(infos, i), "containerLogInfo"), names);
	json_decref(answer);
	return 0;
}

/* ---- a file ------------------------------------------------------------------------------- */

/* The number behind "LogLength:" at the beginning of a line of the head. */
static int find_length(const char *head, int64_t *length)
{
	static const char mark[] = "\nLogLength:";
	const char *at = strstr(head, mark);

	if (!at)
		return -1;
	at += sizeof(mark) - 1;
	char *digits cleanup_free = mem_strndup(at, strcspn(at, "\n"));
	return str_parse_int(digits, 0, INT64_MAX, length);
}

/* Where the file's bytes begin behind the head; 0: the head goes on. */
static size_t find_content(const char *head, size_t length)
{
	static const char *const marks[] = {"\nLogContents:\n", "\nLog Contents:\n"};

	for (size_t i = 0; i < array_length(marks); i++) {
		const char *at = memmem(head, length, marks[i], strlen(marks[i]));
		if (at)
			return (size_t)(at - head) + strlen(marks[i]);
	}
	return 0;
}

static int say_strange(struct err *err)
{
	return err_set(err, ERR_INPUT, "the answer is no container's log");
}

/* Completes the head; *used is how much of the piece belongs to it. */
static int take_head(struct node_log_frame *frame, const char *bytes, size_t length, size_t *used,
		     struct err *err)
{
	size_t before = frame->head.length;
	size_t room = NODE_LOG_HEAD_CAP - before;

	*used = length < room ? length : room;
	str_append_bytes(&frame->head, bytes, *used);
	size_t content = find_content(str_text(&frame->head), frame->head.length);
	if (content == 0)
		return frame->head.length < NODE_LOG_HEAD_CAP ? 0 : say_strange(err);
	*used = content - before;
	frame->is_content = true;
	str_truncate(&frame->head, content);
	return find_length(frame->head.text, &frame->left) < 0 ? say_strange(err) : 0;
}

int node_log_frame_take(struct node_log_frame *frame, const char *bytes, size_t length,
			const char **content, size_t *content_length, struct err *err)
{
	size_t used = 0;

	if (!frame->is_content && take_head(frame, bytes, length, &used, err) < 0)
		return -1;
	*content = bytes + used;
	*content_length = 0;
	if (!frame->is_content)
		return 0;
	*content_length = length - used;
	if ((int64_t)*content_length > frame->left)
		*content_length = (size_t)frame->left;
	frame->left -= (int64_t)*content_length;
	return 0;
}

void node_log_frame_finish(struct node_log_frame *frame)
{
	str_finish(&frame->head);
}

/* ---- asking ------------------------------------------------------------------------------- */

static void append_user(struct str *target, const struct node_log_question *question)
{
	if (!question->user)
		return;
	str_append(target, "?user.name=");
	http_url_encode(target, question->user, "");
}

int node_log_list(const struct node_log_question *question, struct str_list *names, struct err *err)
{
	struct str target cleanup_str = {0};
	struct str body cleanup_str = {0};

	str_append(&target, "/ws/v1/node/containers/");
	http_url_encode(&target, question->container, "");
	str_append(&target, "/logs");
	append_user(&target, question);
	if (http_get(&question->site, str_text(&target), LIST_TIMEOUT_MS, NODE_LOG_LIST_CAP, NULL,
		     &body, err) == 0 &&
	    node_log_parse_list(str_text(&body), body.length, names, err) == 0)
		return 0;
	spnego_explain(&question->site, err);
	return err_wrap(err, "NodeManager %s, logs of %s", question->site.address,
			question->container);
}

struct fetch {
	struct node_log_frame frame;
	int fd;
	struct err err;
};

static bool on_bytes(void *data, const char *bytes, size_t length)
{
	struct fetch *fetch = data;
	const char *content;
	size_t content_length;

	if (node_log_frame_take(&fetch->frame, bytes, length, &content, &content_length,
				&fetch->err) < 0 ||
	    fs_write_all(fetch->fd, content, content_length, &fetch->err) < 0)
		return false;
	return !fetch->frame.is_content || fetch->frame.left > 0;
}

static int fetch_to(struct fetch *fetch, const struct node_log_question *question,
		    const char *target, struct err *err)
{
	if (http_stream(&question->site, target, 0, on_bytes, fetch, err) < 0)
		return -1;
	if (fetch->err.kind != ERR_NONE)
		return err_copy(err, &fetch->err);
	return fetch->frame.is_content ? 0 : say_strange(err);
}

int node_log_fetch(const struct node_log_question *question, const char *name, int fd,
		   struct err *err)
{
	struct str target cleanup_str = {0};
	struct fetch fetch = {.fd = fd};

	str_append(&target, "/ws/v1/node/containerlogs/");
	http_url_encode(&target, question->container, "");
	str_append_char(&target, '/');
	http_url_encode(&target, name, "");
	append_user(&target, question);
	int result = fetch_to(&fetch, question, str_text(&target), err);
	node_log_frame_finish(&fetch.frame);
	err_finish(&fetch.err);
	if (result == 0)
		return 0;
	spnego_explain(&question->site, err);
	return err_wrap(err, "NodeManager %s, %s of %s", question->site.address, name,
			question->container);
}
