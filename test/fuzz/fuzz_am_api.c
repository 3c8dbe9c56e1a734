/*
 * Requests to the AM's interface from callers that know its token: the input's first line is
 * "METHOD TARGET", the rest the body. The job is played by hand (test/unit/am/api_bed.h).
 */
#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "../unit/am/api_bed.h"
#include "am/api_internal.h"
#include "base/mem.h"
#include "net/http_internal.h"

enum { INPUT_CAP = 32 * 1024 }; /* what a socket takes without a reader */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_request(struct str *request, const char *text, size_t size)
{
	const char *end = memchr(text, '\n', size);
	size_t line = end ? (size_t)(end - text) : size, body = end ? size - line - 1 : 0;

	str_append_bytes(request, text, line);
	str_append_format(request,
			  " HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " BED_TOKEN
			  "\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
			  body);
	str_append_bytes(request, text + size - body, body);
}

/* Bounded: a request may be held, or followed, until its caller goes. */
static void run(struct event_base *base)
{
	for (int i = 0; i < 8; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
}

static void serve(struct api_bed *bed, const struct str *request)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
		BUG("no socket pair");
	http_connection_open(bed->api->server, fds[0]);
	send(fds[1], request->text, request->length, MSG_DONTWAIT | MSG_NOSIGNAL);
	run(bed->base);
	close(fds[1]);
	run(bed->base);
}

/* Each input finds the same job: it may kill it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str request cleanup_str = {0};

	if (size > INPUT_CAP)
		return -1;
	struct api_bed *bed = api_bed_create("worker=2 ps=1:untracked", NULL);
	bed_bring_up(bed->bed, "worker");
	api_bed_apply(bed);
	write_request(&request, (const char *)data, size);
	serve(bed, &request);
	api_bed_destroy(bed);
	return 0;
}
