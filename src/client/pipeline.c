#include "client/pipeline.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "client/exit_code.h"
#include "client/look.h"
#include "client/pipeline_inputs.h"
#include "client/report.h"
#include "client/results.h"
#include "client/submission.h"
#include "client/verbs.h"
#include "job/job_family.h"
#include "scheduler/am_calls.h"

enum { EVERY_MS = 500, ANSWER_MS = 200 };

static const struct pipeline_node *node_of(const struct pipeline_run *run, size_t node)
{
	return &run->pipeline.nodes[node];
}

void pipeline_run_finish(struct pipeline_run *run)
{
	for (size_t i = 0; run->nodes && i < run->pipeline.count; i++) {
		struct node_run *node = &run->nodes[i];
		opened_finish(&node->job);
		opened_finish(&node->best);
		free(node->scheduler);
		free(node->hash);
		free(node->note);
		free(node->told);
	}
	am_calls_destroy(run->calls);
	free(run->nodes);
	free(run->id);
	job_list_finish(&run->earlier);
	str_list_finish(&run->variables);
	pipeline_finish(&run->pipeline);
}

/* ---- submitting --------------------------------------------------------------------------- */

/* Jobs whose results it takes, or a node may that is submitted while it lives. */
static void note_uses(const struct pipeline_run *run, size_t node, struct str_list *uses)
{
	for (size_t i = 0; i < run->pipeline.count; i++) {
		const struct node_run *of = &run->nodes[i];
		if (!of->job.id || (!node_of(run, node)->before[i] && of->state != NODE_CACHED))
			continue;
		str_list_add_format(uses, "%s=%s", node_of(run, i)->name, of->job.id);
		if (of->best.id)
			str_list_add_format(uses, "%s.best=%s", node_of(run, i)->name, of->best.id);
	}
}

/* Of this job alone: those of the configuration are the tags of a sweep's trials, too. */
static void note_tags(const struct pipeline_run *run, size_t node, struct str_list *tags)
{
	str_list_add(tags, run->id);
	str_list_add_format(tags, "%s_%s", run->id, node_of(run, node)->name);
}

/* The last of a node's inputs is known, too, once the jobs before it have ids. */
static int note_in_job(void *data, const struct description *description, const struct stage *stage,
		       struct err *err)
{
	const struct node_call *call = data;
	const struct pipeline_run *run = call->run;
	struct node_run *node = &run->nodes[call->node];
	struct str_list before cleanup_str_list = {0};

	note_tags(run, call->node, &description->job->tags);
	note_uses(run, call->node, &description->job->uses);
	if (!node_of(run, call->node)->is_cached || !pipeline_jobs_before(run, call->node, &before))
		return 0;
	char *hash = pipeline_inputs_hash(&run->pipeline, node_of(run, call->node), description,
					  stage, &before, err);
	if (!hash)
		return -1;
	mem_replace(&node->hash, hash);
	str_list_add_format(&description->job->tags, JOB_FAMILY_INPUTS "%s", hash);
	return 0;
}

static void add_after(const struct pipeline_run *run, size_t node, struct str_list *after)
{
	for (size_t i = 0; i < node_of(run, node)->after_count; i++) {
		const struct pipeline_edge *edge = &node_of(run, node)->after[i];
		const struct node_run *before = &run->nodes[edge->node];
		if (before->state == NODE_SUBMITTED && !pipeline_is_over(before))
			str_list_add_format(after, "%s:%s", before->job.id,
					    edge->any_end ? "any" : "success");
	}
}

static int submit(struct pipeline_run *run, size_t node, struct err *err)
{
	struct node_call call = {run, node, false};
	struct submission_options chosen = {.check = note_in_job, .check_data = &call};
	const struct str_list none = {0};
	char *id cleanup_free = NULL;

	pipeline_options(&call, &chosen.job);
	add_after(run, node, &chosen.job.after);
	str_list_add(&chosen.job.tags, run->pipeline.name);
	int code = submission_start(&chosen, &none, 0, &id, err);
	free(chosen.job.name);
	str_list_finish(&chosen.job.after);
	str_list_finish(&chosen.job.tags);
	if (code < 0)
		return -1;
	if (!id)
		return err_set(err, code == EXIT_CODE_INTERRUPTED ? ERR_INTERRUPTED : ERR_FAILED,
			       "it was not started");
	run->nodes[node].state = NODE_SUBMITTED;
	run->nodes[node].job.aside.calls = run->calls;
	return opened_find(&run->nodes[node].job, id, err);
}

/* ---- nodes -------------------------------------------------------------------------------- */

