/* An output stream with its pipe, written to by the test. */
#ifndef TONY_TEST_UNIT_EXECUTOR_OUTPUT_BED_H
#define TONY_TEST_UNIT_EXECUTOR_OUTPUT_BED_H

#include "executor/output.h"

struct bed {
	struct event_base *base;
	struct output *output;
	int writer;
};

void open_bed(struct bed *bed, const char *path, const struct output_options *options);
void put(struct bed *bed, const char *text); /* written, and read by the output */
void close_bed(struct bed *bed);

/* The whole text of a file of the test's directory. */
void assert_file(void **state, const char *name, const char *expected);

#endif
