/* Which jobs go when all together take more than may be kept. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "history/retain.h"

/* The jobs of one user, the oldest first. */
struct share {
	struct history_weight **next, **end; /* those that are still there */
	int64_t bytes;
};

static int by_user_oldest_first(const void *left, const void *right)
{
	const struct history_weight *a = *(struct history_weight *const *)left;
	const struct history_weight *b = *(struct history_weight *const *)right;
	int order = strcmp(a->user, b->user);

	if (order != 0)
		return order;
	if (a->time_ms != b->time_ms)
		return a->time_ms < b->time_ms ? -1 : 1;
	return a > b ? -1 : 1;
}

/* How many there are. */
static size_t share_out(struct history_weight **sorted, size_t count, int64_t most,
			struct share *shares)
{
	size_t users = 0;

	for (size_t i = 0; i < count; i++) {
		if (i == 0 || strcmp(sorted[i]->user, sorted[i - 1]->user) != 0)
			shares[users++] = (struct share){.next = &sorted[i]};
		struct share *share = &shares[users - 1];
		share->end = &sorted[i] + 1;
		if (sorted[i]->bytes > most)
			sorted[i]->bytes = most;
		share->bytes += sorted[i]->bytes;
	}
	return users;
}

static struct share *find_largest(struct share *shares, size_t users)
{
	struct share *largest = &shares[0];

	for (size_t i = 1; i < users; i++)
		if (shares[i].bytes > largest->bytes)
			largest = &shares[i];
	return largest;
}

static void cut(struct share *shares, size_t users, int64_t limit)
{
	int64_t total = 0;

	for (size_t i = 0; i < users; i++)
		total += shares[i].bytes;
	while (total > limit) {
		struct share *share = find_largest(shares, users);
		struct history_weight *oldest = *share->next++;
		oldest->goes = true;
		share->bytes -= oldest->bytes;
		total -= oldest->bytes;
	}
}

void history_retain_choose(struct history_weight *jobs, size_t count, int64_t limit)
{
	struct history_weight **sorted = mem_alloc_array(count + 1, sizeof(*sorted));
	struct share *shares = mem_alloc_array(count + 1, sizeof(*shares));

	for (size_t i = 0; i < count; i++)
		sorted[i] = &jobs[i];
	if (count > 1)
		qsort(sorted, count, sizeof(*sorted), by_user_oldest_first);
	/* No sum of so much overflows. */
	int64_t most = count > 0 ? INT64_MAX / (int64_t)count : 0;
	cut(shares, share_out(sorted, count, most, shares), limit);
	free(shares);
	free(sorted);
}
