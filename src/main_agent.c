/* tony-agent: what goes into containers. A table of verbs, nothing else. */
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#include "am/am_main.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "executor/executor.h"
#include "executor/horovod.h"
#include "executor/remote.h"
#include "executor/sessions.h"

static int version_main(int argc, char **argv)
{
	printf("tony-agent %s\n", TONY_VERSION);
	return 0;
}

static const struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} verbs[] = {
	{"am", am_main, "runs one job: its application master"},
	{"exec", executor_main, "runs one task, in its container"},
	{"horovod", horovod_main, "runs a task of a job that brings its own driver of Horovod"},
	{"host", remote_host_main, "serves a task: runs what rsh asks for"},
	{"rsh", remote_rsh_main, "runs a command in the container of another task"},
	{"session", session_main, "runs a command of somebody's in a task"},
	{"version", version_main, "prints the version"},
};

static int usage(FILE *stream, int code)
{
	fprintf(stream, "usage: tony-agent VERB ...\n"
			"Started by schedulers; people use tony.\n\n");
	for (size_t i = 0; i < array_length(verbs); i++)
		fprintf(stream, "  %-8s %s\n", verbs[i].name, verbs[i].summary);
	return code;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	limits_take();
	json_overwrite_freed();
	/* No node's openssl.cnf: it can load modules, which a static program cannot, and then there
	 * is neither randomness nor TLS. */
	OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	if (strcmp(name, "--version") == 0)
		name = "version";
	for (size_t i = 0; i < array_length(verbs); i++) {
		if (strcmp(name, verbs[i].name) == 0)
			return verbs[i].run(argc - 1, argv + 1);
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "help") == 0)
		return usage(stdout, 0);
	return usage(stderr, 2);
}
