#include "executor/link.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/timer.h"
#include "executor/silence.h"
#include "net/backoff.h"
#include "net/http_client.h"

enum {
	FIRST_RETRY_MS = 50,
	RETRY_CAP_MS = 5000,
	BEAT_INTERVAL_MS = 1000, /* until the AM says otherwise */
	ANSWER_MS = 10000,	 /* an answer that takes longer is lost */
};

/* One kind of message: what is to be sent, on the wire or waiting for its next try. */
struct message {
	struct link *link;
	const char *verb; /* the path's last segment */
	char *body;	  /* NULL: nothing to send */
	struct http_client *client;
	struct http_call *call;
	struct event *retry;
	struct backoff backoff;
	/* -1: the answer makes no sense. */
	int (*answered)(struct link *link, const struct http_response *response, struct err *err);
};

struct link {
	struct link_options options;
	struct message enter, report, beat; /* "register" is a keyword of C */
	struct http_client *reports, *beats;
	struct event *look; /* whether the AM is silent */
	struct silence silence;
	int64_t interval_ms;
	int am_attempt; /* the highest seen */
	bool registered;
	int64_t orders;		/* received so far */
	uint64_t changes;	/* of the state */
	uint64_t changes_told;	/* as of the last beat */
	uint64_t changes_heard; /* as of the last beat that the AM has answered */
	int64_t told_at;
	char *last_report;
	int taken_by; /* attempt of the AM that took it last; 0: none has */
	bool ended;
};

static void send_message(struct message *message);

/* ---- the end ------------------------------------------------------------------------------ */

static void stop_message(struct message *message)
{
	if (message->call)
		http_client_cancel(message->call);
	message->call = NULL;
	evtimer_del(message->retry);
	mem_replace(&message->body, NULL);
}

static void end(struct link *link, enum link_end how, const char *text)
{
	if (link->ended)
		return;
	link->ended = true;
	stop_message(&link->enter);
	stop_message(&link->report);
	stop_message(&link->beat);
	evtimer_del(link->look);
	link->options.events.ended(link->options.events.data, how, text);
}

static void plan_look(struct link *link)
{
	int64_t now = clock_monotonic_ms();

	if (link->silence.look_at != INT64_MAX)
		timer_start(link->look,
			    link->silence.look_at > now ? link->silence.look_at - now : 0);
}

static void on_look(evutil_socket_t fd, short what, void *data)
{
	struct link *link = data;
	int64_t now = clock_monotonic_ms();

	if (!silence_look(&link->silence, now)) {
		plan_look(link);
		return;
	}
	char *time cleanup_free = str_format_duration(now - link->silence.heard_at);
	char *text cleanup_free = mem_printf("the AM was silent for %s", time);
	end(link, LINK_SILENT, text);
}

static void heard(struct link *link)
{
	silence_heard(&link->silence, clock_monotonic_ms());
	plan_look(link);
}

/* ---- sending ------------------------------------------------------------------------------ */

static void try_again(struct message *message, const char *why)
{
	if (message->backoff.tries == 0)
		log_info("%s: %s; trying again", message->verb, why);
	timer_start(message->retry, backoff_next(&message->backoff, random_u64()));
}

/* The AM before has taken this token, so this is somebody else at its address, now that it is gone:
 * no AM of this job, and nothing that is said to it is heard. */
static bool is_stranger(const struct link *link, const struct err *err)
{
	return link->am_attempt > 0 && (err->kind == ERR_DENIED || err->kind == ERR_NOT_FOUND);
}

/* A refusal that no repetition changes. */
static void refused(struct message *message, const struct err *err)
{
	struct link *link = message->link;

	if (message == &link->report) {
		/* Of an epoch that is over: the orders tell what holds now. */
		log_info("exit report not taken: %s", err_message(err));
		stop_message(message);
		link->options.events.reported(link->options.events.data);
	} else {
		end(link, err->kind == ERR_STALE ? LINK_STALE : LINK_REFUSED, err_message(err));
	}
}

static void take_answer(struct message *message, const struct http_response *response)
{
	struct link *link = message->link;
	struct err err cleanup_err = {0};

	if (http_response_check(response->status, response->body, response->length, &err) < 0) {
		if (is_stranger(link, &err)) {
			try_again(message, err_message(&err));
			return;
		}
		heard(link);
		if (err.kind == ERR_UNREACHABLE || err.kind == ERR_FAILED)
			try_again(message, err_message(&err));
		else
			refused(message, &err);
		return;
	}
	if (message->answered(link, response, &err) < 0)
		try_again(message, err_message(&err));
}

