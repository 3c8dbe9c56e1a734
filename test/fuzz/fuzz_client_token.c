/* The identity that a stranger offers to an AM's port. */
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "hadoop/client_token.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const ProtobufCBinaryData key = {8, (uint8_t *)"12345678"};
	char *identity cleanup_free = mem_strndup((const char *)data, size);
	char *user cleanup_free = NULL;
	char *password cleanup_free = client_token_find(&key, identity, &user);

	if (password && (!user || !*user || strlen(user) > CLIENT_TOKEN_USER_CAP))
		BUG("nobody's");
	return 0;
}
