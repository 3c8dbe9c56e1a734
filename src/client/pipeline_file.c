#include "client/pipeline_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "client/job_array.h"

#define NAME_CAP 40 /* letters: with the pipeline's id it is a tag */

void pipeline_finish(struct pipeline *pipeline)
{
	for (size_t i = 0; i < pipeline->count; i++) {
		struct pipeline_node *node = &pipeline->nodes[i];
		for (size_t k = 0; k < node->input_count; k++)
			free(node->inputs[k].path);
		free(node->inputs);
		free(node->after);
		free(node->before);
		free(node->file);
		free(node->name);
	}
	free(pipeline->nodes);
	free(pipeline->name);
	free(pipeline->path);
	xml_free(pipeline->root);
	*pipeline = (struct pipeline){0};
}

size_t pipeline_find(const struct pipeline *pipeline, const char *name)
{
	size_t i = 0;

	while (i < pipeline->count && !str_equal(pipeline->nodes[i].name, name))
		i++;
	return i;
}

char *pipeline_job_name(const struct pipeline *pipeline, const struct pipeline_node *node)
{
	return mem_printf("%s.%s", pipeline->name, node->name);
}

/* ---- elements ----------------------------------------------------------------------------- */

static bool is_named(const struct xml_node *element, const char *name)
{
	return str_equal(element->name, name);
}

/* Each error begins with its place. */
#define PLACE "%s:%d: "

static int refuse_element(const struct pipeline *pipeline, const struct xml_node *element,
			  const char *parent, const char *expected, struct err *err)
{
	return err_set(err, ERR_CONFIG, PLACE "<%s> has no place in %s; write %s", pipeline->path,
		       element->line, element->name, parent, expected);
}

/* `known` ends with NULL. */
static int check_attributes(const struct pipeline *pipeline, const struct xml_node *element,
			    const char *const *known, struct err *err)
{
	for (char **attribute = element->attributes; attribute && *attribute; attribute += 2) {
		size_t count = 0;
		while (known[count] && !str_equal(known[count], *attribute))
			count++;
		if (known[count])
			continue;
		const char *nearest = str_nearest(*attribute, known, count);
		return err_set(err, ERR_CONFIG, PLACE "<%s> has no attribute \"%s\"%s%s%s",
			       pipeline->path, element->line, element->name, *attribute,
			       nearest ? "; did you mean \"" : "", nearest ? nearest : "",
			       nearest ? "\"?" : "");
	}
	return 0;
}

/* It is a part of ids and names. */
static int check_name(const struct pipeline *pipeline, const struct xml_node *element,
		      const char *name, struct err *err)
{
	if (!name)
		return err_set(err, ERR_CONFIG, PLACE "<%s> has no name; write <%s name=\"train\">",
			       pipeline->path, element->line, element->name, element->name);
	size_t length = strlen(name);
	if (length == 0 || length > NAME_CAP || strspn(name, JOB_ARRAY_MEMBER "_-") != length ||
	    !strchr(JOB_ARRAY_MEMBER, name[0]))
		return err_set(err, ERR_CONFIG,
			       PLACE "name: \"%s\": write small letters, digits, - and _, %d at "
				     "most, a letter or digit first",
			       pipeline->path, element->line, name, NAME_CAP);
	return 0;
}

static int read_flag(const struct pipeline *pipeline, const struct xml_node *element,
		     const char *attribute, bool *value, struct err *err)
{
	const char *text = xml_attribute(element, attribute);

	if (!text || str_parse_bool(text, value) == 0)
		return 0;
	return err_set(err, ERR_CONFIG, PLACE "%s: \"%s\" is neither true nor false",
		       pipeline->path, element->line, attribute, text);
}

static int read_input(const struct pipeline *pipeline, const struct xml_node *element,
		      struct pipeline_node *node, struct err *err)
{
	static const char *const known[] = {"by", NULL};
	const char *by = xml_attribute(element, "by");
	struct str_list words cleanup_str_list = {0};

