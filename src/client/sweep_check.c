#include "client/sweep_check.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "client/sweep_config.h"
#include "conf/keys.h"

static int check_key(const struct sweep_parameter *parameter, struct err *err)
{
	const struct key *key = key_find(parameter->name, NULL);
	struct err why cleanup_err = {0};

	if (str_starts_with(parameter->name, "tony.sweep."))
		return err_set(err, ERR_CONFIG,
			       "sweep: %s is the sweep's own, and the same for all trials",
			       parameter->name);
	if (!key) {
		char *near cleanup_free = key_suggest(parameter->name);
		return err_set(err, ERR_CONFIG, "sweep: %s is not a known key%s%s%s",
			       parameter->name, near ? "; did you mean " : "", near ? near : "",
			       near ? "?" : "");
	}
	for (size_t i = 0; i < parameter->values.count; i++)
		if (key_check(key, parameter->values.items[i], &why) < 0)
			return err_set(err, ERR_CONFIG, "sweep: %s: %s", parameter->name,
				       err_message(&why));
	return 0;
}

static size_t word_length(const char *text)
{
	size_t length = 0;

	while (isalnum((unsigned char)text[length]) || text[length] == '_' || text[length] == '.' ||
	       text[length] == '-')
		length++;
	return length;
}

/* `brace` points to the "{" of a command, `names` are those of the parameters. */
static int check_place(const char *command, const char *brace, const struct str_list *names,
		       struct err *err)
{
	size_t length = word_length(brace + 1);
	char *word cleanup_free = mem_strndup(brace + 1, length);

	if (length == 0 || brace[length + 1] != '}')
		return 0;
	bool is_variable = brace > command && brace[-1] == '$';
	bool is_parameter = str_list_has(names, word);
	if (is_parameter && is_variable)
		return err_set(err, ERR_CONFIG,
			       "sweep: ${%s} is a variable of the shell; write {%s} for the "
			       "parameter",
			       word, word);
	if (is_parameter || is_variable)
		return 0;
	const char *near = str_nearest(word, (const char *const *)names->items, names->count);
	if (!near)
		return 0;
	return err_set(err, ERR_CONFIG,
		       "sweep: {%s} in a command is no parameter; did you mean {%s}?", word, near);
}

static int check_command(const char *command, const struct str_list *names, struct err *err)
{
	for (const char *at = command ? strchr(command, '{') : NULL; at; at = strchr(at + 1, '{'))
		if (check_place(command, at, names, err) < 0)
			return -1;
	return 0;
}

int sweep_check(const struct job *job, struct err *err)
{
	struct sweep_config config cleanup_sweep_config = {0};
	struct str_list names cleanup_str_list = {0};
	const char *key;

	if (sweep_config_read(job->config, &config, &key, err) < 0)
		return err_wrap(err, "%s", key);
	const struct sweep_space *space = &config.plan.space;
	for (size_t i = 0; i < space->count; i++) {
		str_list_add(&names, space->items[i].name);
		if (sweep_parameter_is_key(&space->items[i]) &&
		    check_key(&space->items[i], err) < 0)
			return -1;
	}
	for (size_t i = 0; i < job->type_count; i++)
		if (check_command(job->types[i].command, &names, err) < 0)
			return -1;
	return 0;
}
