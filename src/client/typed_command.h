/* The command as it stands after "--" on a command line: a slip there is told for what it is. */
#ifndef TONY_CLIENT_TYPED_COMMAND_H
#define TONY_CLIENT_TYPED_COMMAND_H

#include "client/describe.h"
#include "client/stage.h"

/* Refuses an option in the place of the program, and an empty word. */
int typed_command_check(const struct str_list *command, struct err *err);

/* Refuses a line in quotes, "python3 train.py", which is one word to the user's shell. A word
 * without a blank or an operator is left to the tasks. `elsewhere`: these run on other machines. */
int typed_command_check_quotes(const struct str_list *command,
			       const struct description *description, bool elsewhere,
			       const struct stage *stage, struct err *err);

#endif
