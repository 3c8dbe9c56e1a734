#include "net/pkcs12.h"

#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <stdint.h>

enum { ITERATIONS_MAX = 1000000 };

static bool open_with(PKCS12 *store, const char *password, struct store_content *content)
{
	if (PKCS12_parse(store, password, &content->key, &content->own, &content->others) != 1)
		return false;
	if (!content->others)
		content->others = sk_X509_new_null();
	return true;
}

/* A password does not open a file that was made without one. */
static bool open_store(PKCS12 *store, const char *password, struct store_content *content)
{
	return open_with(store, password, content) || (password && open_with(store, NULL, content));
}

/* Older versions of Java use ciphers that OpenSSL keeps aside. */
static bool open_old_store(PKCS12 *store, const char *password, struct store_content *content)
{
	OSSL_PROVIDER *usual = OSSL_PROVIDER_load(NULL, "default");
	OSSL_PROVIDER *old = OSSL_PROVIDER_load(NULL, "legacy");
	bool is_open = usual && old && open_store(store, password, content);

	OSSL_PROVIDER_unload(old);
	OSSL_PROVIDER_unload(usual);
	return is_open;
}

/* A password is hashed that often; keytool has it done 100,000 times at most, which takes a second.
 * A file could ask for hours. */
static int check_iterations(const PKCS12 *store, struct err *err)
{
	const ASN1_INTEGER *iterations = NULL;
	int64_t count = 1;

	PKCS12_get0_mac(NULL, NULL, NULL, &iterations, store);
	if (!iterations ||
	    (ASN1_INTEGER_get_int64(&count, iterations) == 1 && count <= ITERATIONS_MAX))
		return 0;
	return err_set(err, ERR_CONFIG,
		       "this PKCS #12 store has its password hashed more than %d times",
		       ITERATIONS_MAX);
}

int pkcs12_read(const void *bytes, size_t length, const char *password,
		struct store_content *content, struct err *err)
{
	const unsigned char *at = bytes;
	PKCS12 *store = d2i_PKCS12(NULL, &at, (long)length);

	*content = (struct store_content){0};
	if (!store)
		return err_set(err, ERR_CONFIG, "it is neither PEM nor PKCS #12 nor JKS");
	int result = check_iterations(store, err);
	if (result == 0 && !open_store(store, password, content) &&
	    !open_old_store(store, password, content))
		result =
			err_set(err, ERR_CONFIG, "this PKCS #12 store cannot be opened %s password",
				password ? "with the" : "without a");
	PKCS12_free(store);
	return result;
}
