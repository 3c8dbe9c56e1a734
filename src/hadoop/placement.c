#include "hadoop/placement.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "hadoop/message.h"

/* A constraint is built as if it had been unpacked, so that message_free() frees all of it. */

/* Where the tags are looked for: among the containers of the same application. */
#define OWN_TAGS "self"

static Hadoop__PlacementConstraintProto *parse(const char *text, int depth, struct err *err);

static int refuse(struct err *err, const char *text, const char *why)
{
	return err_set(err, ERR_CONFIG, "\"%s\" is no placement constraint: %s", text, why);
}

/* ---- one of them -------------------------------------------------------------------------- */

static const char *scope_of(const char *word)
{
	if (str_equal_nocase(word, "node"))
		return "node";
	return str_equal_nocase(word, "rack") ? "rack" : NULL;
}

static Hadoop__SimplePlacementConstraintProto *
add_simple(Hadoop__PlacementConstraintProto *constraint, const char *scope, int32_t least,
	   int32_t most)
{
	Hadoop__SimplePlacementConstraintProto *simple = mem_alloc(sizeof(*simple));

	hadoop__simple_placement_constraint_proto__init(simple);
	simple->scope = mem_strdup(scope);
	simple->has_mincardinality = simple->has_maxcardinality = true;
	simple->mincardinality = least;
	simple->maxcardinality = most;
	constraint->simpleconstraint = simple;
	return simple;
}

/* `key` is taken. */
static void add_target(Hadoop__SimplePlacementConstraintProto *simple,
		       Hadoop__PlacementTargetTypeProto type, char *key, char *const *values,
		       size_t count)
{
	Hadoop__PlacementConstraintTargetProto *target = mem_alloc(sizeof(*target));

	hadoop__placement_constraint_target_proto__init(target);
	target->targettype = type;
	target->targetkey = key;
	target->targetvalues = mem_alloc_array(count, sizeof(char *));
	for (size_t i = 0; i < count; i++)
		target->targetvalues[target->n_targetvalues++] = mem_strdup(values[i]);
	simple->targetexpressions = mem_alloc(sizeof(target));
	simple->targetexpressions[simple->n_targetexpressions++] = target;
}

static void add_tags(Hadoop__SimplePlacementConstraintProto *simple, char **tags, size_t count)
{
	add_target(simple, HADOOP__PLACEMENT_TARGET_TYPE_PROTO__TARGET_ALLOCATION_TAG,
		   mem_strdup(OWN_TAGS), tags, count);
}

/* in and notin are cardinalities, too: that is how YARN's own client sends them. */
static int parse_target(Hadoop__PlacementConstraintProto *constraint, const struct str_list *words,
			const char *text, struct err *err)
{
	bool in = str_equal_nocase(words->items[0], "in");
	const char *scope = words->count > 1 ? scope_of(words->items[1]) : NULL;

	if (!scope || words->count < 3)
		return refuse(err, text, "write in,node,TAG or notin,rack,TAG");
	add_tags(add_simple(constraint, scope, in ? 1 : 0, in ? INT32_MAX : 0), words->items + 2,
		 words->count - 2);
	return 0;
}

static int parse_cardinality(Hadoop__PlacementConstraintProto *constraint,
			     const struct str_list *words, const char *text, struct err *err)
{
	size_t count = words->count;
	const char *scope = count > 1 ? scope_of(words->items[1]) : NULL;
	int64_t least, most;

	if (!scope || count < 5 ||
	    str_parse_int(words->items[count - 2], 0, INT32_MAX, &least) < 0 ||
	    str_parse_int(words->items[count - 1], 0, INT32_MAX, &most) < 0)
		return refuse(err, text, "write cardinality,node,TAG,MIN,MAX");
	add_tags(add_simple(constraint, scope, (int32_t)least, (int32_t)most), words->items + 2,
		 count - 4);
	return 0;
}

/* ---- several ------------------------------------------------------------------------------ */

/* The part up to the next colon outside of brackets. */
static size_t part_length(const char *text)
{
	size_t length = 0;

	for (int open = 0; text[length] && (open > 0 || text[length] != ':'); length++) {
		open += text[length] == '(';
		open -= text[length] == ')';
	}
	return length;
}

static void add_child(Hadoop__CompositePlacementConstraintProto *composite,
		      Hadoop__PlacementConstraintProto *child)
{
	composite->childconstraints = mem_realloc_array(
		composite->childconstraints, composite->n_childconstraints + 1, sizeof(child));
	composite->childconstraints[composite->n_childconstraints++] = child;
}

static int parse_parts(Hadoop__CompositePlacementConstraintProto *composite, const char *text,
		       int depth, struct err *err)
{
	while (*text) {
		size_t length = part_length(text);
		char *part cleanup_free = mem_strndup(text, length);
		Hadoop__PlacementConstraintProto *child = parse(part, depth + 1, err);
		if (!child)
			return -1;
		add_child(composite, child);
		text += length;
		text += *text == ':';
	}
	return 0;
}

static int parse_composite(Hadoop__PlacementConstraintProto *constraint, const char *text,
			   int depth, struct err *err)
{
	Hadoop__CompositePlacementConstraintProto *composite;
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	bool all = strncasecmp(text, "and", strlen("and")) == 0;

	if (!open || !close || close < open || close[1 + strspn(close + 1, " \t")])
		return refuse(err, text, "write and(C:C) or or(C:C)");
	if (depth >= PLACEMENT_DEPTH_CAP)
		return refuse(err, text, "it is nested too deeply");
	composite = mem_alloc(sizeof(*composite));
	hadoop__composite_placement_constraint_proto__init(composite);
	constraint->compositeconstraint = composite;
	composite->compositetype = all ? HADOOP__PLACEMENT_COMPOSITE_TYPE_PROTO__COMPOSITE_AND
				       : HADOOP__PLACEMENT_COMPOSITE_TYPE_PROTO__COMPOSITE_OR;
	char *inner cleanup_free = mem_strndup(open + 1, (size_t)(close - open - 1));
	if (parse_parts(composite, inner, depth, err) < 0)
		return -1;
	return composite->n_childconstraints > 0 ? 0 : refuse(err, text, "it is empty");
}

