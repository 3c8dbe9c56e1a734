/*
 * YARN's placement constraints as users write them: the grammar of org.apache.hadoop.yarn.util.
 * constraint.PlacementConstraintParser.parseExpression() (Hadoop 3.1 to 3.5):
 *
 *   in,SCOPE,TAG,...                      on a node or rack with a container of these tags
 *   notin,SCOPE,TAG,...                   ... without one
 *   cardinality,SCOPE,TAG,...,MIN,MAX     with at least MIN and at most MAX of them
 *   and(C:C:...)   or(C:C:...)            of constraints
 *
 * SCOPE is node or rack, words are in any case, blanks around them mean nothing. Tags are those of
 * the same application.
 */
#ifndef TONY_HADOOP_PLACEMENT_H
#define TONY_HADOOP_PLACEMENT_H

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "proto/yarn.pb-c.h"

enum { PLACEMENT_CAP = 65536, PLACEMENT_DEPTH_CAP = 16 };

/* The caller frees it with placement_free(). NULL: `err` (ERR_CONFIG) quotes what is wrong. */
Hadoop__PlacementConstraintProto *placement_parse(const char *text, size_t length, struct err *err);
/* A node attribute as users write it, NAME=VALUE or NAME!=VALUE, where NAME may begin with a prefix
 * ("rm.yarn.io/python=3"). -1: `err` (ERR_CONFIG) quotes it. Hadoop 3.2 and later. */
int placement_check_attribute(const char *text, struct err *err);
/* On nodes of which all of these hold, and `constraint` (NULL: none), which is taken. They have
 * been checked; the result is freed as above. */
Hadoop__PlacementConstraintProto *
placement_with_attributes(Hadoop__PlacementConstraintProto *constraint,
			  const struct str_list *attributes);
void placement_free(Hadoop__PlacementConstraintProto *constraint); /* NULL is fine */

#endif
