/* The AM of another user's job, to which the ResourceManager names this user: the token in the
 * job's report proves it (hadoop/client_token.h), by TLS alone. The AM tells all that is
 * known of such a job. */
#include <stdlib.h>

#include "base/mem.h"
#include "hadoop/client_token.h"
#include "net/http_client.h"
#include "net/socket_owner.h"
#include "scheduler/yarn_client.h"

#define DESCRIBE_TIMEOUT_MS 10000

bool yarn_named_prove(const Hadoop__ApplicationReportProto *report, struct job_door *door)
{
	const Hadoop__TokenProto *token = report ? report->client_to_am_token : NULL;

	if (!token)
		return false;
	mem_free_secret(door->token);
	door->token = client_token_password(token);
	mem_replace(&door->identity, client_token_identity(token));
	door->is_sealed = true;
	door->owner = SOCKET_OWNER_ANY;
	return true;
}

/* 1: the AM is not there, or knows nobody by name. */
static int ask(const struct job_door *am, struct str *text, struct err *err)
{
	struct err silence cleanup_err = {0};
	int status;

	if (job_door_call(am, "GET", "/v1/description", NULL, DESCRIBE_TIMEOUT_MS, &status, text,
			  &silence) < 0)
		return silence.kind == ERR_INTERRUPTED ? err_copy(err, &silence) : 1;
	return http_response_check(status, str_text(text), text->length, err);
}

int yarn_named_describe(const Hadoop__ApplicationReportProto *report, const char *mirror,
			struct err *err)
{
	struct job_door am cleanup_job_door = {.address = yarn_am_address(report)};
	struct str text cleanup_str = {0};

	if (!am.address || !yarn_named_prove(report, &am))
		return 1;
	int result = ask(&am, &text, err);
	if (result != 0)
		return result;
	struct job *job = job_from_text(str_text(&text), text.length, err);
	if (!job)
		return -1;
	mem_replace(&job->user, mem_strdup(report->user));
	result = yarn_kept_write(mirror, job, false, err);
	job_destroy(job);
	return result;
}
