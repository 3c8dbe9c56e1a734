#include "protocol/am_call.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"

static char *prove(const struct am_call_to *to, const struct am_call *call)
{
	char *am_attempt cleanup_free = mem_printf("%d", call->am_attempt);
	char *attempt cleanup_free = mem_printf("%d", to->attempt);
	const char *parts[] = {"tony am-call", am_attempt, call->address,
			       to->job,	       to->task,   attempt};

	return secret_prove(to->token, parts, array_length(parts));
}

char *am_call_text(const struct am_call_to *to, const struct am_call *call)
{
	json_t *body cleanup_json = json_object();
	char *proof cleanup_free = prove(to, call);

	json_set_int(body, "am_attempt", call->am_attempt);
	json_set_text(body, "address", call->address);
	json_set_text(body, "proof", proof);
	return json_text(body);
}

static int read_call(const json_t *body, struct am_call *call, char **proof, struct err *err)
{
	int64_t am_attempt;

	if (!json_is_object(body))
		return err_set(err, ERR_INPUT, "is not an object");
	if (json_need_int(body, "am_attempt", 1, INT_MAX, &am_attempt, err) < 0 ||
	    json_need_text(body, "address", &call->address, err) < 0 ||
	    json_need_text(body, "proof", proof, err) < 0)
		return -1;
	call->am_attempt = (int)am_attempt;
	for (const char *at = call->address; *at; at++)
		if (*at <= ' ' || *at > '~')
			return err_set(err, ERR_INPUT, "address: is not HOST:PORT");
	return 0;
}

int am_call_parse(const struct am_call_to *to, const char *bytes, size_t length,
		  struct am_call *call, struct err *err)
{
	struct am_call read = {0};
	char *proof cleanup_free = NULL;
	int result = -1;

	if (length > AM_CALL_CAP)
		return err_set(err, ERR_INPUT, "more than %u bytes", AM_CALL_CAP);
	json_t *body cleanup_json = json_parse(bytes, length, err);
	if (body && read_call(body, &read, &proof, err) == 0) {
		char *right cleanup_free = prove(to, &read);
		result = secret_equal(proof, right)
				 ? 0
				 : err_set(err, ERR_DENIED, "this proves nothing to this executor");
	}
	if (result == 0)
		*call = read;
	else
		am_call_finish(&read);
	return result;
}

void am_call_finish(struct am_call *call)
{
	free(call->address);
	*call = (struct am_call){0};
}