/* Its answer makes sense. */
static void settle_message(struct message *message)
{
	heard(message->link);
	backoff_reset(&message->backoff);
	mem_replace(&message->body, NULL);
}

static void on_done(void *data, const struct http_response *response, const struct err *err)
{
	struct message *message = data;

	message->call = NULL;
	if (!response)
		try_again(message, err_message(err));
	else
		take_answer(message, response);
}

static void send_message(struct message *message)
{
	const struct link *link = message->link;

	if (link->ended || message->call || !message->body)
		return;
	/* The first beat follows on the connection of the registration, unless one is held there.
	 */
	if (message == &link->enter)
		message->client = link->beat.call ? link->reports : link->beats;
	evtimer_del(message->retry);
	char *path cleanup_free = mem_printf("/v1/tasks/%s/%s", link->options.task, message->verb);
	bool is_beat = message == &link->beat;
	struct http_question question = {
		.method = "POST",
		.path = path,
		.body = message->body,
		.body_length = strlen(message->body),
		.timeout_ms = ANSWER_MS + (is_beat ? link->interval_ms : 0),
		.takes_gzip = is_beat,
		/* The AM holds one connection for each executor, not two. */
		.is_last = message->client == link->reports,
		.done = on_done,
		.data = message,
	};
	message->call = http_client_start(message->client, &question);
}

static void on_retry(evutil_socket_t fd, short what, void *data)
{
	send_message(data);
}

/* ---- beats -------------------------------------------------------------------------------- */

static void beat(struct link *link)
{
	struct heartbeat heartbeat = {0};

	if (link->ended || !link->registered || link->beat.call || link->enter.body)
		return;
	evtimer_del(link->beat.retry);
	link->options.events.state(link->options.events.data, &heartbeat);
	heartbeat.seen = link->orders;
	mem_replace(&link->beat.body, heartbeat_encode(&heartbeat));
	heartbeat_finish(&heartbeat);
	link->changes_told = link->changes;
	link->told_at = clock_monotonic_ms();
	send_message(&link->beat);
}

/* A beat that failed is not repeated but made anew: by now there may be more to say. */
static void on_beat_timer(evutil_socket_t fd, short what, void *data)
{
	struct message *message = data;

	beat(message->link);
}

static void beat_later(struct link *link)
{
	timer_start(link->beat.retry, link->interval_ms);
}

/* After an answer: at once when there is news or the beat was held as it should be. Else the AM and
 * this executor disagree until something here is done (a program is ending): not in a hot loop. */
static void beat_on(struct link *link)
{
	bool held = clock_monotonic_ms() - link->told_at >= link->interval_ms / 2;

	if (link->beat.call || link->ended)
		return;
	if (held || link->changes != link->changes_told)
		beat(link);
	else
		beat_later(link);
}

static void take_orders(struct link *link, const struct orders *orders)
{
	if (orders->am_attempt < link->am_attempt) {
		log_warning("ignoring an order of AM attempt %d: %d is at work", orders->am_attempt,
			    link->am_attempt);
		beat_later(link);
		return;
	}
	bool is_new = link->am_attempt > 0 && orders->am_attempt > link->am_attempt;
	link->am_attempt = orders->am_attempt;
	if (is_new)
		link->options.events.am_changed(link->options.events.data);
	link->options.events.order(link->options.events.data, orders);
	beat_on(link);
}

static int on_orders(struct link *link, const struct http_response *response, struct err *err)
{
	struct orders orders;

	if (orders_decode(&orders, response->body, response->length, err) < 0)
		return -1;
	settle_message(&link->beat);
	link->changes_heard = link->changes_told;
	link->orders++;
	take_orders(link, &orders);
	orders_finish(&orders);
	return 0;
}

void link_changed(struct link *link)
{
	link->changes++;
	beat(link);
}

bool link_is_heard(const struct link *link)
{
	return link->ended || !link->registered || link->changes_heard == link->changes;
}

/* ---- registration, reports ---------------------------------------------------------------- */

