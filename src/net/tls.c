#include "net/tls.h"

#include <event2/buffer.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/secret.h"
#include "base/str.h"
#include "net/address.h"
#include "net/pem.h"
#include "net/tls_identity.h"

enum {
	RECORD = 16 * 1024,	   /* the most bytes that one record of TLS carries */
	SEALED_CAP = 64 * 1024,	   /* no more is sealed while so much waits to be sent */
	NAMES_CAP = 4,		   /* of a certificate, in an error */
	HANDSHAKE_CAP = 16 * 1024, /* bytes, where a secret is shared: no certificate comes */
	BROWSERS_HANDSHAKE_CAP = 32 * 1024,
	GREETING_CAP = 2048,		       /* bytes of a ClientHello; tony's own has 250 */
	BROWSERS_GREETING_CAP = 16 * 1024 - 4, /* with keys for quantum computers to come */
	RECORD_HEAD = 5,
	MESSAGE_HEAD = 4, /* of a message of the handshake */
	IN_HANDSHAKE = 0x16,
	CLIENT_HELLO = 1,
	KEY_UPDATES = 32, /* of a peer: few send one at all, in 2^24 records */
};

struct tls_context {
	size_t users; /* connections, and who made it */
	SSL_CTX *ssl;
	char *remedy;
	BIO_METHOD *socket;
	bool is_shared;
	X509 *client;			      /* the only one that is heard; NULL: all are */
	unsigned char key[SECRET_HMAC_BYTES]; /* of the shared secret */
	char *identity; /* that goes with it; NULL: the one that all have who know the server's */
	struct tls_people people; /* at the server's end; without a function: there are none */
};

struct tls {
	struct tls_context *context;
	SSL *ssl;
	size_t heard; /* bytes of the peer's before the handshake is done */
	size_t key_updates;
	/* At the server's end, before that: how the record in progress begins, and how many of its
	 * bytes are to come. */
	bool is_server, has_begun;
	/* At some time: an error makes OpenSSL begin anew. */
	bool was_open;
	unsigned char head[RECORD_HEAD + MESSAGE_HEAD];
	size_t head_length, rest;
	/* Of the bytes of tls_take(), those that OpenSSL has not read. */
	const unsigned char *fresh;
	size_t fresh_length;
	struct evbuffer *sealed;
	struct str names; /* of a certificate that is for another host */
	char *user;	  /* whose identity it has offered; proven once the handshake is done */
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
	STACK_OF(X509) *certificates = pem_read_certificates(authorities, strlen(authorities), err);

	if (!certificates)
		return err_wrap(err, "the trusted authorities");
	for (int i = 0; i < sk_X509_num(certificates); i++)
		X509_STORE_add_cert(SSL_CTX_get_cert_store(ssl), sk_X509_value(certificates, i));
	sk_X509_pop_free(certificates, X509_free);
	return 0;
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

/* ---- the socket, as OpenSSL sees it ---------------------------------------------------------- */

/* OpenSSL's own buffers in memory would keep the size that they once had, for each connection. */
static int on_read(BIO *bio, char *bytes, int length)
{
	struct tls *tls = BIO_get_data(bio);
	size_t some = (size_t)length < tls->fresh_length ? (size_t)length : tls->fresh_length;

	BIO_clear_retry_flags(bio);
	if (some == 0) {
		BIO_set_retry_read(bio); /* more will come */
		return -1;
	}
	memcpy(bytes, tls->fresh, some);
	tls->fresh += some;
	tls->fresh_length -= some;
	return (int)some;
}

static int on_write(BIO *bio, const char *bytes, int length)
{
	const struct tls *tls = BIO_get_data(bio);

	BIO_clear_retry_flags(bio);
	evbuffer_add(tls->sealed, bytes, (size_t)length);
	return length;
}

static long on_control(BIO *bio, int what, long number, void *data)
{
	return what == BIO_CTRL_FLUSH;
}

static BIO_METHOD *new_socket(void)
{
	BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "tony");

