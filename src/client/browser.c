#include "client/browser.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"

static void append_escaped(struct str *out, const char *text)
{
	for (; *text; text++)
		if (strchr("&<>\"'", *text))
			str_append_format(out, "&#%d;", *text);
		else
			str_append_format(out, "%c", *text);
}

/* All users of the machine can read the arguments of a browser. So it is told the name of a file
 * that only this user can read, and that leads further. */
static char *write_page(const char *url, struct err *err)
{
	char *directory cleanup_free = fs_expand_home("~/.tony");
	struct str page cleanup_str = {0};

	if (!directory) {
		err_set(err, ERR_FAILED, "--browser: HOME is not set");
		return NULL;
	}
	char *path cleanup_free = fs_join(directory, "link.html");
	str_append(&page, "<!DOCTYPE html>\n<meta charset=\"utf-8\"><title>tony</title>\n"
			  "<meta http-equiv=\"refresh\" content=\"0;url=");
	append_escaped(&page, url);
	str_append(&page, "\">\n<a href=\"");
	append_escaped(&page, url);
	str_append(&page, "\">Go on</a>\n");
	if (fs_make_directories(directory, 0700, err) < 0 ||
	    fs_write_volatile(path, page.text, page.length, 0600, err) < 0)
		return NULL;
	return mem_printf("file://%s", path);
}

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
	char *page cleanup_free = write_page(url, err);
	if (!page)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		limits_restore();
		execlp("xdg-open", "xdg-open", page, (char *)NULL);
		_exit(127);
	}
	int status = 0;
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return err_set_fork(err, "--browser: cannot start xdg-open");
	if (status != 0)
		return err_set(
			err, ERR_FAILED,
			"--browser: xdg-open, which knows the browser, failed or is not here "
			"(package xdg-utils)");
	return 0;
}
