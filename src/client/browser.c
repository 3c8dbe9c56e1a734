#include "client/browser.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"

int browser_open(const char *url, struct err *err)
{
	const char *display = getenv("WAYLAND_DISPLAY");

	if (!display)
		display = getenv("DISPLAY");
	if (!display)
		return err_set(
			err, ERR_FAILED,
			"--browser: there is no display here (DISPLAY, WAYLAND_DISPLAY); open "
			"the link where there is one");
	pid_t pid = fork();
	if (pid == 0) {
		limits_restore();
		execlp("xdg-open", "xdg-open", url, (char *)NULL);
		_exit(127);
	}
	int status = 0;
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return err_set_errno(err, "--browser: cannot start xdg-open");
	if (status != 0)
		return err_set(
			err, ERR_FAILED,
			"--browser: xdg-open, which knows the browser, failed or is not here "
			"(package xdg-utils)");
	return 0;
}
