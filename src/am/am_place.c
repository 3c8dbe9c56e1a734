/* The job's directory as an AM, and its guardian, find it and leave it. */
#include <unistd.h>

#include "am/am_internal.h"
#include "am/tracking_server.h"
#include "base/fs.h"
#include "base/mem.h"

/* They are for the programs, and for who asks in their name. */
static void forget_secrets(struct job *job)
{
	for (size_t i = 0; i < job->secrets.count; i++)
		if (!tracking_server_asks_for(job, job->secrets.items[i].name))
			job_secret_forget(&job->secrets.items[i]);
}

int am_find_all(struct am *am, const char *job_dir, struct err *err)
{
	am->scheduler_ops = scheduler_find_place(job_dir, &am->place, err);
	am->job = am->place.job;
	if (am->scheduler_ops)
		forget_secrets(am->place.job);
	am->job_dir = am->place.job_dir;
	return am->scheduler_ops ? 0 : -1;
}

void am_give_up_reserve(const char *job_dir)
{
	char *path cleanup_free = fs_join(job_dir, "journal.reserve");
	unlink(path);
}

void am_withdraw(const char *job_dir, bool is_last)
{
	static const char *const kept[] = {KV_FILE, RENDEZVOUS_FILE, SCHEDULER_SPLIT_LIST,
					   SCHEDULER_SPLIT_STATE};
	char *path cleanup_free = fs_join(job_dir, "am.json");

	unlink(path);
	for (size_t i = 0; is_last && i < array_length(kept); i++) {
		char *file cleanup_free = fs_join(job_dir, kept[i]);
		unlink(file);
	}
}
