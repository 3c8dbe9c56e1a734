#include "am/tracking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "am/tracking_queue.h"
#include "am/tracking_server.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/timer.h"
#include "net/backoff.h"
#include "net/http_client.h"
#include "net/http_url.h"

enum {
	ANSWER_MS = 10000,
	ANSWER_CAP = 1 << 20,
	GATHER_MS = 1000, /* numbers of so long go together */
	FIRST_RETRY_MS = 1000,
	RETRY_CAP_MS = 60000,
	PARAMETERS_MAX = 100, /* of one request */
	EXPERIMENT_TRIES = 3, /* others may make it, or remove it, at the same time */
	REASON_MAX = 300,
};

/* Troubles, of which a note tells once each. */
enum note { NOTE_GIVEN_UP, NOTE_REFUSED, NOTE_FAILED, NOTE_THINNED, NOTE_NOT_FINITE, NOTES };

struct tracking {
	struct tracking_options options;
	struct web_target target;
	struct http_client *client;
	const struct question *asked; /* NULL: nothing is on the wire */
	struct event *timer;	      /* of the next question */
	struct backoff backoff;
	char *experiment, *run; /* ids; NULL: not known yet */
	bool lacks_experiment;
	int experiment_tries;
	bool lacks_run; /* no AM before has made one */
	size_t parameters_sent;
	bool has_sent_tags;
	json_t *parameters;
	struct tracking_queue queue;
	bool has_begun, is_given_up;
	bool has_noted[NOTES];
	/* Tells the one who waits; NULL: nobody does. */
	void (*done)(void *data);
	bool is_flushed;     /* all numbers are waited for, not only the run */
	struct event *limit; /* of their patience */
};

/* A question, and what its answer means. */
struct question {
	const char *method, *path;
	json_t *(*body)(struct tracking *tracking);			      /* NULL: none */
	void (*add_query)(const struct tracking *tracking, struct str *path); /* NULL: none */
	/* False: the answer makes no sense. */
	bool (*take)(struct tracking *tracking, const json_t *answer);
	/* Sees what follows from a refusal; false: the server refuses the whole job. */
	bool (*take_refusal)(struct tracking *tracking, int status);
};

/* ---- those who wait ----------------------------------------------------------------------- */

static bool has_more(const struct tracking *tracking)
{
	return !tracking->run || !tracking->has_sent_tags ||
	       tracking->parameters_sent < json_array_size(tracking->parameters) ||
	       tracking->queue.count > 0;
}

static void tell_done(struct tracking *tracking)
{
	void (*done)(void *data) = tracking->done;

	tracking->done = NULL;
	event_del(tracking->limit);
	if (done)
		done(tracking->options.data);
}

static void settle(struct tracking *tracking)
{
	bool is_stuck = tracking->is_given_up || tracking->backoff.tries > 0;
	bool is_missing = tracking->is_flushed ? has_more(tracking) : !tracking->run;

	if (is_stuck || !is_missing)
		tell_done(tracking);
}

static void on_limit(evutil_socket_t fd, short what, void *data)
{
	tell_done(data);
}

/* ---- trouble ------------------------------------------------------------------------------ */

static void tell(struct tracking *tracking, enum note note, const char *what,
		 const char *consequence)
{
	char *origin cleanup_free = net_url_origin(&tracking->target.url);
	char *text cleanup_free = mem_printf("the tracking server %s: %.*s; %s", origin, REASON_MAX,
					     what, consequence);

	if (tracking->has_noted[note])
		return;
	tracking->has_noted[note] = true;
	tracking->options.noted(tracking->options.data, text);
}

static void give_up(struct tracking *tracking, const char *why)
{
	tracking->is_given_up = true;
	tell(tracking, NOTE_GIVEN_UP, why, "the job goes on untracked");
}

