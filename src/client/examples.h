/*
 * The folders of examples/, as files within the program: what `tony init` writes. Made by
 * embed_examples.py.
 */
#ifndef TONY_CLIENT_EXAMPLES_H
#define TONY_CLIENT_EXAMPLES_H

#include <stddef.h>
#include <sys/types.h>

struct example_file {
	const char *path; /* within the folder */
	mode_t mode;
	const void *content;
	size_t length;
};

struct example {
	const char *name;
	const char *summary;  /* a line */
	const char *commands; /* what to type in the folder: lines, each ended */
	const struct example_file *files;
	size_t file_count;
};

extern const struct example examples[];
extern const size_t example_count;

#endif
