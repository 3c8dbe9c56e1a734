#include "framework/definition.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/xml.h"
#include "framework/rank.h"
#include "framework/variables.h"
#include "job/policy_table.h"
#include "job/task_variables.h"

/* ---- reading ------------------------------------------------------------------------------ */

struct reader {
	struct definition *out;
	struct err *err;
};

static int refuse(const struct reader *reader, const struct xml_node *node, const char *text)
{
	return err_set(reader->err, ERR_CONFIG, "%s:%d: %s", reader->out->place, node->line, text);
}

static int refuse_taken(const struct reader *reader, const struct xml_node *node, char *text)
{
	refuse(reader, node, text);
	free(text);
	return -1;
}

/* `known`: NULL-terminated. */
static int check_attributes(const struct reader *reader, const struct xml_node *node,
			    const char *const *known)
{
	for (char **name = node->attributes; name && *name; name += 2) {
		bool found = false;
		for (size_t i = 0; known[i] && !found; i++)
			found = str_equal(known[i], *name);
		if (!found)
			return refuse_taken(
				reader, node,
				mem_printf("<%s> has no attribute \"%s\"", node->name, *name));
	}
	return 0;
}

static int need(const struct reader *reader, const struct xml_node *node, const char *name,
		const char **value)
{
	*value = xml_attribute(node, name);
	return *value && **value ? 0
				 : refuse_taken(reader, node,
						mem_printf("<%s> needs the attribute \"%s\"",
							   node->name, name));
}

/* A word of two: whether it is the first one. */
static int read_choice(const struct reader *reader, const struct xml_node *node, const char *name,
		       const char *yes, const char *no, bool *value)
{
	const char *text = xml_attribute(node, name);

	if (text && !str_equal(text, yes) && !(no && str_equal(text, no)))
		return refuse_taken(reader, node,
				    mem_printf("<%s>: %s=\"%s\" is neither \"%s\" nor %s%s%s",
					       node->name, name, text, yes, no ? "\"" : "",
					       no ? no : "absent", no ? "\"" : ""));
	*value = text && str_equal(text, yes);
	return 0;
}

static int check_type_name(const struct reader *reader, const struct xml_node *node,
			   const char *name)
{
	return job_is_type_name(name)
		       ? 0
		       : refuse_taken(reader, node,
				      mem_printf("<%s>: \"%s\" is no task type's name, which has "
						 "small letters, digits, - and _",
						 node->name, name));
}

static int read_chief(struct reader *reader, const struct xml_node *node)
{
	static const char *const known[] = {"types", NULL};
	const char *types;

	if (check_attributes(reader, node, known) < 0 || need(reader, node, "types", &types) < 0)
		return -1;
	str_split(&reader->out->chief, types, ' ');
	for (size_t i = 0; i < reader->out->chief.count; i++)
		if (check_type_name(reader, node, reader->out->chief.items[i]) < 0)
			return -1;
	return 0;
}

static void add_setting(struct definition *out, char *pair, int line)
{
	out->settings =
		mem_realloc_array(out->settings, out->setting_count + 1, sizeof(*out->settings));
	out->settings[out->setting_count++] = (struct definition_setting){pair, line};
}

/* Each attribute but two is a key of the type's: describe checks it as any other. */
static int read_type(struct reader *reader, const struct xml_node *node)
{
	struct definition *out = reader->out;
	const char *type, *role = xml_attribute(node, "role");

	if (need(reader, node, "name", &type) < 0 || check_type_name(reader, node, type) < 0)
		return -1;
	if (str_list_has(&out->types, type))
		return refuse_taken(reader, node,
				    mem_printf("<type>: \"%s\" is there twice", type));
	if (role && !str_equal(role, "untracked") && !str_equal(role, "tracked"))
		return refuse_taken(
			reader, node,
			mem_printf("<type>: role=\"%s\" is neither \"tracked\" nor \"untracked\"",
				   role));
	str_list_add(&out->types, type);
	if (str_equal(role, "untracked"))
		str_list_add(&out->untracked, type);
	for (char **name = node->attributes; name && *name; name += 2)
		if (!str_equal(*name, "name") && !str_equal(*name, "role"))
			add_setting(out, mem_printf("tony.%s.%s=%s", type, *name, name[1]),
				    node->line);
	return 0;
}

