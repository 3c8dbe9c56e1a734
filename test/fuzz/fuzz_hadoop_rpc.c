/*
 * What a server of Hadoop's RPC may send: its frames, the handshake in them, and answers to calls.
 * The first byte says how much of the input has come when it is looked at first: that may not
 * change what is found.
 */
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "hadoop/methods.h"
#include "hadoop/rpc_frame.h"
#include "hadoop/rpc_handshake.h"
#include "hadoop/token.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void shake_hands(struct rpc_handshake *handshake, const struct rpc_answer *answer)
{
	Hadoop__RpcSaslProto *message =
		hadoop__rpc_sasl_proto__unpack(NULL, answer->length, answer->message);
	struct str out cleanup_str = {0};

	if (!message)
		return;
	if (rpc_handshake_take(handshake, message, &out, NULL) > 0 && handshake->sasl)
		BUG("nobody knows the secret, but somebody has proved it");
	hadoop__rpc_sasl_proto__free_unpacked(message, NULL);
}

static void take_answer(const struct rpc_answer *answer)
{
	const ProtobufCMessageDescriptor *const kinds[] = {
		RM_ALLOCATE.response,	      RM_REGISTER.response,
		RM_GET_QUEUE_INFO.response,   RM_GET_APPLICATION_REPORT.response,
		NM_START_CONTAINERS.response,
	};

	for (size_t i = 0; i < array_length(kinds); i++) {
		ProtobufCMessage *message =
			rpc_message_unpack(kinds[i], answer->message, answer->length);
		if (message)
			protobuf_c_message_free_unpacked(message, NULL);
	}
}

static void take_payload(struct rpc_handshake *handshake, const uint8_t *payload, size_t length)
{
	struct rpc_answer answer cleanup_rpc_answer = {0};

	if (rpc_answer_parse(payload, length, &answer, NULL) < 0)
		return;
	if (answer.status != HADOOP__RPC_STATUS_PROTO__RPC_SUCCESS) {
		if (strchr(answer.text, '\n'))
			BUG("more than one line: %s", answer.text);
		return;
	}
	if (answer.message < payload || answer.message + answer.length != payload + length)
		BUG("the message is not the rest of the payload");
	if (answer.id == RPC_ID_SASL)
		shake_hands(handshake, &answer);
	else
		take_answer(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hadoop_token token cleanup_token = {0};
	size_t early, late;

	if (size < 1)
		return 0;
	token_set(&token, "who", 3, "a secret that is in no corpus", 29, "NMToken", "");
	struct rpc_handshake handshake = {.token = &token, .protections = 7, .require_sasl = true};
	const size_t cut = data[0] * (size - 1) / 255;
	const uint8_t *at = data + 1, *end = data + size;
	/* Copied: whoever reads behind the end is found out. */
	uint8_t *part cleanup_free = mem_alloc(cut + 1);
	memcpy(part, at, cut);
	const int first = rpc_frame_look(part, cut, &early, NULL);
	const int second = rpc_frame_look(at, (size_t)(end - at), &late, NULL);
	if (first != 0 && (first != second || (first > 0 && early != late)))
		BUG("%d at %zu bytes, %d at the end", first, cut, second);
	while (rpc_frame_look(at, (size_t)(end - at), &late, NULL) > 0) {
		take_payload(&handshake, at + RPC_FRAME_HEAD, late);
		at += RPC_FRAME_HEAD + late;
	}
	rpc_handshake_finish(&handshake);
	return 0;
}
