#include "executor/restarts.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "executor/launcher.h"
#include "executor/traceback.h"

enum { TEXT_CAP = 200 };

/* clang-format off */
static const struct row {
	const char *launcher, *text;
	bool may_end; /* a launcher that gives up says the same, and then prints its traceback */
} rows[] = {
	{"torchrun", "failed (exitcode: ", true},
	{"Dask", "distributed.nanny - WARNING - Restarting worker"},
	{"Ray", "A worker died or was killed while executing a task by an unexpected system error"},
	{"Ray Train", "[FailurePolicy] RETRY"},
};
/* clang-format on */

/* "... failed (exitcode: -9) local_rank: 1 (pid: 31224) of binary: /usr/bin/python3" */
static char *describe_rank(const struct row *row, const char *line)
{
	static const char rank[] = "local_rank: ";
	const char *local = strstr(line, rank);
	int signal = launcher_signal_in(line);
	int number = local ? atoi(local + strlen(rank)) : 0;

	if (signal > 0)
		return mem_printf("torchrun: rank %d here was killed by signal %d (%s)", number,
				  signal, proc_signal_name(signal));
	return mem_printf("torchrun: rank %d here exited with code %d", number,
			  atoi(strstr(line, row->text) + strlen(row->text)));
}

static char *describe(const struct row *row, const char *line)
{
	if (row->may_end)
		return describe_rank(row, line);
	char *text cleanup_free = mem_printf("%s: %s", row->launcher, strstr(line, row->text));
	str_cut(text, TEXT_CAP);
	return str_printable(text, strlen(text));
}

static void count(struct restarts *restarts, char *text)
{
	restarts->count++;
	mem_replace(&restarts->text, text);
}

static void take_line(struct restarts_reader *reader, const char *line)
{
	struct restarts *restarts = reader->restarts;

	if (reader->pending && !reader->is_held) {
		reader->is_held = strstr(line, traceback_head) != NULL;
		if (!reader->is_held)
			count(restarts, mem_steal(&reader->pending));
	}
	for (size_t i = 0; i < array_length(rows); i++) {
		if (!strstr(line, rows[i].text))
			continue;
		char *text = describe(&rows[i], line);
		if (!rows[i].may_end) {
			count(restarts, text);
			return;
		}
		if (reader->pending)
			count(restarts, reader->pending);
		reader->pending = text;
		reader->is_held = false;
		return;
	}
}

static void add_bytes(struct restarts_reader *reader, const char *bytes, size_t length)
{
	size_t room = RESTARTS_LINE_CAP - reader->length;
	size_t taken = length < room ? length : room;

	memcpy(reader->line + reader->length, bytes, taken);
	reader->length += taken;
}

void restarts_read(struct restarts_reader *reader, const char *bytes, size_t length)
{
	const char *end;

	if (!reader->restarts)
		return;
	while ((end = memchr(bytes, '\n', length))) {
		size_t size = (size_t)(end - bytes);
		add_bytes(reader, bytes, size);
		reader->line[reader->length] = '\0';
		take_line(reader, reader->line);
		reader->length = 0;
		bytes += size + 1;
		length -= size + 1;
	}
	add_bytes(reader, bytes, length);
}

void restarts_reader_finish(struct restarts_reader *reader)
{
	free(reader->pending);
	*reader = (struct restarts_reader){0};
}

void restarts_finish(struct restarts *restarts)
{
	free(restarts->text);
	*restarts = (struct restarts){0};
}
