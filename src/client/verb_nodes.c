/* tony nodes: the machines, and what of them is free. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "client/exit_code.h"
#include "client/report.h"
#include "client/resources_table.h"
#include "client/schedulers.h"
#include "client/verbs.h"

struct nodes_options {
	bool json, free;
	char *scheduler;
	struct str_list labels;
};

static const struct opt options[] = {
	OPT_ROW("free", struct nodes_options, free,
		"only the nodes that could give a container now", .letter = 'f'),
	OPT_ROW("label", struct nodes_options, labels,
		"the nodes with this label; repeated: with any of them", .letter = 'l',
		.argument = "LABEL"),
	OPT_ROW("scheduler", struct nodes_options, scheduler,
		"of this scheduler, instead of the one that jobs go to",
		.completion = OPT_COMPLETE_SCHEDULER, .argument = "NAME"),
	OPT_ROW("json", struct nodes_options, json, "as JSON (docs/json.md)"),
};

static void print(const struct resources_choice *choice, const struct scheduler_nodes *nodes,
		  bool as_json)
{
	struct str text cleanup_str = {0};

	if (as_json) {
		report_json(resources_json_nodes(choice, nodes));
		return;
	}
	resources_table_nodes(choice, nodes, report_width(stdout), &text);
	fputs(str_text(&text), stdout);
	if (text.length == 0 && choice->names->count == 0)
		fputs("No node matches.\n", stderr);
}

static bool has_node(const void *all, const char *name)
{
	const struct scheduler_nodes *nodes = all;

	for (size_t i = 0; i < nodes->count; i++)
		if (str_equal(nodes->items[i].name, name))
			return true;
	return false;
}

static int run(void *data, const struct verb_call *call, struct err *err)
{
	const struct nodes_options *chosen = data;
	struct scheduler_nodes nodes cleanup_scheduler_nodes = {0};
	struct resources_choice choice = {
		.names = call->operands, .labels = &chosen->labels, .free_only = chosen->free};

	choice.scheduler = schedulers_choose(chosen->scheduler, NULL, err);
	if (!choice.scheduler || choice.scheduler->nodes(&nodes, err) < 0)
		return -1;
	print(&choice, &nodes, chosen->json);
	return resources_miss("node", call->operands, has_node, &nodes) ? EXIT_CODE_NOT_FOUND
									: EXIT_CODE_OK;
}

const struct verb verb_nodes = {
	.options =
		{
			.verb = "nodes",
			.usage = "tony nodes [OPTIONS] [NODE...]",
			.summary = "list the machines, and what of them is free",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct nodes_options),
	.run = run,
};
