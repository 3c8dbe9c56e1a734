/* Which nodes run, and whether all of them could. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/advice.h"
#include "client/job_array.h"
#include "client/job_verb.h"
#include "client/pipeline.h"
#include "client/pipeline_inputs.h"
#include "client/results.h"
#include "client/schedulers.h"
#include "client/submission.h"
#include "client/sweep_config.h"
#include "job/job_family.h"
#include "scheduler/fetch.h"

static const struct pipeline_node *node_of(const struct pipeline_run *run, size_t node)
{
	return &run->pipeline.nodes[node];
}

static int wrap(const struct pipeline_run *run, size_t node, struct err *err)
{
	return err_wrap(err, "%s:%d: job %s", run->pipeline.path, node_of(run, node)->line,
			node_of(run, node)->name);
}

/* ---- results ------------------------------------------------------------------------------ */

bool pipeline_find_best(struct node_run *node)
{
	json_t *sweep cleanup_json = advice_sweep(&node->job);
	const json_t *best = json_object_get(sweep, "best");
	const json_t *trial =
		json_array_get(json_object_get(sweep, "trials"), (size_t)json_integer_value(best));
	const char *id = best ? json_string_value(json_object_get(trial, "job")) : NULL;

	return id && opened_find(&node->best, id, NULL) == 0;
}

const struct job *pipeline_results(const struct node_run *node)
{
	return node->job.job && job_is_sweep(node->job.job) ? node->best.job : node->job.job;
}

/* ---- variables: ${prepare.output}, ${prepare.id} ------------------------------------------ */

static void set_variable(struct conf *conf, const struct pipeline *pipeline, const char *node,
			 const char *what, const char *value)
{
	const struct conf_place place = {CONF_LAYER_FILE, pipeline->path, 0};
	char *name cleanup_free = mem_printf("%s.%s", node, what);

	conf_set_literal(conf, &place, name, value);
}

static void set_variables(const struct node_call *call, struct conf *conf)
{
	const struct pipeline_run *run = call->run;

	for (size_t i = 0; i < run->pipeline.count; i++) {
		const struct node_run *of = &run->nodes[i];
		const struct job *results = pipeline_results(of);
		const char *name = node_of(run, i)->name;
		char *unknown cleanup_free = mem_printf("/.../%s", name);
		if (!node_of(run, call->node)->before[i] || (!of->job.id && !call->is_plan))
			continue;
		const char *output = results && results->output_dir ? results->output_dir : unknown;
		set_variable(conf, &run->pipeline, name, "output", output);
		set_variable(conf, &run->pipeline, name, "id", of->job.id ? of->job.id : name);
	}
}

/* The name of a node in ${NODE.output} or ${NODE.id}, or NULL. The caller frees. */
static char *node_named(const char *variable)
{
	size_t length = strcspn(variable, "}$");
	char *name cleanup_free = mem_strndup(variable, length);
	char *dot = strchr(name, '.');

	if (!variable[length] || !dot || (!str_equal(dot, ".output") && !str_equal(dot, ".id")) ||
	    strspn(name, JOB_ARRAY_MEMBER "_-") != (size_t)(dot - name))
		return NULL;
	*dot = '\0';
	return mem_steal(&name);
}

/* NULL: it has results, or will have some. */
static const char *find_no_best(const struct node_call *call, const struct node_run *of)
{
	bool is_ahead = call->is_plan && of->state == NODE_WAITING;

	if (!of->is_sweep || of->best.id || (is_ahead && of->has_metric))
		return NULL;
	return is_ahead ? "is a sweep without tony.sweep.metric, so no trial of it is the best"
			: "is a sweep of which no trial that ended well has reported its metric";
}

/* Which trial of a sweep is the best is known once it has ended. */
static void note_variable(const struct node_call *call, struct conf *conf,
			  const struct conf_entry *entry, size_t named, bool is_output)
{
	struct node_run *of = &call->run->nodes[named];
	const char *why = is_output ? find_no_best(call, of) : NULL;
	char *where cleanup_free = conf_label(entry);

	of->is_named = true;
	call->run->nodes[call->node].is_late |= of->is_sweep && of->state != NODE_CACHED;
	if (why)
		problems_error(conf_problems(conf), PROBLEM_FILE, "%s: \"%s\": %s %s", where,
			       entry->raw, node_of(call->run, named)->name, why);
}

