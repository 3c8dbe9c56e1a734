/* Any bytes as a summary.json: what is accepted is written and read back the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "history/summary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *text_of(const struct history_summary *summary)
{
	json_t *object cleanup_json = history_summary_to_json(summary);

	return json_text(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct history_summary summary, again;

	if (history_summary_from_text((const char *)data, size, &summary, NULL) < 0)
		return 0;
	char *text cleanup_free = text_of(&summary);
	if (history_summary_from_text(text, strlen(text), &again, NULL) < 0)
		abort();
	char *same cleanup_free = text_of(&again);
	if (strcmp(text, same) != 0)
		abort();
	history_summary_finish(&summary);
	history_summary_finish(&again);
	return 0;
}
