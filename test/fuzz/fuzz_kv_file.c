/* Any bytes as changes of the rendezvous store: each that is taken is within its bounds, and is
 * written as it was read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "am/kv_file.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kv_change change;
	size_t whole;

	for (size_t at = 0; (whole = kv_change_parse(data + at, size - at, &change)) > 0;
	     at += whole) {
		struct str again cleanup_str = {0};
		kv_change_append(&change, &again);
		if (whole > size - at || strlen(change.key) == 0)
			BUG("a change of %zu bytes of %zu, of \"%s\"", whole, size - at,
			    change.key);
		if (again.length != whole || memcmp(again.text, data + at, whole) != 0)
			BUG("not written as it was read");
	}
	return 0;
}
