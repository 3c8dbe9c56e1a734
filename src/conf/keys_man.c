/* The table as documents: tony-conf(5), `tony config keys` for people and for programs. */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "conf/keys.h"

static char *describe_duration(const struct key *key)
{
	return mem_printf("duration, a bare number counts %s",
			  key->bare_ms == 1000 ? "seconds" : "milliseconds");
}

static char *describe_int(const struct key *key)
{
	if (!key->max || key->max == INT32_MAX)
		return mem_printf("whole number, at least %lld", (long long)key->min);
	return mem_printf("whole number from %lld to %lld", (long long)key->min,
			  (long long)key->max);
}

static char *describe_choice(const struct key *key)
{
	struct str text = {0};

	for (size_t i = 0; key->choices[i]; i++)
		str_append_format(&text, "%s%s", i == 0 ? "" : " or ", key->choices[i]);
	return str_steal(&text);
}

/* "duration in ms", "one of GANG, FCFS": what a manual says of the value. The caller frees. */
static char *describe_type(const struct key *key)
{
	switch (key->type) {
	case KEY_TEXT:
		return mem_strdup(key->path ? "path" : "text");
	case KEY_BOOL:
		return mem_strdup("true or false");
	case KEY_INT:
		return describe_int(key);
	case KEY_SIZE:
		return mem_strdup("size such as 2g or 512m, a bare number counts MiB");
	case KEY_DURATION:
		return describe_duration(key);
	case KEY_CHOICE:
		return describe_choice(key);
	case KEY_ACL:
		return mem_strdup("users and groups as \"alice,bob ml-team,ops\", \" ml-team\" for "
				  "groups alone, or * for everybody");
	case KEY_LIST:
		return mem_strdup("list, with commas");
	case KEY_TYPES:
		return mem_strdup("list of task types, with commas");
	case KEY_DEPENDENCIES:
		return mem_strdup("list of TYPE, TYPE:start or TYPE:finish, with commas");
	case KEY_ENVIRONMENT:
		return mem_strdup("list of KEY=VALUE, with commas (\\, within a value)");
	case KEY_RESOURCES:
		return mem_strdup("list of SOURCE[::NAME][#archive], with commas");
	}
	BUG("key type %d", (int)key->type);
}

/* What happens to a value other than the default, as a sentence; "" when it is honoured. */
static char *describe_status(const struct key *key)
{
	struct str_list names cleanup_str_list = {0};

	if (key->alias_of)
		return mem_printf("Another name of %s.", key->alias_of);
	if (key->deprecated_by)
		return mem_printf("Deprecated: write %s.", key->deprecated_by);
	key_list_schedulers(key, &names);
	char *schedulers cleanup_free = str_list_join(&names, ", ");
	if (names.count > 0 && key->status == KEY_HONOURED)
		return mem_printf("Only on the scheduler %s; elsewhere it has no effect: %s.",
				  schedulers, key->note);
	switch (key->status) {
	case KEY_SITE:
		return mem_printf("No effect on a job: %s.", key->note);
	case KEY_SITE_IGNORED:
		return mem_printf("No effect, and a warning, in tony-site.xml one of tony portal: "
				  "%s.",
				  key->note);
	case KEY_RULE:
		return mem_printf("An error outside of tony-site.xml: %s.", key->note);
	case KEY_IGNORED:
		return mem_printf("Accepted with a warning, and ignored: %s.", key->note);
	case KEY_REFUSED:
		return mem_printf("Refused: %s.", key->note);
	case KEY_HONOURED:
		break;
	}
	return mem_strdup("");
}

/* scdoc gives * and _ a meaning, and \ takes it away. */
static void append_escaped(struct str *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("*_\\#~<>[", *text))
			str_append_char(out, '\\');
		str_append_char(out, *text);
	}
}

