/* How rules put their advice down. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "advise/rules.h"
#include "base/mem.h"

struct advice *advice_begin(struct advising *advising, const char *format, ...)
{
	struct advice_list *list = advising->list;
	va_list args;

	list->items = mem_realloc_array(list->items, list->count + 1, sizeof(*list->items));
	struct advice *advice = &list->items[list->count++];
	*advice = (struct advice){.rule = advising->rule, .severity = advising->severity};
	va_start(args, format);
	advice->title = mem_vprintf(format, args);
	va_end(args);
	return advice;
}

void advice_evidence(struct advice *advice, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	str_list_take(&advice->evidence, mem_vprintf(format, args));
	va_end(args);
}

void advice_remedy(struct advice *advice, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	mem_replace(&advice->remedy, mem_vprintf(format, args));
	va_end(args);
}

void advice_type(struct advice *advice, const struct advising *advising, size_t type)
{
	str_list_add(&advice->types, advising->job->types[type].name);
}

void advice_set(struct advice *advice, const struct advising *advising, const char *key, char *now,
		char *suggested)
{
	const char *configured = job_config(advising->job, key);

	if (configured)
		mem_replace(&now, mem_strdup(configured));
	advice->settings = mem_realloc_array(advice->settings, advice->setting_count + 1,
					     sizeof(*advice->settings));
	advice->settings[advice->setting_count++] = (struct advice_setting){
		.key = mem_strdup(key),
		.now = now,
		.suggested = suggested,
	};
}

/* The one task of a job without task types has tony.am.memory and its kin, unless its own key is
 * set.
 */
static bool has_am_key(const struct job *job, size_t type, const char *what)
{
	char *own cleanup_free = mem_printf("tony.driver.%s", what);
	char *of_am cleanup_free = mem_printf("tony.am.%s", what);

	return job->type_count == 1 && str_equal(job->types[type].name, "driver") &&
	       !job_config(job, "tony.driver.instances") && !job_config(job, own) &&
	       job_config(job, of_am);
}

void advice_set_type(struct advice *advice, const struct advising *advising, size_t type,
		     const char *what, char *now, char *suggested)
{
	const char *name =
		has_am_key(advising->job, type, what) ? "am" : advising->job->types[type].name;
	char *key cleanup_free = mem_printf("tony.%s.%s", name, what);

	advice_set(advice, advising, key, now, suggested);
}

/* ---- values ------------------------------------------------------------------------------- */

char *advise_mib(int64_t mib)
{
	if (mib % 1024 == 0)
		return mem_printf("%" PRId64 "g", mib / 1024);
	return mem_printf("%" PRId64 "m", mib);
}

char *advise_duration(int64_t ms)
{
	static const struct {
		int64_t ms;
		const char *name;
	} units[] = {{3600000, "h"}, {60000, "m"}, {1000, "s"}};

	for (size_t i = 0; i < array_length(units); i++)
		if (ms >= units[i].ms && ms % units[i].ms == 0)
			return mem_printf("%" PRId64 "%s", ms / units[i].ms, units[i].name);
	return mem_printf("%" PRId64 "ms", ms);
}

static int64_t round_up(int64_t value, int64_t step)
{
	return (value + step - 1) / step * step;
}

int64_t advise_round_mib(int64_t mib)
{
	return round_up(mib, mib <= 1024 ? 64 : mib <= 8192 ? 256 : 1024);
}

int64_t advise_round_ms(int64_t ms)
{
	return round_up(ms, ms <= 120000 ? 5000 : ms <= 2 * 3600000 ? 60000 : 3600000);
}