static int read_ranks(struct reader *reader, const struct xml_node *node)
{
	static const char *const known[] = {"who", NULL};
	const char *who = xml_attribute(node, "who");

	if (check_attributes(reader, node, known) < 0)
		return -1;
	mem_replace(&reader->out->ranks, who ? mem_strdup(who) : mem_strdup("the processes"));
	return 0;
}

static int read_tasks(struct reader *reader, const struct xml_node *node)
{
	static const char *const known[] = {"exactly", NULL};
	const char *text;

	if (check_attributes(reader, node, known) < 0 || need(reader, node, "exactly", &text) < 0)
		return -1;
	return str_parse_int(text, 1, JOB_MAX_TASKS, &reader->out->exact_tasks) == 0
		       ? 0
		       : refuse_taken(reader, node,
				      mem_printf("<tasks>: exactly=\"%s\" is no number", text));
}

/* Each says what follows a text among a program's last words. */
static const struct {
	const char *name;
	struct policy_row row;
} consequences[] = {
	{"retry", {AGAIN}},	    {"blame-peer", {PEERS_FAULT}},
	{"elsewhere", {ELSEWHERE}}, {"blame-machine", {MACHINES_FAULT}},
	{"fail", {NEVER}},
};

static int read_consequence(const struct reader *reader, const struct xml_node *node,
			    struct policy_row *row)
{
	const char *name = xml_attribute(node, "then");
	struct str_list names cleanup_str_list = {0};

	for (size_t i = 0; i < array_length(consequences); i++) {
		if (str_equal(consequences[i].name, name ? name : "retry")) {
			*row = consequences[i].row;
			return 0;
		}
		str_list_add(&names, consequences[i].name);
	}
	char *all cleanup_free = str_list_join(&names, ", ");
	return refuse_taken(reader, node,
			    mem_printf("<failure>: then=\"%s\" is none of %s", name, all));
}

/* Lines of output are made printable, and cut, before anything is looked for in them. */
static int check_phrase(const struct reader *reader, const struct xml_node *node, const char *name,
			const char *text)
{
	size_t length = text ? strlen(text) : 0;

	if (length > DEFINITION_PHRASE_CAP)
		return refuse_taken(reader, node,
				    mem_printf("<failure>: %s has more than %d bytes", name,
					       DEFINITION_PHRASE_CAP));
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return refuse_taken(
				reader, node,
				mem_printf("<failure>: %s is not of one line that can be printed",
					   name));
	return 0;
}

static int read_text(struct reader *reader, const struct xml_node *node)
{
	static const char *const known[] = {"text", "then", "why", NULL};
	struct definition *out = reader->out;
	const char *text, *why = xml_attribute(node, "why");
	struct policy_row row;

	if (check_attributes(reader, node, known) < 0 || need(reader, node, "text", &text) < 0 ||
	    check_phrase(reader, node, "text", text) < 0 ||
	    check_phrase(reader, node, "why", why) < 0 || read_consequence(reader, node, &row) < 0)
		return -1;
	row.says[0] = mem_strdup(text);
	row.why = why && *why ? mem_strdup(why) : mem_printf("it says \"%s\"", text);
	out->failures =
		mem_realloc_array(out->failures, out->failure_count + 2, sizeof(*out->failures));
	out->failures[out->failure_count++] = row;
	out->failures[out->failure_count] = (struct policy_row){0};
	return 0;
}

static const struct xml_node *find_earlier(const struct xml_node *node, const char *attribute)
{
	for (const struct xml_node *earlier = node->parent->children; earlier != node;
	     earlier = earlier->next)
		if (str_equal(earlier->name, node->name) &&
		    (!attribute || xml_attribute(earlier, attribute)))
			return earlier;
	return NULL;
}