static void write_man_key(struct str *out, const struct key *key)
{
	char *type cleanup_free = describe_type(key);
	char *status cleanup_free = describe_status(key);

	str_append(out, "*");
	append_escaped(out, key->name);
	str_append(out, "*\n\t");
	append_escaped(out, key->doc);
	if (*status) {
		str_append(out, "\n\n\t");
		append_escaped(out, status);
	}
	str_append(out, "\n\n\tValue: ");
	append_escaped(out, type);
	if (key->default_value && *key->default_value) {
		str_append(out, "; default: ");
		append_escaped(out, key->default_value);
	}
	if (key->multi_value)
		str_append(out, "; several add up");
	str_append_format(out, ". Since %s.\n\n", key->since);
}

static const char man_head[] =
	"tony-conf(5)\n\n"
	"# NAME\n\n"
	"tony-conf - the configuration of a tony job\n\n"
	"# SYNOPSIS\n\n"
	"tony.xml, job.yaml, $TONY\\_CONF\\_DIR/tony-site.xml\n\n"
	"# DESCRIPTION\n\n"
	"A job is described by keys and values. They come in layers, of which a later one wins:\n\n"
	". the built-in defaults below,\n"
	". tony-site.xml in the directory $TONY\\_CONF\\_DIR (/etc/tony when that is not set),\n"
	". tony.xml, else tony.yaml or tony.yml in the current directory (refused when another "
	"user could have written it: tony-submit(1)), or the file of *--conf\\_file*,\n"
	". *--conf* KEY=VALUE,\n"
	". other options, such as *--workers*.\n\n"
	"A value of the site with <final>true</final> cannot be overridden; a try is ignored with "
	"a warning. (TonY lets every value of the site win.) To keys that add up, *--conf* and "
	"options append.\n\n"
	"$TONY\\_CONF\\_DIR leads past the site's file, but not past _/etc/tony/policy.json_, "
	"which "
	"root alone may write: {\"tony.am.allow-exec\": false, \"tony.task.max-total-gpus\": 8}. A "
	"job with another value of these keys begins neither where it is submitted nor where its "
	"application master runs.\n\n"
	"The files are Hadoop's: a <configuration> of <property> elements with <name>, <value> "
	"and possibly <final>. <xi:include href=\"FILE\"/> includes another local file. An "
	"<xi:fallback> in it counts when that file does not exist or the href is a URL; *tony* "
	"fetches no URL. Names that "
	"do not begin with \"tony.\" are left alone. An unknown name that does is an error.\n\n"
	"A job file whose name ends in .yaml or .yml is YAML, with the same names: a mapping, "
	"whose "
	"nested keys are joined by dots.\n\n"
	"```\n"
	"tony:\n"
	"  application: {name: digits, framework: pytorch}\n"
	"  worker:\n"
	"    instances: 4\n"
	"    memory: 2g\n"
	"    command: python3 train.py\n"
	"    resources: [words.txt, base.zip::base#archive]\n"
	"  execution:\n"
	"    envs: {EPOCHS: 3, LIST: '1,2'}\n"
	"```\n\n"
	"A list is one of YAML's, or a text with commas; variables may be a mapping. A key or a "
	"variable that is set twice is an error, and so are aliases, tags and a second document. "
	"A key outside of _tony:_ is an error, too, unless ${NAME} in a value names it. A "
	"variable's value cannot end in a backslash. tony-site.xml is XML.\n\n"
	"In a value, ${NAME} stands for the value of another name, ${env.NAME} for the environment "
	"of the client, ${env.NAME:-DEFAULT} for DEFAULT where that is unset or empty, and "
	"${env.NAME-DEFAULT} where it is unset. What cannot be resolved stays as it is, for the "
	"shell that runs the command.\n\n"
	"A size is a number and k, m, g or t, or kb, KiB and so on; all of them are powers of "
	"1024. "
	"A duration is a number and ms, s, m (min), h or d, or several of them: 1h30m. A bare "
	"number "
	"counts what its key says, and *tony submit* tells what it took it for.\n\n"
	"In a path, and in a list of SOURCE[::NAME][#archive], ~ and $HOME at the start are the "
	"home directory of the user who submits.\n\n"
	"In a list of KEY=VALUE a comma separates two variables. A comma within a value is written "
	"\\\\,: LIST=1\\\\,2\\\\,3. Behind KEY= the commas of ${NAME} belong to the value; in the "
	"place "
	"of a pair ${NAME} may be several pairs. A KEY alone has an empty value.\n\n"
	"*tony config show* prints the values in effect and where each comes from; *tony config "
	"keys* prints this list, *tony config keys WORD* the keys that have the word in name or "
	"meaning.\n\n";

