#include "hadoop/message.h"

#include "base/err.h"
#include "base/mem.h"

void *message_copy(const ProtobufCMessage *message)
{
	size_t length = protobuf_c_message_get_packed_size(message);
	uint8_t *bytes cleanup_free = mem_alloc(length + 1);

	protobuf_c_message_pack(message, bytes);
	void *copy = protobuf_c_message_unpack(message->descriptor, NULL, length, bytes);
	if (!copy)
		BUG("a %s cannot be read back", message->descriptor->name);
	return copy;
}

void message_free(void *message)
{
	if (message)
		protobuf_c_message_free_unpacked(message, NULL);
}
