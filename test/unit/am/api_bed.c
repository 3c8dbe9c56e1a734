#include "api_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "job/record.h"
#include "scheduler/scheduler.h"

static void record(struct api_bed *bed, json_t *line)
{
	assert_int_equal(journal_append(bed->journal, line, 1000, false, NULL), 0);
	if (bed->api)
		api_journal_appended(bed->api, journal_sequence(bed->journal));
}

static void act(struct api_bed *bed, const struct action *action)
{
	const struct job *job = bed->bed->job;
	const struct machine *machine = bed->bed->machine;

	if (action->kind == ACTION_EPOCH)
		assert_int_equal(api_cluster_formed(bed->api, NULL), 0);
	if (action->kind == ACTION_ORDER || action->kind == ACTION_RELEASE)
		api_order_changed(bed->api, action->task);
	if (action->kind == ACTION_TASK_CHANGED)
		record(bed, record_task(job, machine_task(machine, action->task),
					(enum task_state)action->from, (enum task_state)action->to,
					bed->api ? api_log_dir(bed->api, action->task) : NULL));
	if (action->kind == ACTION_JOB_CHANGED)
		record(bed, record_job(job, machine, (enum job_state)action->from,
				       (enum job_state)action->to));
}

void api_bed_apply(struct api_bed *bed)
{
	struct action_list list = bed->bed->actions;

	bed->bed->actions = (struct action_list){0};
	for (size_t i = 0; i < list.count; i++)
		act(bed, &list.items[i]);
	if (bed->api)
		api_tasks_changed(bed->api);
	action_list_finish(&list);
}

static bool on_deliver(void *data, const struct machine_event *event)
{
	struct api_bed *bed = data;
	bool heard = machine_handle(bed->bed->machine, event, bed->bed->now, &bed->bed->actions);

	bed->delivered++;
	api_bed_apply(bed);
	return heard;
}

static void on_used(void *data, size_t task, const struct program_use *use)
{
	struct api_bed *bed = data;

	bed->uses++;
	bed->use = *use;
}

static void on_restarted_inside(void *data, size_t task, int64_t count, const char *text)
{
	struct api_bed *bed = data;

	bed->restarts_told++;
	bed->restarts = count;
}

static void on_output_lost(void *data, size_t task, const struct lost_output *lost)
{
	struct api_bed *bed = data;

	bed->losses++;
	bed->lost_bytes = lost->bytes;
}

static void on_checkpoint_trouble(void *data, size_t task, const char *text, int64_t since_ms)
{
	struct api_bed *bed = data;

	bed->troubles++;
	bed->trouble_since_ms = since_ms;
	mem_replace(&bed->trouble, mem_strdup(text));
}

static void on_look_at_tokens(void *data, struct scheduler_tokens *tokens, bool *are_renewed)
{
	const struct api_bed *bed = data;

	*are_renewed = true;
	if (bed->has_tokens)
		*tokens = (struct scheduler_tokens){.first = mem_strdup("HDFS for host:1"),
						    .issued_ms = 1000,
						    .ends_ms = 100000,
						    .interval_ms = 50000};
}

static char *on_find_secret(void *data, const char *identity, char **user)
{
	if (str_starts_with(identity, "nobody"))
		return NULL;
	*user = mem_strdup(identity);
	return mem_printf("secret of %s", identity);
}

static void on_numbers(void *data, size_t task, const struct number_list *numbers, size_t first)
{
}

static char *on_log_path(void *data, size_t task, const char *name)
{
	struct api_bed *bed = data;

	return task == 0 ? fs_join(bed->directory, name) : NULL;
}

/* Any but "bad". */
static int on_tokens(void *data, const void *bytes, size_t length, struct err *err)
{
	struct api_bed *bed = data;

	if (length == 3 && memcmp(bytes, "bad", 3) == 0)
		return err_set(err, ERR_INPUT, "they are bad");
	mem_replace(&bed->tokens, mem_strndup(bytes, length));
	return 0;
}

/* Any but one that has an AM. */
static pid_t on_start_child(void *data, const struct scheduler_child *child, struct err *err)
{
	return str_equal(child->job_id, "tony-begun")
		       ? err_set(err, ERR_STALE, "%s has an application master already",
				 child->job_id)
		       : 4711;
}

