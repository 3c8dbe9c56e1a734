#include "sasl_server.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/md5.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

/* The value of a directive, which must be there exactly once; the caller frees. */
static char *directive(const char *response, const char *name)
{
	char *key cleanup_free = mem_printf(",%s=", name);
	char *all cleanup_free = mem_printf(",%s", response);
	struct str value = {0};
	const char *at = strstr(all, key);

	assert_non_null(at);
	assert_null(strstr(at + 1, key));
	at += strlen(key);
	if (*at != '"') {
		str_append_bytes(&value, at, strcspn(at, ","));
		return str_steal(&value);
	}
	for (at++; *at != '"'; at++) {
		at += *at == '\\';
		assert_true(*at);
		str_append_char(&value, *at);
	}
	return str_steal(&value);
}

char *sasl_server_user(const char *response)
{
	return directive(response, "username");
}

static void expect(const char *response, const char *name, const char *value)
{
	char *given cleanup_free = directive(response, name);

	assert_string_equal(given, value);
}

static char *hex_of(const unsigned char sum[16])
{
	struct str hex = {0};

	for (int i = 0; i < 16; i++)
		str_append_format(&hex, "%02x", sum[i]);
	return str_steal(&hex);
}

static char *md5_text(const char *text)
{
	unsigned char sum[16];

	MD5((const unsigned char *)text, strlen(text), sum);
	return hex_of(sum);
}

static char *proof_of(const struct sasl_server *server, const char *cnonce, const char *verb)
{
	bool protected = strcmp(server->qop, "auth") != 0;
	char *what cleanup_free = mem_printf("%s:%s%s", verb, server->uri,
					     protected ? ":00000000000000000000000000000000" : "");
	char *what_hex cleanup_free = md5_text(what);
	char *secret cleanup_free = hex_of(server->secret);
	char *all cleanup_free = mem_printf("%s:%s:00000001:%s:%s:%s", secret, server->nonce,
					    cnonce, server->qop, what_hex);
	return md5_text(all);
}

static void hash_secret(struct sasl_server *server, const char *cnonce)
{
	char *who cleanup_free =
		mem_printf("%s:%s:%s", server->user, server->realm, server->password);
	char *session cleanup_free = mem_printf(":%s:%s", server->nonce, cnonce);
	unsigned char bytes[1024];

	MD5((unsigned char *)who, strlen(who), bytes);
	assert_true(16 + strlen(session) <= sizeof(bytes));
	memcpy(bytes + 16, session, strlen(session));
	MD5(bytes, 16 + strlen(session), server->secret);
}

static void derive(const struct sasl_server *server, const char *magic, unsigned char key[16])
{
	unsigned char bytes[200];

	memcpy(bytes, server->secret, 16);
	memcpy(bytes + 16, magic, strlen(magic));
	MD5(bytes, 16 + strlen(magic), key);
}

static void set_des(DES_key_schedule *schedule, const unsigned char *key)
{
	DES_cblock block = {0};

	for (int bit = 0; bit < 56; bit++) {
		if (key[bit / 8] & 0x80 >> bit % 8)
			block[bit / 7] |= (unsigned char)(0x80 >> bit % 7);
	}
	DES_set_odd_parity(&block);
	DES_set_key_unchecked(&block, schedule);
}

static void start_stream(const struct sasl_server *server, struct sasl_stream *stream,
			 const char *way)
{
	char *signing cleanup_free =
		mem_printf("Digest session key to %s signing key magic constant", way);
	char *sealing cleanup_free =
		mem_printf("Digest H(A1) to %s sealing key magic constant", way);
	unsigned char key[16];

	derive(server, signing, stream->signing);
	derive(server, sealing, key);
	RC4_set_key(&stream->rc4, 16, key);
	set_des(&stream->des[0], key);
	set_des(&stream->des[1], key + 7);
	memcpy(stream->chain, key + 8, 8);
	stream->sequence = 0;
}

