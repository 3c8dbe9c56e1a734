/* Lines of a job's logs, printed each whole, whatever comes between their pieces. */
#ifndef TONY_CLIENT_LINE_PRINT_H
#define TONY_CLIENT_LINE_PRINT_H

#include <stdio.h>

#include "base/str.h"
#include "client/job_output.h"

/* Initialise with the first members, and {0} else. */
struct line_printer {
	FILE *stream;
	bool is_exact;	 /* there is one stream: its bytes, and nothing else */
	bool is_escaped; /* a terminal gets text and colours, and nothing else that it would obey */
	bool has_times;	 /* before each line, when it was written */
	/* Its own. */
	const struct job_output_mark *open; /* the log whose line stands at the end; NULL: none */
	struct str held;  /* of that line, what a carriage return may still overwrite */
	bool is_returned; /* it will, with whatever comes next */
	size_t shown;	  /* bytes of it, unfinished, that are there; 0: pieces of it are */
	int64_t offset;	  /* of it in its log */
	bool is_drawn;	  /* a terminal shows an unfinished line, which goes away */
};
void line_printer_finish(struct line_printer *printer);

void line_print(struct line_printer *printer, const struct job_output_line *line);

/* A progress bar or a prompt, which has no newline yet: it is completed when its line ends, where
 * nothing else was printed meanwhile, or else printed once more, whole. */
void line_print_unfinished(struct line_printer *printer, const struct job_output_line *line);
/* The same on a terminal (live_can_draw()), where it is replaced. */
void line_print_drawn(struct line_printer *printer, const struct job_output_line *line);
void line_print_hide(struct line_printer *printer);

/* Nothing more comes. */
void line_print_end(struct line_printer *printer);

#endif
