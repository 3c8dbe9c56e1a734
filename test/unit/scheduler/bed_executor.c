#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "bed.h"

static void write_file(const char *name, const char *text)
{
	char *path cleanup_free = fs_join(getenv("TONY_CONTAINER_DIR"), name);

	fs_write_file(path, text, strlen(text), 0600, NULL);
}

static void write_pid(const char *name)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", (int)getpid());
	write_file(name, text);
}

static void write_environment(void)
{
	struct str text cleanup_str = {0};
	char cwd[4096];

	for (char **entry = environ; *entry; entry++)
		str_append_format(&text, "%s\n", *entry);
	str_append_format(&text, "CWD=%s\n", getcwd(cwd, sizeof(cwd)));
	str_append_format(&text, "SESSION_LEADER=%d\n", getsid(0) == getpid());
	str_append_format(&text, "LEDGER_IS_OPEN=%d\n",
			  fcntl(atoi(getenv("TONY_LEDGER_FD")), F_GETFD) == 0);
	write_file("env", str_text(&text));
}

static void leave(int signal)
{
	_exit(0);
}

/* Until the test closes its job, or was killed: nothing outlives it. */
static void await_end(void)
{
	const char *lifeline = getenv("TONY_LIFELINE_FD");
	char byte;

	while (lifeline && read(atoi(lifeline), &byte, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

/* A grandchild in a session of its own, whose parent is gone. */
static void let_one_escape(void)
{
	if (fork() == 0) {
		setsid();
		if (fork() != 0)
			_exit(0);
		signal(SIGTERM, SIG_IGN);
		write_pid("escaped");
		await_end();
	}
}

static void use_all_memory(void)
{
	size_t size = (size_t)1 << 30;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; memory != MAP_FAILED && i < size; i += 4096)
		memory[i] = 1;
}

/* "wait": leaves upon SIGUSR1, as if told by the AM. "stubborn": stays, and so does a process that
 * escaped. "fail", "ran": leave with code 3, before or after the user's program ran. "hog": uses
 * more memory than it may. "guardian": says that its supervisor was killed. */
int bed_executor(void)
{
	const char *what = getenv("STAND_IN");

	signal(SIGUSR1, leave);
	fprintf(stderr, "one line\ncannot find the moon\n");
	if (strcmp(what, "ran") == 0)
		write_file("stdout", "");
	if (strcmp(what, "fail") == 0 || strcmp(what, "ran") == 0)
		return 3;
	if (strcmp(what, "guardian") == 0)
		return 128 + SIGKILL;
	if (strcmp(what, "hog") == 0)
		use_all_memory();
	if (strcmp(what, "stubborn") == 0) {
		signal(SIGUSR1, SIG_IGN);
		let_one_escape();
	}
	write_environment();
	write_pid("pid");
	await_end();
	return 0;
}