static void check_variable(const struct node_call *call, struct conf *conf,
			   const struct conf_entry *entry, const char *name, bool is_output)
{
	const struct pipeline *pipeline = &call->run->pipeline;
	const struct pipeline_node *node = &pipeline->nodes[call->node];
	size_t named = pipeline_find(pipeline, name);
	char *where cleanup_free = conf_label(entry);

	if (named == pipeline->count)
		problems_error(conf_problems(conf), PROBLEM_FILE,
			       "%s: \"%s\": there is no job %s in %s", where, entry->raw, name,
			       pipeline->path);
	else if (!node->before[named])
		problems_error(conf_problems(conf), PROBLEM_FILE,
			       "%s: \"%s\": %s does not wait for %s; write after=\"%s\"", where,
			       entry->raw, node->name, name, name);
	else
		note_variable(call, conf, entry, named, is_output);
}

/* Results that are brought into the containers are needed when the job is submitted. */
static bool is_file(const struct key *key)
{
	return key && (key->type == KEY_RESOURCES || key->path ||
		       str_equal(key->name, "tony.application.src-dir"));
}

/* Before these jobs have run nothing is there: the rest of the configuration is checked. */
static void leave_out(const struct node_call *call, struct conf *conf, const struct str_list *keys)
{
	const struct conf_place place = {CONF_LAYER_FILE, call->run->pipeline.path, 0};
	struct str_list before cleanup_str_list = {0};

	if (keys->count == 0 || pipeline_jobs_before(call->run, call->node, &before))
		return;
	call->run->nodes[call->node].lacks_files = true;
	for (size_t i = 0; i < keys->count; i++)
		conf_set(conf, &place, keys->items[i], "");
}

/* "day", or "day:-none": up to the brace. */
static void note_names(struct pipeline_run *run, const char *value)
{
	for (const char *at = value; (at = strstr(at, "${"));) {
		at += strlen("${");
		char *name cleanup_free = mem_strndup(at, strcspn(at, "}$"));
		if ((isalpha((unsigned char)*name) || *name == '_') &&
		    !str_list_has(&run->variables, name))
			str_list_add(&run->variables, name);
	}
}

static void check_variables(const struct node_call *call, struct conf *conf)
{
	struct str_list files cleanup_str_list = {0}, unknown cleanup_str_list = {0};
	const struct conf_entry *entry;

	for (size_t i = 0; conf_next(conf, &i, &entry);) {
		const char *at = entry->in_file ? entry->raw : "";
		note_names(call->run, entry->raw);
		while ((at = strstr(at, "${"))) {
			at += strlen("${");
			char *name cleanup_free = node_named(at);
			if (!name)
				continue;
			check_variable(call, conf, entry, name,
				       str_starts_with(at + strlen(name), ".output"));
			if (pipeline_find(&call->run->pipeline, name) == call->run->pipeline.count)
				str_list_take(&unknown, mem_strndup(at, strcspn(at, "}")));
			if (is_file(entry->key))
				str_list_add(&files, entry->name);
		}
	}
	/* Told, and not as a variable that is not set once more. */
	const struct conf_place place = {CONF_LAYER_FILE, call->run->pipeline.path, 0};
	for (size_t i = 0; i < unknown.count; i++)
		conf_set(conf, &place, unknown.items[i], "");
	call->run->nodes[call->node].is_late |= files.count > 0;
	leave_out(call, conf, &files);
}

static int load(void *data, struct conf *conf, struct err *err)
{
	const struct node_call *call = data;
	const struct pipeline *pipeline = &call->run->pipeline;

	if (pipeline_load(pipeline, &pipeline->nodes[call->node], conf, err) < 0)
		return -1;
	conf_require_variables(conf);
	check_variables(call, conf);
	set_variables(call, conf);
	return 0;
}

void pipeline_options(struct node_call *call, struct job_options *options)
{
	const struct pipeline *pipeline = &call->run->pipeline;

	options->load = load;
	options->load_data = call;
	options->conf = call->run->choice->conf;
	options->is_told = !call->is_plan;
	options->name = pipeline_job_name(pipeline, &pipeline->nodes[call->node]);
}

bool pipeline_jobs_before(const struct pipeline_run *run, size_t node, struct str_list *before)
{
	for (size_t i = 0; i < run->pipeline.count; i++) {
		if (!node_of(run, node)->before[i])
			continue;
		if (!run->nodes[i].job.id)
			return false;
		str_list_add_format(before, "%s=%s", node_of(run, i)->name, run->nodes[i].job.id);
	}
	return true;
}

/* ---- earlier jobs ------------------------------------------------------------------------- */

#define NO_RESULTS "has no results, or they are gone"

static char *find_no_files(const char *place)
{
	struct err err cleanup_err = {0};
	int fd cleanup_close = results_open(place, NULL, &err);

	if (fd < 0 && err.kind == ERR_DENIED)
		return mem_printf("has results that are not taken: %s", err_message(&err));
	return results_are_in(place, NULL) ? NULL : mem_strdup(NO_RESULTS);
}

