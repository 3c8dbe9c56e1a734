/* tony renew: others in place of the tokens by which a job's processes ask other services. */
#include <stdio.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/opened.h"
#include "client/verbs.h"

static int check(struct opened *opened, struct err *err)
{
	if (opened->view->is_final)
		return opened_say_ended(opened, err);
	if (!opened->ops->traits->has_tokens)
		return err_set(err, ERR_USAGE, "%s has no delegation tokens", opened->id);
	/* Before any are got for no AM. */
	json_t *job = opened_ask_soon(opened, "GET", "/v1/job", NULL, err);
	json_decref(job);
	return job ? 0 : -1;
}

static int send_tokens(struct opened *opened, const struct str *tokens, struct err *err)
{
	json_t *body cleanup_json = json_object();
	char *bytes = base64_encode(tokens->text, tokens->length);

	json_set_text(body, "bytes", bytes);
	mem_free_secret(bytes);
	char *text = json_text(body);
	json_t *answer = opened_ask_soon(opened, "PUT", "/v1/job/tokens", text, err);
	mem_free_secret(text);
	json_decref(answer);
	/* Without an answer the AM may have taken them all the same. */
	if (answer || err->kind == ERR_UNREACHABLE || err->kind == ERR_INTERRUPTED)
		scheduler_client_leave_tokens();
	return answer ? 0 : -1;
}

static int renew(void *data, const struct verb_call *call, struct err *err)
{
	struct opened *opened = call->opened;
	struct str tokens cleanup_str_secret = {0};
	struct str_list names cleanup_str_list = {0};

	if (check(opened, err) < 0 ||
	    opened->ops->renew(opened->view->job, &tokens, &names, err) < 0 ||
	    send_tokens(opened, &tokens, err) < 0)
		return -1;
	char *list cleanup_free = str_list_join(&names, ", ");
	printf("%s has new delegation tokens: %s\n", opened->id, list);
	return 0;
}

const struct verb verb_renew = {
	.options =
		{
			.verb = "renew",
			.usage = "tony renew [JOB]",
			.jobs = OPT_JOBS_LIVE,
			.summary = "give a running job new delegation tokens",
			.description =
				"On a cluster with Kerberos a job reads and writes HDFS by "
				"delegation tokens, which end: by default 7 days after its "
				"submission. This gets others by your ticket or keytab, and brings "
				"them to the job's running processes. Those live as long as "
				"nobody renews them, by default a day "
				"(dfs.namenode.delegation.token.renew-interval): call it again "
				"before, as by cron.",
		},
	.operands = VERB_JOB,
	.run = renew,
};
