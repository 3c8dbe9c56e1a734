#include "hadoop/rpc_frame.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum {
	VERSION = 9,
	AUTH_NONE = 0,
	AUTH_SASL = 0xdf,	   /* -33 */
	VARINT_BYTES = 10,	   /* at most, of 64 bits */
	OLD_ANSWER_CAP = 64 << 10, /* of a server that speaks an older version */
	TEXT_CAP = 2000,	   /* of an exception's message: some carry whole reports */
};

static uint32_t read_u32(const void *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return be32toh(value);
}

static void add_u32(struct str *out, size_t value)
{
	const uint32_t bytes = htobe32((uint32_t)value);

	str_append_bytes(out, &bytes, sizeof(bytes));
}

static void add_varint(struct str *out, size_t value)
{
	for (; value > 0x7f; value >>= 7)
		str_append_char(out, (char)(0x80 | (value & 0x7f)));
	str_append_char(out, (char)value);
}

static void add_message(struct str *out, const ProtobufCMessage *message)
{
	const size_t length = protobuf_c_message_get_packed_size(message);
	unsigned char *bytes cleanup_free = mem_alloc(length + 1);

	protobuf_c_message_pack(message, bytes);
	add_varint(out, length);
	str_append_bytes(out, bytes, length);
}

static void add_frame(struct str *out, const struct str *payload)
{
	add_u32(out, payload->length);
	str_append_bytes(out, payload->text, payload->length);
}

/* `client_id`: NULL for an empty one. */
static void add_header(struct str *out, const unsigned char *client_id, int32_t id, int retries)
{
	Hadoop__RpcRequestHeaderProto header = HADOOP__RPC_REQUEST_HEADER_PROTO__INIT;

	header.has_rpckind = 1;
	header.rpckind = HADOOP__RPC_KIND_PROTO__RPC_PROTOCOL_BUFFER;
	header.has_rpcop = 1;
	header.rpcop = HADOOP__OPERATION_PROTO__RPC_FINAL_PACKET;
	header.callid = id;
	if (client_id)
		header.clientid = (ProtobufCBinaryData){RPC_CLIENT_ID_LENGTH, (uint8_t *)client_id};
	header.has_retrycount = 1;
	header.retrycount = retries;
	add_message(out, &header.base);
}

void rpc_frame_add_hello(struct str *out, bool sasl)
{
	str_append(out, "hrpc");
	str_append_char(out, VERSION);
	str_append_char(out, 0); /* service class */
	str_append_char(out, (char)(sasl ? AUTH_SASL : AUTH_NONE));
}

void rpc_frame_add_context(struct str *out, const unsigned char *client_id, const char *user,
			   const char *protocol)
{
	Hadoop__IpcConnectionContextProto context = HADOOP__IPC_CONNECTION_CONTEXT_PROTO__INIT;
	Hadoop__UserInformationProto who = HADOOP__USER_INFORMATION_PROTO__INIT;
	struct str payload cleanup_str = {0};

	who.effectiveuser = (char *)user;
	context.userinfo = user ? &who : NULL;
	context.protocol = (char *)protocol;
	add_header(&payload, client_id, RPC_ID_CONTEXT, -1);
	add_message(&payload, &context.base);
	add_frame(out, &payload);
}

void rpc_frame_add_sasl(struct str *out, const Hadoop__RpcSaslProto *message)
{
	struct str payload cleanup_str = {0};

	add_header(&payload, NULL, RPC_ID_SASL, -1);
	add_message(&payload, &message->base);
	add_frame(out, &payload);
}

void rpc_frame_add_request(struct str *out, const struct rpc_service *service,
			   const struct rpc_method *method, const ProtobufCMessage *request)
{
	Hadoop__RequestHeaderProto header = HADOOP__REQUEST_HEADER_PROTO__INIT;

	header.methodname = (char *)method->name;
	header.declaringclassprotocolname = (char *)service->protocol;
	header.clientprotocolversion = 1;
	add_message(out, &header.base);
	add_message(out, request);
}

void rpc_frame_add_call(struct str *out, const unsigned char *client_id, int32_t id, int retries,
			const struct str *request)
{
	struct str header cleanup_str = {0};

	add_header(&header, client_id, id, retries);
	add_u32(out, header.length + request->length);
	str_append_bytes(out, header.text, header.length);
	str_append_bytes(out, request->text, request->length);
}

