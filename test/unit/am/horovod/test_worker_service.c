/* What is promised by worker_service.h, against what Horovod 0.28 itself wrote and took. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "am/horovod/worker_service.h"
#include "base/mem.h"
#include "base/str.h"

/* Of three addresses with port 40000, and the key 0, 1, 2 ... 31. */
static const char by_horovod[] =
	"gAWVbgAAAAAAAAB9lCiMAmxvlF2UjAkxMjcuMC4wLjGUTUCchpRhjARldGgwlF2UKIwIMTAuMC4wLjGUTUCchpSM"
	"CDEwLjAuMC4ylE1AnIaUZXVDIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4flIaULg==";
/* The same in an older protocol. */
static const char by_protocol_3[] =
	"gAN9cQAoWAIAAABsb3EBXXECWAkAAAAxMjcuMC4wLjFxA01AnIZxBGFYBAAAAGV0aDBxBV1xBihYCAAAADEwLjAu"
	"MC4xcQdNQJyGcQhYCAAAADEwLjAuMC4ycQlNQJyGcQpldUMgAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd"
	"Hh9xC4ZxDC4=";

static void expect_service(const char *text)
{
	struct worker_service service;

	assert_int_equal(worker_service_read(text, strlen(text), &service, NULL), 0);
	assert_int_equal(service.port, 40000);
	for (int i = 0; i < WORKER_SERVICE_KEY_BYTES; i++)
		assert_int_equal(service.key[i], i);
}

static void expect_refusal(const char *text, size_t length)
{
	struct worker_service service;
	struct err err cleanup_err = {0};

	assert_int_equal(worker_service_read(text, length, &service, &err), -1);
	assert_int_equal(err.kind, ERR_INPUT);
}

static void what_horovod_puts_is_read(void **state)
{
	expect_service(by_horovod);
	expect_service(by_protocol_3);
}

static void half_of_it_is_nothing(void **state)
{
	for (size_t length = 0; length < strlen(by_horovod) - 4; length++)
		expect_refusal(by_horovod, length);
}

/* os.system("true"), no base64, a port of 0, a key of 31 bytes, two keys, no port. */
static void nothing_else_is(void **state)
{
	static const char *const others[] = {
		"Y29zCnN5c3RlbQooUyd0cnVlJwp0Ui4=",
		"gAWV!",
		"gAVLAEMgAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8u",
		"gAVLAUMfAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHi4=",
		("gAVLAUMgAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9DIAABAgMEBQYHCAkKCwwNDg8QERITF"
		 "BUWFxgZGhscHR4fLg=="),
		"gAVDIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4fLg==",
	};

	for (size_t i = 0; i < array_length(others); i++)
		expect_refusal(others[i], strlen(others[i]));
}

/* Horovod's Wire.read() and HostsUpdatedRequest made (time 1700000000123, res 2) of these bytes. */
static void the_message_is_one_that_horovod_takes(void **state)
{
	static const char body[] = "\x80\x02"
				   "chorovod.runner.elastic.worker\nHostsUpdatedRequest\n"
				   ")\x81}(X\x09\0\0\0timestamp\x8a\x08\x7b\x68\xe5\xcf\x8b\x01\0\0"
				   "X\x03\0\0\0resK\x02ub.";
	static const char digest[] =
		"d2157e09db7810f78abb955822726bfd47503083b7190a7a9203ed934c88aadf";
	unsigned char message[WORKER_SERVICE_MESSAGE_MAX];
	struct worker_service service;
	struct str hex cleanup_str = {0};

	worker_service_read(by_horovod, strlen(by_horovod), &service, NULL);
	size_t length = worker_service_message(&service, 1700000000123, message);
	assert_int_equal(length, 32 + 4 + sizeof(body) - 1);
	for (int i = 0; i < 32; i++)
		str_append_format(&hex, "%02x", message[i]);
	assert_string_equal(hex.text, digest);
	assert_memory_equal(message + 32, "\x5e\0\0\0", 4);
	assert_memory_equal(message + 36, body, sizeof(body) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_horovod_puts_is_read),
		cmocka_unit_test(half_of_it_is_nothing),
		cmocka_unit_test(nothing_else_is),
		cmocka_unit_test(the_message_is_one_that_horovod_takes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
