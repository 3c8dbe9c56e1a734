/*
 * Sequences that a program writes for its terminal, and nobody sees (ECMA-48: they begin with ESC,
 * and set colours, a window's title, the cursor), in bytes that come one after the other.
 */
#ifndef TONY_BASE_ESCAPE_H
#define TONY_BASE_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

/* All zero: no sequence is under way. */
struct escape {
	int place;
	char final; /* of the control sequence that the last byte ended ('m': a colour); 0: it ended
		       none */
};

/* True: the byte belongs to a sequence. A line's end, or what else cannot stand there, ends one
 * that is torn. */
bool escape_takes(struct escape *escape, char byte);

/* Leaves sequences out, in place; how many bytes are left. */
size_t escape_strip(char *bytes, size_t length);

/* A line for a terminal, by any author: its text as str_printable() has it, and its
 * colours (SGR), which end with the line. All other sequences are left out. The caller frees. */
char *escape_colours(const char *line, size_t length);

#endif