	if (!method || !BIO_meth_set_read(method, on_read) ||
	    !BIO_meth_set_write(method, on_write) || !BIO_meth_set_ctrl(method, on_control))
		BUG("OpenSSL cannot make a socket");
	return method;
}

/* ---- contexts ----------------------------------------------------------------------------- */

/* Each may ask for an answer. */
static void on_message(int is_ours, int version, int type, const void *bytes, size_t length,
		       SSL *ssl, void *data)
{
	struct tls *tls = SSL_get_app_data(ssl);

	if (!is_ours && type == SSL3_RT_HANDSHAKE && length > 0 &&
	    *(const unsigned char *)bytes == SSL3_MT_KEY_UPDATE)
		tls->key_updates++;
}

static SSL_CTX *new_context(const SSL_METHOD *method, int oldest)
{
	SSL_CTX *ssl = SSL_CTX_new(method);

	if (!ssl)
		BUG("OpenSSL cannot make a context");
	SSL_CTX_set_min_proto_version(ssl, oldest);
	SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				      SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_msg_callback(ssl, on_message);
	return ssl;
}

static SSL_CTX *new_client(void)
{
	SSL_CTX *ssl = new_context(TLS_client_method(), TLS1_2_VERSION);

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
	context->socket = new_socket();
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
	X509_free(context->client);
	BIO_meth_free(context->socket);
	OPENSSL_cleanse(context->key, sizeof(context->key));
	free(context->identity);
	free(context->remedy);
	free(context);
}

/* ---- a secret that both ends know --------------------------------------------------------- */

/* RFC 8446, 4.2.11: an external key. It has no names: who knows it is one of us. */
static const unsigned char psk_identity[] = {'t', 'o', 'n', 'y'};
static const unsigned char suite[] = {0x13, 0x01};
#define SUITE_NAME "TLS_AES_128_GCM_SHA256"

/* HKDF-SHA256 (RFC 5869), without salt. */
static void derive_key(const char *secret, unsigned char key[SECRET_HMAC_BYTES])
{
	static const unsigned char no_salt[SECRET_HMAC_BYTES];
	static const char info[] = "tony wire, TLS 1.3\1";
	unsigned char extracted[SECRET_HMAC_BYTES];

	secret_hmac(no_salt, sizeof(no_salt), secret, strlen(secret), extracted);
	secret_hmac(extracted, sizeof(extracted), info, sizeof(info) - 1, key);
	OPENSSL_cleanse(extracted, sizeof(extracted));
}

/* A session that OpenSSL keeps: each connection has one of its own. */
static SSL_SESSION *new_session(SSL *ssl, const unsigned char key[SECRET_HMAC_BYTES])
{
	SSL_SESSION *session = SSL_SESSION_new();

	if (!session || SSL_SESSION_set1_master_key(session, key, SECRET_HMAC_BYTES) != 1 ||
	    SSL_SESSION_set_cipher(session, SSL_CIPHER_find(ssl, suite)) != 1 ||
	    SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) != 1)
		BUG("OpenSSL takes no shared secret");
	return session;
}

static int on_offer(SSL *ssl, const EVP_MD *digest, const unsigned char **id, size_t *length,
		    SSL_SESSION **session)
{
	const struct tls *tls = SSL_get_app_data(ssl);
	const char *identity = tls->context->identity;

	*id = identity ? (const unsigned char *)identity : psk_identity;
	*length = identity ? strlen(identity) : sizeof(psk_identity);
	*session = new_session(ssl, tls->context->key);
	return 1;
}

/* NULL: it is nobody's. Of a greeting that is repeated the last identity counts. */
static SSL_SESSION *find_session(SSL *ssl, struct tls *tls, const char *identity)
{
	const struct tls_people *people = &tls->context->people;
	unsigned char key[SECRET_HMAC_BYTES];
	char *user cleanup_free = NULL;
	char *secret = people->find_secret(people->data, identity, &user);

	if (!secret)
		return NULL;
	mem_replace(&tls->user, mem_steal(&user));
	derive_key(secret, key);
	mem_free_secret(secret);
	SSL_SESSION *session = new_session(ssl, key);
	OPENSSL_cleanse(key, sizeof(key));
	return session;
}

