/* Descriptors that outlive an AM: its guardian opens them and hands them to each AM, and an AM
 * whose guardian is killed hands them to itself as a guardian. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "am/am_internal.h"
#include "am/listen.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "net/listen.h"

#define HOLD_VARIABLE "TONY_AM_HOLD"

/* From the process that this one was before am_become_guardian(): "LISTENER PAGES HELD ...", with
 * "0" for what there is none of. */
static void take_hold(struct am *am, const char *text)
{
	struct str_list words cleanup_str_list = {0};
	str_split(&words, text, ' ');
	for (size_t i = 0; i < words.count; i++) {
		int fd = atoi(words.items[i]);
		if (fd > 0)
			fcntl(fd, F_SETFD, FD_CLOEXEC);
		if (i == 0)
			am->listener = fd;
		else if (i == 1)
			am->pages_listener = fd;
		else if (am->hold.count < SCHEDULER_HOLD_MAX)
			am->hold.fds[am->hold.count++] = fd;
	}
	unsetenv(HOLD_VARIABLE);
}

int am_open_hold(struct am *am, struct err *err)
{
	const char *passed_on = getenv(HOLD_VARIABLE);
	if (am->scheduler_ops->traits->restarts_am)
		return 0;
	if (passed_on) {
		take_hold(am, passed_on);
		return 0;
	}
	char *address cleanup_free = listen_address(am->place.host);
	int listener = net_listen(address, false, err);
	if (listener < 0)
		return -1;
	am->listener = listener;
	if (am->job->tls) {
		listener = net_listen(address, false, err);
		if (listener < 0)
			return -1;
		am->pages_listener = listener;
	}
	return am->scheduler_ops->guardian.hold(am->job, am->job_dir, &am->hold, err);
}

void am_become_guardian(const struct am *am)
{
	char *const arguments[] = {"tony-agent", "am", "--job-dir", (char *)am->job_dir, NULL};
	struct str text cleanup_str = {0};
	if (am->listener == 0)
		return;
	log_warning("the application master's guardian was killed: this process takes its place");
	str_append_format(&text, "%d %d", am->listener, am->pages_listener);
	fcntl(am->listener, F_SETFD, 0);
	if (am->pages_listener > 0)
		fcntl(am->pages_listener, F_SETFD, 0);
	for (size_t i = 0; i < am->hold.count; i++) {
		str_append_format(&text, " %d", am->hold.fds[i]);
		fcntl(am->hold.fds[i], F_SETFD, 0);
	}
	setenv(HOLD_VARIABLE, str_text(&text), 1);
	proc_reset_signals();
	limits_restore();
	execv("/proc/self/exe", arguments);
	log_error("cannot start the guardian anew");
}
