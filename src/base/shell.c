#include "base/shell.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"

char *shell_next_word(const char **command, bool *plain)
{
	const char *text = *command + strspn(*command, " \t\n");
	struct str word cleanup_str = {0};
	char quote = '\0';

	for (; *text && (quote || !strchr(" \t\n;&|<>", *text)); text++) {
		if (quote ? *text == quote : *text == '\'' || *text == '"') {
			quote = quote ? '\0' : *text;
			continue;
		}
		if (quote != '\'' && strchr(quote ? "$`\\" : "$`\\*?~(){}#", *text)) {
			*plain = false;
			return NULL;
		}
		str_append_char(&word, *text);
	}
	*command = text;
	return word.length > 0 ? str_steal(&word) : NULL;
}

char *shell_find(const char *path)
{
	char *found cleanup_free = fs_find_program("bash", path);

	if (!found || *found != '/')
		mem_replace(&found, fs_find_program("bash", "/bin:/usr/bin"));
	return found ? mem_steal(&found) : mem_strdup("/bin/sh");
}

bool shell_is_assignment(const char *word)
{
	size_t length = 0;

	while (isalnum((unsigned char)word[length]) || word[length] == '_')
		length++;
	return length > 0 && !isdigit((unsigned char)word[0]) && word[length] == '=';
}
