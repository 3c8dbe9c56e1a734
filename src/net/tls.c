#include "net/tls.h"

#include <event2/buffer.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/address.h"

enum {
	RECORD = 16 * 1024,	/* the most bytes that one record of TLS carries */
	SEALED_CAP = 64 * 1024, /* no more is sealed while so much waits to be sent */
	NAMES_CAP = 4,		/* of a certificate, in an error */
};

struct tls_context {
	size_t users; /* connections, and who made it */
	SSL_CTX *ssl;
	char *remedy;
};

struct tls {
	struct tls_context *context;
	SSL *ssl;
	BIO *from_peer, *to_peer; /* of `ssl` */
	struct evbuffer *sealed;
	struct str names; /* of a certificate that is for another host */
};

/* ---- authorities -------------------------------------------------------------------------- */

/* Where distributions keep those that the machine trusts: Debian; RHEL; SUSE; Alpine. */
static const char *const bundles[] = {
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
};

static int trust_machine(SSL_CTX *ssl, const char *remedy, struct err *err)
{
	for (size_t i = 0; i < array_length(bundles); i++)
		if (SSL_CTX_load_verify_file(ssl, bundles[i]) == 1)
			return 0;
	return err_set(err, ERR_CONFIG,
		       "this machine has no list of trusted authorities (%s or its like); %s",
		       bundles[0], remedy);
}

static int trust(SSL_CTX *ssl, const char *authorities, struct err *err)
{
	X509_STORE *store = SSL_CTX_get_cert_store(ssl);
	BIO *bio = BIO_new_mem_buf(authorities, -1);
	X509 *certificate;
	size_t count = 0;

	while (bio && (certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
		count += X509_STORE_add_cert(store, certificate) == 1;
		X509_free(certificate);
	}
	/* The end of the text is told as an error, too. */
	bool is_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
	BIO_free(bio);
	if (is_end && count > 0)
		return 0;
	return err_set(err, ERR_CONFIG, "certificate %zu of the trusted authorities is none in PEM",
		       count + 1);
}

/* ---- names --------------------------------------------------------------------------------- */

static void append_names(struct str *text, X509 *certificate)
{
	GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
	int count = names ? sk_GENERAL_NAME_num(names) : 0;

	for (int i = 0; i < count && i < NAMES_CAP; i++) {
		const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
		if (name->type != GEN_DNS)
			continue;
		char *shown cleanup_free =
			str_printable((const char *)ASN1_STRING_get0_data(name->d.dNSName),
				      (size_t)ASN1_STRING_length(name->d.dNSName));
		str_append_format(text, "%s%s", text->length > 0 ? ", " : "", shown);
	}
	GENERAL_NAMES_free(names);
}

static int on_verified(int is_good, X509_STORE_CTX *verification)
{
	const SSL *ssl =
		X509_STORE_CTX_get_ex_data(verification, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct tls *tls = SSL_get_app_data(ssl);
	int flaw = X509_STORE_CTX_get_error(verification);

	if (!is_good &&
	    (flaw == X509_V_ERR_HOSTNAME_MISMATCH || flaw == X509_V_ERR_IP_ADDRESS_MISMATCH))
		append_names(&tls->names, X509_STORE_CTX_get0_cert(verification));
	return is_good;
}

/* ---- contexts ----------------------------------------------------------------------------- */

static SSL_CTX *new_client(void)
{
	SSL_CTX *ssl = SSL_CTX_new(TLS_client_method());

	if (!ssl)
		BUG("OpenSSL cannot make a context");
	SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
	SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				      SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, on_verified);
	/* A server's own certificate in the list is enough, as for Java and libcurl. */
	X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(ssl), X509_V_FLAG_PARTIAL_CHAIN);
	return ssl;
}

struct tls_context *tls_context_create_client(const char *authorities, const char *remedy,
					      struct err *err)
{
	struct tls_context *context = mem_alloc(sizeof(*context));
	context->ssl = new_client();
	context->users = 1;
	context->remedy = mem_strdup(remedy);
	int result = authorities ? trust(context->ssl, authorities, err)
				 : trust_machine(context->ssl, remedy, err);
	ERR_clear_error();
	if (result == 0)
		return context;
	tls_context_destroy(context);
	return NULL;
}

void tls_context_destroy(struct tls_context *context)
{
	if (!context || --context->users > 0)
		return;
	SSL_CTX_free(context->ssl);
	free(context->remedy);
	free(context);
}

/* ---- connections -------------------------------------------------------------------------- */

struct tls *tls_create(struct tls_context *context, const char *host)
{
	struct tls *tls = mem_alloc(sizeof(*tls));

