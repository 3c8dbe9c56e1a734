#include "hadoop/rm_web.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "hadoop/site.h"
#include "net/http_client.h"
#include "net/http_url.h"

#define DEPTH_CAP 32

/* ---- asking ------------------------------------------------------------------------------- */

static bool gather(void *data, const char *bytes, size_t length)
{
	struct str *body = data;

	str_append_bytes(body, bytes, length);
	return body->length <= RM_WEB_CAP;
}

/* The first answer of those that are asked. */
static int ask(const struct rm_web *web, const char *path, struct str *body, struct err *err)
{
	int result = -1;

	for (size_t i = 0; i < web->addresses->count && result < 0; i++) {
		const char *whole = web->addresses->items[i];
		const char *scheme = strstr(whole, "://");
		if (err)
			err_finish(err);
		str_truncate(body, 0);
		result = http_stream(scheme ? scheme + 3 : whole, web->tls, path, web->timeout_ms,
				     gather, body, err);
	}
	return result;
}

int rm_web_conf(const struct rm_web *web, const char *key, char **value)
{
	struct str path cleanup_str = {0};
	struct str body cleanup_str = {0};
	struct err err cleanup_err = {0};

	*value = NULL;
	str_append(&path, "/conf?name=");
	http_url_encode(&path, key, "");
	if (ask(web, str_text(&path), &body, &err) < 0)
		return err.kind == ERR_NOT_FOUND ? 0 : -1;
	struct hadoop_site *site cleanup_hadoop_site =
		hadoop_site_parse(str_text(&body), body.length, "/conf", NULL);
	if (!site)
		return -1;
	*value = mem_strdup(hadoop_site_get(site, key));
	return 0;
}

json_t *rm_web_scheduler(const struct rm_web *web, struct err *err)
{
	struct str body cleanup_str = {0};

	return ask(web, "/ws/v1/cluster/scheduler", &body, err) < 0
		       ? NULL
		       : json_parse(str_text(&body), body.length, err);
}

/* ---- queues ------------------------------------------------------------------------------- */

static const json_t *info_of(const json_t *scheduler)
{
	return json_object_get(json_object_get(scheduler, "scheduler"), "schedulerInfo");
}

static const char *text_of(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

bool rm_web_is_fair(const json_t *scheduler)
{
	return str_equal(text_of(info_of(scheduler), "type"), "fairScheduler");
}

/* Before Hadoop 3.3 only the first way, and that only tells. */
static enum rm_web_making making_of(const json_t *queue)
{
	const char *eligibility = text_of(queue, "autoCreationEligibility");

	if (json_is_true(json_object_get(queue, "autoCreateChildQueueEnabled")) ||
	    str_equal(eligibility, "legacy"))
		return RM_WEB_MAKES_MAPPED;
	return str_equal(eligibility, "flexible") ? RM_WEB_MAKES_ANY : RM_WEB_MAKES_NONE;
}

static void describe(const json_t *json, struct rm_web_queue *queue)
{
	const json_t *factor = json_object_get(json, "userLimitFactor");

	*queue = (struct rm_web_queue){
		.is_parent = !json_is_number(factor),
		.user_limit_factor = json_is_number(factor) ? json_number_value(factor) : -1,
		.makes = making_of(json),
	};
}

static const json_t *find(const json_t *queue, const char *path, int depth)
{
	size_t length = strcspn(path, ".");
	const char *name = text_of(queue, "queueName");
	const char *dot = name ? strrchr(name, '.') : NULL;
	const char *own = dot ? dot + 1 : name;
	const json_t *children = json_object_get(json_object_get(queue, "queues"), "queue");
	const json_t *found = NULL;

	if (!own || strlen(own) != length || strncmp(own, path, length) != 0 || depth > DEPTH_CAP)
		return NULL;
	if (!path[length])
		return queue;
	for (size_t i = 0; !found && i < json_count_of(children); i++)
		found = find(json_item_of(children, i), path + length + 1, depth + 1);
	return found;
}

bool rm_web_find_queue(const json_t *scheduler, const char *path, struct rm_web_queue *queue)
{
	const json_t *found = find(info_of(scheduler), path, 0);

	if (found)
		describe(found, queue);
	return found;
}