/* NULL: they are there; else why they are not. The caller frees. */
static char *find_no_results(struct node_run *node)
{
	struct err err cleanup_err = {0};

	if (job_is_sweep(node->job.job) && !pipeline_find_best(node))
		return mem_strdup("has no best trial, or it is gone");
	const struct job *job = pipeline_results(node);
	const char *place = job->output_dir;
	if (!place)
		return mem_strdup("is of another version of tony");
	if (!fetch_is_needed(place))
		return find_no_files(place);
	if (fetch_keep(job, place, &err) == 0)
		return NULL;
	return mem_strdup(err.kind == ERR_NOT_FOUND ? NO_RESULTS
						    : "has results that cannot be reached");
}

/* True: the job stands for the node. The note says why it has no results. */
static bool take_earlier(struct node_run *node, const char *id, bool needs_results)
{
	struct err err cleanup_err = {0};
	bool is_read = opened_find(&node->job, id, &err) == 0;

	node->is_sweep |= is_read && job_is_sweep(node->job.job);
	char *why cleanup_free = is_read ? find_no_results(node) : mem_strdup("cannot be read");
	mem_replace(&node->note, why ? mem_printf("the earlier %s %s", id, why) : NULL);
	if (!why || (is_read && !needs_results)) {
		node->state = NODE_CACHED;
		return true;
	}
	opened_finish(&node->job);
	opened_finish(&node->best);
	node->job = node->best = (struct opened){0};
	return false;
}

/* The newest one that succeeded, by a tag, or by its name and whatever its results are. */
static bool find_earlier(const struct pipeline_run *run, struct node_run *node, const char *tag,
			 const char *name)
{
	struct str_list tags cleanup_str_list = {0};

	if (tag)
		str_list_add(&tags, tag);
	for (size_t i = 0; i < run->earlier.count; i++) {
		const struct job_summary *job = &run->earlier.items[i];
		if (job->state == JOB_SUCCEEDED &&
		    (name ? str_equal(job->name, name) : job_list_has_tags(job, &tags)) &&
		    take_earlier(node, job->id, !name))
			return true;
	}
	return false;
}

static int list_earlier(struct pipeline_run *run, struct err *err)
{
	const struct job_list_filter filter = {.own_only = true,
					       .patience_ms = SCHEDULERS_PATIENCE_MS};
	bool is_needed = run->choice->from;

	for (size_t i = 0; i < run->pipeline.count; i++)
		is_needed |= node_of(run, i)->is_cached;
	return is_needed ? job_list_find(&filter, &run->earlier, err) : 0;
}

/* ---- one node ----------------------------------------------------------------------------- */

/* Is it before or beside the node from which on the pipeline runs? */
static bool is_before_from(const struct pipeline_run *run, size_t node)
{
	const char *from = run->choice->from;

	return from && !str_equal(node_of(run, node)->name, from) &&
	       !node_of(run, node)->before[pipeline_find(&run->pipeline, from)];
}

static int take_for_from(struct pipeline_run *run, size_t node, struct err *err)
{
	char *name cleanup_free = pipeline_job_name(&run->pipeline, node_of(run, node));

	return find_earlier(run, &run->nodes[node], NULL, name)
		       ? 0
		       : err_set(err, ERR_NOT_FOUND,
				 "--from %s: no job %s has succeeded; leave --from out",
				 run->choice->from, name);
}

/* Results that a node which runs names are to be there. */
static int check_earlier(const struct pipeline_run *run, size_t node, struct err *err)
{
	const struct node_run *of = &run->nodes[node];

	if (of->state != NODE_CACHED || !of->note || !of->is_named)
		return 0;
	return err_set(err, ERR_NOT_FOUND, "--from %s: %s; leave --from out", run->choice->from,
		       of->note);
}

/* Only a node of which all before it are cached can be. */
static int look_for_cached(struct pipeline_run *run, size_t node,
			   const struct description *description, const struct stage *stage,
			   struct err *err)
{
	struct str_list before cleanup_str_list = {0};
	struct node_run *of = &run->nodes[node];

	for (size_t i = 0; i < run->pipeline.count; i++)
		if (node_of(run, node)->before[i] && run->nodes[i].state != NODE_CACHED)
			return 0;
	pipeline_jobs_before(run, node, &before);
	of->hash = pipeline_inputs_hash(&run->pipeline, node_of(run, node), description, stage,
					&before, err);
	if (!of->hash)
		return -1;
	char *tag cleanup_free = mem_printf(JOB_FAMILY_INPUTS "%s", of->hash);
	if (!run->choice->from)
		find_earlier(run, of, tag, NULL);
	return 0;
}

