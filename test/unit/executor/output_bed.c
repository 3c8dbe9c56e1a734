#include "../base/scratch.h"
#include "../base/test.h"

#include "output_bed.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void open_bed(struct bed *bed, const char *path, const struct output_options *options)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	bed->base = event_base_new();
	bed->output = output_open(bed->base, ends[0], path, options);
	bed->writer = ends[1];
}

void put(struct bed *bed, const char *text)
{
	assert_int_equal(write(bed->writer, text, strlen(text)), strlen(text));
	event_base_loop(bed->base, EVLOOP_NONBLOCK);
}

void close_bed(struct bed *bed)
{
	close(bed->writer);
	output_close(bed->output);
	event_base_free(bed->base);
}

void assert_file(void **state, const char *name, const char *expected)
{
	assert_text_freed(scratch_read(state, name), expected);
}