/* ---- received ----------------------------------------------------------------------------- */

/* Takes a text behind a length of four bytes. 1: taken; 0: more must come; -1: it is none. */
static int take_old_text(const char **at, const char *end, char **text)
{
	if (end - *at < 4)
		return 0;
	const uint32_t length = read_u32(*at);
	if (length > OLD_ANSWER_CAP)
		return -1;
	if ((size_t)(end - *at - 4) < length)
		return 0;
	*text = str_printable(*at + 4, length);
	*at += 4 + length;
	return 1;
}

/* How a server answers that finds our version too new for it, or too old, in the frame of version
 * 8: -1 as call, -1 as status, the exception's class and its text. */
static int look_at_old_answer(const char *bytes, size_t length, struct err *err)
{
	static const char head[8] = "\xff\xff\xff\xff\xff\xff\xff\xff";
	const char *at = bytes + sizeof(head), *end = bytes + length;
	char *class cleanup_free = NULL;
	char *text cleanup_free = NULL;
	int result = length < sizeof(head) ? 0 : 1;

	if (memcmp(bytes, head, length < sizeof(head) ? length : sizeof(head)) != 0)
		result = -1;
	if (result > 0)
		result = take_old_text(&at, end, &class);
	if (result > 0)
		result = take_old_text(&at, end, &text);
	if (result == 0)
		return 0;
	if (result < 0)
		return err_set(err, ERR_INPUT, "what it sends is not Hadoop RPC");
	return err_set(err, ERR_INPUT, "it speaks another version of Hadoop RPC: %s", text);
}

int rpc_frame_look(const void *bytes, size_t length, size_t *payload, struct err *err)
{
	if (length < RPC_FRAME_HEAD)
		return 0;
	if (memcmp(bytes, "HTTP", RPC_FRAME_HEAD) == 0)
		return err_set(err, ERR_INPUT, "it answers in HTTP: this is a web port, not RPC's");
	if (memcmp(bytes, "\xff\xff\xff\xff", RPC_FRAME_HEAD) == 0)
		return look_at_old_answer(bytes, length, err);
	const uint32_t size = read_u32(bytes);
	if (size == 0 || size > RPC_FRAME_CAP)
		return err_set(err, ERR_INPUT,
			       "it sends a frame of %d bytes; 1 to %u are possible in Hadoop RPC",
			       (int)size, RPC_FRAME_CAP);
	*payload = size;
	return length - RPC_FRAME_HEAD >= size;
}

/* The bytes taken, or 0 when there is none. */
static size_t take_varint(const unsigned char *bytes, size_t length, uint64_t *value)
{
	*value = 0;
	for (size_t i = 0; i < length && i < VARINT_BYTES; i++) {
		*value |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
		if (!(bytes[i] & 0x80))
			return i + 1;
	}
	return 0;
}

/* A message behind its length. The bytes taken before it, or 0 when there is none. */
static size_t take_message(const unsigned char *bytes, size_t length, size_t *message_length)
{
	uint64_t value;
	const size_t used = take_varint(bytes, length, &value);

	if (used == 0 || value > length - used)
		return 0;
	*message_length = (size_t)value;
	return used;
}

/* "org.apache.hadoop.security.token.SecretManager$InvalidToken" -> "InvalidToken". */
static char *simple_class(const char *name)
{
	const char *dot = strrchr(name, '.');
	const char *simple = dot ? dot + 1 : name;
	const char *dollar = strrchr(simple, '$');

	if (dollar && dollar[1])
		simple = dollar + 1;
	return *simple ? str_printable(simple, strlen(simple)) : NULL;
}

/* Hadoop sends Java's stack trace: "CLASS: TEXT\n\tat ..."; some texts have several lines. */
static char *plain_text(const char *class, const char *message)
{
	const char *trace = strstr(message, "\n\tat ");
	const size_t length = class ? strlen(class) : 0;
	struct str_list lines cleanup_str_list = {0};

	if (length > 0 && strncmp(message, class, length) == 0 && message[length] == ':')
		message += length + 1;
	size_t text_length =
		trace && trace >= message ? (size_t)(trace - message) : strlen(message);
	if (text_length > TEXT_CAP)
		text_length = TEXT_CAP;
	char *text cleanup_free = str_printable(message, text_length);
	for (char *c = text; *c; c++)
		*c = *c == '\t' ? ' ' : *c;
	str_split(&lines, text, '\n');
	return str_list_join(&lines, " ");
}