static int check_only(const struct reader *reader, const struct xml_node *node,
		      const char *attribute)
{
	const struct xml_node *earlier = find_earlier(node, attribute);

	return !earlier ? 0
			: refuse_taken(reader, node,
				       mem_printf("<%s%s%s> is there twice, first in line %d",
						  node->name, attribute ? " " : "",
						  attribute ? attribute : "", earlier->line));
}

/* Of all failures, or of those whose program says a text. */
static int read_failure(struct reader *reader, const struct xml_node *node)
{
	static const char *const known[] = {"others", NULL};

	if (xml_attribute(node, "text"))
		return read_text(reader, node);
	if (check_attributes(reader, node, known) < 0)
		return -1;
	if (!xml_attribute(node, "others"))
		return refuse(reader, node, "<failure> needs the attribute \"others\" or \"text\"");
	if (check_only(reader, node, "others") < 0)
		return -1;
	return read_choice(reader, node, "others", "stop", "go-on", &reader->out->stops_others);
}

/* ---- variables ---------------------------------------------------------------------------- */

/* How long the name at its beginning is; 0: there is none. */
static size_t skip_name(const char *text)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

	return *text >= '0' && *text <= '9' ? 0 : strspn(text, letters);
}

static bool is_name(const char *name)
{
	return *name && name[skip_name(name)] == '\0';
}

static int read_value(const struct reader *reader, const struct xml_node *node,
		      struct definition_variable *variable)
{
	struct err flaw cleanup_err = {0};
	const char *name;

	if (need(reader, node, "name", &name) < 0)
		return -1;
	variable->name = mem_strdup(name);
	variable->value = xml_text(node);
	if (!is_name(name))
		return refuse_taken(reader, node,
				    mem_printf("<variable>: \"%s\" is no variable's name", name));
	if (task_variables_have(name))
		return refuse_taken(
			reader, node,
			mem_printf("<variable>: %s is tony's own name; choose another", name));
	if (framework_check_templates(variable->value, &flaw) < 0)
		return refuse_taken(reader, node,
				    mem_printf("variable %s: %s", name, err_message(&flaw)));
	return 0;
}

static int read_variable(struct reader *reader, const struct xml_node *node,
			 const struct definition_variable *of)
{
	static const char *const known[] = {"name", "unless-set", "identity", "when", NULL};
	struct definition *out = reader->out;
	bool is_spec = str_equal(node->name, "cluster-spec");

	if (!is_spec && !str_equal(node->name, "variable"))
		return refuse_taken(reader, node,
				    mem_printf("<%s> is no element of <environment>; known are "
					       "variable, cluster-spec",
					       node->name));
	out->variables =
		mem_realloc_array(out->variables, out->variable_count + 1, sizeof(*out->variables));
	struct definition_variable *variable = &out->variables[out->variable_count++];
	*variable = (struct definition_variable){.line = node->line, .of_ranks = of->of_ranks};
	str_list_copy(&variable->types, &of->types);
	if (check_attributes(reader, node, is_spec ? known + 2 : known) < 0 ||
	    read_choice(reader, node, "identity", "true", "false", &variable->is_identity) < 0 ||
	    read_choice(reader, node, "unless-set", "true", "false", &variable->unless_set) < 0 ||
	    read_choice(reader, node, "when", "several-processes", NULL, &variable->of_several) < 0)
		return -1;
	return is_spec ? 0 : read_value(reader, node, variable);
}

/* Where `when` differs the later one is a case of its own. */
static int check_new(const struct reader *reader, const struct xml_node *first,
		     const struct xml_node *node)
{
	const char *name = xml_attribute(node, "name"), *when = xml_attribute(node, "when");

	for (const struct xml_node *earlier = first; earlier != node; earlier = earlier->next)
		if (str_equal(earlier->name, node->name) &&
		    str_equal(xml_attribute(earlier, "name"), name) &&
		    str_equal(xml_attribute(earlier, "when"), when))
			return refuse_taken(reader, node,
					    mem_printf("<%s>: %s is there twice", node->name,
						       name ? name : "it"));
	return 0;
}

