#include <stdio.h>

#include "base/json.h"
#include "base/mem.h"
#include "client/report.h"
#include "client/verbs.h"
#include "history/summary.h"
#include "job/job.h"

#define REST_VERSION 1 /* of docs/rest.md, in its paths: /v1 */

struct version_options {
	bool json;
};

static const struct opt options[] = {
	OPT_ROW("json", struct version_options, json, "as JSON (docs/json.md)"),
};

static int run(void *data, const struct verb_call *call, struct err *err)
{
	const struct version_options *chosen = data;

	if (!chosen->json) {
		puts("tony " TONY_VERSION);
		return 0;
	}
	json_t *object = json_object();
	json_set_text(object, "version", TONY_VERSION);
	json_set_text(object, "linked", TONY_LINKED);
	json_set_int(object, "rest", REST_VERSION);
	json_set_int(object, "job_format", JOB_FORMAT);
	json_set_int(object, "job_format_oldest", JOB_FORMAT_OLDEST);
	json_set_int(object, "history_format", HISTORY_SUMMARY_FORMAT);
	report_json(object);
	return 0;
}

const struct verb verb_version = {
	.options =
		{
			.verb = "version",
			.usage = "tony version [--json]",
			.summary = "print the version",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct version_options),
	.operands = VERB_NONE,
	.run = run,
};