static int take_body(struct rpc_answer *answer, const unsigned char *bytes, size_t length,
		     struct err *err)
{
	const size_t used = take_message(bytes, length, &answer->length);

	if (used == 0)
		return err_set(err, ERR_INPUT, "it sends an answer without a message");
	if (used + answer->length != length)
		return err_set(err, ERR_INPUT, "it sends %zu bytes behind the end of an answer",
			       length - used - answer->length);
	answer->message = bytes + used;
	return 0;
}

int rpc_answer_parse(const void *payload, size_t length, struct rpc_answer *answer, struct err *err)
{
	const unsigned char *bytes = payload;
	size_t header_length = 0;
	const size_t used = take_message(bytes, length, &header_length);
	Hadoop__RpcResponseHeaderProto *header =
		used > 0 ? hadoop__rpc_response_header_proto__unpack(NULL, header_length,
								     bytes + used)
			 : NULL;

	if (!header)
		return err_set(err, ERR_INPUT, "it sends an answer whose header cannot be read");
	answer->id = (int32_t)header->callid;
	answer->status = header->status;
	if (header->has_errordetail)
		answer->detail = header->errordetail;
	if (header->status != HADOOP__RPC_STATUS_PROTO__RPC_SUCCESS) {
		answer->class = header->exceptionclassname
					? simple_class(header->exceptionclassname)
					: NULL;
		answer->text = plain_text(header->exceptionclassname,
					  header->errormsg ? header->errormsg : "");
	}
	hadoop__rpc_response_header_proto__free_unpacked(header, NULL);
	if (answer->status != HADOOP__RPC_STATUS_PROTO__RPC_SUCCESS)
		return 0;
	return take_body(answer, bytes + used + header_length, length - used - header_length, err);
}

/* How many bytes the value of a field takes, with what says so, which is the first *head; 0:
 * malformed. */
static size_t value_length(unsigned wire_type, const unsigned char *bytes, size_t length,
			   size_t *head)
{
	size_t size = 0;
	uint64_t number;

	*head = 0;
	switch (wire_type) {
	case 0:
		return take_varint(bytes, length, &number);
	case 1:
		return length < 8 ? 0 : 8;
	case 2:
		*head = take_message(bytes, length, &size);
		return *head == 0 ? 0 : *head + size;
	case 5:
		return length < 4 ? 0 : 4;
	default:
		return 0;
	}
}

static bool is_shallow(const ProtobufCMessageDescriptor *descriptor, const unsigned char *bytes,
		       size_t length, int levels)
{
	for (size_t at = 0; at < length;) {
		uint64_t tag;
		size_t head;
		const size_t tag_length = take_varint(bytes + at, length - at, &tag);

		if (tag_length == 0)
			return false;
		at += tag_length;
		const size_t size = value_length(tag & 7, bytes + at, length - at, &head);
		if (size == 0 || tag >> 3 > UINT32_MAX)
			return false;
		const ProtobufCFieldDescriptor *field =
			protobuf_c_message_descriptor_get_field(descriptor, (unsigned)(tag >> 3));
		if (field && field->type == PROTOBUF_C_TYPE_MESSAGE && head > 0 &&
		    (levels <= 1 ||
		     !is_shallow(field->descriptor, bytes + at + head, size - head, levels - 1)))
			return false;
		at += size;
	}
	return true;
}

ProtobufCMessage *rpc_message_unpack(const ProtobufCMessageDescriptor *descriptor,
				     const unsigned char *bytes, size_t length)
{
	if (!is_shallow(descriptor, bytes, length, RPC_MESSAGE_DEPTH))
		return NULL;
	return protobuf_c_message_unpack(descriptor, NULL, length, bytes);
}

void rpc_answer_finish(struct rpc_answer *answer)
{
	free(answer->class);
	free(answer->text);
	*answer = (struct rpc_answer){0};
}
