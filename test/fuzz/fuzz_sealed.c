/* Any bytes as those of a peer with which a secret is shared, at either end, in pieces: nothing of
 * them may come out as said by somebody who knows the secret. */
#include <event2/buffer.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/err.h"
#include "net/tls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hear(struct tls *tls, const uint8_t *bytes, size_t size, size_t piece)
{
	struct evbuffer *input = evbuffer_new(), *output = evbuffer_new();
	struct err err cleanup_err = {0};

	evbuffer_add(output, "secret", 6);
	for (size_t at = 0; at < size; at += piece) {
		size_t some = size - at < piece ? size - at : piece;
		tls_seal(tls, output);
		if (tls_take(tls, bytes + at, some, input, &err) < 0)
			break;
	}
	if (tls_is_open(tls) || evbuffer_get_length(input) > 0 || evbuffer_get_length(output) != 6)
		abort();
	tls_close(tls);
	tls_destroy(tls);
	evbuffer_free(input);
	evbuffer_free(output);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct tls_context *context;

	if (!context)
		context = tls_context_create_shared("the secret of the fuzzer");
	if (size < 2 || size > 32 * 1024)
		return 0;
	size_t piece = data[1] ? (size_t)data[1] * data[1] : size;
	hear(data[0] & 1 ? tls_accept(context) : tls_create(context, NULL), data + 2, size - 2,
	     piece);
	return 0;
}
