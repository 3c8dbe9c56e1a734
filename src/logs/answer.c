#include "logs/answer.h"

#include "base/mem.h"

char *log_answer_text(enum log_answer answer, const char *name, const struct err *problem)
{
	static const char *const words[] = {
		[LOG_NO_SUCH] = " is not there",
		[LOG_NOT_YET] = " is not there yet",
		[LOG_GONE] = " is not there any more",
	};

	return mem_printf("%s%s: %s", name, problem->kind == ERR_NOT_FOUND ? words[answer] : "",
			  err_message(problem));
}
