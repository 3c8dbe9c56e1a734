#include "executor/horovod_member.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "framework/horovod_place.h"
#include "net/http_client.h"

/* The others come when they reach the end of a step, whenever that is. An AM that does not answer
 * is the executor's to give up. */
enum { CALL_MS = 3600 * 1000, PAUSE_MS = 200 };

static char *rendezvous(struct err *err)
{
	const char *host = getenv("HOROVOD_GLOO_RENDEZVOUS_ADDR");
	const char *port = getenv("HOROVOD_GLOO_RENDEZVOUS_PORT");

	if (host && port)
		return mem_printf(strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
	err_set(err, ERR_USAGE,
		"HOROVOD_GLOO_RENDEZVOUS_ADDR and _PORT are not set: only tony starts this");
	return NULL;
}

static void await_place(const char *address, const char *name, struct str *place)
{
	const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000};
	const struct http_target am = {.address = address};
	char *path cleanup_free = horovod_place_path(name);
	int status = 0;

	for (;;) {
		str_truncate(place, 0);
		if (http_call(&am, "GET", path, NULL, CALL_MS, &status, place, NULL) == 0 &&
		    status == 200)
			return;
		nanosleep(&pause, NULL);
	}
}

int horovod_member_run(char **command, struct err *err)
{
	struct environment variables cleanup_environment = {0};
	struct str place cleanup_str = {0};
	const char *name = getenv("HOROVOD_HOSTNAME");
	char *address cleanup_free = rendezvous(err);

	if (!address)
		return -1;
	if (!name)
		return err_set(err, ERR_USAGE,
			       "HOROVOD_HOSTNAME is not set: only tony starts this");
	await_place(address, name, &place);
	environment_inherit(&variables);
	if (horovod_place_apply(str_text(&place), &variables, err) < 0)
		return -1;
	limits_restore();
	execvpe(command[0], command, variables.entries.items);
	return err_set_errno(err, "cannot start %s", command[0]);
}
