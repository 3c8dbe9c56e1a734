/* What the tests of base share. */
#ifndef TONY_TEST_UNIT_BASE_TEST_H
#define TONY_TEST_UNIT_BASE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

/* Fails naming the error's text when the call did not succeed. */
#define assert_success(call, err)                                                                  \
	do {                                                                                       \
		if ((call) != 0)                                                                   \
			fail_msg("%s: %s", #call, err_message(err));                               \
		assert_int_equal((err)->kind, ERR_NONE);                                           \
	} while (0)

#define assert_message_has(err, part)                                                              \
	do {                                                                                       \
		if (!strstr(err_message(err), part))                                               \
			fail_msg("\"%s\" does not say \"%s\"", err_message(err), part);            \
	} while (0)

#define assert_text_has(text, part)                                                                \
	do {                                                                                       \
		if (!strstr(text, part))                                                           \
			fail_msg("\"%s\" does not hold \"%s\"", text, part);                       \
	} while (0)

/* Compares a text that is freed afterwards. */
#define assert_text_freed(call, expected)                                                          \
	do {                                                                                       \
		char *text_ = (call);                                                              \
		assert_string_equal(text_, expected);                                              \
		free(text_);                                                                       \
	} while (0)

#endif
