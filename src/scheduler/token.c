#include "scheduler/token.h"

#include <sys/random.h>

#include "base/str.h"

enum { TOKEN_BYTES = 32 };

char *token_create(struct err *err)
{
	unsigned char bytes[TOKEN_BYTES];
	struct str text cleanup_str = {0};

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) {
		err_set_errno(err, "no random bytes for a token");
		return NULL;
	}
	for (size_t i = 0; i < sizeof(bytes); i++)
		str_append_format(&text, "%02x", bytes[i]);
	return str_steal(&text);
}