static bool is_composite(const char *text)
{
	size_t word = strncasecmp(text, "and", 3) == 0	? 3
		      : strncasecmp(text, "or", 2) == 0 ? 2
							: 0;

	return word > 0 && text[word + strspn(text + word, " \t")] == '(';
}

static int fill(Hadoop__PlacementConstraintProto *constraint, const char *text, int depth,
		struct err *err)
{
	struct str_list words cleanup_str_list = {0};

	text += strspn(text, " \t");
	if (is_composite(text))
		return parse_composite(constraint, text, depth, err);
	str_split(&words, text, ',');
	const char *word = words.count ? words.items[0] : "";
	if (str_equal_nocase(word, "in") || str_equal_nocase(word, "notin"))
		return parse_target(constraint, &words, text, err);
	if (str_equal_nocase(word, "cardinality"))
		return parse_cardinality(constraint, &words, text, err);
	return refuse(err, text, "it begins with none of in, notin, cardinality, and(, or(");
}

static Hadoop__PlacementConstraintProto *parse(const char *text, int depth, struct err *err)
{
	Hadoop__PlacementConstraintProto *constraint = mem_alloc(sizeof(*constraint));

	hadoop__placement_constraint_proto__init(constraint);
	if (fill(constraint, text, depth, err) == 0)
		return constraint;
	placement_free(constraint);
	return NULL;
}

Hadoop__PlacementConstraintProto *placement_parse(const char *text, size_t length, struct err *err)
{
	if (length > PLACEMENT_CAP || !str_is_utf8(text, length)) {
		err_set(err, ERR_CONFIG, "a placement constraint is text of at most %d bytes",
			PLACEMENT_CAP);
		return NULL;
	}
	char *copy cleanup_free = mem_strndup(text, length);
	return parse(copy, 0, err);
}

/* ---- attributes of nodes ------------------------------------------------------------------ */

/* As YARN itself checks prefixes, names and values. */
#define ATTRIBUTE_LETTERS "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"

/* Up to the operator; 0: there is none. */
static size_t name_length(const char *text)
{
	size_t prefix = strspn(text, ATTRIBUTE_LETTERS ".");
	size_t begin = text[prefix] == '/' && prefix > 0 ? prefix + 1 : 0;
	size_t name = strspn(text + begin, ATTRIBUTE_LETTERS);
	const char *operator= text + begin + name;

	return name > 0 && (*operator== '=' || str_starts_with(operator, "!=")) ? begin + name : 0;
}

int placement_check_attribute(const char *text, struct err *err)
{
	size_t length = name_length(text);
	const char *value = text + length + (text[length] == '!') + 1;

	return length > 0 && value[strspn(value, ATTRIBUTE_LETTERS ".")] == '\0'
		       ? 0
		       : err_set(err, ERR_CONFIG,
				 "\"%s\" is no attribute of a node: write NAME=VALUE or "
				 "NAME!=VALUE",
				 text);
}

/* Without numbers: that is how YARN's own client sends them. */
static Hadoop__PlacementConstraintProto *make_attribute(const char *text)
{
	Hadoop__PlacementConstraintProto *constraint = mem_alloc(sizeof(*constraint));
	size_t length = name_length(text);
	bool differs = text[length] == '!';
	char *value cleanup_free = mem_strdup(text + length + differs + 1);

	hadoop__placement_constraint_proto__init(constraint);
	Hadoop__SimplePlacementConstraintProto *simple = add_simple(constraint, "node", -1, -1);
	simple->has_attributeopcode = true;
	simple->attributeopcode = differs ? HADOOP__NODE_ATTRIBUTE_OP_CODE_PROTO__NE
					  : HADOOP__NODE_ATTRIBUTE_OP_CODE_PROTO__EQ;
	add_target(simple, HADOOP__PLACEMENT_TARGET_TYPE_PROTO__TARGET_NODE_ATTRIBUTE,
		   mem_strndup(text, length), &value, 1);
	return constraint;
}

Hadoop__PlacementConstraintProto *
placement_with_attributes(Hadoop__PlacementConstraintProto *constraint,
			  const struct str_list *attributes)
{
	if (attributes->count == 0)
		return constraint;
	if (attributes->count == 1 && !constraint)
		return make_attribute(attributes->items[0]);
	Hadoop__PlacementConstraintProto *all = mem_alloc(sizeof(*all));
	Hadoop__CompositePlacementConstraintProto *composite = mem_alloc(sizeof(*composite));
	hadoop__placement_constraint_proto__init(all);
	hadoop__composite_placement_constraint_proto__init(composite);
	composite->compositetype = HADOOP__PLACEMENT_COMPOSITE_TYPE_PROTO__COMPOSITE_AND;
	all->compositeconstraint = composite;
	for (size_t i = 0; i < attributes->count; i++)
		add_child(composite, make_attribute(attributes->items[i]));
	if (constraint)
		add_child(composite, constraint);
	return all;
}

void placement_free(Hadoop__PlacementConstraintProto *constraint)
{
	message_free(constraint);
}