void keys_write_man(struct str *out)
{
	str_append(out, man_head);
	for (size_t g = 0; g < key_group_count; g++) {
		str_append_format(out, "# %s\n\n", key_groups[g].title);
		append_escaped(out, key_groups[g].intro);
		str_append(out, "\n\n");
		for (size_t i = 0; i < key_groups[g].count; i++)
			write_man_key(out, &key_groups[g].keys[i]);
	}
	str_append(out,
		   "# SEE ALSO\n\n*tony*(1), *tony-config*(1), *tony-env*(7), *tony-exit*(7)\n");
}

static bool is_about(const struct key *key, const char *word)
{
	return !word || strcasestr(key->name, word) || strcasestr(key->doc, word);
}

static void write_row(const struct key *key, struct str *out)
{
	char *type cleanup_free = describe_type(key);
	char *status cleanup_free = describe_status(key);

	str_append_format(out, "  %s", key->name);
	if (key->default_value && *key->default_value)
		str_append_format(out, " = %s", key->default_value);
	str_append_format(out, "\n      %s\n      %s.\n", key->doc, type);
	if (*status)
		str_append_format(out, "      %s\n", status);
}

void keys_write_table(const char *word, struct str *out)
{
	for (size_t g = 0; g < key_group_count; g++) {
		struct str rows cleanup_str = {0};
		for (size_t i = 0; i < key_groups[g].count; i++)
			if (is_about(&key_groups[g].keys[i], word))
				write_row(&key_groups[g].keys[i], &rows);
		if (rows.length > 0)
			str_append_format(out, "%s%s\n%s", out->length > 0 ? "\n" : "",
					  key_groups[g].title, str_text(&rows));
	}
}

static json_t *list_to_json(const struct key *key)
{
	struct str_list names cleanup_str_list = {0};
	json_t *array = json_array();

	key_list_schedulers(key, &names);
	for (size_t i = 0; i < names.count; i++)
		json_array_append_new(array, json_string(names.items[i]));
	return array;
}

static json_t *key_to_json(const struct key *key)
{
	json_t *object = json_object();
	char *type cleanup_free = describe_type(key);

	json_set_text(object, "name", key->name);
	json_set_text(object, "type", type);
	json_set_text(object, "default", key->default_value);
	json_set_text(object, "status", key_status_name(key->status));
	if (key->schedulers)
		json_object_set_new(object, "schedulers", list_to_json(key));
	json_set_text(object, "note", key->note);
	json_set_text(object, "alias_of", key->alias_of);
	json_set_text(object, "deprecated_by", key->deprecated_by);
	json_set_bool(object, "multi_value", key->multi_value);
	json_set_text(object, "since", key->since);
	json_set_text(object, "doc", key->doc);
	return object;
}

void keys_write_json(const char *word, struct str *out)
{
	json_t *array cleanup_json = json_array();

	for (size_t g = 0; g < key_group_count; g++)
		for (size_t i = 0; i < key_groups[g].count; i++)
			if (is_about(&key_groups[g].keys[i], word))
				json_array_append_new(array, key_to_json(&key_groups[g].keys[i]));
	char *text cleanup_free = json_text(array);
	str_append_format(out, "%s\n", text);
}