static void try_later(struct tracking *tracking, const char *why)
{
	tell(tracking, NOTE_FAILED, why,
	     "the job goes on, and its numbers are sent once the server takes them");
	tracking_queue_keep(&tracking->queue);
	timer_start(tracking->timer, backoff_next(&tracking->backoff, random_u64()));
}

/* ---- the experiment and the run ----------------------------------------------------------- */

static bool take_id(const json_t *object, const char *name, char **id)
{
	const char *text = json_string_value(json_object_get(object, name));

	if (!tracking_server_is_id(text))
		return false;
	mem_replace(id, mem_strdup(text));
	return true;
}

static void add_experiment_name(const struct tracking *tracking, struct str *path)
{
	str_append(path, "?experiment_name=");
	http_url_encode(path, job_experiment(tracking->options.job), "");
}

static bool take_found_experiment(struct tracking *tracking, const json_t *answer)
{
	return take_id(json_object_get(answer, "experiment"), "experiment_id",
		       &tracking->experiment);
}

static bool experiment_is_missing(struct tracking *tracking, int status)
{
	tracking->lacks_experiment = true;
	return status == 404 && tracking->experiment_tries++ < EXPERIMENT_TRIES;
}

static json_t *describe_experiment(struct tracking *tracking)
{
	json_t *body = json_object();

	json_set_text(body, "name", job_experiment(tracking->options.job));
	return body;
}

static bool take_new_experiment(struct tracking *tracking, const json_t *answer)
{
	return take_id(answer, "experiment_id", &tracking->experiment);
}

/* Somebody else has made it meanwhile. */
static bool experiment_is_there(struct tracking *tracking, int status)
{
	tracking->lacks_experiment = false;
	return status == 400 && tracking->experiment_tries < EXPERIMENT_TRIES;
}

static json_t *describe_search(struct tracking *tracking)
{
	json_t *body = json_object(), *experiments = json_array();
	char *filter cleanup_free = mem_printf("tags.tony_job = '%s'", tracking->options.job->id);

	json_array_append_new(experiments, json_string(tracking->experiment));
	json_object_set_new(body, "experiment_ids", experiments);
	json_set_text(body, "filter", filter);
	json_set_int(body, "max_results", 1);
	return body;
}

static void take_run(struct tracking *tracking)
{
	char *page cleanup_free =
		tracking_server_page(tracking->options.job, tracking->experiment, tracking->run);

	tracking->options.run_made(tracking->options.data, tracking->run, page);
}

static bool take_found_run(struct tracking *tracking, const json_t *answer)
{
	const json_t *run = json_array_get(json_object_get(answer, "runs"), 0);

	tracking->lacks_run = true;
	if (run && !take_id(json_object_get(run, "info"), "run_id", &tracking->run))
		return false;
	if (run)
		take_run(tracking);
	return true;
}

static void add_pair(json_t *list, const char *key, const char *value)
{
	if (value && *value)
		json_array_append_new(list, tracking_server_pair(key, value));
}

/* Its pages show those of MLflow's own; "tony_job" is how an AM that follows finds the run. */
static json_t *describe_tags(const struct tracking *tracking)
{
	const struct job *job = tracking->options.job;
	const char *page = tracking->options.job_page;
	char *tags cleanup_free = str_list_join(&job->tags, ", ");
	char *content cleanup_free = page ? mem_printf("[The job's page](%s)", page) : NULL;
	json_t *list = json_array();

	add_pair(list, "tony_job", job->id);
	add_pair(list, "tony_framework", job->framework);
	add_pair(list, "tony_scheduler", job->scheduler ? job->scheduler : "local");
	add_pair(list, "tony_tags", tags);
	add_pair(list, "tony_rerun_of", job->rerun_of);
	add_pair(list, "tony_page", page);
	add_pair(list, "mlflow.user", job->user);
	add_pair(list, "mlflow.source.type", "JOB");
	add_pair(list, "mlflow.source.name", job->name);
	add_pair(list, "mlflow.source.git.commit",
		 json_string_value(json_object_get(job->provenance, "commit")));
	add_pair(list, "mlflow.note.content", content);
	return list;
}

