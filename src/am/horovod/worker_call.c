#include "am/horovod/worker_call.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"
#include "framework/address.h"
#include "net/dial.h"

enum { TIMEOUT_MS = 5000 };

struct worker_call {
	struct event_base *base;
	struct dial *dial; /* NULL: is connected, or idle */
	int fd;		   /* -1: is not connected */
	struct event answer;
	unsigned char message[WORKER_SERVICE_MESSAGE_MAX];
	size_t length;
};

struct worker_call *worker_call_create(struct event_base *base)
{
	struct worker_call *call = mem_alloc(sizeof(*call));

	call->base = base;
	call->fd = -1;
	return call;
}

static void end(struct worker_call *call)
{
	if (call->dial)
		dial_cancel(mem_steal(&call->dial));
	if (call->fd < 0)
		return;
	event_del(&call->answer);
	close(call->fd);
	call->fd = -1;
}

void worker_call_destroy(struct worker_call *call)
{
	if (!call)
		return;
	end(call);
	free(call);
}

/* What it answers says nothing, but closing before it has done so would be an error to it. */
static void on_answer(evutil_socket_t fd, short what, void *data)
{
	char bytes[1024];

	if (what & EV_TIMEOUT || recv(fd, bytes, sizeof(bytes), 0) <= 0)
		end(data);
}

static void on_connected(void *data, int fd, const struct err *err)
{
	struct worker_call *call = data;

	call->dial = NULL;
	if (fd < 0) {
		log_info("a process of the ring cannot be told of the next one: %s",
			 err_message(err));
		return;
	}
	call->fd = fd;
	event_assign(&call->answer, call->base, fd, EV_READ | EV_PERSIST, on_answer, call);
	timer_start(&call->answer, TIMEOUT_MS);
	/* It is far smaller than the buffer of a socket that is new. */
	if (send(fd, call->message, call->length, MSG_NOSIGNAL) != (ssize_t)call->length)
		end(call);
}

void worker_call_start(struct worker_call *call, const char *host,
		       const struct worker_service *service, int64_t time)
{
	const struct cluster_address place = {.host = (char *)host, .port = service->port};
	char *address cleanup_free = address_text(&place);

	end(call);
	call->length = worker_service_message(service, time, call->message);
	call->dial = dial_start(call->base, address, TIMEOUT_MS, on_connected, call, NULL);
}
