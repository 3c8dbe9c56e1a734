/* What was tried again, and whether that helped. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "advise/rules.h"
#include "base/mem.h"
#include "job/policy.h"

enum {
	ALIKE_MIN = 3,	    /* failures in a row */
	ALIKE_MS = 5000,    /* their programs ran as long as each other, but for this */
	ALIKE_PERCENT = 50, /* or this */
	PAST_MS = 60000,    /* so much longer, and twice as long, is past the moment */
	NODE_FAILURES_MIN = 3,
	NODE_HOSTS_MIN = 3,	 /* that the job was on */
	NODE_SHARE_PERCENT = 75, /* of all failures are on one node */
	PREEMPTED_MIN = 3,
	BUDGET_PERCENT = 70, /* of the retries is used up */
};

/* ---- the same failure again --------------------------------------------------------------- */

/* What two headlines have in common if they say the same: numbers differ from process to process.
 */
static char *without_numbers(const char *text)
{
	struct str plain = {0};

	for (; text && *text; text++)
		if (!isdigit((unsigned char)*text))
			str_append_char(&plain, *text);
		else if (plain.length == 0 || plain.text[plain.length - 1] != '#')
			str_append_char(&plain, '#');
	return str_steal(&plain);
}

static int64_t ran_ms(const struct attempt_view *attempt)
{
	return attempt->started_ms > 0 ? attempt->ended_ms - attempt->started_ms : 0;
}

static bool are_alike(const struct advising *advising, const struct incident *a,
		      const struct incident *b)
{
	const struct cause *left = &a->attempt->cause, *right = &b->attempt->cause;
	char *left_line cleanup_free = without_numbers(left->headline);
	char *right_line cleanup_free = without_numbers(right->headline);
	int64_t difference = llabs(ran_ms(a->attempt) - ran_ms(b->attempt));

	return left->kind == right->kind && left->exit_code == right->exit_code &&
	       left->signal == right->signal && strcmp(left_line, right_line) == 0 &&
	       advising->view->tasks[a->task].type == advising->view->tasks[b->task].type &&
	       (difference <= ALIKE_MS || 100 * difference <= ALIKE_PERCENT * ran_ms(b->attempt));
}

/* Of the program's own making; memory has a rule of its own, and so has time. */
static bool is_programs(const struct advising *advising, const struct cause *cause)
{
	enum policy_charge charge = policy_find(cause, advising->failures)->charge;

	if (cause->kind == CAUSE_EXIT || cause->kind == CAUSE_SIGNAL)
		return charge != CHARGE_INFRASTRUCTURE;
	return charge == CHARGE_USER && cause->kind != CAUSE_OUT_OF_MEMORY &&
	       cause->kind != CAUSE_EXECUTION_TIMEOUT;
}

/* A program that gets on between its failures may get to its end. */
static bool gets_on(const struct advising *advising)
{
	const struct advise_uses *uses = &advising->input->uses;

	for (size_t i = 0; i < uses->count; i++) {
		const struct advise_use *use = &uses->items[i];
		const struct advise_use *before =
			i > 0 && use[-1].task == use->task ? &use[-1] : NULL;
		if (use->stretch_count == 0)
			continue;
		if (use->stretches[use->stretch_count - 1].last_step > use->stretches[0].last_step)
			return true;
		if (before && before->stretch_count > 0 &&
		    use->stretches[0].last_step > before->stretches[0].last_step)
			return true;
	}
	return false;
}

/* How many of the last incidents are the same failure again. */
static size_t count_alike(const struct advising *advising, const struct incidents *incidents)
{
	const struct incident *last = &incidents->items[incidents->count - 1];
	size_t alike = 0;

	while (alike < incidents->count &&
	       are_alike(advising, &incidents->items[incidents->count - 1 - alike], last))
		alike++;
	return alike;
}

static void suggest_no_retries(struct advice *advice, const struct advising *advising, size_t task)
{
	size_t type = advising->view->tasks[task].type;

	if (advising->view->retries > 0)
		advice_set(advice, advising, "tony.am.retry-count",
			   mem_printf("%d", advising->job->retry_count), mem_strdup("0"));
	if (advising->view->tasks[task].restarts_used > 0)
		advice_set_type(advice, advising, type, "max-restarts",
				mem_printf("%d", advising->job->types[type].max_restarts),
				mem_strdup("0"));
}