static void open_api(struct api_bed *bed, struct tls_context *proxy_tls)
{
	const struct api_host host = {
		.data = bed,
		.job = bed->bed->job,
		.machine = bed->bed->machine,
		.journal_path = bed->journal_path,
		.am_attempt = 3,
		.deliver = on_deliver,
		.output_lost = on_output_lost,
		.restarted_inside = on_restarted_inside,
		.used = on_used,
		.checkpoint_trouble = on_checkpoint_trouble,
		.numbers = on_numbers,
		.take_tokens = on_tokens,
		.find_secret = on_find_secret,
		.look_at_tokens = on_look_at_tokens,
		.log_path = on_log_path,
		.start_child = on_start_child,
	};
	char *split_lists cleanup_free = fs_join(bed->directory, "splits.list");
	char *split_states cleanup_free = fs_join(bed->directory, "splits.state");
	const struct api_options options = {.address = "127.0.0.1:0",
					    .token = BED_TOKEN,
					    .split_list_file = split_lists,
					    .split_state_file = split_states,
					    .proxy_tls = proxy_tls};

	bed->api = api_create(bed->base, &host, &options, NULL);
	assert_non_null(bed->api);
}

struct api_bed *api_bed_create(const char *types, void (*tune)(struct bed *bed))
{
	return api_bed_create_proxied(types, tune, NULL);
}

struct api_bed *api_bed_create_proxied(const char *types, void (*tune)(struct bed *bed),
				       struct tls_context *proxy_tls)
{
	struct api_bed *bed = mem_alloc(sizeof(*bed));
	char directory[] = "/tmp/tony-api-XXXXXX";

	assert_non_null(mkdtemp(directory));
	bed->directory = mem_strdup(directory);
	bed->base = event_base_new();
	bed->journal_path = fs_join(directory, "journal.jsonl");
	bed->journal = journal_open(bed->journal_path, NULL);
	assert_non_null(bed->journal);
	bed->bed = bed_create(types);
	bed->bed->job->id = mem_strdup("tony-test");
	bed->bed->job->user = mem_strdup("alice");
	bed->bed->job->framework = mem_strdup("generic");
	bed->bed->job->executor_give_up_ms = 25000;
	/* Long enough never to end a hold by itself in a test. */
	bed->bed->job->heartbeat_interval_ms = 3600 * 1000;
	if (tune)
		tune(bed->bed);
	bed_submit(bed->bed);
	open_api(bed, proxy_tls);
	api_bed_apply(bed);
	return bed;
}

void api_bed_destroy(struct api_bed *bed)
{
	api_destroy(bed->api);
	journal_close(bed->journal);
	bed_destroy(bed->bed);
	event_base_free(bed->base);
	fs_remove_tree(bed->directory, NULL);
	free(bed->directory);
	free(bed->journal_path);
	free(bed->trouble);
	free(bed->tokens);
	free(bed);
}

void api_bed_allocate(struct api_bed *bed, const char *task)
{
	assert_true(bed_allocate(bed->bed, task));
	api_bed_apply(bed);
}

const char *api_bed_path(struct api_bed *bed, const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", bed->directory, name);
	return path;
}

