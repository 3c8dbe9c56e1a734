/* Any bytes as those of a peer with which a secret is shared, at either end, or of a client of a
 * server with a certificate, in pieces: nothing of them may come out as said by a peer that has
 * agreed on TLS. */
#include <event2/buffer.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/err.h"
#include "net/tls.h"
#include "net/tls_identity.h"

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

/* With a certificate of its own, of no name. */
static struct tls_context *make_server(void)
{
	struct tls_identity identity = {.key = EVP_EC_gen("P-256"), .certificate = X509_new()};
	struct err err cleanup_err = {0};

	X509_gmtime_adj(X509_getm_notBefore(identity.certificate), 0);
	X509_gmtime_adj(X509_getm_notAfter(identity.certificate), 3600);
	X509_set_pubkey(identity.certificate, identity.key);
	X509_sign(identity.certificate, identity.key, EVP_sha256());
	struct tls_context *context = tls_context_create_server(&identity, &err);
	if (!context)
		abort();
	tls_identity_finish(&identity);
	return context;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct tls_context *context, *server;

	if (!context) {
		context = tls_context_create_shared("the secret of the fuzzer");
		server = make_server();
	}
	if (size < 2 || size > 32 * 1024)
		return 0;
	size_t piece = data[1] ? (size_t)data[1] * data[1] : size;
	hear(data[0] & 2   ? tls_accept(server)
	     : data[0] & 1 ? tls_accept(context)
			   : tls_create(context, NULL),
	     data + 2, size - 2, piece);
	return 0;
}
