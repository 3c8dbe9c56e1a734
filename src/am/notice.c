#include "am/notice.h"

#include "am/tracking_server.h"
#include "am/web_target.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "job/record.h"

#define NOT_RUN                                                                                    \
	"the command was not run: no application master was left for it, and the job was "         \
	"submitted elsewhere"

#define TRUST_REMEDY                                                                               \
	"name a file with the authority that signed it in tony.application.on-end-ca-file"

static void add(json_t *notices, const char *of, const char *text, bool failed)
{
	if (failed)
		log_warning("%s: %s", of, text);
	else
		log_info("%s: %s", of, text);
	json_array_append_new(notices, record_notice(of, text, failed));
}

static char *tell_webhook(const struct job *job, const json_t *facts, bool *failed)
{
	struct web_target target cleanup_web_target = {0};
	struct err err cleanup_err = {0};
	char *body cleanup_free = json_text(facts);

	*failed = true;
	if (web_target_open(&target, job->on_end_webhook, job->on_end_authorities, TRUST_REMEDY,
			    &err) < 0)
		return mem_strdup(err_message(&err));
	const char *path = *target.url.target ? target.url.target : "/";
	return web_target_post(&target, path, body, failed);
}

json_t *notice_tell_all(const struct job_view *view, const char *directory)
{
	json_t *facts cleanup_json = notice_facts(view), *notices = json_array();
	bool failed = false;

	if (view->job->on_end_webhook) {
		char *text cleanup_free = tell_webhook(view->job, facts, &failed);
		add(notices, "tony.application.on-end-webhook", text, failed);
	}
	if (view->tracking_run) {
		char *text cleanup_free = tracking_server_end(view, &failed);
		add(notices, "tony.tracking.uri", text, failed);
	}
	if (view->job->tracking_uri && !view->tracking_run)
		add(notices, "tony.tracking.uri", "the job has no run there", false);
	if (view->job->on_end_command) {
		char *text cleanup_free =
			directory ? notice_run(view->job, facts, directory, &failed) : NULL;
		add(notices, "tony.application.on-end", text ? text : NOT_RUN, !text || failed);
	}
	return notices;
}