	if (check_attributes(pipeline, element, known, err) < 0)
		return -1;
	if (element->children)
		return refuse_element(pipeline, element->children, "<input>", "a path", err);
	str_split(&words, str_text(&element->text), '\n');
	if (words.count != 1)
		return err_set(err, ERR_CONFIG, PLACE "<input> is not one path", pipeline->path,
			       element->line);
	if (by && !str_equal(by, "content") && !str_equal(by, "time"))
		return err_set(err, ERR_CONFIG,
			       PLACE "by: \"%s\": write content, or time, which is length and time "
				     "of change",
			       pipeline->path, element->line, by);
	if (str_equal(by, "content") && strstr(words.items[0], "://"))
		return err_set(err, ERR_CONFIG,
			       PLACE
			       "%s: of a URL length and time of change count; take by=\"content\" "
			       "out",
			       pipeline->path, element->line, words.items[0]);
	node->inputs =
		mem_realloc_array(node->inputs, node->input_count + 1, sizeof(*node->inputs));
	node->inputs[node->input_count++] = (struct pipeline_input){
		mem_strdup(words.items[0]), str_equal(by, "content"), element->line};
	return 0;
}

static int read_node(const struct pipeline *pipeline, const struct xml_node *element,
		     struct pipeline_node *node, struct err *err)
{
	static const char *const known[] = {"name", "after", "cache", "file", NULL};
	const char *name = xml_attribute(element, "name");

	if (check_attributes(pipeline, element, known, err) < 0 ||
	    check_name(pipeline, element, name, err) < 0 ||
	    read_flag(pipeline, element, "cache", &node->is_cached, err) < 0)
		return -1;
	size_t earlier = pipeline_find(pipeline, name);
	if (earlier < pipeline->count)
		return err_set(err, ERR_CONFIG, PLACE "a job %s is in line %d already",
			       pipeline->path, element->line, name, pipeline->nodes[earlier].line);
	node->name = mem_strdup(name);
	node->file = mem_strdup(xml_attribute(element, "file"));
	node->line = element->line;
	node->element = element;
	for (const struct xml_node *child = element->children; child; child = child->next) {
		if (is_named(child, "configuration"))
			continue;
		if (!is_named(child, "input"))
			return refuse_element(pipeline, child, "<job>",
					      "<configuration> or <input>", err);
		if (read_input(pipeline, child, node, err) < 0)
			return -1;
	}
	return 0;
}

static int read_nodes(struct pipeline *pipeline, struct err *err)
{
	for (const struct xml_node *child = pipeline->root->children; child; child = child->next) {
		struct pipeline_node node = {0};
		if (is_named(child, "configuration"))
			continue;
		if (!is_named(child, "job"))
			return refuse_element(pipeline, child, "<pipeline>",
					      "<job> or <configuration>", err);
		if (pipeline->count == PIPELINE_MAX)
			return err_set(err, ERR_CONFIG, PLACE "a pipeline has %d jobs at most",
				       pipeline->path, child->line, PIPELINE_MAX);
		int result = read_node(pipeline, child, &node, err);
		pipeline->nodes = mem_realloc_array(pipeline->nodes, pipeline->count + 1,
						    sizeof(*pipeline->nodes));
		pipeline->nodes[pipeline->count++] = node;
		if (result < 0)
			return -1;
	}
	return pipeline->count > 0 ? 0
				   : err_set(err, ERR_CONFIG,
					     PLACE "there is no job; write <job name=\"train\">",
					     pipeline->path, pipeline->root->line);
}

/* ---- edges -------------------------------------------------------------------------------- */

static int add_edge(const struct pipeline *pipeline, struct pipeline_node *node, const char *word,
		    struct err *err)
{
	const char *colon = strchr(word, ':');
	char *name cleanup_free = mem_strndup(word, strcspn(word, ":"));
	size_t before = pipeline_find(pipeline, name);

