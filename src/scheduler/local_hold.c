#include <fcntl.h>
#include <unistd.h>

#include "base/mem.h"
#include "scheduler/local_end.h"
#include "scheduler/local_internal.h"
#include "scheduler/state_dir.h"

/* Where there is no shared ledger every job runs without an entry; where no entry can be made, a
 * job without GPUs does. Other users then do not see its part of the machine. */
static int hold_shared(const struct job *job, int *fd, struct err *err)
{
	struct err why cleanup_err = {0};
	char *directory cleanup_free = shared_ledger_find(NULL);

	if (directory) {
		shared_ledger_clean(directory);
		*fd = shared_ledger_hold(directory, &why);
	}
	return directory && *fd < 0 ? shared_ledger_forgo(share_wants_gpus(job), &why, err) : 0;
}

static void give_up(struct scheduler_hold *hold)
{
	for (size_t i = 0; i < hold->count; i++)
		mem_cleanup_close(&hold->fds[i]);
	hold->count = 0;
}

int local_hold(const struct job *job, const char *job_dir, struct scheduler_hold *hold,
	       struct err *err)
{
	char *ledger cleanup_free = state_dir_ledger(job_dir);
	int *fds = hold->fds;

	*hold = (struct scheduler_hold){{-1, -1, -1, -1, -1}, LOCAL_HOLD_COUNT};
	fds[LOCAL_HOLD_LIFE] = state_dir_hold(job_dir, err);
	if (fds[LOCAL_HOLD_LIFE] >= 0)
		fds[LOCAL_HOLD_LEDGER] = ledger_hold(ledger, job->id, err);
	if (fds[LOCAL_HOLD_LEDGER] >= 0 && pipe2(&fds[LOCAL_HOLD_LIFELINE], O_CLOEXEC) < 0)
		err_set_errno(err, "cannot make a pipe");
	if (fds[LOCAL_HOLD_LIFELINE] >= 0 && hold_shared(job, &fds[LOCAL_HOLD_SHARED], err) == 0)
		return 0;
	give_up(hold);
	return -1;
}

void local_clean(const struct job *job, const char *job_dir, struct scheduler_hold *hold)
{
	char *ledger cleanup_free = state_dir_ledger(job_dir);
	char *shared cleanup_free = shared_ledger_find(NULL);

	cgroup_clean("", job->id);
	give_up(hold);
	ledger_clean(ledger);
	if (shared)
		shared_ledger_clean(shared);
	local_end_files(job, job_dir); /* last: other jobs need not wait for it */
}