	tls->context = context;
	context->users++;
	tls->ssl = SSL_new(context->ssl);
	tls->from_peer = BIO_new(BIO_s_mem());
	tls->to_peer = BIO_new(BIO_s_mem());
	tls->sealed = evbuffer_new();
	if (!tls->ssl || !tls->from_peer || !tls->to_peer || !tls->sealed)
		BUG("OpenSSL cannot make a connection");
	/* An empty buffer is no end: more will come. */
	BIO_set_mem_eof_return(tls->from_peer, -1);
	SSL_set_bio(tls->ssl, tls->from_peer, tls->to_peer);
	SSL_set_app_data(tls->ssl, tls);
	SSL_set_connect_state(tls->ssl);
	/* What is no address is a name, which is also said to servers that have several. */
	if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls->ssl), host) != 1) {
		SSL_set1_host(tls->ssl, host);
		SSL_set_tlsext_host_name(tls->ssl, host);
	}
	ERR_clear_error();
	return tls;
}

void tls_destroy(struct tls *tls)
{
	if (!tls)
		return;
	SSL_free(tls->ssl);
	evbuffer_free(tls->sealed);
	str_finish(&tls->names);
	tls_context_destroy(tls->context);
	free(tls);
}

bool tls_is_open(const struct tls *tls)
{
	return SSL_is_init_finished(tls->ssl);
}

bool tls_has_ended(const struct tls *tls)
{
	return SSL_get_shutdown(tls->ssl) & SSL_RECEIVED_SHUTDOWN;
}

/* ---- errors ------------------------------------------------------------------------------- */

static int say_certificate(const struct tls *tls, long flaw, struct err *err)
{
	const char *words = X509_verify_cert_error_string(flaw);

	switch (flaw) {
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		return err_set(err, ERR_DENIED, "its certificate is for another host%s%s",
			       tls->names.length > 0 ? ": " : "", str_text(&tls->names));
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_CERT_SIGNATURE_FAILURE: /* by another of the same name */
		return err_set(err, ERR_DENIED, "its certificate is not trusted: %s; %s", words,
			       tls->context->remedy);
	default:
		return err_set(err, ERR_DENIED, "its certificate: %s", words);
	}
}

static int say(const struct tls *tls, struct err *err)
{
	long flaw = SSL_get_verify_result(tls->ssl);
	unsigned long code = ERR_peek_error();
	const char *words = ERR_reason_error_string(code);

	if (flaw != X509_V_OK)
		return say_certificate(tls, flaw, err);
	if (ERR_GET_REASON(code) == SSL_R_WRONG_VERSION_NUMBER)
		return err_set(err, ERR_INPUT, "it does not speak TLS");
	return err_set(err, ERR_INPUT, "TLS: %s", words ? words : "a broken record");
}

/* ---- bytes -------------------------------------------------------------------------------- */

/* What OpenSSL has for the peer. */
static void collect(struct tls *tls)
{
	char *bytes;
	long length = BIO_get_mem_data(tls->to_peer, &bytes);

	if (length > 0) {
		evbuffer_add(tls->sealed, bytes, (size_t)length);
		(void)BIO_reset(tls->to_peer);
	}
}

int tls_take(struct tls *tls, const void *bytes, size_t length, struct evbuffer *input,
	     struct err *err)
{
	char plain[RECORD];
	int got;

	ERR_clear_error();
	if (BIO_write(tls->from_peer, bytes, (int)length) != (int)length)
		BUG("OpenSSL does not take %zu bytes", length);
	while ((got = SSL_read(tls->ssl, plain, sizeof(plain))) > 0)
		evbuffer_add(input, plain, (size_t)got);
	int why = SSL_get_error(tls->ssl, got);
	int result = why == SSL_ERROR_WANT_READ || why == SSL_ERROR_ZERO_RETURN ? 0 : say(tls, err);
	collect(tls);
	ERR_clear_error();
	return result;
}

struct evbuffer *tls_seal(struct tls *tls, struct evbuffer *output)
{
	struct evbuffer_iovec part;

	ERR_clear_error();
	if (!tls_is_open(tls))
		SSL_do_handshake(tls->ssl);
	while (tls_is_open(tls) && evbuffer_get_length(tls->sealed) < SEALED_CAP &&
	       evbuffer_peek(output, RECORD, NULL, &part, 1) > 0) {
		int length = part.iov_len < RECORD ? (int)part.iov_len : RECORD;
		/* What fails here has failed in tls_take(), which tells. */
		int sealed = SSL_write(tls->ssl, part.iov_base, length);
		if (sealed <= 0)
			break;
		evbuffer_drain(output, (size_t)sealed);
		collect(tls);
	}
	collect(tls);
	ERR_clear_error();
	return tls->sealed;
}

bool tls_is_sending(const struct tls *tls)
{
	return evbuffer_get_length(tls->sealed) > 0;
}

struct evbuffer *tls_close(struct tls *tls)
{
	if (tls_is_open(tls))
		SSL_shutdown(tls->ssl);
	collect(tls);
	ERR_clear_error();
	return tls->sealed;
}