static json_t *describe_run(struct tracking *tracking)
{
	json_t *body = json_object();

	json_set_text(body, "experiment_id", tracking->experiment);
	json_set_text(body, "run_name", tracking->options.job->id);
	json_set_int(body, "start_time", clock_wall_ms());
	json_object_set_new(body, "tags", describe_tags(tracking));
	return body;
}

static bool take_new_run(struct tracking *tracking, const json_t *answer)
{
	const json_t *run = json_object_get(answer, "run");

	if (!take_id(json_object_get(run, "info"), "run_id", &tracking->run))
		return false;
	tracking->has_sent_tags = true;
	take_run(tracking);
	return true;
}

/* ---- the configuration and numbers -------------------------------------------------------- */

/* Keys that somebody has chosen; values that are secrets are masked there. */
static json_t *list_parameters(const struct job *job)
{
	json_t *list = json_array(), *row;
	const char *name;

	json_object_foreach(job->config, name, row)
	{
		const char *origin = json_string_value(json_object_get(row, "origin"));
		if (!str_equal(origin, "default"))
			add_pair(list, name, json_string_value(json_object_get(row, "value")));
	}
	return list;
}

static size_t count_parameters(const struct tracking *tracking)
{
	size_t left = json_array_size(tracking->parameters) - tracking->parameters_sent;

	return left < PARAMETERS_MAX ? left : PARAMETERS_MAX;
}

/* Numbers alone, so that a tag or parameter which is refused costs none. */
static bool is_about_numbers(const struct tracking *tracking)
{
	return tracking->has_sent_tags && count_parameters(tracking) == 0;
}

static json_t *describe_batch(struct tracking *tracking)
{
	json_t *body = json_object(), *parameters = json_array();

	json_set_text(body, "run_id", tracking->run);
	if (is_about_numbers(tracking))
		json_object_set_new(body, "metrics", tracking_queue_take(&tracking->queue));
	if (!tracking->has_sent_tags)
		json_object_set_new(body, "tags", describe_tags(tracking));
	for (size_t i = 0; i < count_parameters(tracking); i++)
		json_array_append(parameters, json_array_get(tracking->parameters,
							     tracking->parameters_sent + i));
	json_object_set_new(body, "params", parameters);
	return body;
}

static bool take_batch(struct tracking *tracking, const json_t *answer)
{
	if (is_about_numbers(tracking))
		tracking_queue_drop(&tracking->queue);
	tracking->has_sent_tags = true;
	tracking->parameters_sent += count_parameters(tracking);
	return true;
}

/* The run may have been removed; anything else may be taken another time. */
static bool batch_is_refused(struct tracking *tracking, int status)
{
	take_batch(tracking, NULL);
	return status != 404;
}

static const struct question find_experiment = {.method = "GET",
						.path = "experiments/get-by-name",
						.add_query = add_experiment_name,
						.take = take_found_experiment,
						.take_refusal = experiment_is_missing},
			     make_experiment = {.method = "POST",
						.path = "experiments/create",
						.body = describe_experiment,
						.take = take_new_experiment,
						.take_refusal = experiment_is_there},
			     find_run = {.method = "POST",
					 .path = "runs/search",
					 .body = describe_search,
					 .take = take_found_run},
			     make_run = {.method = "POST",
					 .path = "runs/create",
					 .body = describe_run,
					 .take = take_new_run},
			     send_batch = {.method = "POST",
					   .path = "runs/log-batch",
					   .body = describe_batch,
					   .take = take_batch,
					   .take_refusal = batch_is_refused};

/* ---- asking ------------------------------------------------------------------------------- */

static const struct question *find_question(const struct tracking *tracking)
{
	if (!tracking->run && !tracking->experiment)
		return tracking->lacks_experiment ? &make_experiment : &find_experiment;
	if (!tracking->run)
		return tracking->lacks_run ? &make_run : &find_run;
	return has_more(tracking) ? &send_batch : NULL;
}

