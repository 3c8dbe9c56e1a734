/*
 * Any bytes as what a server says in DIGEST-MD5. The first byte chooses: a challenge and what comes
 * behind it, on a line each, or a protected message in one of the three ways.
 */
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "hadoop/sasl_digest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Nobody here knows the password but us, so nothing can be complete. */
static void try_exchange(const uint8_t *data, size_t size, unsigned wanted)
{
	struct sasl *sasl =
		sasl_digest_create("dXNlcg==", "cGFzcw==", "/default", wanted, "cnonce");

	for (int i = 0; i < 3; i++) {
		const uint8_t *end = memchr(data, '\n', size);
		size_t length = end ? (size_t)(end - data) : size;
		struct str response cleanup_str = {0};
		struct err err cleanup_err = {0};
		bool complete;

		int result = sasl_step(sasl, data, length, &response, &complete, &err);
		if (complete || (i > 0 && result == 0))
			BUG("a proof that is none");
		if (result < 0 && !err.message)
			BUG("a refusal without a reason");
		data += length + (end != NULL);
		size -= length + (end != NULL);
	}
	sasl_destroy(sasl);
}

static void try_token(const uint8_t *data, size_t size, enum digest_cipher cipher)
{
	static const unsigned char secret[MD5_LENGTH] = "0123456789abcde";
	struct digest_layer ours, theirs;
	struct str out cleanup_str = {0}, token cleanup_str = {0};
	struct err err cleanup_err = {0};

	digest_layer_start(&ours, secret, cipher);
	if (digest_layer_unwrap(&ours, data, size, &out, &err) == 0)
		BUG("a message that nobody wrote");
	if (out.length > 0)
		BUG("something is left of what was refused");
	/* One who reads what we write. */
	digest_layer_start(&ours, secret, cipher);
	theirs = ours;
	theirs.in = ours.out;
	digest_layer_wrap(&ours, data, size, &token);
	if (token.length > size + DIGEST_OVERHEAD)
		BUG("%zu bytes make a token of %zu", size, token.length);
	if (digest_layer_unwrap(&theirs, token.text, token.length, &out, &err) < 0)
		BUG("%s", err_message(&err));
	if (out.length != size || (size > 0 && memcmp(out.text, data, size) != 0))
		BUG("it is read as something else");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum digest_cipher ciphers[] = {DIGEST_CIPHER_NONE, DIGEST_RC4, DIGEST_3DES};

	if (size < 1)
		return 0;
	unsigned choice = data[0] % 16;
	if (choice < 8)
		try_exchange(data + 1, size - 1, choice);
	else
		try_token(data + 1, size - 1, ciphers[choice % array_length(ciphers)]);
	return 0;
}