static int on_offered(SSL *ssl, const unsigned char *id, size_t length, SSL_SESSION **session)
{
	struct tls *tls = SSL_get_app_data(ssl);
	const struct tls_context *context = tls->context;
	bool is_known = length == sizeof(psk_identity) && memcmp(id, psk_identity, length) == 0;

	*session = NULL;
	mem_replace(&tls->user, NULL);
	if (is_known) {
		*session = new_session(ssl, context->key);
	} else if (context->people.find_secret && length <= TLS_IDENTITY_BYTES) {
		char *identity cleanup_free = mem_strndup((const char *)id, length);
		*session = find_session(ssl, tls, identity);
	}
	return 1;
}

/* Without certificates and authorities nothing but the secret proves anything, and without tickets
 * nothing stands for it. */
static SSL_CTX *new_shared(void)
{
	SSL_CTX *ssl = new_context(TLS_method(), TLS1_3_VERSION);

	if (SSL_CTX_set_ciphersuites(ssl, SUITE_NAME) != 1 ||
	    SSL_CTX_set1_groups_list(ssl, "X25519") != 1 || SSL_CTX_set_num_tickets(ssl, 0) != 1)
		BUG("OpenSSL has no " SUITE_NAME);
	SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_psk_use_session_callback(ssl, on_offer);
	SSL_CTX_set_psk_find_session_callback(ssl, on_offered);
	return ssl;
}

struct tls_context *tls_context_create_named(const char *identity, const char *secret)
{
	struct tls_context *context = tls_context_create_shared(secret);

	context->identity = mem_strdup(identity);
	return context;
}

void tls_context_admit(struct tls_context *context, const struct tls_people *people)
{
	context->people = *people;
}

struct tls_context *tls_context_create_shared(const char *secret)
{
	struct tls_context *context = mem_alloc(sizeof(*context));

	context->users = 1;
	context->is_shared = true;
	context->ssl = new_shared();
	context->socket = new_socket();
	derive_key(secret, context->key);
	ERR_clear_error();
	return context;
}

/* ---- a server with a certificate ----------------------------------------------------------- */

/* The handshake proves that the peer has its key. */
static int is_the_client(X509_STORE_CTX *verification, void *data)
{
	const struct tls_context *context = data;
	X509 *shown = X509_STORE_CTX_get0_cert(verification);

	if (shown && X509_cmp(shown, context->client) == 0)
		return 1;
	X509_STORE_CTX_set_error(verification, X509_V_ERR_CERT_UNTRUSTED);
	return 0;
}

/* No session goes on without the certificate. */
static void demand(struct tls_context *context)
{
	SSL_CTX_set_cert_verify_callback(context->ssl, is_the_client, context);
	SSL_CTX_set_options(context->ssl, SSL_OP_NO_TICKET);
	SSL_CTX_set_num_tickets(context->ssl, 0);
}

void tls_context_demand(struct tls_context *context, X509 *client)
{
	X509_up_ref(client);
	X509_free(context->client);
	context->client = client;
	demand(context);
}

/* A context has room for a certificate of each kind of key, so that an old one could stay: the new
 * one gets a new context. Connections keep theirs. */
int tls_context_renew(struct tls_context *context, const struct tls_identity *identity,
		      struct err *err)
{
	SSL_CTX *ssl = new_context(TLS_server_method(), TLS1_2_VERSION);
	int result = SSL_CTX_use_cert_and_key(ssl, identity->certificate, identity->key,
					      identity->chain, true);
	const char *words = ERR_reason_error_string(ERR_peek_error());

