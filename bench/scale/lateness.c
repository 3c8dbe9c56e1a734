#include "lateness.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

enum { FIRST_CAPACITY = 65536 };

void lateness_add(struct lateness *lateness, int64_t us)
{
	if (lateness->count == lateness->capacity) {
		lateness->capacity = lateness->capacity ? 2 * lateness->capacity : FIRST_CAPACITY;
		lateness->us =
			mem_realloc_array(lateness->us, lateness->capacity, sizeof(*lateness->us));
	}
	lateness->us[lateness->count++] = (int32_t)us;
}

static int compare(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

static double late_ms(const struct lateness *lateness, double share)
{
	if (lateness->count == 0)
		return 0;
	return lateness->us[(size_t)(share * (double)(lateness->count - 1))] / 1000.0;
}

void lateness_print(struct lateness *lateness)
{
	if (lateness->count > 0)
		qsort(lateness->us, lateness->count, sizeof(*lateness->us), compare);
	printf("\"beats\":%zu,\"late_ms\":{\"p50\":%.2f,\"p99\":%.2f,\"max\":%.2f}",
	       lateness->count, late_ms(lateness, 0.5), late_ms(lateness, 0.99),
	       late_ms(lateness, 1));
	lateness->count = 0;
}