void sasl_server_accept(struct sasl_server *server, const char *response, struct str *proof)
{
	char *cnonce cleanup_free = directive(response, "cnonce");

	assert_true(strlen(cnonce) >= 8);
	assert_true(strlen(response) < 4096);
	expect(response, "username", server->user);
	expect(response, "realm", server->realm);
	expect(response, "nonce", server->nonce);
	expect(response, "nc", "00000001");
	expect(response, "digest-uri", server->uri);
	expect(response, "qop", server->qop);
	expect(response, "charset", "utf-8");
	if (server->cipher)
		expect(response, "cipher", server->cipher);
	else
		assert_null(strstr(response, "cipher="));
	hash_secret(server, cnonce);
	char *wanted cleanup_free = proof_of(server, cnonce, "AUTHENTICATE");
	expect(response, "response", wanted);
	start_stream(server, &server->in, "client-to-server");
	start_stream(server, &server->out, "server-to-client");
	char *own cleanup_free = proof_of(server, cnonce, "");
	str_append_format(proof, "rspauth=%s", own);
}

static void run_cipher(const struct sasl_server *server, struct sasl_stream *stream,
		       unsigned char *bytes, size_t length, int way)
{
	if (server->cipher && strcmp(server->cipher, "rc4") == 0)
		RC4(&stream->rc4, length, bytes, bytes);
	else if (server->cipher)
		DES_ede2_cbc_encrypt(bytes, bytes, (long)length, &stream->des[0], &stream->des[1],
				     &stream->chain, way);
}

static void make_mac(const struct sasl_stream *stream, const void *bytes, size_t length,
		     unsigned char mac[16])
{
	struct str all cleanup_str = {0};

	for (int shift = 24; shift >= 0; shift -= 8)
		str_append_char(&all, (char)(stream->sequence >> shift));
	str_append_bytes(&all, bytes, length);
	assert_non_null(HMAC(EVP_md5(), stream->signing, 16, (unsigned char *)all.text, all.length,
			     mac, NULL));
}

static void put_trailer(const struct sasl_stream *stream, struct str *out)
{
	str_append_bytes(out, "\0\1", 2);
	for (int shift = 24; shift >= 0; shift -= 8)
		str_append_char(out, (char)(stream->sequence >> shift));
}

void sasl_server_write(struct sasl_server *server, const void *bytes, size_t length,
		       struct str *out)
{
	struct sasl_stream *stream = &server->out;
	unsigned char mac[16];
	size_t first = out->length;

	make_mac(stream, bytes, length, mac);
	str_append_bytes(out, bytes, length);
	if (server->cipher && strcmp(server->cipher, "3des") == 0) {
		size_t padding = 8 - (length + 10) % 8;
		for (size_t i = 0; i < padding; i++)
			str_append_char(out, (char)padding);
	}
	str_append_bytes(out, mac, 10);
	run_cipher(server, stream, (unsigned char *)out->text + first, out->length - first,
		   DES_ENCRYPT);
	put_trailer(stream, out);
	stream->sequence++;
}

void sasl_server_read(struct sasl_server *server, const void *token, size_t length, struct str *out)
{
	struct sasl_stream *stream = &server->in;
	struct str plain cleanup_str = {0}, trailer cleanup_str = {0};
	unsigned char mac[16];

	assert_true(length >= 16);
	length -= 6;
	put_trailer(stream, &trailer);
	assert_memory_equal((const char *)token + length, trailer.text, 6);
	str_append_bytes(&plain, token, length);
	run_cipher(server, stream, (unsigned char *)plain.text, length, DES_DECRYPT);
	length -= 10;
	char *given = plain.text + length;
	if (server->cipher && strcmp(server->cipher, "3des") == 0) {
		unsigned char padding = (unsigned char)given[-1];
		assert_in_range(padding, 1, 8);
		length -= padding;
		for (size_t i = 0; i < padding; i++)
			assert_int_equal((unsigned char)plain.text[length + i], padding);
	}
	make_mac(stream, plain.text, length, mac);
	assert_memory_equal(given, mac, 10);
	str_append_bytes(out, plain.text, length);
	stream->sequence++;
}
