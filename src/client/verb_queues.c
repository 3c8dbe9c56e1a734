/* tony queues: the queues that jobs may go to, their limits, and what of these is used. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "client/exit_code.h"
#include "client/report.h"
#include "client/resources_table.h"
#include "client/schedulers.h"
#include "client/verbs.h"

struct queues_options {
	bool json;
	char *scheduler, *output;
	struct str_list queues, labels;
};

static const char *const outputs[] = {"wide", "json", "name", NULL};

static const struct opt options[] = {
	OPT_ROW("queue", struct queues_options, queues, "this queue, as QUEUE", .letter = 'q',
		.argument = "NAME", .completion = OPT_COMPLETE_QUEUE),
	OPT_ROW("label", struct queues_options, labels,
		"what they have of the nodes with this label; repeated: with any of them",
		.letter = 'l', .argument = "LABEL"),
	OPT_ROW("scheduler", struct queues_options, scheduler,
		"of this scheduler, instead of the one that jobs go to",
		.completion = OPT_COMPLETE_SCHEDULER, .argument = "NAME"),
	OPT_ROW("output", struct queues_options, output,
		"wide: all limits; json: as --json; name: the names alone, one a line",
		.letter = 'o', .argument = "FORM", .choices = outputs),
	OPT_ROW("json", struct queues_options, json, "as JSON (docs/json.md)"),
};

static void print_names(const struct resources_choice *choice,
			const struct scheduler_queues *queues)
{
	for (size_t i = 0; i < queues->count; i++)
		if (resources_choice_has_queue(choice, &queues->items[i]))
			puts(queues->items[i].name);
}

static void print(const struct resources_choice *choice, const struct scheduler_queues *queues,
		  const struct queues_options *chosen)
{
	struct str text cleanup_str = {0};

	if (chosen->json || str_equal(chosen->output, "json")) {
		report_json(resources_json_queues(choice, queues));
		return;
	}
	if (str_equal(chosen->output, "name")) {
		print_names(choice, queues);
		return;
	}
	resources_table_queues(choice, queues, report_width(stdout), &text);
	fputs(str_text(&text), stdout);
	if (text.length == 0 && choice->names->count == 0)
		fputs("No queue matches.\n", stderr);
}

static bool has_queue(const void *all, const char *name)
{
	const struct scheduler_queues *queues = all;

	for (size_t i = 0; i < queues->count; i++)
		if (scheduler_queue_is_called(&queues->items[i], name))
			return true;
	return false;
}

static int run(void *data, const struct verb_call *call, struct err *err)
{
	struct queues_options *chosen = data;
	struct scheduler_queues queues cleanup_scheduler_queues = {0};
	char *queue cleanup_free = NULL;
	struct resources_choice choice = {.names = &chosen->queues,
					  .labels = &chosen->labels,
					  .wide = str_equal(chosen->output, "wide")};

	if (chosen->json && chosen->output && !str_equal(chosen->output, "json"))
		return err_set(err, ERR_USAGE, "--json and --output %s contradict; give one",
			       chosen->output);
	str_list_copy(&chosen->queues, call->operands);
	choice.scheduler = schedulers_choose(chosen->scheduler, &queue, err);
	choice.queue = queue;
	if (!choice.scheduler || choice.scheduler->queues(&queues, err) < 0)
		return -1;
	print(&choice, &queues, chosen);
	return resources_miss("queue", &chosen->queues, has_queue, &queues) ? EXIT_CODE_NOT_FOUND
									    : EXIT_CODE_OK;
}

const struct verb verb_queues = {
	.options =
		{
			.verb = "queues",
			.usage = "tony queues [OPTIONS] [QUEUE...]",
			.summary = "list the queues: limits, what is in use, and what you may have",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct queues_options),
	.run = run,
};
