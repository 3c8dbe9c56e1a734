#include <stdio.h>

#include "base/json.h"
#include "base/mem.h"
#include "client/report.h"
#include "client/verbs.h"

struct version_options {
	bool json;
};

static const struct opt options[] = {
	{.name = "json",
	 .kind = OPT_FLAG,
	 .offset = offsetof(struct version_options, json),
	 .help = "as JSON (docs/json.md)"},
};

const struct opt_table verb_version_options = {
	.verb = "version",
	.usage = "tony version [--json]",
	.summary = "print the version",
	.options = options,
	.option_count = array_length(options),
};

int verb_version(int argc, char **argv)
{
	struct err err cleanup_err = {0};
	struct version_options chosen = {0};
	struct str_list operands cleanup_str_list = {0};
	int code;

	if (!report_parse(&verb_version_options, argc, argv, &chosen, &operands, &code))
		return code;
	if (report_no_operand(&verb_version_options, &operands, &err) < 0)
		return report_error(&err);
	if (!chosen.json) {
		puts("tony " TONY_VERSION);
		return 0;
	}
	json_t *object = json_object();
	json_set_text(object, "version", TONY_VERSION);
	report_json(object);
	return 0;
}
