/* How a pipeline stands: for people and for programs. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/pipeline.h"
#include "client/report.h"

/* NULL: it was submitted, and could not be read since. */
static const struct job_view *view_of(const struct node_run *node)
{
	return node->job.view;
}

bool pipeline_has_succeeded(const struct node_run *node)
{
	return node->state == NODE_CACHED ||
	       (node->state == NODE_SUBMITTED && view_of(node) && view_of(node)->is_final &&
		view_of(node)->state == JOB_SUCCEEDED);
}

bool pipeline_is_over(const struct node_run *node)
{
	return node->state == NODE_SUBMITTED ? view_of(node) && view_of(node)->is_final
					     : node->state != NODE_WAITING;
}

/* Its AM has seen that it waited in vain. */
static bool is_canceled(const struct node_run *node)
{
	return node->state == NODE_SUBMITTED && view_of(node) &&
	       view_of(node)->cause.kind == CAUSE_CANCELED;
}

static const char *state_of(const struct node_run *node)
{
	static const char *const names[] = {
		[NODE_WAITING] = "waiting", [NODE_CACHED] = "cached", [NODE_SKIPPED] = "skipped"};

	if (is_canceled(node))
		return names[NODE_SKIPPED];
	if (node->state != NODE_SUBMITTED)
		return names[node->state];
	return job_state_name(view_of(node) ? view_of(node)->state : JOB_SUBMITTED);
}

/* Why it stands so, beside its state; NULL: there is nothing to say. */
static char *detail_of(const struct node_run *node)
{
	if (node->state == NODE_CACHED)
		return mem_printf("the results of %s", node->job.id);
	if (node->state != NODE_SUBMITTED)
		return mem_strdup(node->note);
	const struct job_view *view = view_of(node);
	if (view->is_final)
		return view->state == JOB_SUCCEEDED ? NULL : mem_strdup(view->message);
	char *waiting cleanup_free = opened_waiting(&node->job);
	return mem_strdup(waiting ? waiting + strlen("waiting: ") : view->waiting);
}

char *pipeline_node_text(const struct pipeline_run *run, size_t node)
{
	const struct node_run *of = &run->nodes[node];
	char *detail cleanup_free = detail_of(of);
	char *text cleanup_free =
		mem_printf("%s %s%s%s%s%s", run->pipeline.nodes[node].name, state_of(of),
			   of->state == NODE_SUBMITTED ? " as " : "",
			   of->state == NODE_SUBMITTED ? of->job.id : "", detail ? ": " : "",
			   detail ? detail : "");

	return report_one_line(text);
}

/* ---- a table ------------------------------------------------------------------------------ */

static char *duration_of(const struct node_run *node)
{
	if (node->state != NODE_SUBMITTED || is_canceled(node))
		return NULL;
	const struct job_view *view = view_of(node);
	int64_t end = view->is_final ? view->ended_ms : clock_wall_ms();
	int64_t lasted = end - view->job->submitted_ms;
	return str_format_duration(lasted > 0 ? lasted : 0);
}

static char *after_of(const struct pipeline_run *run, size_t node)
{
	const struct pipeline_node *of = &run->pipeline.nodes[node];
	struct str_list names cleanup_str_list = {0};

	for (size_t i = 0; i < of->after_count; i++)
		str_list_add(&names, run->pipeline.nodes[of->after[i].node].name);
	return str_list_join(&names, ", ");
}

static void add_row(const struct pipeline_run *run, size_t node, struct report_table *table)
{
	const struct node_run *of = &run->nodes[node];
	char *detail cleanup_free = detail_of(of);

	report_table_add(table, run->pipeline.nodes[node].name);
	report_table_add(table, state_of(of));
	report_table_take(table, after_of(run, node));
	report_table_add(table, of->state == NODE_SUBMITTED ? of->job.id : NULL);
	report_table_take(table, duration_of(of));
	report_table_add(table, detail);
}

void pipeline_table(const struct pipeline_run *run, size_t width, struct str *out)
{
	static const char *const headings[] = {"NODE", "STATE",	   "AFTER",
					       "JOB",  "DURATION", "CAUSE"};
	struct report_table table = {0};

	report_table_begin(&table, headings, array_length(headings));
	for (size_t i = 0; i < run->pipeline.count; i++)
		add_row(run, i, &table);
	report_table_format(&table, width, out);
	report_table_finish(&table);
}

