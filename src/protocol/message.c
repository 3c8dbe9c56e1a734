#include "protocol/message.h"

#include "base/json.h"

json_t *message_parse(const char *bytes, size_t length, struct err *err)
{
	json_t *body = json_parse(bytes, length, err);

	if (body && !json_is_object(body)) {
		err_set(err, ERR_INPUT, "the body is not an object");
		json_decref(body);
		return NULL;
	}
	return body;
}

char *message_text(json_t *body)
{
	char *text = json_text(body);

	json_decref(body);
	return text;
}
