#include "hadoop/sasl_digest.h"

#include <openssl/crypto.h>
#include <string.h>

#include "base/mem.h"

/* RFC 2831, 2.3 and 2.4. A token is
 *	message . MAC . trailer			integrity
 *	CIPHER(message . padding . MAC) . trailer	privacy
 * where the trailer is the type of the message, 1, in two bytes, and its number in four. */
enum { MAC = 10, TYPE = 2, TRAILER = 6, TYPE_MESSAGE = 1, DES_BLOCK = 8 };

/* ---- keys --------------------------------------------------------------------------------- */

static void derive(unsigned char key[MD5_LENGTH], const unsigned char secret[MD5_LENGTH],
		   const char *magic)
{
	struct md5 md5;

	md5_start(&md5);
	md5_update(&md5, secret, MD5_LENGTH);
	md5_update(&md5, magic, strlen(magic));
	md5_finish(&md5, key);
}

/* 56 bits, seven to a byte: the eighth would be parity, which nobody looks at. */
static void start_des(DES_key_schedule *schedule, const unsigned char key[7])
{
	uint64_t bits = 0;
	DES_cblock spread;

	for (size_t i = 0; i < 7; i++)
		bits = bits << 8 | key[i];
	for (size_t i = 0; i < sizeof(spread); i++)
		spread[i] = (unsigned char)((bits >> (49 - 7 * i) & 127) << 1);
	DES_set_key_unchecked(&spread, schedule);
	explicit_bzero(spread, sizeof(spread));
}

static void start(struct digest_direction *direction, const unsigned char secret[MD5_LENGTH],
		  enum digest_cipher cipher, const char *signing, const char *sealing)
{
	unsigned char key[MD5_LENGTH];

	derive(direction->integrity_key, secret, signing);
	derive(key, secret, sealing);
	if (cipher == DIGEST_RC4)
		rc4_start(&direction->rc4, key, sizeof(key));
	if (cipher == DIGEST_3DES) {
		start_des(&direction->des1, key);
		start_des(&direction->des2, key + 7);
		memcpy(direction->des_chain, key + sizeof(key) - DES_BLOCK, DES_BLOCK);
	}
	explicit_bzero(key, sizeof(key));
}

void digest_layer_start(struct digest_layer *layer, const unsigned char secret[MD5_LENGTH],
			enum digest_cipher cipher)
{
	*layer = (struct digest_layer){.cipher = cipher};
	start(&layer->out, secret, cipher,
	      "Digest session key to client-to-server signing key magic constant",
	      "Digest H(A1) to client-to-server sealing key magic constant");
	start(&layer->in, secret, cipher,
	      "Digest session key to server-to-client signing key magic constant",
	      "Digest H(A1) to server-to-client sealing key magic constant");
}

/* ---- tokens ------------------------------------------------------------------------------- */

static void put_number(unsigned char bytes[4], uint32_t number)
{
	for (int i = 0; i < 4; i++)
		bytes[i] = (unsigned char)(number >> (24 - 8 * i));
}

static void make_mac(const struct digest_direction *direction, const void *message, size_t length,
		     unsigned char mac[MD5_LENGTH])
{
	struct md5_hmac hmac;
	unsigned char sequence[4];

	put_number(sequence, direction->sequence);
	md5_hmac_start(&hmac, direction->integrity_key, sizeof(direction->integrity_key));
	md5_hmac_update(&hmac, sequence, sizeof(sequence));
	md5_hmac_update(&hmac, message, length);
	md5_hmac_finish(&hmac, mac);
}

/* In place. The length is a multiple of the cipher's block. */
static void cipher(struct digest_direction *direction, enum digest_cipher cipher,
		   unsigned char *bytes, size_t length, int des_direction)
{
	if (cipher == DIGEST_RC4)
		rc4_apply(&direction->rc4, bytes, length);
	if (cipher == DIGEST_3DES)
		DES_ede3_cbc_encrypt(bytes, bytes, (long)length, &direction->des1, &direction->des2,
				     &direction->des1, &direction->des_chain, des_direction);
}

void digest_layer_wrap(struct digest_layer *layer, const void *bytes, size_t length,
		       struct str *out)
{
	unsigned char mac[MD5_LENGTH], trailer[TRAILER] = {0, TYPE_MESSAGE};
	size_t first = out->length;

	make_mac(&layer->out, bytes, length, mac);
	str_append_bytes(out, bytes, length);
	if (layer->cipher == DIGEST_3DES) {
		size_t padding = DES_BLOCK - (length + MAC) % DES_BLOCK;
		for (size_t i = 0; i < padding; i++)
			str_append_char(out, (char)padding);
	}
	str_append_bytes(out, mac, MAC);
	cipher(&layer->out, layer->cipher, (unsigned char *)out->text + first, out->length - first,
	       DES_ENCRYPT);
	put_number(trailer + TYPE, layer->out.sequence++);
	str_append_bytes(out, trailer, sizeof(trailer));
}

/* The length of the message that comes before padding and MAC; negative: this cannot be one. What
 * the padding is made of is nobody's business: a wrong length makes a wrong MAC. */
static ssize_t message_length(const struct digest_layer *layer, const unsigned char *bytes,
			      size_t length)
{
	int padding = layer->cipher == DIGEST_3DES ? bytes[length - MAC - 1] : 0;

	return (ssize_t)length - MAC - padding;
}

static bool is_genuine(const struct digest_layer *layer, const unsigned char *bytes, size_t length,
		       size_t message)
{
	unsigned char mac[MD5_LENGTH];

	make_mac(&layer->in, bytes, message, mac);
	return CRYPTO_memcmp(bytes + length - MAC, mac, MAC) == 0;
}

/* A wrong number is told apart from other damage for people only: the MAC covers the number. */
static int check_trailer(struct digest_layer *layer, const unsigned char *trailer, struct err *err)
{
	unsigned char expected[TRAILER] = {0, TYPE_MESSAGE};

	put_number(expected + TYPE, layer->in.sequence);
	if (memcmp(trailer, expected, TRAILER) == 0)
		return 0;
	return err_set(err, ERR_DENIED,
		       "DIGEST-MD5: a message that is not number %u of the server's: one was "
		       "repeated or left out on the way",
		       layer->in.sequence);
}

int digest_layer_unwrap(struct digest_layer *layer, const void *token, size_t length,
			struct str *out, struct err *err)
{
	size_t first = out->length, block = layer->cipher == DIGEST_3DES ? DES_BLOCK : 1;

	if (length < MAC + TRAILER || (length - TRAILER) % block != 0)
		return err_set(err, ERR_DENIED,
			       "DIGEST-MD5: %zu bytes cannot be a protected message", length);
	length -= TRAILER;
	if (check_trailer(layer, (const unsigned char *)token + length, err) < 0)
		return -1;
	str_append_bytes(out, token, length);
	unsigned char *bytes = (unsigned char *)out->text + first;
	cipher(&layer->in, layer->cipher, bytes, length, DES_DECRYPT);
	ssize_t message = message_length(layer, bytes, length);
	if (message < 0 || !is_genuine(layer, bytes, length, (size_t)message)) {
		str_truncate(out, first);
		return err_set(err, ERR_DENIED,
			       "DIGEST-MD5: message %u of the server's was altered on the way",
			       layer->in.sequence);
	}
	layer->in.sequence++;
	str_truncate(out, first + (size_t)message);
	return 0;
}