/* ---- all of it ---------------------------------------------------------------------------- */

/* The first one in which the pipeline failed; the count: none has. */
static size_t find_failed(const struct pipeline_run *run)
{
	for (size_t i = 0; i < run->pipeline.count; i++) {
		const struct node_run *node = &run->nodes[i];
		if (node->state == NODE_SUBMITTED && pipeline_is_over(node) &&
		    !pipeline_has_succeeded(node) && !is_canceled(node))
			return i;
	}
	return run->pipeline.count;
}

static const char *state_of_all(const struct pipeline_run *run)
{
	size_t failed = find_failed(run), submitted = 0, over = 0, count = run->pipeline.count;

	for (size_t i = 0; i < count; i++) {
		submitted += run->nodes[i].state == NODE_SUBMITTED;
		over += pipeline_is_over(&run->nodes[i]);
	}
	if (over < count)
		return submitted > 0 ? "running" : "waiting";
	return failed < count ? job_state_name(view_of(&run->nodes[failed])->state) : "succeeded";
}

char *pipeline_command(const struct pipeline_run *run, const char *option)
{
	struct str text = {0};
	char *path cleanup_free = str_shell_quote(run->pipeline.path);

	str_append(&text, "tony run");
	for (size_t i = 0; i < run->choice->conf.count; i++) {
		char *pair cleanup_free = str_shell_quote(run->choice->conf.items[i]);
		str_append_format(&text, " --conf %s", pair);
	}
	str_append_format(&text, "%s %s", option, path);
	return str_steal(&text);
}

void pipeline_summary(const struct pipeline_run *run, struct str *out)
{
	if (!run->id) {
		str_append_format(out,
				  "%s: nothing runs, all results are there: tony run --dry-run "
				  "names their jobs\n",
				  run->pipeline.name);
		return;
	}
	int64_t lasted = clock_wall_ms() - run->begun_ms;
	char *duration cleanup_free = str_format_duration(lasted > 0 ? lasted : 0);
	size_t failed = find_failed(run);

	str_append_format(out, "%s %s after %s", run->id, state_of_all(run), duration);
	if (failed == run->pipeline.count) {
		str_append_char(out, '\n');
		return;
	}
	const struct pipeline_node *node = &run->pipeline.nodes[failed];
	const struct opened *job = &run->nodes[failed].job;
	char *detail cleanup_free = detail_of(&run->nodes[failed]);
	char *clean cleanup_free = report_one_line(detail ? detail : "");
	char *from cleanup_free = mem_printf(" --from %s", node->name);
	char *command cleanup_free = pipeline_command(run, from);
	str_append_format(out, ": %s: %s\ntry: %s\nsee: tony logs %s\n", node->name, clean, command,
			  job->id);
}

static void add_edges(const struct pipeline_node *node, const struct pipeline_node *nodes,
		      json_t *object)
{
	json_t *after = json_array();

	for (size_t i = 0; i < node->after_count; i++)
		json_array_append_new(after, json_string(nodes[node->after[i].node].name));
	json_object_set_new(object, "after", after);
}

static json_t *node_json(const struct pipeline_run *run, size_t node)
{
	const struct node_run *of = &run->nodes[node];
	char *detail cleanup_free = detail_of(of);
	json_t *object = json_object();

	json_set_text(object, "node", run->pipeline.nodes[node].name);
	json_set_text(object, "state", state_of(of));
	add_edges(&run->pipeline.nodes[node], run->pipeline.nodes, object);
	json_set_text(object, "scheduler", of->scheduler);
	json_set_text(object, "id", of->job.id);
	json_set_text(object, "output",
		      pipeline_results(of) ? pipeline_results(of)->output_dir : NULL);
	json_set_text(object, "inputs", of->hash);
	json_set_text(object, "message", detail);
	return object;
}

json_t *pipeline_json(const struct pipeline_run *run)
{
	json_t *object = json_object(), *nodes = json_array();

	json_set_text(object, "pipeline", run->pipeline.name);
	json_set_text(object, "id", run->choice->dry_run ? NULL : run->id);
	json_set_text(object, "state", state_of_all(run));
	for (size_t i = 0; i < run->pipeline.count; i++)
		json_array_append_new(nodes, node_json(run, i));
	json_object_set_new(object, "nodes", nodes);
	return object;
}