static void on_answer(void *data, const struct http_response *response, const struct err *err);

/* For one question: a server may close an idle connection at any moment. */
static int make_client(struct tracking *tracking, struct err *err)
{
	http_client_destroy(tracking->client);
	tracking->client =
		http_client_create(tracking->options.base, tracking->target.url.address, NULL, err);
	if (tracking->client && tracking->target.tls)
		http_client_use_tls(tracking->client, tracking->target.tls);
	return tracking->client ? 0 : -1;
}

static void ask(struct tracking *tracking, const struct question *question)
{
	json_t *body cleanup_json = question->body ? question->body(tracking) : NULL;
	char *text cleanup_free = body ? json_text(body) : NULL;
	char *path = tracking_server_path(&tracking->target, question->path);
	struct str target cleanup_str = {0};

	str_append(&target, path);
	free(path);
	if (question->add_query)
		question->add_query(tracking, &target);
	tracking->asked = question;
	if (make_client(tracking, NULL) < 0)
		BUG("an address that was one is none: %s", tracking->target.url.address);
	http_client_start(tracking->client, &(struct http_question){
						    .method = question->method,
						    .path = target.text,
						    .content_type = "application/json",
						    .authorization = tracking->target.authorization,
						    .body = text,
						    .body_length = text ? strlen(text) : 0,
						    .timeout_ms = ANSWER_MS,
						    .cap = ANSWER_CAP,
						    .done = on_answer,
						    .data = tracking,
					    });
}

/* The next question, unless it has time. */
static void go_on(struct tracking *tracking)
{
	const struct question *question = find_question(tracking);
	bool is_urgent = !is_about_numbers(tracking) || !tracking->run || tracking->done ||
			 tracking->queue.count >= TRACKING_BATCH_MAX;

	if (tracking->asked || tracking->is_given_up || !question ||
	    event_pending(tracking->timer, EV_TIMEOUT, NULL))
		return;
	if (is_urgent)
		ask(tracking, question);
	else
		timer_start(tracking->timer, GATHER_MS);
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
	struct tracking *tracking = data;
	const struct question *question = find_question(tracking);

	if (question && !tracking->asked && !tracking->is_given_up)
		ask(tracking, question);
}

/* MLflow's own words, if they are some: {"error_code": ..., "message": ...}. */
static char *describe_refusal(const struct http_response *response)
{
	json_t *body cleanup_json = json_parse(response->body, response->length, NULL);
	const char *message = json_string_value(json_object_get(body, "message"));
	char *words cleanup_free = message ? str_printable(message, strlen(message)) : NULL;

	return mem_printf("status %d%s%s", response->status, words ? ": " : "", words ? words : "");
}

/* A word with which the server may yet change its mind. */
static bool may_help_again(int status)
{
	return status == 401 || status == 403 || status == 408 || status == 429 || status >= 500;
}

static void take_refusal(struct tracking *tracking, const struct question *question,
			 const struct http_response *response)
{
	char *why cleanup_free = describe_refusal(response);

	if (may_help_again(response->status)) {
		try_later(tracking, why);
		return;
	}
	if (!question->take_refusal || !question->take_refusal(tracking, response->status))
		give_up(tracking, why);
	else if (question == &send_batch)
		tell(tracking, NOTE_REFUSED, why, "what it refuses is left out");
}

static void take_answer(struct tracking *tracking, const struct question *question,
			const struct http_response *response)
{
	json_t *body cleanup_json = json_parse(response->body, response->length, NULL);

	backoff_reset(&tracking->backoff);
	if (!question->take(tracking, body))
		give_up(tracking, "its answer is not that of an MLflow server");
}

