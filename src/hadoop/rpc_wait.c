/* One call with a loop of its own. */
#include <event2/event.h>
#include <stdlib.h>

#include "base/mem.h"
#include "hadoop/rpc.h"
#include "net/interrupt.h"

struct wait {
	struct event_base *base;
	int result;
	ProtobufCMessage **response;
	struct rpc_failure *failure;
	struct err *err;
};

static enum err_kind kind_of(enum rpc_error_kind kind)
{
	switch (kind) {
	case RPC_UNREACHABLE:
		return ERR_UNREACHABLE;
	case RPC_DENIED:
		return ERR_DENIED;
	case RPC_EXPIRED:
		return ERR_EXPIRED;
	case RPC_PROTOCOL:
		return ERR_INPUT;
	default:
		return ERR_FAILED;
	}
}

/* A copy that outlives `done`. */
static ProtobufCMessage *copy_message(const ProtobufCMessage *message)
{
	const size_t length = protobuf_c_message_get_packed_size(message);
	unsigned char *bytes cleanup_free = mem_alloc(length + 1);

	protobuf_c_message_pack(message, bytes);
	return protobuf_c_message_unpack(message->descriptor, NULL, length, bytes);
}

static void on_done(void *data, const ProtobufCMessage *response, const struct rpc_error *error)
{
	struct wait *wait = data;

	event_base_loopbreak(wait->base);
	if (response) {
		*wait->response = copy_message(response);
		return;
	}
	wait->result = err_set(wait->err, kind_of(error->kind), "%s", error->text);
	if (wait->failure) {
		wait->failure->kind = error->kind;
		mem_replace(&wait->failure->class, mem_strdup(error->class));
	}
}

void rpc_failure_finish(struct rpc_failure *failure)
{
	free(failure->class);
	*failure = (struct rpc_failure){0};
}

static int be_interrupted(const struct rpc_options *options, const struct rpc_method *method,
			  struct err *err)
{
	char *addresses cleanup_free = str_list_join(&options->addresses, ", ");
	char *what cleanup_free =
		mem_printf("%s at %s: %s", options->service->what, addresses, method->name);

	return interrupt_set(err, what);
}

int rpc_call_wait(const struct rpc_options *options, const struct rpc_method *method,
		  const ProtobufCMessage *request, ProtobufCMessage **response,
		  struct rpc_failure *failure, struct err *err)
{
	struct wait wait = {
		.base = event_base_new(), .response = response, .failure = failure, .err = err};

	if (!wait.base)
		return err_set_errno(err, "cannot make an event loop");
	struct rpc_options patient = *options;
	patient.tells_waits = true;
	struct rpc_client *client = rpc_client_create(wait.base, &patient, err);
	if (client) {
		rpc_call_start(client, method, request, on_done, &wait);
		if (!interrupt_dispatch(wait.base))
			wait.result = be_interrupted(options, method, err);
		rpc_client_destroy(client);
		/* What was cancelled there ends here. */
		event_base_loop(wait.base, EVLOOP_NONBLOCK);
	} else {
		wait.result = -1;
	}
	event_base_free(wait.base);
	return wait.result;
}
