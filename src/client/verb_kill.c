#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "client/opened.h"
#include "client/report.h"
#include "client/verbs.h"

#define END_TIMEOUT_MS 60000

struct kill_options {
	bool force;
	char *reason;
};

static const struct opt options[] = {
	{.name = "force",
	 .kind = OPT_FLAG,
	 .offset = offsetof(struct kill_options, force),
	 .help = "end its processes with SIGKILL, without asking the application master"},
	{.name = "reason",
	 .kind = OPT_TEXT,
	 .offset = offsetof(struct kill_options, reason),
	 .argument = "TEXT",
	 .help = "kept in the job's history"},
};

const struct opt_table verb_kill_options = {
	.verb = "kill",
	.usage = "tony kill [OPTIONS] JOB",
	.summary = "end a job",
	.description = "The job's programs get SIGTERM, and SIGKILL when their grace "
		       "(tony.<type>.stop-grace) is over. Returns when the job has ended.",
	.options = options,
	.option_count = array_length(options),
};

static int ask_to_end(struct opened *opened, const char *reason, struct err *err)
{
	json_t *body cleanup_json = json_object();
	json_set_text(body, "reason", reason);
	char *text cleanup_free = json_text(body);
	json_t *answer cleanup_json = opened_ask(opened, "POST", "/v1/job/kill", text, err);
	if (!answer)
		return err_wrap(err, "%s; --force ends it all the same", opened->id);
	return 0;
}

static int kill_job(const struct kill_options *chosen, const struct str_list *operands,
		    struct err *err)
{
	struct opened opened cleanup_opened = {0};
	const char *id;
	if (report_one_operand(&verb_kill_options, operands, &id, err) < 0)
		return -1;
	if (!id)
		return err_set(err, ERR_USAGE, "which job? usage: %s; see tony list",
			       verb_kill_options.usage);
	if (opened_find(&opened, id, err) < 0)
		return -1;
	if (opened.view->is_final)
		return err_set(err, ERR_FAILED, "%s has already ended: %s", opened.id,
			       job_state_name(opened.view->state));
	if (chosen->force ? opened.ops->kill(&opened.door, err) < 0
			  : ask_to_end(&opened, chosen->reason, err) < 0)
		return -1;
	int final = opened_follow(&opened, END_TIMEOUT_MS, NULL, NULL, err);
	if (final == 0)
		return err_set(err, ERR_FAILED, "%s is ending, but has not ended yet", opened.id);
	if (final > 0)
		printf("%s %s\n", opened.id, job_state_name(opened.view->state));
	return final < 0 ? -1 : 0;
}

int verb_kill(int argc, char **argv)
{
	struct err err cleanup_err = {0};
	struct kill_options chosen = {0};
	struct str_list operands cleanup_str_list = {0};
	int code = 0;
	if (report_parse(&verb_kill_options, argc, argv, &chosen, &operands, &code) &&
	    kill_job(&chosen, &operands, &err) < 0)
		code = report_error(&err);
	opt_finish(&verb_kill_options, &chosen);
	return code;
}
