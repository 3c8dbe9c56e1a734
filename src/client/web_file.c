/* By the program curl: it knows the proxies and authorities of this machine, and whoever reads job
 * files from the web has it. */
#include "client/web_file.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "net/url.h"

#define TRUST_REMEDY "; CURL_CA_BUNDLE=FILE names the authorities to trust"
#define ELSE_REMEDY  "pipe it into --conf_file -"

enum {
	STATUS_DIGITS = 3,
	MESSAGE_CAP = 4096,
	/* curl's exit codes. */
	CURL_PEER_NOT_TRUSTED = 60,
	CURL_BAD_AUTHORITIES = 77,
};

char *web_file_name(const char *url, struct err *err)
{
	char *without_fragment cleanup_free = mem_strndup(url, strcspn(url, "#"));
	struct net_url parsed cleanup_net_url = {0};
	struct err why cleanup_err = {0};

	if (net_url_parse(without_fragment, &parsed, &why) < 0) {
		err_set(err, ERR_CONFIG, "not a URL: %s; write https://HOST/PATH",
			err_message(&why));
		return NULL;
	}
	const char *authority = strstr(url, "://") + 3;
	const char *at = memrchr(authority, '@', strcspn(authority, "/?#"));
	const char *host = at ? at + 1 : authority;
	return mem_printf("%.*s%.*s", (int)(authority - url), url, (int)strcspn(host, "?#"), host);
}

/* ---- reading ------------------------------------------------------------------------------ */

struct curl {
	int input, output, errors; /* files of no name, but for the pipe `output` */
	pid_t pid;
};

/* The URL may hold a password, which must not be among the arguments, for all to see. */
static int write_input(int fd, const char *url, struct err *err)
{
	struct str line cleanup_str = {0};

	str_append(&line, "url = \"");
	for (; *url; url++)
		str_append_format(&line, "%s%c", strchr("\"\\", *url) ? "\\" : "", *url);
	str_append(&line, "\"\n");
	if (fs_write_all(fd, line.text, line.length, err) < 0)
		return -1;
	return lseek(fd, 0, SEEK_SET) < 0 ? err_set_errno(err, "cannot ask curl") : 0;
}

static int start(struct curl *curl, const char *program, const char *schemes, struct err *err)
{
	const char *agent = "tony/" TONY_VERSION;
	char *const arguments[] = {"curl",
				   "--disable",
				   "--silent",
				   "--show-error",
				   "--globoff",
				   "--location",
				   "--max-redirs",
				   "5",
				   "--proto",
				   (char *)schemes,
				   "--proto-redir",
				   (char *)schemes,
				   "--connect-timeout",
				   "10",
				   "--speed-limit",
				   "1",
				   "--speed-time",
				   "30",
				   "--max-time",
				   "120",
				   "--compressed",
				   "--user-agent",
				   (char *)agent,
				   "--write-out",
				   "%{http_code}",
				   "--config",
				   "-",
				   NULL};
	posix_spawn_file_actions_t actions;
	int pipes[2];

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return err_set_errno(err, "cannot make a pipe");
	curl->output = pipes[0];
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, curl->input, 0);
	posix_spawn_file_actions_adddup2(&actions, pipes[1], 1);
	posix_spawn_file_actions_adddup2(&actions, curl->errors, 2);
	int error = posix_spawn(&curl->pid, program, &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(pipes[1]);
	return error ? err_set(err, ERR_FAILED, "%s: %s", program, strerror(error)) : 0;
}

/* As much as `cap`, and a byte more where there is more. Returns curl's exit code. */
static int finish(struct curl *curl, size_t cap, struct str *bytes)
{
	char piece[65536];
	int status = 0;
	ssize_t got;

	while (bytes->length <= cap && (got = read(curl->output, piece, sizeof(piece))) > 0)
		str_append_bytes(bytes, piece, (size_t)got);
	if (bytes->length > cap)
		kill(curl->pid, SIGKILL);
	waitpid(curl->pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

static int fail(const struct curl *curl, int code, const char *name, struct err *err)
{
	char text[MESSAGE_CAP];
	ssize_t got = pread(curl->errors, text, sizeof(text) - 1, 0);
	bool is_of_trust = code == CURL_PEER_NOT_TRUSTED || code == CURL_BAD_AUTHORITIES;

	text[got > 0 ? got : 0] = '\0';
	char *shown cleanup_free = str_printable(text, strcspn(text, "\r\n"));
	return err_set(err, ERR_UNREACHABLE, "%s: %s%s", name, shown,
		       is_of_trust ? TRUST_REMEDY : "");
}

static int judge(int status, const char *name, struct err *err)
{
	switch (status) {
	case 200:
		return 0;
	case 401:
	case 403:
		return err_set(err, ERR_DENIED,
			       "%s: the server refuses it (status %d); fetch it with what it "
			       "asks for, and " ELSE_REMEDY,
			       name, status);
	default:
		return err_set(err, ERR_NOT_FOUND,
			       "%s: the server answers with status %d; see whether a browser "
			       "finds it there",
			       name, status);
	}
}

/* The status stands behind the content. */
static int take(const struct curl *curl, int code, const char *name, size_t cap, struct str *answer,
		struct str *bytes, struct err *err)
{
	if (answer->length > cap + STATUS_DIGITS)
		return err_set(err, ERR_CONFIG, "%s: is larger than %zu MiB", name, cap >> 20);
	if (code != 0 || answer->length < STATUS_DIGITS)
		return fail(curl, code, name, err);
	const size_t length = answer->length - STATUS_DIGITS;
	if (judge(atoi(answer->text + length), name, err) < 0)
		return -1;
	str_append_bytes(bytes, answer->text, length);
	return 0;
}

int web_file_read(const char *url, const char *name, size_t cap, struct str *bytes, struct err *err)
{
	char *program cleanup_free = fs_find_program("curl", getenv("PATH"));
	int input cleanup_close = memfd_create("question", MFD_CLOEXEC);
	int errors cleanup_close = memfd_create("errors", MFD_CLOEXEC);
	struct curl curl = {.input = input, .errors = errors, .output = -1};
	struct str answer cleanup_str = {0};

	if (!program)
		return err_set(err, ERR_FAILED,
			       "%s: the program curl is needed to read it; install it, or fetch it "
			       "otherwise, and " ELSE_REMEDY,
			       name);
	if (input < 0 || errors < 0)
		return err_set_errno(err, "cannot make a file");
	if (write_input(input, url, err) < 0)
		return -1;
	bool is_secret = net_url_is_https(url);
	int result = start(&curl, program, is_secret ? "=https" : "=http,https", err);
	if (result == 0) {
		int code = finish(&curl, cap + STATUS_DIGITS, &answer);
		result = take(&curl, code, name, cap, &answer, bytes, err);
	}
	if (curl.output >= 0)
		close(curl.output);
	return result;
}