	if (result == 1) {
		SSL_CTX_free(context->ssl);
		context->ssl = ssl;
		if (context->client)
			demand(context);
	} else { /* as of a key of 1,024 bits */
		SSL_CTX_free(ssl);
		err_set(err, ERR_CONFIG, "OpenSSL refuses the certificate: %s",
			words ? words : "it says not why");
	}
	ERR_clear_error();
	return result == 1 ? 0 : -1;
}

struct tls_context *tls_context_create_server(const struct tls_identity *identity, struct err *err)
{
	struct tls_context *context = mem_alloc(sizeof(*context));

	context->users = 1;
	context->socket = new_socket();
	if (tls_context_renew(context, identity, err) == 0)
		return context;
	tls_context_destroy(context);
	return NULL;
}

struct tls_context *tls_context_share(struct tls_context *context)
{
	context->users++;
	return context;
}

/* ---- connections -------------------------------------------------------------------------- */

static struct tls *new_connection(struct tls_context *context)
{
	struct tls *tls = mem_alloc(sizeof(*tls));

	tls->context = context;
	context->users++;
	tls->ssl = SSL_new(context->ssl);
	tls->sealed = evbuffer_new();
	BIO *bio = BIO_new(context->socket);
	if (!tls->ssl || !bio || !tls->sealed)
		BUG("OpenSSL cannot make a connection");
	BIO_set_data(bio, tls);
	BIO_set_init(bio, 1);
	SSL_set_bio(tls->ssl, bio, bio);
	SSL_set_app_data(tls->ssl, tls);
	return tls;
}

struct tls *tls_accept(struct tls_context *context)
{
	struct tls *tls = new_connection(context);

	tls->is_server = true;
	SSL_set_accept_state(tls->ssl);
	/* A secret that is shared proves more than a certificate. */
	SSL_set_verify(tls->ssl,
		       context->client ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
				       : SSL_VERIFY_NONE,
		       NULL);
	ERR_clear_error();
	return tls;
}

void tls_end_point(const struct tls *tls, struct str *bytes)
{
	X509 *certificate = SSL_get_certificate(tls->ssl);
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned length = 0;
	int kind = NID_undef;

	if (!certificate || X509_get_signature_info(certificate, &kind, NULL, NULL, NULL) != 1)
		return;
	/* Those two are too weak for it. */
	if (kind == NID_md5 || kind == NID_sha1)
		kind = NID_sha256;
	const EVP_MD *method = EVP_get_digestbynid(kind);
	if (!method || X509_digest(certificate, method, digest, &length) != 1)
		return;
	str_append(bytes, "tls-server-end-point:");
	str_append_bytes(bytes, digest, length);
}

struct tls *tls_create(struct tls_context *context, const char *host)
{
	struct tls *tls = new_connection(context);

	SSL_set_connect_state(tls->ssl);
	/* What is no address is a name, which is also said to servers that have several. */
	if (!context->is_shared &&
	    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls->ssl), host) != 1) {
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
	free(tls->user);
	tls_context_destroy(tls->context);
	free(tls);
}

bool tls_is_answered(const struct tls *tls)
{
	OSSL_HANDSHAKE_STATE state = SSL_get_state(tls->ssl);

	return state != TLS_ST_BEFORE && state != TLS_ST_SR_CLNT_HELLO;
}

bool tls_is_open(const struct tls *tls)
{
	return SSL_is_init_finished(tls->ssl);
}