static void tell_the_same(struct advising *advising, const struct incident *last, size_t alike)
{
	const struct task_view *task = &advising->view->tasks[last->task];
	const struct cause *cause = &last->attempt->cause;
	char *ran cleanup_free = str_format_duration(ran_ms(last->attempt));
	struct advice *advice =
		advice_begin(advising, "the program fails the same way each time: to try again "
				       "does not help");

	advice_evidence(advice, "%zu failures in a row, the last of %s:%d, are the same: %s%s%s",
			alike, advising->job->types[task->type].name, task->index,
			cause->text ? cause->text : cause_kind_name(cause->kind),
			cause->headline ? ": " : "", cause->headline ? cause->headline : "");
	if (ran_ms(last->attempt) > 0)
		advice_evidence(advice, "each came about %s after the program's start", ran);
	advice_type(advice, advising, task->type);
	suggest_no_retries(advice, advising, last->task);
	advice_remedy(advice, "See the program's log: tony logs %s --task %s:%d", advising->job->id,
		      advising->job->types[task->type].name, task->index);
}

/* What runs now has come further than what failed. */
static bool is_past_it(const struct advising *advising, const struct incident *last)
{
	const struct task_view *task = &advising->view->tasks[last->task];

	return task->state == TASK_RUNNING && task->started_ms >= last->attempt->ended_ms &&
	       advising->input->now_ms - task->started_ms > 2 * ran_ms(last->attempt) + PAST_MS;
}

void rule_retries_useless(struct advising *advising)
{
	struct incidents incidents cleanup_incidents = {0};

	advise_incidents(advising, &incidents);
	if (incidents.count < ALIKE_MIN || advising->view->state == JOB_SUCCEEDED)
		return;
	const struct incident *last = &incidents.items[incidents.count - 1];
	size_t alike = count_alike(advising, &incidents);
	if (alike >= ALIKE_MIN && is_programs(advising, &last->attempt->cause) &&
	    !gets_on(advising) && !is_past_it(advising, last))
		tell_the_same(advising, last, alike);
}

/* ---- one node ----------------------------------------------------------------------------- */

struct node {
	const char *host;
	size_t attempts, failures;
	size_t task;	    /* of a failure */
	bool several_tasks; /* have failed there */
};
struct nodes {
	struct node *items;
	size_t count;
};

static struct node *node_of(struct nodes *nodes, const char *host)
{
	for (size_t i = 0; i < nodes->count; i++)
		if (strcmp(nodes->items[i].host, host) == 0)
			return &nodes->items[i];
	nodes->items = mem_realloc_array(nodes->items, nodes->count + 1, sizeof(*nodes->items));
	nodes->items[nodes->count] = (struct node){.host = host};
	return &nodes->items[nodes->count++];
}

/* What may be a node's fault. */
static bool may_blame(const struct advising *advising, const struct cause *cause)
{
	return is_programs(advising, cause) || policy_find(cause, advising->failures)->blames_host;
}

static void add_failure(struct node *node, size_t task)
{
	if (node->failures++ > 0 && node->task != task)
		node->several_tasks = true;
	node->task = task;
}

static void count_nodes(const struct advising *advising, const struct incidents *incidents,
			struct nodes *nodes, size_t *attempts, size_t *failures)
{
	for (size_t i = 0; i < advising->view->task_count; i++) {
		const struct task_view *task = &advising->view->tasks[i];
		for (size_t k = 0; k < task->attempt_count; k++, (*attempts)++)
			if (task->attempts[k].host)
				node_of(nodes, task->attempts[k].host)->attempts++;
	}
	for (size_t i = 0; i < incidents->count; i++) {
		const struct incident *incident = &incidents->items[i];
		if (!incident->attempt->host || !may_blame(advising, &incident->attempt->cause))
			continue;
		add_failure(node_of(nodes, incident->attempt->host), incident->task);
		(*failures)++;
	}
}

static void tell_node(struct advising *advising, const struct node *node, size_t failures,
		      size_t attempts)
{
	struct advice *advice = advice_begin(advising, "%s fails what runs on it", node->host);

	advice_evidence(advice, "%zu of %zu failures were there, of several tasks", node->failures,
			failures);
	advice_evidence(advice, "%zu of %zu programs ran there", node->attempts, attempts);
	advice_remedy(advice,
		      "Have %s looked at. Within a job it is avoided after a failure that "
		      "is not the program's own; a node label keeps off it from the start "
		      "(tony.application.node-label).",
		      node->host);
}

void rule_bad_node(struct advising *advising)
{
	struct incidents incidents cleanup_incidents = {0};
	struct nodes nodes = {0};
	size_t attempts = 0, failures = 0;

	advise_incidents(advising, &incidents);
	if (incidents.count < NODE_FAILURES_MIN)
		return;
	count_nodes(advising, &incidents, &nodes, &attempts, &failures);
	for (size_t i = 0; nodes.count >= NODE_HOSTS_MIN && i < nodes.count; i++) {
		const struct node *node = &nodes.items[i];
		if (node->failures >= NODE_FAILURES_MIN && node->several_tasks &&
		    100 * node->failures >= NODE_SHARE_PERCENT * failures &&
		    2 * node->attempts <= attempts)
			tell_node(advising, node, failures, attempts);
	}
	free(nodes.items);
}

