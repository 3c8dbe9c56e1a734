#include "am/notice.h"

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "job/record.h"

#define NOT_RUN                                                                                    \
	"the command was not run: no application master was left for it, and the job was "         \
	"submitted elsewhere"

static void add(json_t *notices, const char *of, const char *text, bool failed)
{
	if (failed)
		log_warning("%s: %s", of, text);
	else
		log_info("%s: %s", of, text);
	json_array_append_new(notices, record_notice(of, text, failed));
}

json_t *notice_tell_all(const struct job_view *view, const char *directory)
{
	json_t *facts cleanup_json = notice_facts(view), *notices = json_array();
	bool failed = false;

	if (view->job->on_end_webhook) {
		char *text cleanup_free = notice_post(view->job, facts, &failed);
		add(notices, "tony.application.on-end-webhook", text, failed);
	}
	if (view->job->on_end_command) {
		char *text cleanup_free =
			directory ? notice_run(view->job, facts, directory, &failed) : NULL;
		add(notices, "tony.application.on-end", text ? text : NOT_RUN, !text || failed);
	}
	return notices;
}
