/* MD5, HMAC-MD5 and RC4: the vectors of their RFCs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "hadoop/md5.h"
#include "hadoop/rc4.h"

static void digest_hex(const void *bytes, size_t length, size_t part, char hex[MD5_HEX_SIZE])
{
	unsigned char digest[MD5_LENGTH];
	struct md5 md5;

	md5_start(&md5);
	for (size_t at = 0; at < length; at += part)
		md5_update(&md5, (const char *)bytes + at, length - at < part ? length - at : part);
	md5_finish(&md5, digest);
	md5_hex(digest, hex);
}

/* RFC 1321, A.5 */
static void test_md5(void **state)
{
	static const struct {
		const char *text, *hex;
	} cases[] = {
		{"", "d41d8cd98f00b204e9800998ecf8427e"},
		{"a", "0cc175b9c0f1b6a831c399e269772661"},
		{"abc", "900150983cd24fb0d6963f7d28e17f72"},
		{"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
		{"abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"},
		{"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
		 "d174ab98d277d9f5a5611c2c9f419d9f"},
		{"1234567890123456789012345678901234567890123456789012345678901234567890123456789"
		 "0",
		 "57edf4a22be3c955ac49da2e2107b67a"},
	};

	for (size_t i = 0; i < array_length(cases); i++) {
		char hex[MD5_HEX_SIZE];

		digest_hex(cases[i].text, strlen(cases[i].text), 100, hex);
		assert_string_equal(hex, cases[i].hex);
	}
}

/* However it is cut into pieces, and around the block's end, where padding takes another block. */
static void test_md5_in_pieces(void **state)
{
	unsigned char bytes[1000];
	char whole[MD5_HEX_SIZE], pieces[MD5_HEX_SIZE];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 7);
	for (size_t part = 1; part < 130; part++) {
		digest_hex(bytes, 1000, 1000, whole);
		digest_hex(bytes, 1000, part, pieces);
		assert_string_equal(whole, pieces);
	}
	/* Made with md5sum: 55, 56, 63 and 64 times "x". */
	memset(bytes, 'x', sizeof(bytes));
	digest_hex(bytes, 55, 55, whole);
	assert_string_equal(whole, "04364420e25c512fd958a70738aa8f72");
	digest_hex(bytes, 56, 56, whole);
	assert_string_equal(whole, "668a72d5ba17f08e62dabcafad6db14b");
	digest_hex(bytes, 63, 63, whole);
	assert_string_equal(whole, "7dc2ca208106a2f703567bdff99d8981");
	digest_hex(bytes, 64, 64, whole);
	assert_string_equal(whole, "c1bb4f81d892b2d57947682aeb252456");
}

static void filled(unsigned char *bytes, unsigned char with, size_t count)
{
	memset(bytes, with, count);
}

/* RFC 2202, 2 */
static void test_hmac(void **state)
{
	unsigned char key[80], data[80], counted[25];
	struct {
		const void *key;
		size_t key_length;
		const void *data;
		size_t length;
		const char *hex;
	} cases[] = {
		{key, 16, "Hi There", 8, "9294727a3638bb1c13f48ef8158bfc9d"},
		{"Jefe", 4, "what do ya want for nothing?", 28, "750c783e6ab0b503eaa86e310a5db738"},
		{key, 16, data, 50, "56be34521d144c88dbb8c733f0e8b3f6"},
		{counted, 25, data, 50, "697eaf0aca3a3aea3a75164746ffaa79"},
		{key, 16, "Test With Truncation", 20, "56461ef2342edc00f9bab995690efd4c"},
		{key, 80, "Test Using Larger Than Block-Size Key - Hash Key First", 54,
		 "6b1ab7fe4bd7bf8f0b62e6ce61b9d0cd"},
		{key, 80,
		 "Test Using Larger Than Block-Size Key and Larger Than One Block-Size Data", 73,
		 "6f630fad67cda0ee1fb1f562db3aa53e"},
	};
	static const unsigned char keys[] = {0x0b, 0, 0xaa, 0, 0x0c, 0xaa, 0xaa};
	static const unsigned char datas[] = {0, 0, 0xdd, 0xcd, 0, 0, 0};

	for (size_t i = 0; i < sizeof(counted); i++)
		counted[i] = (unsigned char)(i + 1);
	for (size_t i = 0; i < array_length(cases); i++) {
		unsigned char digest[MD5_LENGTH];
		struct md5_hmac hmac;
		char hex[MD5_HEX_SIZE];

		filled(key, keys[i], sizeof(key));
		filled(data, datas[i], sizeof(data));
		md5_hmac_start(&hmac, cases[i].key, cases[i].key_length);
		md5_hmac_update(&hmac, cases[i].data, cases[i].length);
		md5_hmac_finish(&hmac, digest);
		md5_hex(digest, hex);
		assert_string_equal(hex, cases[i].hex);
	}
}

static void assert_key_stream(const void *key, size_t length, size_t offset, const char *hex)
{
	unsigned char stream[4112] = {0};
	struct str text cleanup_str = {0};
	struct rc4 rc4;

	rc4_start(&rc4, key, length);
	rc4_apply(&rc4, stream, 5); /* it goes on where it ended */
	rc4_apply(&rc4, stream + 5, sizeof(stream) - 5);
	for (size_t i = 0; i < 16; i++)
		str_append_format(&text, "%02x", stream[offset + i]);
	assert_string_equal(str_text(&text), hex);
}

/* RFC 6229, 2 */
static void test_rc4(void **state)
{
	unsigned char key[32];

	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (unsigned char)(i + 1);
	assert_key_stream(key, 5, 0, "b2396305f03dc027ccc3524a0a1118a8");
	assert_key_stream(key, 5, 16, "6982944f18fc82d589c403a47a0d0919");
	assert_key_stream(key, 5, 4096, "ff25b58995996707e51fbdf08b34d875");
	assert_key_stream(key, 7, 0, "293f02d47f37c9b633f2af5285feb46b");
	assert_key_stream(key, 16, 0, "9ac7cc9a609d1ef7b2932899cde41b97");
	assert_key_stream(key, 16, 240, "065902e4b620f6cc36c8589f66432f2b");
	assert_key_stream(key, 16, 4096, "a36a4c301ae8ac13610ccbc12256cacc");
	assert_key_stream(key, 32, 0, "eaa6bd25880bf93d3f5d1e4ca2611d91");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_md5),
		cmocka_unit_test(test_md5_in_pieces),
		cmocka_unit_test(test_hmac),
		cmocka_unit_test(test_rc4),
	};

	return cmocka_run_group_tests_name("hadoop digests", tests, NULL, NULL);
}
