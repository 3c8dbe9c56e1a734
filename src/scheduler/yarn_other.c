/* How other jobs of the user stand: the ResourceManager's service for clients is asked. */
#include <string.h>

#include "base/mem.h"
#include "hadoop/id.h"
#include "hadoop/methods.h"
#include "scheduler/yarn_internal.h"
#include "scheduler/yarn_state.h"

static void take_report(const Hadoop__ApplicationReportProto *report, struct scheduler_other *other)
{
	enum job_state state = yarn_job_state(report);
	const char *text = report->diagnostics ? report->diagnostics : "";

	other->standing = job_state_is_final(state) ? SCHEDULER_OTHER_ENDED : SCHEDULER_OTHER_LIVES;
	other->state = state;
	if (*text)
		other->message = str_printable(text, strcspn(text, "\n"));
}

static void on_report(void *data, const ProtobufCMessage *message, const struct rpc_error *error)
{
	struct yarn *yarn = data;
	const Hadoop__GetApplicationReportResponseProto *response =
		(const Hadoop__GetApplicationReportResponseProto *)message;
	struct scheduler_other other = {0};

	if (error && str_equal(error->class, "ApplicationNotFoundException"))
		other.standing = SCHEDULER_OTHER_GONE;
	else if (error)
		other.message = str_printable(error->text, strcspn(error->text, "\n"));
	else if (response->application_report)
		take_report(response->application_report, &other);
	yarn->on_other(yarn->on_other_data, &other);
	scheduler_other_finish(&other);
}

bool yarn_look_at(struct scheduler *scheduler, const struct awaited *awaited,
		  struct scheduler_other *other, scheduler_on_other *done, void *data)
{
	struct yarn *yarn = (struct yarn *)scheduler;
	Hadoop__ApplicationIdProto application = HADOOP__APPLICATION_ID_PROTO__INIT;
	Hadoop__GetApplicationReportRequestProto request =
		HADOOP__GET_APPLICATION_REPORT_REQUEST_PROTO__INIT;

	*other = (struct scheduler_other){.standing = SCHEDULER_OTHER_GONE};
	if (!yarn->rm || hadoop_application_id_parse(awaited->id, &application, NULL) < 0)
		return true;
	request.application_id = &application;
	yarn->on_other = done;
	yarn->on_other_data = data;
	rpc_call_start(yarn->rm, &RM_GET_APPLICATION_REPORT, &request.base, on_report, yarn);
	return false;
}
