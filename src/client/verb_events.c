#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "base/mem.h"
#include "client/event_text.h"
#include "client/opened.h"
#include "client/report.h"
#include "client/verbs.h"

struct events_options {
	bool follow;
	bool json;
	int64_t since;
};

static const struct opt options[] = {
	OPT_ROW("follow", struct events_options, follow, "go on until the job ends", .letter = 'f'),
	OPT_ROW("since", struct events_options, since, "begin with sequence number N",
		.argument = "N", .min = 1, .max = INT64_MAX),
	OPT_ROW("json", struct events_options, json,
		"the journal's own lines, one JSON object each (docs/json.md)"),
};

static void print_for_people(const struct journal_line *line, const json_t *record)
{
	char *text cleanup_free = event_text(line->time_ms, record);

	fputs(text, stdout);
}

static int on_line(void *data, const struct journal_line *line, struct err *err)
{
	const struct events_options *chosen = data;

	if (chosen->json) {
		char *text cleanup_free = mem_strndup(line->text, line->length);
		report_text(text);
	} else {
		json_t *record cleanup_json = journal_line_record(line, err);
		if (!record)
			return -1;
		print_for_people(line, record);
	}
	if (chosen->follow)
		fflush(stdout);
	return 0;
}

static int print_events(void *data, const struct verb_call *call, struct err *err)
{
	struct events_options *chosen = data;

	if (opened_rewind(call->opened, chosen->since, err) < 0)
		return -1;
	if (chosen->follow)
		return opened_follow(call->opened, -1, on_line, chosen, err) < 0 ? -1 : 0;
	return opened_read(call->opened, on_line, chosen, err);
}

const struct verb verb_events = {
	.options =
		{
			.verb = "events",
			.usage = "tony events [OPTIONS] [JOB]",
			.summary = "print what happened to a job, in order",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct events_options),
	.defaults = &(const struct events_options){.since = 1},
	.operands = VERB_JOB_ANY,
	.run = print_events,
};