static int read_environment(struct reader *reader, const struct xml_node *node)
{
	static const char *const known[] = {"of", NULL};
	const char *text = xml_attribute(node, "of");
	struct definition_variable of = {.of_ranks = str_equal(text, "ranks")};
	bool is_of_types = text && !of.of_ranks;
	int result = check_attributes(reader, node, known);

	if (is_of_types)
		str_split(&of.types, text, ' ');
	if (result == 0 && is_of_types && of.types.count == 0)
		result = refuse(reader, node,
				"<environment>: of=\"\" names no type; leave it out for all tasks");
	for (const struct xml_node *child = node->children; child && result == 0;
	     child = child->next)
		result = check_new(reader, node->children, child) < 0
				 ? -1
				 : read_variable(reader, child, &of);
	str_list_finish(&of.types);
	return result;
}

/* ---- the whole ---------------------------------------------------------------------------- */

static const struct {
	const char *name;
	int (*read)(struct reader *reader, const struct xml_node *node);
	bool is_single;
} elements[] = {
	{"chief", read_chief, true}, {"type", read_type},	{"ranks", read_ranks, true},
	{"tasks", read_tasks, true}, {"failure", read_failure}, {"environment", read_environment},
};

static int read_element(struct reader *reader, const struct xml_node *node)
{
	for (size_t i = 0; i < array_length(elements); i++) {
		if (!str_equal(elements[i].name, node->name))
			continue;
		if (elements[i].is_single && check_only(reader, node, NULL) < 0)
			return -1;
		return elements[i].read(reader, node);
	}
	return refuse_taken(reader, node,
			    mem_printf("<%s> is no element of <framework>; known are chief, type, "
				       "ranks, tasks, failure, environment",
				       node->name));
}

/* Types that are named elsewhere are those of the file. One without <type> knows its chiefs. */
static int check_types(const struct reader *reader, const struct xml_node *node, const char *names)
{
	const struct definition *out = reader->out;
	const struct str_list *types = out->types.count > 0 ? &out->types : &out->chief;
	struct str_list named cleanup_str_list = {0};

	str_split(&named, names, ' ');
	for (size_t i = 0; i < named.count; i++)
		if (!str_list_has(types, named.items[i]))
			return refuse_taken(
				reader, node,
				mem_printf("<%s>: there is no <type> of the name \"%s\"",
					   node->name, named.items[i]));
	return 0;
}

static int check_references(const struct reader *reader, const struct xml_node *root)
{
	for (const struct xml_node *node = root->children; node; node = node->next) {
		const char *names = str_equal(node->name, "chief") ? xml_attribute(node, "types")
				    : str_equal(node->name, "environment")
					    ? xml_attribute(node, "of")
					    : NULL;
		if (names && !str_equal(names, "ranks") && check_types(reader, node, names) < 0)
			return -1;
	}
	return 0;
}

/* As Python writes it: "torch", "ray.train". */
static bool is_module(const char *name)
{
	size_t length;

	while ((length = skip_name(name)) > 0 && name[length] == '.')
		name += length + 1;
	return is_name(name);
}

static int read_root(struct reader *reader, const struct xml_node *root)
{
	static const char *const known[] = {"name", "module", NULL};
	struct definition *out = reader->out;
	const char *name, *module = xml_attribute(root, "module");

	if (!str_equal(root->name, "framework"))
		return refuse_taken(reader, root,
				    mem_printf("<%s> is not <framework>", root->name));
	if (check_attributes(reader, root, known) < 0 || need(reader, root, "name", &name) < 0)
		return -1;
	if (strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != strlen(name) ||
	    strlen(name) > 63)
		return refuse_taken(reader, root,
				    mem_printf("name=\"%s\" is not of small letters, digits, - and "
					       "_, 63 at most",
					       name));
	out->name = mem_strdup(name);
	if (module && !is_module(module))
		return refuse_taken(reader, root,
				    mem_printf("module=\"%s\" is no module's name", module));
	out->module = mem_strdup(module);
	for (const struct xml_node *node = root->children; node; node = node->next)
		if (read_element(reader, node) < 0)
			return -1;
	if (out->chief.count == 0)
		return refuse(reader, root,
			      "<chief> is missing; write <chief types=\"TYPE\"/>, whose first task "
			      "is rank 0 and has TB_PORT");
	return check_references(reader, root);
}