static int on_registered(struct link *link, const struct http_response *response, struct err *err)
{
	struct registered registered;

	if (registered_decode(&registered, response->body, response->length, err) < 0)
		return -1;
	link->interval_ms = registered.heartbeat_interval_ms;
	silence_begin(&link->silence, registered.give_up_ms, clock_monotonic_ms());
	plan_look(link);
	if (registered.am_attempt > link->am_attempt)
		link->am_attempt = registered.am_attempt;
	settle_message(&link->enter);
	link->registered = true;
	beat(link);
	return 0;
}

/* The answer says nothing, but something else that listens at this address now would not even say
 * that. */
static int on_reported(struct link *link, const struct http_response *response, struct err *err)
{
	json_t *answer cleanup_json = message_parse(response->body, response->length, err);

	if (!answer)
		return -1;
	settle_message(&link->report);
	link->taken_by = link->am_attempt;
	link->options.events.reported(link->options.events.data);
	return 0;
}

static void post(struct message *message, char *body)
{
	stop_message(message);
	message->body = body;
	send_message(message);
}

void link_register(struct link *link, const struct registration *registration)
{
	post(&link->enter, registration_encode(registration));
}

void link_report(struct link *link, const struct exit_report *report)
{
	mem_replace(&link->last_report, exit_report_encode(report));
	link->taken_by = 0;
	post(&link->report, mem_strdup(link->last_report));
}

void link_report_again(struct link *link)
{
	if (link->last_report && !link_is_reporting(link) && link->taken_by != link->am_attempt)
		post(&link->report, mem_strdup(link->last_report));
}

bool link_is_reporting(const struct link *link)
{
	return link->report.body != NULL;
}

/* ---- another AM --------------------------------------------------------------------------- */

static struct http_client *connect_to(const struct link_options *options, const char *address,
				      struct err *err)
{
	const struct http_target am = {address, options->token, geteuid(), options->is_sealed};

	return http_client_create_for(options->base, &am, err);
}

static void redirect(struct message *message, struct http_client *client)
{
	if (message->call)
		http_client_cancel(message->call);
	message->call = NULL;
	message->client = client;
	backoff_reset(&message->backoff);
}

bool link_move(struct link *link, int am_attempt, const char *address)
{
	const struct link_options *options = &link->options;

	if (link->ended || am_attempt <= link->am_attempt)
		return false;
	struct http_client *reports = connect_to(options, address, NULL);
	if (!reports)
		return false;
	link->am_attempt = am_attempt;
	link->registered = false;
	redirect(&link->enter, reports);
	redirect(&link->report, reports);
	http_client_destroy(link->reports);
	link->reports = reports;
	stop_message(&link->beat);
	http_client_destroy(link->beats);
	link->beats = connect_to(options, address, NULL);
	redirect(&link->beat, link->beats);
	heard(link);
	send_message(&link->report);
	return true;
}

/* ---- creation ----------------------------------------------------------------------------- */

static void init_message(struct message *message, struct link *link, const char *verb,
			 struct http_client *client, event_callback_fn on_timer,
			 int (*answered)(struct link *link, const struct http_response *response,
					 struct err *err))
{
	*message = (struct message){
		.link = link,
		.verb = verb,
		.client = client,
		.retry = evtimer_new(link->options.base, on_timer, message),
		.backoff = {.first_ms = FIRST_RETRY_MS, .cap_ms = RETRY_CAP_MS},
		.answered = answered,
	};
}

struct link *link_create(const struct link_options *options, struct err *err)
{
	struct http_client *reports = connect_to(options, options->address, err);

	if (!reports)
		return NULL;
	struct link *link = mem_alloc(sizeof(*link));
	link->options = *options;
	link->interval_ms = BEAT_INTERVAL_MS;
	link->reports = reports;
	link->beats = connect_to(options, options->address, NULL);
	init_message(&link->enter, link, "register", reports, on_retry, on_registered);
	init_message(&link->report, link, "exit", reports, on_retry, on_reported);
	init_message(&link->beat, link, "beat", link->beats, on_beat_timer, on_orders);
	link->look = evtimer_new(options->base, on_look, link);
	silence_begin(&link->silence, options->give_up_ms, clock_monotonic_ms());
	plan_look(link);
	return link;
}

void link_destroy(struct link *link)
{
	struct message *messages[] = {&link->enter, &link->report, &link->beat};

	if (!link)
		return;
	for (size_t i = 0; i < array_length(messages); i++) {
		stop_message(messages[i]);
		event_free(messages[i]->retry);
	}
	free(link->last_report);
	event_free(link->look);
	http_client_destroy(link->reports);
	http_client_destroy(link->beats);
	free(link);
}
