/* Which network interface has an address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "framework/interface.h"

static void every_loopback_address_is_the_loopback_interfaces(void **state)
{
	char *first cleanup_free = interface_of("127.0.0.1");
	char *second cleanup_free = interface_of("127.0.0.2");

	assert_non_null(first);
	assert_string_equal(first, second);
}

static void addresses_of_others_are_on_none(void **state)
{
	assert_null(interface_of("203.0.113.1"));
	assert_null(interface_of("node-7"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_loopback_address_is_the_loopback_interfaces),
		cmocka_unit_test(addresses_of_others_are_on_none),
	};

	return cmocka_run_group_tests_name("interface", tests, NULL, NULL);
}
