#include "client/exit_code.h"

#include "base/json.h"
#include "base/mem.h"

const struct exit_code_row exit_code_table[] = {
#define EXIT_CODE_ROW(id, code, name, doc) {EXIT_CODE_##id, name, doc},
	EXIT_CODES(EXIT_CODE_ROW)
#undef EXIT_CODE_ROW
};
const size_t exit_code_count = array_length(exit_code_table);

enum exit_code exit_code_of(enum err_kind kind)
{
	switch (kind) {
	case ERR_NONE:
		return EXIT_CODE_OK;
	case ERR_USAGE:
		return EXIT_CODE_USAGE;
	case ERR_CONFIG:
		return EXIT_CODE_CONFIG;
	case ERR_NOT_FOUND:
		return EXIT_CODE_NOT_FOUND;
	case ERR_UNREACHABLE:
		return EXIT_CODE_UNREACHABLE;
	case ERR_DENIED:
	case ERR_EXPIRED:
		return EXIT_CODE_DENIED;
	case ERR_CAPACITY:
	case ERR_STORE_FULL:
		return EXIT_CODE_CAPACITY;
	case ERR_INTERRUPTED:
		return EXIT_CODE_INTERRUPTED;
	case ERR_FAILED:
	case ERR_INPUT:
	case ERR_IO:
	case ERR_NO_SPACE:
	case ERR_QUOTA:
	case ERR_STALE:
		break;
	}
	return EXIT_CODE_INTERNAL;
}

_Static_assert(EXIT_CODE_OK == 0 && EXIT_CODE_JOB_FAILED == 1 && EXIT_CODE_JOB_KILLED == 8,
	       "job_state_exit_code() has these, too");

enum exit_code exit_code_of_job(enum job_state state)
{
	return (enum exit_code)job_state_exit_code(state);
}

void exit_code_set_member(json_t *object, enum job_state state)
{
	if (job_state_is_final(state))
		json_set_int(object, "exit_code", exit_code_of_job(state));
	else
		json_object_set_new(object, "exit_code", json_null());
}
