/* The list of jobs: what the ResourceManager tells of them, and their AMs, all asked at once. */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "hadoop/id.h"
#include "net/http_client.h"
#include "net/socket_owner.h"
#include "scheduler/local_job.h"
#include "scheduler/yarn_reports.h"

enum {
	PATIENCE_MS = 1000, /* with all AMs, and before it with the store for their tokens */
	AT_ONCE_MAX = 100,
};

typedef Hadoop__ApplicationReportProto report_proto;

struct asking {
	struct event_base *base;
	struct hadoop_cluster *cluster;
	const struct yarn_reports *reports;
	struct job_summary *jobs;
	size_t next;	      /* of the jobs */
	int64_t tokens_until; /* the store is asked for them no longer */
	int64_t until;	      /* the AMs have to answer */
	size_t under_way;
};

struct question {
	struct asking *asking;
	struct job_summary *job;
	struct http_client *client;
};

/* ---- one job ------------------------------------------------------------------------------ */

/* The same as verbs that show one job would: this machine's copy of its journal. */
static void take_copy(struct job_summary *summary)
{
	char *mirror cleanup_free = yarn_mirror_path(summary->id, NULL);
	struct job_view *view;
	struct job *job;

	if (!mirror || local_job_read(mirror, &job, &view, NULL) < 0)
		return;
	if (view->sequence > 0 && !view->is_final) {
		summary->state = view->state;
		if (!summary->waiting)
			summary->waiting = mem_strdup(view->waiting);
	}
	job_view_destroy(view);
	job_destroy(job);
}

/* False: it is no answer. */
static bool take_answer(struct job_summary *summary, const struct http_response *response)
{
	json_t *answer cleanup_json = json_parse(response->body, response->length, NULL);
	const char *name = json_string_value(json_object_get(answer, "state"));
	int state = response->status == 200 && name ? job_state_parse(name) : -1;

	if (state < 0)
		return false;
	summary->state = (enum job_state)state;
	summary->ended_ms = json_integer_value(json_object_get(answer, "ended_ms"));
	mem_replace(&summary->waiting,
		    mem_strdup(json_string_value(json_object_get(answer, "waiting"))));
	mem_replace(&summary->message,
		    mem_strdup(json_string_value(json_object_get(answer, "message"))));
	return true;
}

/* The ResourceManager has a word of its own for a job that waits for its next AM, too. */
static bool has_begun(const report_proto *report)
{
	return !job_state_is_final(yarn_job_state(report)) && yarn_am_attempt(report) > 0;
}

/* The caller frees; NULL: it is not known, or not within the time that is left. *is_sealed: as
 * yarn_mirror_is_sealed() has it. */
static char *find_token(struct asking *asking, const char *id, const report_proto *report,
			bool *is_sealed)
{
	char *mirror cleanup_free = yarn_mirror_path(id, NULL);
	char *token = mirror ? yarn_mirror_token(mirror, NULL) : NULL;

	if (token)
		*is_sealed = yarn_mirror_is_sealed(mirror, NULL);
	if (!mirror || token || clock_monotonic_ms() >= asking->tokens_until)
		return token;
	yarn_take_place(asking->cluster, id, report);
	struct hadoop_cluster hasty = *asking->cluster;
	hasty.hdfs.patience_ms = PATIENCE_MS;
	struct store *job_dir cleanup_yarn_store =
		yarn_store_open_once(&hasty, hasty.job_dir, NULL);
	if (!job_dir)
		return NULL;
	*is_sealed = yarn_mirror_is_sealed(mirror, job_dir);
	return yarn_mirror_token(mirror, job_dir);
}

/* Another user's names this one, if he may look (yarn_named_prove()). */
static void find_door(struct asking *asking, const char *id, const report_proto *report,
		      struct job_door *door)
{
	door->address = yarn_am_address(report);
	door->owner = SOCKET_OWNER_ANY;
	door->is_sealed = true;
	if (!door->address)
		return;
	if (yarn_is_others(asking->cluster, report))
		yarn_named_prove(report, door);
	else
		door->token = find_token(asking, id, report, &door->is_sealed);
}

/* ---- all of them -------------------------------------------------------------------------- */

static void ask_more(struct asking *asking);

static void on_answer(void *data, const struct http_response *response, const struct err *err)
{
	struct question *question = data;
	struct asking *asking = question->asking;

	if (!response || !take_answer(question->job, response))
		take_copy(question->job);
	http_client_destroy(question->client);
	free(question);
	asking->under_way--;
	ask_more(asking);
}