/* By --after a job waits for others of its own scheduler. */
static bool crosses(const struct pipeline_run *run, size_t node)
{
	for (size_t i = 0; i < run->pipeline.count; i++)
		if (node_of(run, node)->before[i] && run->nodes[i].state != NODE_CACHED &&
		    !str_equal(run->nodes[i].scheduler, run->nodes[node].scheduler))
			return true;
	return false;
}

static int describe(struct node_call *call, struct description *description, struct stage *stage,
		    struct err *err)
{
	const struct str_list none = {0};
	struct job_options options = {0};

	pipeline_options(call, &options);
	int result = job_verb_describe(&options, &none, 0, description, stage, err);
	free(options.name);
	return result;
}

/* A sweep runs here, wherever its trials do. */
static void note_description(struct node_run *node, const struct description *description)
{
	const json_t *config = description->job->config;

	node->is_sweep = sweep_is_configured(config);
	node->has_metric = job_config_value(config, "tony.sweep.metric");
	node->scheduler = mem_strdup(node->is_sweep ? scheduler_client_at(0)->traits->name
						    : description->scheduler);
}

static int plan_node(struct pipeline_run *run, size_t node, struct err *err)
{
	struct node_call call = {run, node, true};
	struct description description cleanup_description = {0};
	struct stage stage cleanup_stage = {0};
	const struct submission_options none = {0};

	if (is_before_from(run, node))
		return take_for_from(run, node, err);
	if (describe(&call, &description, &stage, err) < 0)
		return -1;
	note_description(&run->nodes[node], &description);
	run->nodes[node].is_late |= crosses(run, node);
	if (!run->id)
		run->id = job_array_make_id(JOB_FAMILY_PIPELINE, description.job);
	if (run->nodes[node].lacks_files)
		return 0;
	if (node_of(run, node)->is_cached &&
	    look_for_cached(run, node, &description, &stage, err) < 0)
		return -1;
	return run->nodes[node].state == NODE_CACHED
		       ? 0
		       : submission_check(&none, &description, &stage, err);
}

/* By the id of a pipeline its jobs are found. */
static void forget_id(struct pipeline_run *run)
{
	for (size_t i = 0; i < run->pipeline.count; i++)
		if (run->nodes[i].state != NODE_CACHED)
			return;
	mem_replace(&run->id, NULL);
}

static bool is_used(const struct str_list *variables, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < variables->count; i++) {
		const char *rest = str_starts_with(variables->items[i], name)
					   ? variables->items[i] + length
					   : "?";
		if (!*rest || *rest == '-' || str_starts_with(rest, ":-"))
			return true;
	}
	return false;
}

/* The name most like it. The caller frees. */
static char *find_near(const struct str_list *variables, const char *name)
{
	struct str_list names cleanup_str_list = {0};

	for (size_t i = 0; i < variables->count; i++)
		str_list_take(&names,
			      mem_strndup(variables->items[i], strcspn(variables->items[i], ":-")));
	const char *near = str_nearest(name, (const char *const *)names.items, names.count);
	return near ? mem_strdup(near) : NULL;
}

/* A variable may be of one job alone: that no job has it is known once all are described. */
static void warn_unused(struct pipeline_run *run)
{
	const struct str_list *given = &run->choice->conf;

	for (size_t i = 0; i < given->count; i++)
		note_names(run, given->items[i]);
	for (size_t i = 0; i < given->count; i++) {
		char *name cleanup_free =
			mem_strndup(given->items[i], strcspn(given->items[i], "="));
		if (str_starts_with(name, "tony.") || is_used(&run->variables, name))
			continue;
		char *near cleanup_free = find_near(&run->variables, name);
		log_warning("--conf: %s: no job of %s has ${%s}%s%s%s", name, run->pipeline.path,
			    name, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
	}
}

int pipeline_plan(struct pipeline_run *run, struct err *err)
{
	const char *from = run->choice->from;

	if (from && pipeline_find(&run->pipeline, from) == run->pipeline.count)
		return err_set(err, ERR_USAGE, "--from: there is no job %s in %s", from,
			       run->pipeline.path);
	if (list_earlier(run, err) < 0)
		return -1;
	for (size_t i = 0; i < run->pipeline.count; i++)
		if (plan_node(run, i, err) < 0)
			return wrap(run, i, err);
	warn_unused(run);
	for (size_t i = 0; i < run->pipeline.count; i++)
		if (check_earlier(run, i, err) < 0)
			return wrap(run, i, err);
	forget_id(run);
	return 0;
}
