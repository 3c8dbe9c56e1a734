#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "job/cause_json.h"

enum { LOG_LINE_SHOWN = 1000 }; /* bytes */

static const char *const names[CAUSE_KIND_COUNT] = {
	[CAUSE_NONE] = "none",
	[CAUSE_EXIT] = "exit",
	[CAUSE_SIGNAL] = "signal",
	[CAUSE_OUT_OF_MEMORY] = "out-of-memory",
	[CAUSE_EXECUTION_TIMEOUT] = "execution-timeout",
	[CAUSE_FROZEN] = "frozen",
	[CAUSE_HUNG] = "hung",
	[CAUSE_START_FAILED] = "start-failed",
	[CAUSE_STORE_FAILED] = "store-failed",
	[CAUSE_NO_SPACE] = "no-space",
	[CAUSE_STORE_FULL] = "store-full",
	[CAUSE_PORT_TAKEN] = "port-taken",
	[CAUSE_PORT_STOLEN] = "port-stolen",
	[CAUSE_EXECUTOR_LOST] = "executor-lost",
	[CAUSE_CONTAINER_STOPPED] = "container-stopped",
	[CAUSE_NODE_LOST] = "node-lost",
	[CAUSE_PREEMPTED] = "preempted",
	[CAUSE_LAUNCH_FAILED] = "launch-failed",
	[CAUSE_REGISTRATION_TIMEOUT] = "registration-timeout",
	[CAUSE_ALLOCATION_TIMEOUT] = "allocation-timeout",
	[CAUSE_ALLOCATION_REFUSED] = "allocation-refused",
	[CAUSE_APPLICATION_TIMEOUT] = "application-timeout",
	[CAUSE_GROUP_TIMEOUT] = "group-timeout",
	[CAUSE_DEPENDENCY_FAILED] = "dependency-failed",
	[CAUSE_CANCELED] = "canceled",
	[CAUSE_KILLED_BY_USER] = "killed-by-user",
	[CAUSE_RESTARTED_BY_USER] = "restarted-by-user",
	[CAUSE_AM_FAILED] = "am-failed",
};

const char *cause_kind_name(enum cause_kind kind)
{
	return names[kind];
}

int cause_kind_parse(const char *name)
{
	for (size_t i = 0; i < array_length(names); i++)
		if (strcmp(names[i], name) == 0)
			return (int)i;
	return -1;
}

enum cause_kind cause_kind_of_err(const struct err *err, enum cause_kind otherwise)
{
	if (err->kind == ERR_NO_SPACE)
		return CAUSE_NO_SPACE;
	if (err->kind == ERR_QUOTA || err->kind == ERR_STORE_FULL)
		return CAUSE_STORE_FULL;
	return otherwise;
}

void cause_finish(struct cause *cause)
{
	free((char *)cause->text);
	free(cause->headline);
	str_list_finish(&cause->tail);
	*cause = (struct cause){0};
}

void cause_set(struct cause *cause, enum cause_kind kind, char *text)
{
	free((char *)cause->text);
	cause->kind = kind;
	cause->text = text;
}

bool cause_is_of_signal(const struct cause *cause, int signal)
{
	return cause->signal == signal ||
	       (cause->kind == CAUSE_EXIT && cause->exit_code == PROC_SHELL_SIGNAL + signal);
}

static const char *find_headline(const struct str_list *lines)
{
	for (size_t i = lines->count; i-- > 0;) {
		const char *error = log_error_in(lines->items[i]);
		if (error)
			return error;
	}
	const char *last = lines->count > 0 ? lines->items[lines->count - 1] : NULL;
	return last && log_time_in(last, strlen(last)) == 0 ? last : NULL;
}

void cause_take_log(struct cause *cause, struct str_list *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		str_cut(lines->items[i], LOG_LINE_SHOWN);
	mem_replace(&cause->headline, mem_strdup(find_headline(lines)));
	str_list_finish(&cause->tail);
	cause->tail = *lines;
	*lines = (struct str_list){0};
}

char *cause_describe_am(int exit_code, int signal)
{
	if (signal)
		return mem_printf("the application master was killed by %s",
				  proc_signal_name(signal));
	return mem_printf("the application master exited with code %d", exit_code);
}