/* ---- what the cluster took ---------------------------------------------------------------- */

void rule_preempted(struct advising *advising)
{
	size_t count = advise_count_causes(advising, CAUSE_PREEMPTED);
	const char *queue = advising->job->queue ? advising->job->queue : "its queue";

	if (count < PREEMPTED_MIN)
		return;
	struct advice *advice =
		advice_begin(advising, "the cluster takes the job's containers away");
	advice_evidence(advice, "preempted: %zu times", count);
	advice_remedy(advice,
		      "%s is over its share of the cluster: ask for less there, use another one "
		      "(tony.application.queue), or write checkpoints often.",
		      queue);
}

/* ---- what another user took --------------------------------------------------------------- */

void rule_port_thief(struct advising *advising)
{
	struct incidents incidents cleanup_incidents = {0};
	const struct incident *last = NULL;
	size_t count = advise_count_causes(advising, CAUSE_PORT_STOLEN);

	advise_incidents(advising, &incidents);
	for (size_t i = 0; i < incidents.count; i++)
		if (incidents.items[i].attempt->cause.kind == CAUSE_PORT_STOLEN)
			last = &incidents.items[i];
	if (!last)
		return;
	const struct task_view *task = &advising->view->tasks[last->task];
	const struct cause *cause = &last->attempt->cause;
	const char *type = advising->job->types[task->type].name;
	struct advice *advice =
		advice_begin(advising, "another user of the machine takes the job's ports");
	advice_evidence(advice, "taken: %zu time%s, the last of %s:%d: %s", count,
			str_plural(count), type, task->index,
			cause->text ? cause->text : cause_kind_name(cause->kind));
	advice_type(advice, advising, task->type);
	advice_remedy(advice,
		      "Ask whose uid that is: more retries do not help. A port in an argument list "
		      "is told to every user: let the program read TONY_PORT from its environment. "
		      "tony.%s.strict-port=true keeps others out where the program sets "
		      "SO_REUSEPORT, or never listens there.",
		      type);
}

/* Where the cluster took what ran the next time may be better; what never came up, or met the same
 * fault wherever it was, meets it once more. */
static bool is_of_the_clusters_day(enum cause_kind kind)
{
	return kind == CAUSE_EXECUTOR_LOST || kind == CAUSE_NODE_LOST || kind == CAUSE_PREEMPTED ||
	       kind == CAUSE_CONTAINER_STOPPED || kind == CAUSE_ALLOCATION_TIMEOUT;
}

static bool tell_the_same_of_the_cluster(struct advising *advising, int used, int limit)
{
	struct incidents incidents cleanup_incidents = {0};

	advise_incidents(advising, &incidents);
	size_t alike = incidents.count > 0 ? count_alike(advising, &incidents) : 0;
	if (alike < ALIKE_MIN)
		return false;
	const struct incident *last = &incidents.items[incidents.count - 1];
	const struct cause *cause = &last->attempt->cause;
	const struct task_view *task = &advising->view->tasks[last->task];
	if (is_of_the_clusters_day(cause->kind))
		return false;
	struct advice *advice = advice_begin(
		advising, "the same failure of the cluster each time: more retries do not help");
	advice_evidence(advice, "%zu failures in a row are alike, the last of %s:%d: %s", alike,
			advising->job->types[task->type].name, task->index,
			cause->text ? cause->text : cause_kind_name(cause->kind));
	advice_evidence(advice, "used: %d of %d", used, limit);
	advice_remedy(advice,
		      "See what it says, and what the application master wrote: tony logs "
		      "%s --am",
		      advising->job->id);
	return true;
}

void rule_retries_short(struct advising *advising)
{
	int used = advising->view->infrastructure_retries;
	int limit = advising->job->infrastructure_retry_count;

	if (used < ALIKE_MIN || 100 * used < BUDGET_PERCENT * limit ||
	    tell_the_same_of_the_cluster(advising, used, limit))
		return;
	struct advice *advice = advice_begin(
		advising, "the job has almost no retries left for failures of the cluster");
	advice_evidence(advice, "used: %d of %d", used, limit);
	advice_set(advice, advising, "tony.am.infrastructure-retry-count", mem_printf("%d", limit),
		   mem_printf("%d", 3 * used));
}
