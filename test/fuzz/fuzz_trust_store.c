/* Any bytes as a store of authorities' certificates, and of a key of Java's. The seeds of PKCS #12
 * were made by keytool with 1,000 iterations: with its own numbers a small change of one costs many
 * seconds. */
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "net/java_store.h"
#include "net/tls.h"
#include "net/trust_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct str pem cleanup_str = {0};
	struct store_content content;

	if (java_store_read_key(bytes, length, "changeit", &content, NULL) == 0)
		store_content_finish(&content);
	if (trust_store_parse(bytes, length, "changeit", &pem, NULL) < 0)
		return 0;
	if (pem.length == 0 || pem.length > TLS_AUTHORITIES_CAP)
		BUG("%zu bytes of certificates", pem.length);
	/* What was read is read again, also by who is to trust it. */
	struct str again cleanup_str = {0};
	struct tls_context *tls = tls_context_create_client(pem.text, "", NULL);
	if (!tls || trust_store_parse(pem.text, pem.length, NULL, &again, NULL) < 0 ||
	    strcmp(pem.text, again.text) != 0)
		BUG("not read again: %s", pem.text);
	tls_context_destroy(tls);
	return 0;
}
