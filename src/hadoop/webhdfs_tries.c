#include "hadoop/webhdfs_tries.h"

#include <stdlib.h>

#include "base/mem.h"

enum { FIRST_PAUSE_MS = 200, LONGEST_PAUSE_MS = 3000 };

void webhdfs_tries_begin(struct webhdfs_tries *tries, const struct webhdfs_options *options,
			 size_t address, bool is_harmless, int64_t now_ms)
{
	*tries = (struct webhdfs_tries){
		.options = options,
		.address = address,
		.is_harmless = is_harmless,
		.backoff = {.first_ms = FIRST_PAUSE_MS, .cap_ms = LONGEST_PAUSE_MS},
		.failures = mem_alloc_array(options->addresses.count, sizeof(char *)),
	};
	webhdfs_tries_progress(tries, now_ms);
}

void webhdfs_tries_finish(struct webhdfs_tries *tries)
{
	for (size_t i = 0; tries->failures && i < tries->options->addresses.count; i++)
		free(tries->failures[i]);
	free(tries->failures);
	*tries = (struct webhdfs_tries){0};
}

void webhdfs_tries_progress(struct webhdfs_tries *tries, int64_t now_ms)
{
	tries->deadline_ms = now_ms + tries->options->max_wait_ms;
	tries->round = 0;
	backoff_reset(&tries->backoff);
}

const char *webhdfs_tries_server(const struct webhdfs_tries *tries)
{
	return tries->options->addresses.items[tries->address];
}

/* Why one NameNode could not be asked matters as much as that the other stands by. */
static int64_t give_up(struct webhdfs_tries *tries, struct err *err)
{
	struct str all cleanup_str = {0};
	enum err_kind kind = err ? err->kind : ERR_NONE;

	for (size_t i = 0; i < tries->options->addresses.count; i++)
		if (tries->failures[i])
			str_append_format(&all, "%s%s", all.length > 0 ? "; " : "",
					  tries->failures[i]);
	if (err)
		err_finish(err);
	err_set(err, kind, "%s", str_text(&all));
	return -1;
}

int64_t webhdfs_tries_next(struct webhdfs_tries *tries, enum webhdfs_verdict verdict,
			   int64_t now_ms, uint64_t random, struct err *err)
{
	size_t count = tries->options->addresses.count;

	if (verdict == WEBHDFS_BROKEN)
		tries->is_unsure = true;
	if (verdict == WEBHDFS_REFUSED || (verdict == WEBHDFS_BROKEN && !tries->is_harmless))
		return -1;
	mem_replace(&tries->failures[tries->address], mem_strdup(err_message(err)));
	/* Who can say "not now" is the active one. */
	if (verdict != WEBHDFS_NOT_NOW) {
		tries->address = (tries->address + 1) % count;
		if (++tries->round < count) {
			err_finish(err);
			return 0;
		}
	}
	tries->round = 0;
	if (tries->options->max_wait_ms < 0 || now_ms >= tries->deadline_ms)
		return give_up(tries, err);
	err_finish(err);
	int64_t pause = backoff_next(&tries->backoff, random);
	int64_t left = tries->deadline_ms - now_ms;
	return pause < left ? pause : left;
}
