/* Placement constraints as users write them, as YARN is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "hadoop/placement.h"

static Hadoop__PlacementConstraintProto *parse(const char *text)
{
	struct err err cleanup_err = {0};
	Hadoop__PlacementConstraintProto *constraint = placement_parse(text, strlen(text), &err);

	if (!constraint)
		fail_msg("%s", err_message(&err));
	return constraint;
}

static void assert_simple(const Hadoop__PlacementConstraintProto *constraint, const char *scope,
			  int least, int most, const char *tag)
{
	const Hadoop__SimplePlacementConstraintProto *simple = constraint->simpleconstraint;

	assert_non_null(simple);
	assert_string_equal(simple->scope, scope);
	assert_int_equal(simple->mincardinality, least);
	assert_int_equal(simple->maxcardinality, most);
	assert_int_equal(simple->n_targetexpressions, 1);
	assert_string_equal(simple->targetexpressions[0]->targetkey, "self");
	assert_string_equal(simple->targetexpressions[0]->targetvalues[0], tag);
}

static void test_simple(void **state)
{
	static const struct {
		const char *text, *scope;
		int least, most;
	} rows[] = {
		{"in,node,db", "node", 1, INT_MAX},
		{" NotIn , RACK , db ", "rack", 0, 0},
		{"cardinality,node,db,2,5", "node", 2, 5},
	};

	for (size_t i = 0; i < array_length(rows); i++) {
		Hadoop__PlacementConstraintProto *constraint = parse(rows[i].text);
		assert_simple(constraint, rows[i].scope, rows[i].least, rows[i].most, "db");
		placement_free(constraint);
	}
}

static void test_composite(void **state)
{
	Hadoop__PlacementConstraintProto *constraint =
		parse("and(notin,node,a:or(in,rack,b:cardinality,node,c,0,1))");
	const Hadoop__CompositePlacementConstraintProto *both = constraint->compositeconstraint;

	assert_int_equal(both->compositetype,
			 HADOOP__PLACEMENT_COMPOSITE_TYPE_PROTO__COMPOSITE_AND);
	assert_int_equal(both->n_childconstraints, 2);
	assert_simple(both->childconstraints[0], "node", 0, 0, "a");
	const Hadoop__CompositePlacementConstraintProto *either =
		both->childconstraints[1]->compositeconstraint;
	assert_int_equal(either->compositetype,
			 HADOOP__PLACEMENT_COMPOSITE_TYPE_PROTO__COMPOSITE_OR);
	assert_simple(either->childconstraints[1], "node", 0, 1, "c");
	placement_free(constraint);
}

static void assert_attribute(const Hadoop__PlacementConstraintProto *constraint, const char *name,
			     Hadoop__NodeAttributeOpCodeProto operator, const char * value)
{
	const Hadoop__SimplePlacementConstraintProto *simple = constraint->simpleconstraint;

	assert_non_null(simple);
	assert_string_equal(simple->scope, "node");
	assert_true(simple->has_attributeopcode);
	assert_int_equal(simple->attributeopcode, operator);
	assert_int_equal(simple->targetexpressions[0]->targettype,
			 HADOOP__PLACEMENT_TARGET_TYPE_PROTO__TARGET_NODE_ATTRIBUTE);
	assert_string_equal(simple->targetexpressions[0]->targetkey, name);
	assert_int_equal(simple->targetexpressions[0]->n_targetvalues, 1);
	assert_string_equal(simple->targetexpressions[0]->targetvalues[0], value);
}

static void test_attributes(void **state)
{
	struct str_list attributes cleanup_str_list = {0};

	assert_null(placement_with_attributes(NULL, &attributes));
	str_list_add(&attributes, "rm.yarn.io/python=3");
	Hadoop__PlacementConstraintProto *one = placement_with_attributes(NULL, &attributes);
	assert_attribute(one, "rm.yarn.io/python", HADOOP__NODE_ATTRIBUTE_OP_CODE_PROTO__EQ, "3");
	placement_free(one);
	str_list_add(&attributes, "gpu!=v100.old");
	Hadoop__PlacementConstraintProto *all =
		placement_with_attributes(parse("notin,node,w"), &attributes);
	const Hadoop__CompositePlacementConstraintProto *parts = all->compositeconstraint;
	assert_int_equal(parts->compositetype,
			 HADOOP__PLACEMENT_COMPOSITE_TYPE_PROTO__COMPOSITE_AND);
	assert_int_equal(parts->n_childconstraints, 3);
	assert_attribute(parts->childconstraints[1], "gpu",
			 HADOOP__NODE_ATTRIBUTE_OP_CODE_PROTO__NE, "v100.old");
	assert_simple(parts->childconstraints[2], "node", 0, 0, "w");
	placement_free(all);
}

static void test_no_attributes(void **state)
{
	static const char *const texts[] = {"",	    "python", "=3",	 "!=3",	  "py thon=3",
					    "a/=3", "/b=3",   "a/b/c=3", "a=(b)", "a=b:c",
					    "a!3",  "a.b=3",  "a==3"};

	for (size_t i = 0; i < array_length(texts); i++) {
		struct err err cleanup_err = {0};
		if (placement_check_attribute(texts[i], &err) == 0)
			fail_msg("%s", texts[i]);
		assert_int_equal(err.kind, ERR_CONFIG);
	}
	assert_int_equal(placement_check_attribute("gpu=", NULL), 0);
}

static void test_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"db",
		"in",
		"in,node",
		"in,disk,db",
		"and()",
		"and(in,node,a",
		"or(in,node)",
		"and(x:y) z",
		"cardinality,node,db,1",
		"cardinality,node,db,-1,2",
	};

	for (size_t i = 0; i < array_length(texts); i++) {
		struct err err cleanup_err = {0};
		assert_null(placement_parse(texts[i], strlen(texts[i]), &err));
		assert_int_equal(err.kind, ERR_CONFIG);
	}
}

static void test_deep(void **state)
{
	struct str text cleanup_str = {0};
	struct err err cleanup_err = {0};

	for (int i = 0; i < 1000; i++)
		str_append(&text, "and(");
	str_append(&text, "in,node,a");
	for (int i = 0; i < 1000; i++)
		str_append(&text, ")");
	assert_null(placement_parse(text.text, text.length, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_simple),	   cmocka_unit_test(test_composite),
		cmocka_unit_test(test_attributes), cmocka_unit_test(test_no_attributes),
		cmocka_unit_test(test_refused),	   cmocka_unit_test(test_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
