#include "protocol/session.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "protocol/message.h"

enum { SIZE_MAX_CELLS = 10000, TERMINAL_MAX = 64 };

static const struct job_field size_fields[] = {
	MESSAGE_FIELD(session_size, "rows", rows, FIELD_INT, SIZE_MAX_CELLS),
	MESSAGE_FIELD(session_size, "columns", columns, FIELD_INT, SIZE_MAX_CELLS),
};

static const struct job_field command_fields[] = {
	MESSAGE_FIELD(session_command, "terminal", has_terminal, FIELD_OPTIONAL_BOOL, 0),
	MESSAGE_FIELD(session_command, "stacks", wants_stacks, FIELD_OPTIONAL_BOOL, 0),
	MESSAGE_FIELD(session_command, "rows", size.rows, FIELD_OPTIONAL_INT, SIZE_MAX_CELLS),
	MESSAGE_FIELD(session_command, "columns", size.columns, FIELD_OPTIONAL_INT, SIZE_MAX_CELLS),
	MESSAGE_FIELD(session_command, "term", terminal, FIELD_OPTIONAL_TEXT, TERMINAL_MAX),
};

char *session_size_encode(const struct session_size *size)
{
	json_t *body = json_object();

	job_fields_write(size_fields, array_length(size_fields), size, body);
	return message_text(body);
}

int session_size_decode(struct session_size *size, const char *bytes, size_t length,
			struct err *err)
{
	json_t *body cleanup_json = message_parse(bytes, length, err);

	*size = (struct session_size){0};
	return body ? job_fields_read(size_fields, array_length(size_fields), body, size, err) : -1;
}

char *session_command_encode(const struct session_command *command)
{
	json_t *body = json_object(), *words = json_array();

	job_fields_write(command_fields, array_length(command_fields), command, body);
	for (size_t i = 0; i < command->words.count; i++)
		json_array_append_new(words, json_string_nocheck(command->words.items[i]));
	json_object_set_new(body, "command", words);
	return message_text(body);
}

static int read_words(struct session_command *command, const json_t *words, struct err *err)
{
	if (!json_is_array(words) || json_array_size(words) > SESSION_WORDS_MAX)
		return err_set(err, ERR_INPUT, "command: is no list of at most %d words",
			       SESSION_WORDS_MAX);
	for (size_t i = 0; i < json_array_size(words); i++) {
		const char *word = json_string_value(json_array_get(words, i));
		if (!word)
			return err_set(err, ERR_INPUT, "command: word %zu is no text", i + 1);
		str_list_add(&command->words, word);
	}
	return 0;
}

int session_command_decode(struct session_command *command, const char *bytes, size_t length,
			   struct err *err)
{
	json_t *body cleanup_json = message_parse(bytes, length, err);

	*command = (struct session_command){0};
	if (body &&
	    job_fields_read(command_fields, array_length(command_fields), body, command, err) ==
		    0 &&
	    read_words(command, json_object_get(body, "command"), err) == 0)
		return 0;
	session_command_finish(command);
	return -1;
}

void session_command_finish(struct session_command *command)
{
	str_list_finish(&command->words);
	job_fields_finish(command_fields, array_length(command_fields), command);
}
