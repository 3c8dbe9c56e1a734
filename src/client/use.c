#include "client/use.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum { CORE_PERCENT = 100 };
#define MIB 1048576.0

static bool find(const json_t *use, const char *name, double *value)
{
	const json_t *member = json_object_get(use, name);

	*value = json_number_value(member);
	return json_is_number(member);
}

char *use_cpu(const json_t *use)
{
	double percent;

	return find(use, "cpu_percent", &percent) ? mem_printf("%.1f", percent / CORE_PERCENT)
						  : NULL;
}

/* "1.2 of 2.0 GiB", "300 MiB of 2.0 GiB" */
static char *amount_of(double mib, double total_mib)
{
	char *amount cleanup_free = str_format_mib(mib);

	if (total_mib <= 0)
		return mem_steal(&amount);
	char *total cleanup_free = str_format_mib(total_mib);
	const char *unit = strchr(total, ' ');
	char *own = strchr(amount, ' ');
	if (unit && own && str_equal(own, unit))
		*own = '\0';
	return mem_printf("%s of %s", amount, total);
}

char *use_memory(const json_t *use, int64_t limit_mib)
{
	double bytes;

	return find(use, "memory_bytes", &bytes) ? amount_of(bytes / MIB, (double)limit_mib) : NULL;
}

char *use_gpu(const json_t *use)
{
	double percent;

	return find(use, "gpu_percent", &percent) ? mem_printf("%.0f %%", percent) : NULL;
}

char *use_gpu_memory(const json_t *use)
{
	double used, total;

	return find(use, "gpu_memory_used_mib", &used) && find(use, "gpu_memory_total_mib", &total)
		       ? amount_of(used, total)
		       : NULL;
}

char *use_step(const json_t *use)
{
	double step, steps;

	if (!find(use, "step", &step))
		return NULL;
	return find(use, "steps", &steps) ? mem_printf("%.0f/%.0f", step, steps)
					  : mem_printf("%.0f", step);
}

char *use_text(const json_t *use, int64_t limit_mib)
{
	struct str_list words cleanup_str_list = {0};
	char *cpu cleanup_free = use_cpu(use), *memory cleanup_free = use_memory(use, limit_mib);
	char *gpu cleanup_free = use_gpu(use), *gpu_memory cleanup_free = use_gpu_memory(use);

	if (cpu)
		str_list_add_format(&words, "CPU %s", cpu);
	if (memory)
		str_list_add(&words, memory);
	if (gpu)
		str_list_add_format(&words, "GPU %s", gpu);
	if (gpu_memory)
		str_list_add(&words, gpu_memory);
	return words.count > 0 ? str_list_join(&words, ", ") : NULL;
}