const char *tls_user(const struct tls *tls)
{
	return tls_is_open(tls) ? tls->user : NULL;
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

/* It shows a certificate, or says no to what proves the secret. */
static bool is_stranger(const struct tls *tls, unsigned long code)
{
	return tls->context->is_shared && !tls->was_open &&
	       (ERR_GET_REASON(code) >= SSL_AD_REASON_OFFSET ||
		ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED);
}

static int say(const struct tls *tls, struct err *err)
{
	long flaw = SSL_get_verify_result(tls->ssl);
	unsigned long code = ERR_peek_error();
	const char *words = ERR_reason_error_string(code);

	if (is_stranger(tls, code))
		return err_set(err, ERR_DENIED,
			       "it does not prove that it knows the job's token: nothing was said "
			       "to it");
	if (flaw != X509_V_OK)
		return say_certificate(tls, flaw, err);
	if (ERR_GET_REASON(code) == SSL_R_WRONG_VERSION_NUMBER)
		return err_set(err, ERR_INPUT, "it does not speak TLS");
	return err_set(err, ERR_INPUT, "TLS: %s", words ? words : "a broken record");
}

/* ---- bytes -------------------------------------------------------------------------------- */

/* The bytes of a record's head that are looked at. */
static size_t head_size(const struct tls *tls)
{
	return tls->head_length > 0 && tls->head[0] == IN_HANDSHAKE ? RECORD_HEAD + MESSAGE_HEAD
								    : RECORD_HEAD;
}

/* OpenSSL makes room for as much as a ClientHello says that it has, 128 KiB, before that has come.
 * So its first one is to be small, and to fill its record. */
static bool is_welcome(struct tls *tls)
{
	const unsigned char *head = tls->head;
	size_t size = (size_t)head[3] << 8 | head[4];
	size_t claim = (size_t)head[6] << 16 | (size_t)head[7] << 8 | head[8];
	bool is_first = !tls->has_begun;
	bool is_shared = tls->context->is_shared;

	tls->has_begun = true;
	tls->rest = size;
	if (head[0] != IN_HANDSHAKE)
		return !is_first;
	if (size < MESSAGE_HEAD)
		return false;
	tls->rest = size - MESSAGE_HEAD;
	if (!is_first && !is_shared) /* TLS 1.2 has further messages, some of them sealed */
		return true;
	return head[5] == CLIENT_HELLO && size == claim + MESSAGE_HEAD &&
	       claim <= (is_shared ? GREETING_CAP : BROWSERS_GREETING_CAP);
}

/* False: the peer does not begin as our clients and browsers do. */
static bool hear_greeting(struct tls *tls, const unsigned char *bytes, size_t length)
{
	while (length > 0) {
		size_t some = tls->rest < length ? tls->rest : length;
		tls->rest -= some;
		bytes += some;
		length -= some;
		while (length > 0 && tls->head_length < head_size(tls)) {
			tls->head[tls->head_length++] = *bytes++;
			length--;
		}
		if (tls->head_length < head_size(tls))
			return true;
		tls->head_length = 0;
		if (!is_welcome(tls))
			return false;
	}
	return true;
}

/* A client hears certificates. */
static size_t handshake_cap(const struct tls *tls)
{
	if (tls->context->is_shared)
		return HANDSHAKE_CAP;
	return tls->is_server ? BROWSERS_HANDSHAKE_CAP : SIZE_MAX;
}

int tls_take(struct tls *tls, const void *bytes, size_t length, struct evbuffer *input,
	     struct err *err)
{
	char plain[RECORD];
	int got;

	if (tls->is_server && !tls_is_open(tls) && !hear_greeting(tls, bytes, length))
		return err_set(err, ERR_INPUT, "TLS: the peer does not begin as a client does");
	tls->was_open = tls->was_open || tls_is_open(tls);
	ERR_clear_error();
	tls->fresh = bytes;
	tls->fresh_length = length;
	while ((got = SSL_read(tls->ssl, plain, sizeof(plain))) > 0)
		evbuffer_add(input, plain, (size_t)got);
	int why = SSL_get_error(tls->ssl, got);
	int result = why == SSL_ERROR_WANT_READ || why == SSL_ERROR_ZERO_RETURN ? 0 : say(tls, err);
	tls->heard += tls_is_open(tls) ? 0 : length;
	if (result == 0 && tls->key_updates > KEY_UPDATES)
		result = err_set(err, ERR_INPUT, "TLS: the peer changes its keys too often");
	else if (result == 0 && tls->heard > handshake_cap(tls))
		result = err_set(err, ERR_INPUT, "TLS: the handshake is too large");
	tls->fresh_length = 0;
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
	}
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
	ERR_clear_error();
	return tls->sealed;
}
