/* Anybody may talk to `tony-agent host`, and answer `tony-agent rsh`. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "executor/remote_proof.h"

#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define NONCE "2222222222222222222222222222222222222222222222222222222222222222"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A hello is anybody's to say; nothing else is believed of those who do not know the token. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	struct remote_session rsh, host;
	struct err err cleanup_err = {0};

	remote_session_init(&rsh, REMOTE_RSH, TOKEN, "127.0.0.1:4000", NONCE);
	remote_session_init(&host, REMOTE_HOST, TOKEN, NULL, NONCE);
	char *hello cleanup_free = remote_hello(&rsh);
	if (remote_take_hello(&host, bytes, size, NULL) < 0 &&
	    remote_take_hello(&host, hello, strlen(hello), &err) < 0)
		BUG("%s", err_message(&err));
	if (remote_take_welcome(&rsh, bytes, size, NULL) == 0)
		BUG("believed a host");
	free(remote_welcome(&host));
	if (remote_unseal(&host, REMOTE_RSH, bytes, size, NULL))
		BUG("believed rsh");
	remote_session_finish(&rsh);
	remote_session_finish(&host);
	return 0;
}
