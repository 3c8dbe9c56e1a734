#include "test.h"

#include <string.h>

#include "base/mem.h"
#include "base/secret.h"

static void expect_secret(const char *key, const char *purpose, const char *want)
{
	char *got cleanup_free = secret_derive(key, purpose);

	assert_string_equal(got, want);
}

/* RFC 4231, test cases 2 and 6. */
static void it_is_hmac_sha256(void **state)
{
	char long_key[132] = {0};

	expect_secret("Jefe", "what do ya want for nothing?",
		      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(long_key, '\xaa', 131);
	expect_secret(long_key, "Test Using Larger Than Block-Size Key - Hash Key First",
		      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
	expect_secret("", "", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

static void a_proof_tells_where_a_part_ends(void **state)
{
	static const char *const parts[] = {"a", "b:c"}, *const shifted[] = {"a\n3", "b:c"},
				 *const joined[] = {"ab:c"};
	char *proof cleanup_free = secret_prove("key", parts, 2);
	char *derived cleanup_free = secret_derive("key", "1:a\n3:b:c\n");
	char *other cleanup_free = secret_prove("key", shifted, 2);
	char *third cleanup_free = secret_prove("key", joined, 1);

	assert_string_equal(proof, derived);
	assert_string_not_equal(proof, other);
	assert_string_not_equal(proof, third);
}

/* FIPS 180-4's "abc". */
static void a_hash_is_sha256(void **state)
{
	char *hash cleanup_free = secret_hash("abc");

	assert_string_equal(hash,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_hmac_sha256),
		cmocka_unit_test(a_proof_tells_where_a_part_ends),
		cmocka_unit_test(a_hash_is_sha256),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