struct definition *definition_parse(const char *text, const char *place, struct err *err)
{
	struct xml_flaw flaw = {0};
	struct definition *definition = mem_alloc(sizeof(*definition));
	struct reader reader = {definition, err};

	definition->place = mem_strdup(place);
	struct xml_node *root = xml_parse(text, strlen(text), XML_DOCTYPE_REFUSED, &flaw);
	int result = root ? read_root(&reader, root)
			  : err_set(err, ERR_CONFIG, "%s:%d: %s", place, flaw.line, flaw.text);
	xml_free(root);
	free(flaw.text);
	if (result == 0)
		return definition;
	definition_free(definition);
	return NULL;
}

void definition_free(struct definition *definition)
{
	if (!definition)
		return;
	for (size_t i = 0; i < definition->variable_count; i++) {
		free(definition->variables[i].name);
		free(definition->variables[i].value);
		str_list_finish(&definition->variables[i].types);
	}
	for (size_t i = 0; i < definition->setting_count; i++)
		free(definition->settings[i].pair);
	free(definition->settings);
	policy_rows_free(definition->failures);
	free(definition->variables);
	free(definition->place);
	free(definition->name);
	free(definition->module);
	free(definition->ranks);
	str_list_finish(&definition->chief);
	str_list_finish(&definition->types);
	str_list_finish(&definition->untracked);
	free(definition);
}

void definition_cleanup(struct definition **definition)
{
	definition_free(*definition);
}

/* ---- what it is for ----------------------------------------------------------------------- */

void definition_defaults(const struct definition *definition, const struct framework_shape *shape,
			 struct str_list *pairs)
{
	char *untracked cleanup_free = str_list_join(&definition->untracked, ",");

	str_list_add_format(pairs, "tony.application.fail-on-worker-failure-enabled=%s",
			    definition->stops_others ? "true" : "false");
	if (shape->types->count == 0)
		return; /* a single program */
	if (*untracked)
		str_list_add_format(pairs, "tony.application.untracked.jobtypes=%s", untracked);
	for (size_t i = 0; i < definition->setting_count; i++)
		str_list_add(pairs, definition->settings[i].pair);
}

int definition_check(const struct definition *definition, const struct job *job, struct err *err)
{
	size_t tasks = job_task_count(job);

	if (definition->exact_tasks > 0 && (int64_t)tasks != definition->exact_tasks)
		return err_set(err, ERR_CONFIG,
			       "tony.application.framework: %s runs exactly %s task%s, and "
			       "this job has %zu; set one type's instances to %lld, or use the "
			       "framework generic",
			       definition->name, definition->exact_tasks == 1 ? "one" : "so many",
			       str_plural((size_t)definition->exact_tasks), tasks,
			       (long long)definition->exact_tasks);
	return definition->ranks ? rank_check(job, definition->ranks, NULL, err) : 0;
}

static bool is_meant(const struct definition_variable *variable, const struct framework_task *task,
		     bool has_rank, const struct environment *environment)
{
	const struct job_type *type = &task->job->types[task->type];

	return (!variable->of_ranks || has_rank) &&
	       (!variable->of_several || type->processes > 1) &&
	       (variable->types.count == 0 || str_list_has(&variable->types, type->name)) &&
	       !(variable->unless_set && environment_get(environment, variable->name));
}

int definition_environment(const struct definition *definition, const struct framework_task *task,
			   struct environment *environment, struct err *err)
{
	struct rank rank;
	bool has_rank = rank_find(task, &rank);

	for (size_t i = 0; i < definition->variable_count; i++) {
		const struct definition_variable *variable = &definition->variables[i];
		if (!is_meant(variable, task, has_rank, environment))
			continue;
		if (!variable->name) {
			if (task->job->mode == JOB_MODE_GANG)
				variables_add_cluster_spec(task, environment);
			continue;
		}
		char *value cleanup_free = framework_expand(task, variable->value, err);
		if (!value)
			return err_wrap(err, "%s:%d: variable %s", definition->place,
					variable->line, variable->name);
		environment_set(environment, variable->name, value);
	}
	return 0;
}