/* False: there is no AM that could be asked. */
static bool ask_one(struct asking *asking, struct job_summary *job, const report_proto *report)
{
	int64_t left = asking->until - clock_monotonic_ms();
	struct job_door door cleanup_job_door = {0};

	if (left > 0)
		find_door(asking, job->id, report, &door);
	const struct http_target am = {door.address, door.token, door.owner, door.is_sealed,
				       door.identity};
	struct http_client *client =
		door.token ? http_client_create_for(asking->base, &am, NULL) : NULL;

	if (!client)
		return false;
	struct question *question = mem_alloc(sizeof(*question));
	*question = (struct question){asking, job, client};
	asking->under_way++;
	http_client_start(client, &(struct http_question){.method = "GET",
							  .path = "/v1/job",
							  .timeout_ms = left,
							  .is_last = true,
							  .done = on_answer,
							  .data = question});
	return true;
}

static void ask_more(struct asking *asking)
{
	for (; asking->next < asking->reports->count && asking->under_way < AT_ONCE_MAX;
	     asking->next++) {
		const report_proto *report = asking->reports->items[asking->next];
		struct job_summary *job = &asking->jobs[asking->next];
		if (has_begun(report) && !ask_one(asking, job, report))
			take_copy(job);
	}
}

void yarn_running_ask(struct hadoop_cluster *cluster, const struct yarn_reports *reports,
		      struct job_summary *jobs)
{
	int64_t now = clock_monotonic_ms();
	struct asking asking = {
		.base = event_base_new(),
		.cluster = cluster,
		.reports = reports,
		.jobs = jobs,
		.tokens_until = now + PATIENCE_MS,
		.until = now + 2 * PATIENCE_MS,
	};

	if (!asking.base)
		return;
	ask_more(&asking);
	event_base_dispatch(asking.base);
	/* Cancelled calls end here. */
	event_base_loop(asking.base, EVLOOP_NONBLOCK);
	event_base_free(asking.base);
}

/* ---- list --------------------------------------------------------------------------------- */

static const char *framework_of(const report_proto *report)
{
	for (size_t i = 0; i < report->n_applicationtags; i++)
		if (str_starts_with(report->applicationtags[i], YARN_FRAMEWORK_TAG))
			return report->applicationtags[i] + strlen(YARN_FRAMEWORK_TAG);
	return "generic";
}

/* Those of the user's; YARN has them in small letters. */
static void take_tags(const report_proto *report, struct str_list *tags)
{
	for (size_t i = 0; i < report->n_applicationtags; i++)
		if (!str_equal(report->applicationtags[i], YARN_TAG) &&
		    !str_starts_with(report->applicationtags[i], YARN_FRAMEWORK_TAG))
			str_list_add(tags, report->applicationtags[i]);
	str_list_sort(tags);
}

static void summarize(const report_proto *report, struct job_summary *summary)
{
	*summary = (struct job_summary){
		.id = hadoop_application_id_text(report->applicationid),
		.name = mem_strdup(report->name ? report->name : ""),
		.user = mem_strdup(report->user ? report->user : ""),
		.framework = mem_strdup(framework_of(report)),
		.scheduler = mem_strdup("yarn"),
		.queue = mem_strdup(report->queue),
		.state = yarn_job_state(report),
		.submitted_ms = report->starttime,
		.waiting = yarn_waiting(report),
	};
	take_tags(report, &summary->tags);
	if (job_state_is_final(summary->state)) {
		struct cause cause = {0};
		summary->ended_ms = report->finishtime;
		/* An AM registers once it has written its journal. */
		summary->message =
			yarn_diagnose(report, yarn_known_text(report->host) != NULL, &cause);
		cause_finish(&cause);
	}
}

int yarn_list(const char *user, int64_t ended_since_ms, struct job_summary **jobs, size_t *count,
	      struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_find(NULL, err);
	struct yarn_reports reports cleanup_yarn_reports = {0};

	if (!cluster ||
	    yarn_reports_ask_of(cluster, user ? user : cluster->user, &reports, err) < 0)
		return -1;
	*jobs = mem_alloc_array(reports.count, sizeof(**jobs));
	for (size_t i = 0; i < reports.count; i++) {
		summarize(reports.items[i], &(*jobs)[i]);
		(*jobs)[i].is_others = yarn_is_others(cluster, reports.items[i]);
	}
	*count = reports.count;
	yarn_running_ask(cluster, &reports, *jobs);
	if (!user)
		yarn_sweep(cluster, &reports);
	return 0;
}
