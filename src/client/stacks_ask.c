#include "client/stacks_ask.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timer.h"
#include "client/task_channel.h"
#include "net/channel.h"
#include "protocol/session.h"

enum {
	AT_ONCE = 100,
	ANSWER_CAP = 16 << 20,
};

struct crowd;

/* A task that is being asked. */
struct ask {
	struct crowd *crowd;
	struct stacks_answer *answer;
	struct channel *channel;
	struct evbuffer *output, *errors;
	char *failure; /* no channel could be opened; NULL: one was */
	struct event late;
};

struct crowd {
	struct event_base *base;
	const struct opened *opened;
	struct stacks_answer *tasks;
	size_t count, next, left;
	int64_t timeout_ms;
};

static void ask_next(struct crowd *crowd);

/* `problem` is taken. */
static void end(struct ask *ask, json_t *processes, char *problem)
{
	struct crowd *crowd = ask->crowd;

	ask->answer->processes = processes;
	ask->answer->problem = problem;
	event_del(&ask->late);
	channel_close(ask->channel);
	evbuffer_free(ask->output);
	evbuffer_free(ask->errors);
	free(ask);
	if (--crowd->left == 0)
		event_base_loopbreak(crowd->base);
	else
		ask_next(crowd);
}

static char *text_of(struct evbuffer *buffer)
{
	size_t length = evbuffer_get_length(buffer);
	const char *bytes = length > 0 ? (const char *)evbuffer_pullup(buffer, -1) : "";

	return str_printable(bytes, length);
}

static void take_answer(struct ask *ask)
{
	char *text cleanup_free = text_of(ask->output), *errors cleanup_free = text_of(ask->errors);
	json_t *processes = json_parse(text, strlen(text), NULL);

	if (json_is_array(processes)) {
		end(ask, processes, NULL);
		return;
	}
	json_decref(processes);
	errors[strcspn(errors, "\n")] = '\0';
	end(ask, NULL,
	    *errors ? mem_strdup(errors)
		    : mem_strdup("it told no stacks; is its tony-agent of an older version?"));
}

static void on_heard(void *data, unsigned char kind, const char *content, size_t length)
{
	struct ask *ask = data;

	if (kind == SESSION_OUTPUT && evbuffer_get_length(ask->output) < ANSWER_CAP)
		evbuffer_add(ask->output, content, length);
	else if (kind == SESSION_ERRORS && evbuffer_get_length(ask->errors) < ANSWER_CAP)
		evbuffer_add(ask->errors, content, length);
	else if (kind == SESSION_END)
		take_answer(ask);
	else if (kind == SESSION_FAILED)
		end(ask, NULL, str_printable(content, length));
}

static void on_opened(void *data)
{
	const struct session_command command = {.wants_stacks = true};
	char *start cleanup_free = session_command_encode(&command);
	struct ask *ask = data;

	channel_say(ask->channel, SESSION_START, start, strlen(start));
	channel_say(ask->channel, SESSION_NO_MORE, "", 0);
}

static void on_drained(void *data)
{
}

/* Without the name of the task, so that tasks with the same problem are told together. */
static void on_ended(void *data, const struct err *err)
{
	struct ask *ask = data;
	const char *problem = err_message(err), *task = ask->answer->task;
	const char *rest = str_starts_with(problem, task) ? problem + strlen(task) : "";

	if (str_starts_with(rest, ": "))
		end(ask, NULL, mem_strdup(rest + 2));
	else if (str_starts_with(rest, "'s "))
		end(ask, NULL, mem_printf("its %s", rest + 3));
	else
		end(ask, NULL, mem_strdup(problem));
}

static void on_late(evutil_socket_t fd, short what, void *data)
{
	struct ask *ask = data;
	char *limit cleanup_free = str_format_duration(ask->crowd->timeout_ms);

	end(ask, NULL,
	    ask->failure ? ask->failure : mem_printf("it did not answer within %s", limit));
}

static void begin(struct crowd *crowd, struct stacks_answer *answer)
{
	struct ask *ask = mem_alloc(sizeof(*ask));
	struct err err cleanup_err = {0};
	const struct channel_options options = {
		.base = crowd->base,
		.opened = on_opened,
		.heard = on_heard,
		.drained = on_drained,
		.ended = on_ended,
		.data = ask,
	};

	*ask = (struct ask){.crowd = crowd,
			    .answer = answer,
			    .output = evbuffer_new(),
			    .errors = evbuffer_new()};
	event_assign(&ask->late, crowd->base, -1, 0, on_late, ask);
	ask->channel = task_channel_open(crowd->opened, answer->task, "exec", options, &err);
	if (!ask->channel)
		ask->failure = mem_strdup(err_message(&err));
	timer_start(&ask->late, ask->channel ? crowd->timeout_ms : 0);
}

static void ask_next(struct crowd *crowd)
{
	if (crowd->next < crowd->count)
		begin(crowd, &crowd->tasks[crowd->next++]);
}

int stacks_ask(const struct opened *opened, struct stacks_answer *tasks, size_t count,
	       int64_t timeout_ms, struct err *err)
{
	struct crowd crowd = {.opened = opened,
			      .tasks = tasks,
			      .count = count,
			      .left = count,
			      .timeout_ms = timeout_ms};

	if (!opened->door.address)
		return err_set(err, ERR_UNREACHABLE, "%s has no running application master",
			       opened->id);
	signal(SIGPIPE, SIG_IGN);
	crowd.base = event_base_new();
	for (size_t i = 0; i < AT_ONCE; i++)
		ask_next(&crowd);
	if (crowd.left > 0)
		event_base_dispatch(crowd.base);
	event_base_free(crowd.base);
	return 0;
}