	if (colon && !str_equal(colon, ":any") && !str_equal(colon, ":success"))
		return err_set(err, ERR_CONFIG,
			       PLACE "after: \"%s\" is not JOB, JOB:success or JOB:any",
			       pipeline->path, node->line, word);
	if (before == pipeline->count) {
		const char **names cleanup_free = mem_alloc_array(before, sizeof(*names));
		for (size_t i = 0; i < before; i++)
			names[i] = pipeline->nodes[i].name;
		const char *nearest = str_nearest(name, names, before);
		return err_set(err, ERR_CONFIG, PLACE "after: there is no job %s%s%s%s",
			       pipeline->path, node->line, name, nearest ? "; did you mean " : "",
			       nearest ? nearest : "", nearest ? "?" : "");
	}
	node->after = mem_realloc_array(node->after, node->after_count + 1, sizeof(*node->after));
	node->after[node->after_count++] = (struct pipeline_edge){before, str_equal(colon, ":any")};
	return 0;
}

static int read_edges(struct pipeline *pipeline, struct err *err)
{
	for (size_t i = 0; i < pipeline->count; i++) {
		struct pipeline_node *node = &pipeline->nodes[i];
		const char *after = xml_attribute(node->element, "after");
		struct str_list words cleanup_str_list = {0};
		char *text cleanup_free = mem_strdup(after ? after : "");
		for (char *at = text; *at; at++)
			*at = *at == ',' ? ' ' : *at;
		str_split(&words, text, ' ');
		for (size_t k = 0; k < words.count; k++)
			if (add_edge(pipeline, node, words.items[k], err) < 0)
				return -1;
	}
	return 0;
}

/* ---- order -------------------------------------------------------------------------------- */

struct order {
	const struct pipeline *pipeline;
	size_t *places; /* by node of the file: its place in the order, or the count */
	size_t count;
};

static bool is_placed(const struct order *order, size_t node)
{
	return order->places[node] < order->pipeline->count;
}

static bool may_follow(const struct order *order, size_t node)
{
	const struct pipeline_node *of = &order->pipeline->nodes[node];

	for (size_t i = 0; i < of->after_count; i++)
		if (!is_placed(order, of->after[i].node))
			return false;
	return !is_placed(order, node);
}

/* The first of the file that may come next; the count: there is none. */
static size_t find_next(const struct order *order)
{
	size_t i = 0;

	while (i < order->pipeline->count && !may_follow(order, i))
		i++;
	return i;
}

/* A node that waits, for which node that waits, ...: after as many steps it has come to a circle.
 */
static size_t find_waiting(const struct order *order, size_t node)
{
	const struct pipeline_node *of = &order->pipeline->nodes[node];

	for (size_t i = 0; i < of->after_count; i++)
		if (!is_placed(order, of->after[i].node))
			return of->after[i].node;
	return node;
}

static int tell_circle(const struct order *order, struct err *err)
{
	const struct pipeline *pipeline = order->pipeline;
	struct str text cleanup_str = {0};
	size_t start = 0;

	while (is_placed(order, start))
		start++;
	for (size_t i = 0; i < pipeline->count; i++)
		start = find_waiting(order, start);
	str_append(&text, pipeline->nodes[start].name);
	size_t at = start;
	do {
		at = find_waiting(order, at);
		str_append_format(&text, " after %s", pipeline->nodes[at].name);
	} while (at != start);
	return err_set(err, ERR_CONFIG, PLACE "jobs wait for each other in a circle: %s",
		       pipeline->path, pipeline->nodes[start].line, text.text);
}

/* Puts each node behind those that it waits for, and else as the file has them. */
static void apply_order(struct pipeline *pipeline, const struct order *order)
{
	struct pipeline_node *nodes = mem_alloc_array(pipeline->count, sizeof(*nodes));

	for (size_t i = 0; i < pipeline->count; i++) {
		struct pipeline_node *node = &nodes[order->places[i]];
		*node = pipeline->nodes[i];
		for (size_t k = 0; k < node->after_count; k++)
			node->after[k].node = order->places[node->after[k].node];
	}
	free(pipeline->nodes);
	pipeline->nodes = nodes;
}

