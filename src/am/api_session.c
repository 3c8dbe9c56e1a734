/* Commands of people, as a task's executor is told of them. */
#include "am/api_internal.h"

/* An executor forgets those that come before its program. */
static bool can_be_told(const struct api_task *task)
{
	return machine_task(task->api->host.machine, task->number)->process_up &&
	       task->activity == ACTIVITY_RUNNING;
}

bool api_session_has_news(const struct api_task *task)
{
	const struct api_session *session;

	if (!can_be_told(task))
		return false;
	LIST_FOREACH(session, &task->sessions, link)
	if (!session->is_told)
		return true;
	return false;
}

size_t api_session_orders(const struct api_task *task, char **orders)
{
	struct api_session *session;
	size_t count = 0;

	if (!can_be_told(task))
		return 0;
	LIST_FOREACH(session, &task->sessions, link)
	{
		if (!session->is_told)
			orders[count++] = session->id;
		session->is_told = true;
	}
	return count;
}
