/* tony renew: others in place of the tokens by which a job's processes ask other services. */
#include <stdio.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/opened.h"
#include "client/verbs.h"

/* The AM tells of the tokens that the job has, before any are got for no AM. The caller releases
 * the answer. */
static json_t *ask_present(struct opened *opened, struct err *err)
{
	if (opened->view->is_final)
		opened_say_ended(opened, err);
	else if (!opened->ops->traits->has_tokens)
		err_set(err, ERR_USAGE, "%s has no delegation tokens", opened->id);
	else
		return opened_ask_soon(opened, "GET", "/v1/job/tokens", NULL, err);
	return NULL;
}

static int64_t time_of(const json_t *tokens, const char *member)
{
	return json_integer_value(json_object_get(tokens, member));
}

/* The AM refuses the very tokens that the job has. */
static bool end_sooner(const struct scheduler_tokens *new, int64_t good_until_ms,
		       const json_t *present)
{
	bool are_same = new->issued_ms == time_of(present, "issued_ms") &&
			new->ends_ms == time_of(present, "ends_ms");

	return !are_same && good_until_ms < time_of(present, "good_until_ms");
}

/* cron goes on calling: it is no failure. */
static void tell_kept(const struct opened *opened, int64_t good_until_ms, const json_t *present)
{
	char *until cleanup_free = str_format_time(time_of(present, "good_until_ms"));
	char *sooner cleanup_free = str_format_time(good_until_ms);

	printf("%s keeps its delegation tokens: they are good until %s%s, and new ones would end "
	       "at about %s\n",
	       opened->id, until,
	       str_equal(json_string_value(json_object_get(present, "renewed_by")), "scheduler")
		       ? ", as the scheduler renews them"
		       : "",
	       sooner);
}

static void tell_new(const struct opened *opened, const struct str_list *names,
		     const struct scheduler_tokens *new, int64_t good_until_ms)
{
	char *list cleanup_free = str_list_join(names, ", ");
	char *until cleanup_free = str_format_time(good_until_ms);

	if (new->first)
		printf("%s has new delegation tokens, good until about %s: %s\nNobody renews them: "
		       "run tony renew again before then\n",
		       opened->id, until, list);
	else
		printf("%s has new delegation tokens: %s\n", opened->id, list);
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
	struct scheduler_tokens new = {0};
	json_t *present cleanup_json = ask_present(opened, err);

	if (!present || opened->ops->renew(opened->view->job, &tokens, &names, err) < 0)
		return -1;
	scheduler_tokens_look_at(opened->view->job, &tokens, &new);
	char *first cleanup_free = new.first;
	int64_t good_until_ms = scheduler_tokens_good_until(&new, false);
	if (first && end_sooner(&new, good_until_ms, present)) {
		tell_kept(opened, good_until_ms, present);
		return 0;
	}
	if (send_tokens(opened, &tokens, err) < 0)
		return -1;
	tell_new(opened, &names, &new, good_until_ms);
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
				"them to the job's running processes, unless those that the job "
				"has "
				"are good for longer. Nobody renews the new ones: they are good "
				"for "
				"a day unless the cluster says otherwise "
				"(dfs.namenode.delegation.token.renew-interval), so call it again "
				"before then, as by cron.",
		},
	.operands = VERB_JOB,
	.run = renew,
};