static void on_answer(void *data, const struct http_response *response, const struct err *err)
{
	struct tracking *tracking = data;
	const struct question *question = mem_steal(&tracking->asked);

	/* It may have been made all the same. */
	if (question == &make_run && (!response || response->status >= 500))
		tracking->lacks_run = false;
	if (!response)
		try_later(tracking, err_message(err));
	else if (response->status >= 200 && response->status < 300)
		take_answer(tracking, question, response);
	else
		take_refusal(tracking, question, response);
	settle(tracking);
	go_on(tracking);
}

/* ---- its life ----------------------------------------------------------------------------- */

struct tracking *tracking_create(const struct tracking_options *options, struct err *err)
{
	struct tracking *tracking = mem_alloc(sizeof(*tracking));

	*tracking = (struct tracking){
		.options = *options,
		.run = mem_strdup(options->run),
		.lacks_run = options->is_first_am,
		.backoff = {.first_ms = FIRST_RETRY_MS, .cap_ms = RETRY_CAP_MS},
		.parameters = list_parameters(options->job),
		.timer = event_new(options->base, -1, 0, on_timer, tracking),
		.limit = event_new(options->base, -1, 0, on_limit, tracking),
	};
	if (tracking_server_open(&tracking->target, options->job, err) == 0 &&
	    make_client(tracking, err) == 0)
		return tracking;
	tracking_destroy(tracking);
	return NULL;
}

void tracking_destroy(struct tracking *tracking)
{
	if (!tracking)
		return;
	if (tracking->queue.count > 0)
		log_warning("%zu numbers of the job have not reached the tracking server",
			    tracking->queue.count);
	http_client_destroy(tracking->client);
	event_free(tracking->timer);
	event_free(tracking->limit);
	web_target_close(&tracking->target);
	tracking_queue_finish(&tracking->queue);
	json_decref(tracking->parameters);
	free(tracking->experiment);
	free(tracking->run);
	free(tracking);
}

static void await(struct tracking *tracking, bool is_flushed, int64_t limit_ms,
		  void (*done)(void *data))
{
	tracking->done = done;
	tracking->is_flushed = is_flushed;
	timer_start(tracking->limit, limit_ms);
	settle(tracking);
	go_on(tracking);
}

void tracking_begin(struct tracking *tracking, int64_t limit_ms, void (*done)(void *data))
{
	tracking->has_begun = true;
	await(tracking, false, limit_ms, done);
}

void tracking_flush(struct tracking *tracking, int64_t limit_ms, void (*done)(void *data))
{
	if (!tracking->has_begun) { /* nor has the job */
		done(tracking->options.data);
		return;
	}
	/* Neither are numbers gathered any more, nor a server given time. */
	event_del(tracking->timer);
	backoff_reset(&tracking->backoff);
	await(tracking, true, limit_ms, done);
}

const char *tracking_run(const struct tracking *tracking)
{
	return tracking->run;
}

/* JSON has no such number, and a server would refuse all that comes with it. */
static void tell_not_finite(struct tracking *tracking, const char *key)
{
	char *what cleanup_free = mem_printf("%s is NaN or infinite, which it cannot take", key);

	tell(tracking, NOTE_NOT_FINITE, what, "such values are left out; tony metrics has them");
}

void tracking_add(struct tracking *tracking, const char *task, const struct number_list *numbers,
		  size_t first)
{
	if (tracking->is_given_up)
		return;
	for (size_t i = first; i < numbers->count; i++) {
		const struct number *number = &numbers->items[i];
		char *key cleanup_free = tracking_key(task, number->run, number->name);
		if (!isfinite(number->value))
			tell_not_finite(tracking, key);
		else
			tracking_queue_add(&tracking->queue, mem_steal(&key),
					   number->time_ms > 0 ? number->time_ms : clock_wall_ms(),
					   number->step < 0 ? 0 : number->step, number->value);
	}
	if (tracking->queue.is_thinned)
		tell(tracking, NOTE_THINNED, "it takes numbers more slowly than the job tells them",
		     "some are left out");
	go_on(tracking);
}