char *cause_sentence(const struct cause *cause)
{
	const char *text = cause->text ? cause->text : cause_kind_name(cause->kind);

	return cause->headline ? mem_printf("%s: %s", text, cause->headline) : mem_strdup(text);
}

void cause_copy(struct cause *to, const struct cause *from)
{
	struct cause copy = {
		.kind = from->kind,
		.exit_code = from->exit_code,
		.signal = from->signal,
		.step = from->step,
		.text = mem_strdup(from->text),
		.headline = mem_strdup(from->headline),
	};

	str_list_copy(&copy.tail, &from->tail);
	cause_finish(to);
	*to = copy;
}

json_t *cause_to_json(const struct cause *cause)
{
	json_t *object = json_object();

	cause_set_json(object, "kind", cause);
	return object;
}

void cause_set_member(json_t *object, const struct cause *cause)
{
	if (cause->kind != CAUSE_NONE)
		json_object_set_new(object, "cause", cause_to_json(cause));
}

int cause_from_json(const json_t *object, struct cause *cause, struct err *err)
{
	return cause_read_json(object, "kind", cause, err);
}

void cause_set_json(json_t *object, const char *kind_member, const struct cause *cause)
{
	json_set_text(object, kind_member, cause_kind_name(cause->kind));
	if (cause->exit_code != 0)
		json_set_int(object, "exit_code", cause->exit_code);
	if (cause->signal != 0)
		json_set_int(object, "signal", cause->signal);
	if (cause->step != 0)
		json_set_int(object, "step", cause->step);
	json_set_text(object, "text", cause->text);
	json_set_text(object, "headline", cause->headline);
	if (cause->tail.count > 0)
		json_set_list(object, "tail", &cause->tail);
}

/* Cuts between characters: what is UTF-8 stays UTF-8. */
static void cut_tail(struct str_list *tail)
{
	if (tail->count > CAUSE_TAIL_CAP) {
		struct str_list kept = {0};
		for (size_t i = tail->count - CAUSE_TAIL_CAP; i < tail->count; i++)
			str_list_add(&kept, tail->items[i]);
		str_list_finish(tail);
		*tail = kept;
	}
	for (size_t i = 0; i < tail->count; i++)
		str_cut(tail->items[i], CAUSE_TEXT_CAP);
}

static int read_members(const json_t *object, const char *kind_member, struct cause *cause,
			struct err *err)
{
	char *kind cleanup_free = NULL, *text cleanup_free = NULL;
	int64_t exit_code = 0, signal = 0, step = 0;

	if (json_need_text(object, kind_member, &kind, err) < 0 ||
	    json_read_int(object, "exit_code", 0, 255, &exit_code, err) < 0 ||
	    json_read_int(object, "signal", 0, 128, &signal, err) < 0 ||
	    json_read_int(object, "step", 0, INT64_MAX, &step, err) < 0 ||
	    json_read_text(object, "text", &text, err) < 0 ||
	    json_read_text(object, "headline", &cause->headline, err) < 0 ||
	    json_read_list(object, "tail", &cause->tail, err) < 0)
		return -1;
	int parsed = cause_kind_parse(kind);
	if (parsed < 0) {
		str_cut(kind, CAUSE_TEXT_CAP);
		return err_set(err, ERR_INPUT, "%s: \"%s\" is not a cause", kind_member, kind);
	}
	str_cut(text, CAUSE_TEXT_CAP);
	cause_set(cause, (enum cause_kind)parsed, mem_steal(&text));
	cause->exit_code = (int)exit_code;
	cause->signal = (int)signal;
	cause->step = step;
	return 0;
}

int cause_read_json(const json_t *object, const char *kind_member, struct cause *cause,
		    struct err *err)
{
	struct cause read = {0};

	if (read_members(object, kind_member, &read, err) < 0) {
		cause_finish(&read);
		return -1;
	}
	str_cut(read.headline, CAUSE_TEXT_CAP);
	cut_tail(&read.tail);
	cause_finish(cause);
	*cause = read;
	return 0;
}
