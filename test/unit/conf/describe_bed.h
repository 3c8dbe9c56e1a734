/* A job described from a tony.xml, options and a command, all in the fixture's directory. */
#ifndef TONY_TEST_UNIT_CONF_DESCRIBE_BED_H
#define TONY_TEST_UNIT_CONF_DESCRIBE_BED_H

#include "fixture.h"

#include "client/describe.h"

struct bed {
	struct job_options options;
	struct str_list command;
	struct conf *conf;
	struct description description;
	struct err err;
};

int bed_enter(void **state); /* fixture_enter() and a bed in *state */
int bed_leave(void **state);

/* --conf */
void bed_conf(struct bed *bed, const char *pair);
/* tony.<type>.instances=N for each, and a command for all. */
void bed_types(struct bed *bed, const char *const *pairs);
#define BED_TYPES(bed, ...) bed_types(bed, (const char *const[]){__VA_ARGS__, NULL})

/* Describes the job, which must work. */
const struct job *bed_describe(struct bed *bed);
/* Describes it, which must fail; the errors are then in bed_errors(). */
void bed_refuse(struct bed *bed);
const struct str_list *bed_errors(const struct bed *bed);
const struct str_list *bed_warnings(const struct bed *bed);

const struct job_type *bed_type(const struct bed *bed, const char *name); /* fails without */

/* "db:finish,ps:start" of one type, in the order of types. The caller frees. */
char *bed_dependencies(const struct bed *bed, const char *name);

#define BED_TEST(name) cmocka_unit_test_setup_teardown(name, bed_enter, bed_leave)

#endif