static void fill_before(struct pipeline *pipeline)
{
	for (size_t i = 0; i < pipeline->count; i++) {
		struct pipeline_node *node = &pipeline->nodes[i];
		node->before = mem_alloc_array(pipeline->count, sizeof(*node->before));
		for (size_t k = 0; k < node->after_count; k++) {
			size_t before = node->after[k].node;
			node->before[before] = true;
			for (size_t j = 0; j < before; j++)
				node->before[j] |= pipeline->nodes[before].before[j];
		}
	}
}

static int sort_nodes(struct pipeline *pipeline, struct err *err)
{
	size_t *places cleanup_free = mem_alloc_array(pipeline->count, sizeof(*places));
	struct order order = {pipeline, places, 0};
	size_t next;

	for (size_t i = 0; i < pipeline->count; i++)
		places[i] = pipeline->count;
	while ((next = find_next(&order)) < pipeline->count)
		places[next] = order.count++;
	if (order.count < pipeline->count)
		return tell_circle(&order, err);
	apply_order(pipeline, &order);
	fill_before(pipeline);
	return 0;
}

/* ---- the file ----------------------------------------------------------------------------- */

static int read_root(struct pipeline *pipeline, struct err *err)
{
	static const char *const known[] = {"name", NULL};
	const struct xml_node *root = pipeline->root;
	const char *name = xml_attribute(root, "name");

	if (!is_named(root, "pipeline"))
		return err_set(err, ERR_CONFIG,
			       PLACE "<%s> is no <pipeline>; a job file is for tony submit "
				     "--conf_file %s",
			       pipeline->path, root->line, root->name, pipeline->path);
	if (check_attributes(pipeline, root, known, err) < 0 ||
	    check_name(pipeline, root, name, err) < 0)
		return -1;
	pipeline->name = mem_strdup(name);
	return 0;
}

int pipeline_read(const char *named, struct pipeline *pipeline, struct err *err)
{
	struct xml_flaw flaw = {0};
	const char *path = named ? named : PIPELINE_FILE;
	size_t length;
	char *bytes cleanup_free =
		named ? fs_read_file(path, CONF_FILE_CAP, &length, err)
		      : fs_read_own(path, "tony run " PIPELINE_FILE, CONF_FILE_CAP, &length, err);

	if (!bytes) {
		if (err)
			err->kind = ERR_CONFIG;
		return -1;
	}
	pipeline->path = mem_strdup(path);
	pipeline->root = xml_parse(bytes, length, XML_DOCTYPE_REFUSED, &flaw);
	char *text cleanup_free = flaw.text;
	if (!pipeline->root)
		return err_set(err, ERR_CONFIG, PLACE "%s%s", path, flaw.line,
			       flaw.is_doctype ? "" : "not XML: ", text);
	return read_root(pipeline, err) < 0 || read_nodes(pipeline, err) < 0 ||
			       read_edges(pipeline, err) < 0
		       ? -1
		       : sort_nodes(pipeline, err);
}

/* ---- the configuration of a node ---------------------------------------------------------- */

static int load_properties(const struct pipeline *pipeline, const struct xml_node *parent,
			   struct conf *conf, struct err *err)
{
	conf_begin_part(conf);
	for (const struct xml_node *child = parent->children; child; child = child->next)
		if (is_named(child, "configuration") &&
		    conf_load_properties(conf, pipeline->path, child, err) < 0)
			return -1;
	return 0;
}

int pipeline_load(const struct pipeline *pipeline, const struct pipeline_node *node,
		  struct conf *conf, struct err *err)
{
	if (!node->file)
		conf_set_default(conf, "tony.application.framework", "generic");
	if (load_properties(pipeline, pipeline->root, conf, err) < 0)
		return -1;
	conf_begin_part(conf);
	if (node->file && conf_load_file(conf, CONF_LAYER_FILE, node->file, err) < 0)
		return err_wrap(err, PLACE "file", pipeline->path, node->line);
	return load_properties(pipeline, node->element, conf, err);
}
