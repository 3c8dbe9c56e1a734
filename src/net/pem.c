#include "net/pem.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include "base/mem.h"

/* Without it OpenSSL would ask on the terminal. */
static int give_no_password(char *buffer, int size, int is_written, void *data)
{
	return -1;
}

STACK_OF(X509) * pem_read_certificates(const void *bytes, size_t length, struct err *err)
{
	STACK_OF(X509) *certificates = sk_X509_new_null();
	BIO *bio = BIO_new_mem_buf(bytes, (int)length);
	X509 *certificate;

	if (!certificates || !bio)
		BUG("OpenSSL cannot read from memory");
	ERR_clear_error();
	while ((certificate = PEM_read_bio_X509(bio, NULL, give_no_password, NULL)) != NULL)
		sk_X509_push(certificates, certificate);
	/* The end of the text is told as an error, too. */
	bool is_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
	ERR_clear_error();
	BIO_free(bio);
	int count = sk_X509_num(certificates);
	if (is_end && count > 0)
		return certificates;
	if (count > 0)
		err_set(err, ERR_CONFIG, "certificate %d is no PEM", count + 1);
	else
		err_set(err, ERR_CONFIG, "it holds no certificate in PEM");
	sk_X509_pop_free(certificates, X509_free);
	return NULL;
}
