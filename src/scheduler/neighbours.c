#include "scheduler/neighbours.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"

enum { NAMED = 3 };

static void finish_neighbour(struct neighbour *neighbour)
{
	free(neighbour->user);
	free(neighbour->since);
	ledger_entry_finish(&neighbour->entry);
}

void neighbours_finish(struct neighbours *neighbours)
{
	for (size_t i = 0; i < neighbours->count; i++)
		finish_neighbour(&neighbours->items[i]);
	free(neighbours->items);
	*neighbours = (struct neighbours){0};
}

/* A user can claim GPUs that there are not, and one twice. */
static size_t count_gpus(const struct ledger_entry *entry, const struct str_list *gpus)
{
	size_t count = 0;

	for (size_t i = 0; i < gpus->count; i++)
		count += str_list_has(&entry->gpus, gpus->items[i]);
	return count;
}

/* NULL: it holds none. */
static char *describe_gpus(const struct ledger_entry *entry, const struct str_list *gpus)
{
	size_t count = count_gpus(entry, gpus);

	return count == 0 ? NULL
			  : mem_printf("%zu of %zu GPU%s %s", count, gpus->count,
				       str_plural(gpus->count), count == 1 ? "is" : "are");
}

static char *describe_memory(const struct ledger_entry *entry)
{
	char *memory cleanup_free = str_format_mib((double)entry->holds.memory);

	return entry->holds.memory == 0 ? NULL : mem_printf("%s are", memory);
}

char *neighbours_text(const struct neighbours *neighbours, const struct str_list *gpus)
{
	struct str text = {0};
	size_t named = 0;

	for (size_t i = 0; i < neighbours->count; i++) {
		const struct neighbour *neighbour = &neighbours->items[i];
		const struct ledger_entry *entry = &neighbour->entry;
		char *held cleanup_free =
			gpus ? describe_gpus(entry, gpus) : describe_memory(entry);
		if (held && ++named <= NAMED)
			str_append_format(&text, "%s%s held by %s (%s, since %s)",
					  named > 1 ? ", " : "", held, neighbour->user, entry->job,
					  neighbour->since);
	}
	if (named > NAMED)
		str_append_format(&text, " and %zu more job%s some", named - NAMED,
				  named - NAMED == 1 ? " holds" : "s hold");
	return named > 0 ? str_steal(&text) : NULL;
}

/* The name services cannot be asked by a static program. A name that the file of accounts does not
 * know is the user's own word, so the number stands with it; one of another user's is a lie. */
static char *name_user(uid_t uid, const char *claimed)
{
	FILE *file cleanup_file = fopen("/etc/passwd", "re");
	bool is_free = !str_equal(claimed, "-");
	const struct passwd *account;

	while (file && (account = fgetpwent(file))) {
		if (account->pw_uid == uid)
			return str_printable(account->pw_name, strlen(account->pw_name));
		if (str_equal(account->pw_name, claimed))
			is_free = false;
	}
	return is_free ? mem_printf("%s, uid %u", claimed, (unsigned)uid)
		       : mem_printf("uid %u", (unsigned)uid);
}

static char *format_since(time_t time_s)
{
	time_t now_s = time(NULL);
	struct tm then = {0}, now = {0};
	char text[64];

	/* The file's owner can set its time. */
	if (time_s > now_s || !localtime_r(&time_s, &then))
		return mem_strdup("an unknown time");
	localtime_r(&now_s, &now);
	bool is_today = then.tm_year == now.tm_year && then.tm_yday == now.tm_yday;
	strftime(text, sizeof(text), is_today ? "%H:%M" : "%Y-%m-%d %H:%M", &then);
	return mem_strdup(text);
}

struct neighbour neighbour_make(uid_t uid, const char *claimed, time_t changed,
				struct ledger_entry *entry)
{
	const struct neighbour made = {.uid = uid,
				       .user = name_user(uid, claimed),
				       .since = format_since(changed),
				       .entry = *entry};

	*entry = (struct ledger_entry){0};
	return made;
}