/* A node before this one for whose success it waits in vain; NULL: there is none. */
static const struct pipeline_node *find_failed(const struct pipeline_run *run, size_t node)
{
	for (size_t i = 0; i < node_of(run, node)->after_count; i++) {
		const struct pipeline_edge *edge = &node_of(run, node)->after[i];
		const struct node_run *before = &run->nodes[edge->node];
		if (!edge->any_end && pipeline_is_over(before) && !pipeline_has_succeeded(before))
			return node_of(run, edge->node);
	}
	return NULL;
}

static bool may_be_submitted(const struct pipeline_run *run, size_t node)
{
	for (size_t i = 0; i < run->pipeline.count; i++) {
		const struct node_run *before = &run->nodes[i];
		if (node_of(run, node)->before[i] && !pipeline_is_over(before) &&
		    (before->state == NODE_WAITING || run->nodes[node].is_late))
			return false;
	}
	return true;
}

static void skip(struct node_run *node, char *why)
{
	node->state = NODE_SKIPPED;
	mem_replace(&node->note, why);
}

static int look_at(struct node_run *node, struct err *err)
{
	struct opened *opened = &node->job;

	if (node->state != NODE_SUBMITTED || node->has_ended)
		return 0;
	if (opened_look_for_am(opened, err) < 0 || opened_read(opened, NULL, NULL, err) < 0)
		return -1;
	char *given_up cleanup_free = opened_check_start(opened);
	if (given_up)
		report_note("%s", given_up);
	if (!opened->view->is_final)
		return 0;
	node->has_ended = true;
	node->code = results_conclude(opened, (int)exit_code_of_job(opened->view->state));
	if (job_is_sweep(opened->job))
		pipeline_find_best(node);
	return 0;
}

static int look_at_all(struct pipeline_run *run, struct err *err)
{
	for (size_t i = 0; i < run->pipeline.count; i++)
		if (look_at(&run->nodes[i], err) < 0)
			return -1;
	return 0;
}

static bool skip_if_vain(struct pipeline_run *run, size_t node)
{
	const struct pipeline_node *failed = find_failed(run, node);

	if (failed)
		skip(&run->nodes[node], mem_printf("%s has not succeeded", failed->name));
	return failed;
}

static int advance_node(struct pipeline_run *run, size_t node, struct err *err)
{
	struct err failure cleanup_err = {0};

	if (skip_if_vain(run, node) || !may_be_submitted(run, node) ||
	    submit(run, node, &failure) == 0)
		return 0;
	/* A job before it may have failed meanwhile. */
	if (run->nodes[node].state == NODE_WAITING && look_at_all(run, NULL) == 0 &&
	    skip_if_vain(run, node))
		return 0;
	return err_set(err, failure.kind, "%s:%d: job %s: %s", run->pipeline.path,
		       node_of(run, node)->line, node_of(run, node)->name, err_message(&failure));
}

/* Submits what can be. */
static int advance(struct pipeline_run *run, struct err *err)
{
	for (size_t i = 0; i < run->pipeline.count; i++)
		if (run->nodes[i].state == NODE_WAITING && advance_node(run, i, err) < 0)
			return -1;
	return 0;
}

/* A job may have ended by the time that its submission is over: look_at() has not seen that yet. */
static bool is_settled(const struct node_run *node)
{
	return pipeline_is_over(node) && (node->state != NODE_SUBMITTED || node->has_ended);
}

/* A signal that cut it is still pending: the wait for the next look ends with it. */
static int look(void *data, struct err *err)
{
	struct pipeline_run *run = data;
	struct err failure cleanup_err = {0};
	bool all = true;

	/* All AMs on clusters are asked for news before any of it is taken. */
	int looked = look_at_all(run, &failure);
	am_calls_finish(run->calls, ANSWER_MS);
	if (looked < 0 || look_at_all(run, &failure) < 0 || advance(run, &failure) < 0)
		return failure.kind == ERR_INTERRUPTED ? LOOK_PART : err_copy(err, &failure);
	for (size_t i = 0; i < run->pipeline.count; i++)
		all &= is_settled(&run->nodes[i]);
	return all ? LOOK_LAST : LOOK_ALL;
}

/* ---- showing ------------------------------------------------------------------------------ */

/* An answer of JSON is alone on standard output. */
static void draw(void *data, struct live_size size, struct str *out)
{
	const struct pipeline_run *run = data;

	if (!run->choice->json)
		pipeline_table(run, (size_t)size.columns, out);
}

/* A line for each node that has changed. */
static void tell(void *data)
{
	const struct pipeline_run *run = data;

	for (size_t i = 0; i < run->pipeline.count; i++) {
		struct node_run *node = &run->nodes[i];
		const struct job_view *view = node->job.view;
		/* The reason comes a moment after the state. */
		if (view && job_state_is_final(view->state) && !view->is_final)
			continue;
		char *text = pipeline_node_text(run, i);
		if (!str_equal(node->told, text) && !run->choice->json)
			puts(text);
		mem_replace(&node->told, text);
	}
}

/* ---- the end ------------------------------------------------------------------------------ */