void api_bed_log(struct api_bed *bed, const char *name, const char *text)
{
	FILE *file = fopen(api_bed_path(bed, name), "a");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

void api_bed_run_idle(struct api_bed *bed)
{
	for (int i = 0; i < 20; i++)
		event_base_loop(bed->base, EVLOOP_NONBLOCK);
}

/* ---- asking ------------------------------------------------------------------------------- */

static void on_done(void *data, const struct http_response *response, const struct err *err)
{
	struct reply *reply = data;

	reply->done = true;
	reply->status = response ? response->status : -1;
	if (!response)
		return;
	str_append_bytes(&reply->text, response->body, response->length);
	reply->json = json_parse(response->body, response->length, NULL);
}

static bool on_bytes(void *data, const char *bytes, size_t length)
{
	struct reply *reply = data;

	str_append_bytes(&reply->text, bytes, length);
	return true;
}

static void begin(struct api_bed *bed, struct reply *reply, struct http_question *question)
{
	const struct http_target am = {api_address(bed->api), bed->user ? bed->secret : BED_TOKEN,
				       geteuid(), bed->bed->job->tls, bed->user};

	*reply = (struct reply){.bed = bed};
	reply->client = http_client_create_for(bed->base, &am, NULL);
	question->done = on_done;
	question->data = reply;
	question->takes_gzip = true;
	http_client_start(reply->client, question);
}

void ask_and_go_on(struct api_bed *bed, struct reply *reply, const char *method, const char *path,
		   const char *body)
{
	struct http_question question = {
		.method = method,
		.path = path,
		.body = body,
		.body_length = body ? strlen(body) : 0,
	};

	begin(bed, reply, &question);
}

void ask_later(struct api_bed *bed, struct reply *reply, const char *method, const char *path,
	       const char *body)
{
	size_t before = bed->delivered;

	ask_and_go_on(bed, reply, method, path, body);
	while (!reply->done && bed->delivered == before)
		event_base_loop(bed->base, EVLOOP_ONCE);
	/* Were there an answer, it would come now. */
	api_bed_run_idle(bed);
}

void ask_stream(struct api_bed *bed, struct reply *reply, const char *path, const char *accept)
{
	struct http_question question = {
		.method = "GET", .path = path, .accept = accept, .on_bytes = on_bytes};

	begin(bed, reply, &question);
}

void ask(struct api_bed *bed, struct reply *reply, const char *method, const char *path,
	 const char *body)
{
	ask_later(bed, reply, method, path, body);
	reply_wait(reply);
}

void reply_wait(struct reply *reply)
{
	while (!reply->done)
		event_base_loop(reply->bed->base, EVLOOP_ONCE);
}

void reply_wait_text(struct reply *reply, const char *text)
{
	while (!strstr(str_text(&reply->text), text)) {
		if (reply->done)
			fail_msg("no \"%s\" in: %s", text, str_text(&reply->text));
		event_base_loop(reply->bed->base, EVLOOP_ONCE);
	}
}

void reply_finish(struct reply *reply)
{
	http_client_destroy(reply->client);
	str_finish(&reply->text);
	json_decref(reply->json);
	*reply = (struct reply){0};
}

const char *reply_member(const struct reply *reply, const char *name)
{
	const char *text = json_string_value(json_object_get(reply->json, name));

	return text ? text : "";
}

int64_t reply_number(const struct reply *reply, const char *name)
{
	const json_t *member = json_object_get(reply->json, name);

	return json_is_integer(member) ? json_integer_value(member) : -1;
}

/* ---- an executor's messages --------------------------------------------------------------- */

static char message[512];

const char *beat_text(int attempt, int epoch, int restart, const char *state)
{
	snprintf(message, sizeof(message),
		 "{\"attempt\":%d,\"epoch\":%d,\"restart\":%d,\"state\":\"%s\",\"seen\":1,"
		 "\"pids\":[4712],\"metrics\":{\"rss_bytes\":%d,\"threads\":2}}",
		 attempt, epoch, restart, state, 1000 * (restart + 1));
	return message;
}

const char *register_text(int attempt, int epoch, int port)
{
	snprintf(message, sizeof(message),
		 "{\"attempt\":%d,\"epoch\":%d,\"host\":\"127.0.0.1\",\"port\":%d,"
		 "\"pid\":4711,\"log_dir\":\"/logs\"}",
		 attempt, epoch, port);
	return message;
}

const char *exit_text(int attempt, int epoch, int restart, int code)
{
	snprintf(message, sizeof(message),
		 "{\"attempt\":%d,\"epoch\":%d,\"restart\":%d,\"cause\":\"%s\",\"exit_code\":%d,"
		 "\"signal\":0,\"text\":\"ended\",\"headline\":\"ValueError: no data\","
		 "\"tail\":[\"a\",\"b\"]}",
		 attempt, epoch, restart, code ? "exit" : "none", code);
	return message;
}

void bring_in(struct api_bed *bed, const char *task, int port)
{
	char *path cleanup_free = mem_printf("/v1/tasks/%s/register", task);
	struct reply reply;

	api_bed_allocate(bed, task);
	ask(bed, &reply, "POST", path,
	    register_text(bed_look(bed->bed, task)->attempt, bed_status(bed->bed).epoch - 1, port));
	assert_int_equal(reply.status, 200);
	reply_finish(&reply);
}
