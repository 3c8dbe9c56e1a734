/*
 * The pickle in which a process of Horovod's says where it can be told of changes, and its base64.
 * What is taken has a port, and a message can be made for it.
 */
#include <stdint.h>
#include <string.h>

#include "am/horovod/worker_service.h"
#include "base/base64.h"
#include "base/err.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char message[WORKER_SERVICE_MESSAGE_MAX];
	struct worker_service service;
	char *text cleanup_free = base64_encode(data, size);

	worker_service_read((const char *)data, size, &service, NULL);
	if (worker_service_read(text, strlen(text), &service, NULL) < 0)
		return 0;
	if (service.port < 1 || service.port > 65535)
		BUG("port %d", service.port);
	if (worker_service_message(&service, 1, message) > sizeof(message))
		BUG("the message is too long");
	return 0;
}