static int exit_code(const struct pipeline_run *run)
{
	for (size_t i = 0; i < run->pipeline.count; i++)
		if (run->nodes[i].code != EXIT_CODE_OK)
			return run->nodes[i].code;
	return EXIT_CODE_OK;
}

/* Jobs that were submitted go on. Returns -1. */
static int tell_part(const struct pipeline_run *run, struct err *err)
{
	size_t submitted = 0, waiting = 0;

	for (size_t i = 0; i < run->pipeline.count; i++) {
		submitted += run->nodes[i].state == NODE_SUBMITTED;
		waiting += run->nodes[i].state == NODE_WAITING;
	}
	if (submitted > 0 && run->choice->json)
		report_json(pipeline_json(run));
	if (waiting == 0)
		return err_wrap(err, "%s goes on, but cannot be followed", run->id);
	return submitted == 0 ? -1
			      : err_wrap(err,
					 "%zu of %zu jobs of %s were submitted, and then none: "
					 "tony kill %s ends them",
					 submitted, run->pipeline.count, run->id, run->id);
}

/* The last one first, as those of an array. */
static int kill_jobs(const struct pipeline_run *run, struct err *err)
{
	struct str_list operands cleanup_str_list = {0};
	const struct verb_call call = {&operands, 1, NULL};
	void *chosen cleanup_free = mem_alloc(verb_kill.size);
	int out cleanup_close = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);

	str_list_add(&operands, run->id);
	fflush(stdout);
	if (run->choice->json)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	int code = verb_kill.run(chosen, &call, err);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	return code;
}

static int kill_all(struct pipeline_run *run, struct err *err)
{
	struct err failure cleanup_err = {0};

	if (kill_jobs(run, &failure) < 0 && failure.kind != ERR_NOT_FOUND)
		return err_copy(err, &failure);
	for (size_t i = 0; i < run->pipeline.count; i++)
		if (run->nodes[i].state == NODE_WAITING)
			skip(&run->nodes[i], mem_strdup("the pipeline was killed"));
	return look_at_all(run, err);
}

static void print_end(struct pipeline_run *run)
{
	struct str text cleanup_str = {0};

	if (run->choice->json) {
		report_json(pipeline_json(run));
		return;
	}
	pipeline_summary(run, &text);
	fputs(str_text(&text), stdout);
}

static int follow(struct pipeline_run *run, struct err *err)
{
	const struct look_options options = {
		.every_ms = EVERY_MS, .ask = look, .draw = draw, .tell = tell, .data = run};

	run->calls = am_calls_create();
	if (!run->choice->json)
		printf("%s\n", run->id);
	int code = look_again(&options, err);
	if (code < 0)
		return tell_part(run, err);
	if (code == EXIT_CODE_HANGUP)
		return code;
	if (code != EXIT_CODE_OK) {
		report_note("the jobs of %s are asked to stop", run->id);
		if (kill_all(run, err) < 0)
			return -1;
		tell(run);
	}
	print_end(run);
	int end = exit_code(run);
	return end != EXIT_CODE_OK ? end : code;
}

/* ------------------------------------------------------------------------------------------- */

static int refuse_late(const struct pipeline_run *run, struct err *err)
{
	char *from cleanup_free =
		run->choice->from ? mem_printf(" --from %s", run->choice->from) : mem_strdup("");
	char *command cleanup_free = pipeline_command(run, from);

	for (size_t i = 0; i < run->pipeline.count; i++)
		if (run->nodes[i].is_late && run->nodes[i].state == NODE_WAITING)
			return err_set(
				err, ERR_USAGE,
				"--detach: %s is submitted once the jobs before it have ended "
				"(they are on another scheduler, or it takes files from "
				"them); write nohup %s &",
				node_of(run, i)->name, command);
	return 0;
}

static int detach(struct pipeline_run *run, struct err *err)
{
	if (advance(run, err) < 0)
		return tell_part(run, err);
	if (run->choice->json)
		report_json(pipeline_json(run));
	else
		puts(run->id);
	return report_flush_job(stdout, run->id, "was submitted and runs") < 0 ? EXIT_CODE_INTERNAL
									       : EXIT_CODE_OK;
}

/* A script takes what --detach prints for an id. */
static int tell_cached(struct pipeline_run *run)
{
	struct str text cleanup_str = {0};

	if (run->choice->detach && !run->choice->json) {
		pipeline_summary(run, &text);
		fputs(str_text(&text), stderr);
		return EXIT_CODE_OK;
	}
	tell(run);
	print_end(run);
	return EXIT_CODE_OK;
}

int pipeline_submit(struct pipeline_run *run, struct err *err)
{
	if (!run->id)
		return tell_cached(run);
	if (!run->choice->detach)
		return follow(run, err);
	return refuse_late(run, err) < 0 ? -1 : detach(run, err);
}
