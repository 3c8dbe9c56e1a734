#include "am/horovod/worker_service.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/str.h"

/* ---- the pickle --------------------------------------------------------------------------- */

/* Opcodes of plain data (Python's pickletools has them all), with the form of what follows. */
enum argument { NOTHING, NUMBER, TEXT, BYTES, PASSED_OVER };
static const struct opcode {
	unsigned char code;
	enum argument argument;
	unsigned char width; /* of the number, of the length, or in all */
} opcodes[] = {
	{0x80, PASSED_OVER, 1},			       /* protocol */
	{0x95, PASSED_OVER, 8},			       /* frame */
	{0x94, NOTHING, 0},			       /* memoize */
	{'q', PASSED_OVER, 1},			       /* the same, by number */
	{'r', PASSED_OVER, 4},	{'h', PASSED_OVER, 1}, /* a text that was there before: of an
							  address */
	{'j', PASSED_OVER, 4},	{'}', NOTHING, 0},     {']', NOTHING, 0},
	{'(', NOTHING, 0},	{'a', NOTHING, 0},     {'e', NOTHING, 0},
	{'s', NOTHING, 0},	{'u', NOTHING, 0},     {0x86, NOTHING, 0}, /* a pair */
	{'K', NUMBER, 1},	{'M', NUMBER, 2},      {'J', NUMBER, 4},
	{0x8c, TEXT, 1},	{'X', TEXT, 4},	       {'C', BYTES, 1},
};

struct pickle {
	const unsigned char *next;
	size_t left;
};

static const struct opcode *find_opcode(unsigned char code)
{
	for (size_t i = 0; i < array_length(opcodes); i++)
		if (opcodes[i].code == code)
			return &opcodes[i];
	return NULL;
}

/* NULL: there are not so many. */
static const unsigned char *take(struct pickle *pickle, size_t count)
{
	const unsigned char *bytes = pickle->next;

	if (count > pickle->left)
		return NULL;
	pickle->next += count;
	pickle->left -= count;
	return bytes;
}

/* Little-endian. */
static bool take_number(struct pickle *pickle, size_t width, uint32_t *number)
{
	const unsigned char *bytes = take(pickle, width);

	*number = 0;
	for (size_t i = width; bytes && i > 0; i--)
		*number = *number << 8 | bytes[i - 1];
	return bytes != NULL;
}

static bool take_argument(struct pickle *pickle, const struct opcode *opcode,
			  struct worker_service *service, bool *has_key)
{
	const unsigned char *bytes;
	uint32_t number;

	if (opcode->argument == NOTHING || opcode->argument == PASSED_OVER)
		return take(pickle, opcode->width) != NULL;
	if (!take_number(pickle, opcode->width, &number))
		return false;
	if (opcode->argument == NUMBER) {
		service->port = number > 0 && number < 65536 ? (int)number : -1;
		return service->port > 0;
	}
	bytes = take(pickle, number);
	if (!bytes || opcode->argument == TEXT)
		return bytes != NULL;
	if (*has_key || number != sizeof(service->key))
		return false;
	memcpy(service->key, bytes, sizeof(service->key));
	*has_key = true;
	return true;
}

/* The only numbers are ports, and the only bytes are the key: so there is nothing to be built. */
static bool scan(struct pickle *pickle, struct worker_service *service)
{
	bool has_key = false;

	*service = (struct worker_service){0};
	for (;;) {
		const unsigned char *code = take(pickle, 1);
		if (!code)
			return false;
		if (*code == '.')
			return has_key && service->port > 0;
		const struct opcode *opcode = find_opcode(*code);
		if (!opcode || !take_argument(pickle, opcode, service, &has_key))
			return false;
	}
}

int worker_service_read(const char *base64, size_t length, struct worker_service *service,
			struct err *err)
{
	struct pickle pickle = {0};
	void *bytes cleanup_free = base64_decode(base64, length, &pickle.left);

	if (!bytes)
		return err_set(err, ERR_INPUT, "the addresses are not base64");
	pickle.next = bytes;
	if (!scan(&pickle, service))
		return err_set(err, ERR_INPUT, "this is not a pickle of addresses and a key");
	return 0;
}

/* ---- the message -------------------------------------------------------------------------- */

static void put_number(unsigned char *to, uint64_t number, size_t width)
{
	for (size_t i = 0; i < width; i++)
		to[i] = (unsigned char)(number >> 8 * i & 0xff);
}

/* HMAC of the body, length of the body, body. The body is HostsUpdatedRequest(time, added), made
 * without its constructor: the class, no arguments, then its members. */
size_t worker_service_message(const struct worker_service *service, int64_t time,
			      unsigned char message[WORKER_SERVICE_MESSAGE_MAX])
{
	static const char front[] = "\x80\x02"
				    "chorovod.runner.elastic.worker\nHostsUpdatedRequest\n"
				    ")\x81}(X\x09\0\0\0timestamp\x8a\x08";
	static const char rear[] = "X\x03\0\0\0resK\x02ub.";
	unsigned char *body = message + SECRET_HMAC_BYTES + 4;
	size_t length = 0;

	memcpy(body, front, sizeof(front) - 1);
	length += sizeof(front) - 1;
	put_number(body + length, (uint64_t)time, 8);
	length += 8;
	memcpy(body + length, rear, sizeof(rear) - 1);
	length += sizeof(rear) - 1;
	put_number(body - 4, length, 4);
	secret_hmac(service->key, sizeof(service->key), body, length, message);
	return length + SECRET_HMAC_BYTES + 4;
}
