/* The audit lines of what people ask of the job. Calls of executors and browsers have none,
 * unless they are refused. */
#include <stdlib.h>
#include <string.h>

#include "am/api_internal.h"
#include "base/clock.h"
#include "base/mem.h"
#include "net/http_message.h"
#include "web/access.h"
#include "web/ui_head.h"

#define ORDERER_BYTES 255

/* Programs of the job have the token, too, so this is believed of the owner and of no one else. */
static const char *spoken_for(const struct http_request *request)
{
	const char *user = http_request_access(request) == HTTP_ACCESS_ALL
				   ? http_request_header(request, UI_ORDERER_HEADER)
				   : NULL;

	return user && *user && strlen(user) <= ORDERER_BYTES ? user : NULL;
}

const char *api_orderer(const struct http_request *request)
{
	const char *user = spoken_for(request);

	return user ? user : http_request_user(request);
}

void api_audit(struct api *api, const struct http_request *request, const char *action,
	       const char *outcome, const char *detail)
{
	char *address cleanup_free = http_request_peer(request);
	const char *user = http_request_user(request), *for_user = spoken_for(request);
	char *words cleanup_free = for_user ? mem_printf("for %s%s%s", for_user, detail ? ": " : "",
							 detail ? detail : "")
					    : mem_strdup(detail);

	audit_write(&(struct audit_line){
		.user = user ? user : api->host.job->user,
		.address = address,
		.proof = user						   ? "scheduler"
			 : http_request_access(request) == HTTP_ACCESS_ALL ? "token"
									   : "control",
		.action = action,
		.job = api->host.job->id,
		.outcome = outcome,
		.detail = words,
	});
}

static const char *action_of(const struct http_request *request, const char *path)
{
	static const struct {
		const char *end, *action;
	} actions[] = {
		{"/v1/job/kill", "kill"},    {"/v1/job/scale", "scale"},
		{"/v1/job/tokens", "renew"}, {"/restart", "restart"},
		{"/exec", "exec"},	     {"/port-forward", "port-forward"},
	};

	if (web_request_looks(request))
		return "view";
	for (size_t i = 0; i < array_length(actions); i++)
		if (str_ends_with(path, actions[i].end))
			return actions[i].action;
	return "change";
}

/* For a user who has proven who he is; NULL: nobody has. */
static char *word_refusal(const struct api *api, const struct http_request *request)
{
	const struct job *job = api->host.job;
	const char *user = http_request_user(request);

	if (!user)
		return NULL;
	if (http_request_need(request) == HTTP_ACCESS_CONTROL)
		return mem_printf("%s may not change %s: tony.application.acl.modify of the job "
				  "does not name this user",
				  user, job->id);
	if (http_request_need(request) == HTTP_ACCESS_READ && web_request_looks(request))
		return mem_printf("%s may not look at %s: tony.application.acl.view of the job "
				  "does not name this user",
				  user, job->id);
	return mem_printf("%s may not do this to %s: it is for its owner, %s, alone", user, job->id,
			  job->user);
}

char *api_audit_refusal(void *data, const struct http_request *request)
{
	struct api *api = data;
	const struct http_head *head = http_request_head(request);
	char *address cleanup_free = http_request_peer(request);
	struct viewer viewer cleanup_viewer = viewers_identify(api->viewers, request);
	/* A query may hold what is nobody's business. */
	char *path cleanup_free = mem_strndup(head->target, strcspn(head->target, "?"));
	char *detail cleanup_free = mem_printf("%s %s", head->method, path);

	audit_refuse(api->refusals,
		     &(struct audit_line){
			     .user = viewer.user,
			     .address = address,
			     .proof = http_head_find(head, "Authorization") ? "wrong-token"
									    : viewer.proof,
			     .action = action_of(request, path),
			     .job = api->host.job->id,
			     .outcome = "refused",
			     .detail = detail,
		     },
		     clock_monotonic_ms());
	return word_refusal(api, request);
}
