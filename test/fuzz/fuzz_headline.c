/* A program's output: the line that says most about its end, and what its launcher tells. */
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "executor/headline.h"
#include "executor/restarts.h"
#include "executor/tail.h"

enum { LISTED = 20, TEXT_MAX = HEADLINE_CAP + 2 * TAIL_LINE_CAP };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void find(const struct tail *tail)
{
	struct str_list listed cleanup_str_list = {0}, all cleanup_str_list = {0};
	struct headline headline;

	tail_list(tail, &listed);
	tail_list_all(tail, &all);
	headline_find(&listed, &all, 1, &headline);
	if (headline.text && strlen(headline.text) > TEXT_MAX)
		BUG("a headline of %zu bytes", strlen(headline.text));
	if (headline.signal < 0 || (headline.signal > 0 && !headline.child))
		BUG("signal %d", headline.signal);
	headline_finish(&headline);
	char *line cleanup_free = headline_of_signal(&listed, &all);
	if (line && strlen(line) > TEXT_MAX)
		BUG("a line of %zu bytes", strlen(line));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct restarts restarts = {0};
	struct restarts_reader reader = {.restarts = &restarts};
	struct tail tail;

	tail_init(&tail, LISTED);
	tail_feed(&tail, (const char *)data, size);
	tail_end(&tail);
	find(&tail);
	tail_finish(&tail);
	restarts_read(&reader, (const char *)data, size);
	if ((restarts.count > 0) != (restarts.text != NULL))
		BUG("%lld restarts", (long long)restarts.count);
	restarts_reader_finish(&reader);
	restarts_finish(&restarts);
	return 0;
}
