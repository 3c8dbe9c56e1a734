/* tony run: several jobs of one file, each after those that it waits for. */
#include <stdio.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/pipeline.h"
#include "client/report.h"
#include "client/verbs.h"

static const struct opt options[] = {
	OPT_ROW("detach", struct pipeline_choice, detach,
		"print the pipeline's id and return; see tony wait, status, list", .letter = 'd'),
	OPT_ROW("from", struct pipeline_choice, from,
		"run NODE and those behind it again, with the results that the newest jobs of the "
		"others have left",
		.argument = "NODE"),
	OPT_ROW("dry-run", struct pipeline_choice, dry_run,
		"check all of it, and show what would run and what is cached"),
	OPT_ROW("conf", struct pipeline_choice, conf, "sets a key of each job; see tony-conf(5)",
		.argument = "KEY=VALUE", .completion = OPT_COMPLETE_KEY),
	OPT_ROW("json", struct pipeline_choice, json,
		"print the ended pipeline as JSON (docs/json.md)"),
};

static int check_options(const struct pipeline_choice *chosen, const struct verb_call *call,
			 struct err *err)
{
	const struct str_list *operands = call->operands;

	if (call->dashdash < operands->count)
		return err_set(err, ERR_USAGE,
			       "tony run has the jobs of a file; a command is for tony submit -- "
			       "%s ...",
			       operands->items[call->dashdash]);
	if (operands->count > 1)
		return err_set(
			err, ERR_USAGE,
			"one file of a pipeline at a time; did you mean tony submit? It runs a "
			"command: tony submit -- %s ...",
			operands->items[0]);
	if (operands->count == 1 && !fs_exists(operands->items[0]))
		return err_set(
			err, ERR_USAGE,
			"%s: there is no such file of a pipeline; did you mean tony submit? It "
			"runs a command",
			operands->items[0]);
	if (chosen->detach && chosen->dry_run)
		return err_set(err, ERR_USAGE, "--detach and --dry-run contradict; give one");
	if (operands->count == 0 && !fs_exists(PIPELINE_FILE))
		return err_set(err, ERR_CONFIG,
			       "there is no " PIPELINE_FILE " here; name a file, or see tony init "
			       "pipeline");
	return 0;
}

static int show_plan(const struct pipeline_run *run)
{
	struct str text cleanup_str = {0};

	if (run->choice->json) {
		report_json(pipeline_json(run));
		return EXIT_CODE_OK;
	}
	pipeline_table(run, report_width(stdout), &text);
	fputs(str_text(&text), stdout);
	return EXIT_CODE_OK;
}

static int run_pipeline(void *data, const struct verb_call *call, struct err *err)
{
	const struct pipeline_choice *chosen = data;
	const char *named = call->operands->count > 0 ? call->operands->items[0] : NULL;
	struct pipeline_run run __attribute__((cleanup(pipeline_run_finish))) = {
		.choice = chosen, .begun_ms = clock_wall_ms()};

	if (check_options(chosen, call, err) < 0 || pipeline_read(named, &run.pipeline, err) < 0)
		return -1;
	if (!named && !chosen->json)
		report_note("configuration: ./%s", PIPELINE_FILE);
	run.nodes = mem_alloc_array(run.pipeline.count, sizeof(*run.nodes));
	if (pipeline_plan(&run, err) < 0)
		return -1;
	return chosen->dry_run ? show_plan(&run) : pipeline_submit(&run, err);
}

const struct verb verb_run = {
	.options =
		{
			.verb = "run",
			.usage = "tony run [OPTIONS] [FILE]",
			.summary = "run the jobs of a pipeline, each after those that it waits for",
			.description =
				"FILE is ./pipeline.xml unless it is named. Ctrl-C asks all of its "
				"jobs to stop, as "
				"tony kill does. The exit code is that of the first job that did "
				"not succeed: see tony-exit(7).",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct pipeline_choice),
	.run = run_pipeline,
};
