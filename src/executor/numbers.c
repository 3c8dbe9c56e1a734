#include "executor/numbers.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

enum {
	READ_BYTES = 32768,
	READS_MAX = 32, /* in one look */
	ROW_BYTES = 64, /* a row without its texts, at most */
};

struct name {
	char *name, *run;
};

struct waiting {
	STAILQ_ENTRY(waiting) link;
	size_t name;
	int64_t time_ms, step;
	double value;
};

struct numbers {
	char *path;
	ino_t inode; /* of the file at `path`, when it was read last */
	int64_t offset;
	struct str line;  /* its beginning, as long as its end is not there */
	bool is_too_long; /* the line; its rest is passed over */
	bool complained;  /* of a line that makes no sense */
	int64_t now_ms;	  /* of this look */
	struct name names[NUMBERS_NAMES_MAX];
	size_t name_count;
	bool is_full;
	STAILQ_HEAD(, waiting) waiting;
	size_t waiting_count;
	int64_t first; /* how many came before the first that waits */
	int64_t step;  /* the farthest one */
};

struct numbers *numbers_create(const char *path)
{
	struct numbers *numbers = mem_alloc(sizeof(*numbers));

	numbers->path = mem_strdup(path);
	STAILQ_INIT(&numbers->waiting);
	return numbers;
}

static void drop_first(struct numbers *numbers)
{
	struct waiting *first = STAILQ_FIRST(&numbers->waiting);

	STAILQ_REMOVE_HEAD(&numbers->waiting, link);
	free(first);
	numbers->waiting_count--;
	numbers->first++;
}

void numbers_destroy(struct numbers *numbers)
{
	if (!numbers)
		return;
	while (numbers->waiting_count > 0)
		drop_first(numbers);
	for (size_t i = 0; i < numbers->name_count; i++) {
		free(numbers->names[i].name);
		free(numbers->names[i].run);
	}
	str_finish(&numbers->line);
	free(numbers->path);
	free(numbers);
}

/* ---- taking ------------------------------------------------------------------------------- */

static bool find_name(struct numbers *numbers, const struct number *number, size_t *found)
{
	for (*found = 0; *found < numbers->name_count; (*found)++) {
		const struct name *name = &numbers->names[*found];
		if (strcmp(name->name, number->name) == 0 && strcmp(name->run, number->run) == 0)
			return true;
	}
	if (numbers->name_count == NUMBERS_NAMES_MAX) {
		if (!numbers->is_full)
			log_warning("\"%s\": the program tells more than %d different numbers of "
				    "itself; further ones are not taken",
				    number->name, NUMBERS_NAMES_MAX);
		numbers->is_full = true;
		return false;
	}
	numbers->names[numbers->name_count++] =
		(struct name){.name = mem_strdup(number->name), .run = mem_strdup(number->run)};
	return true;
}

void numbers_add(struct numbers *numbers, const struct number *number)
{
	size_t name;

	if (number->step > numbers->step)
		numbers->step = number->step;
	if (!find_name(numbers, number, &name))
		return;
	/* One line may still bring more than there is room for. */
	if (numbers->waiting_count >= 2 * NUMBERS_WAITING_MAX)
		return;
	struct waiting *waiting = mem_alloc(sizeof(*waiting));
	*waiting =
		(struct waiting){.name = name,
				 .time_ms = number->time_ms > 0 ? number->time_ms : numbers->now_ms,
				 .step = number->step,
				 .value = number->value};
	STAILQ_INSERT_TAIL(&numbers->waiting, waiting, link);
	numbers->waiting_count++;
}

int64_t numbers_step(const struct numbers *numbers)
{
	return numbers->step;
}

bool numbers_have_room(const struct numbers *numbers)
{
	return numbers->waiting_count < NUMBERS_WAITING_MAX;
}

static void take_number(void *data, const struct number *number)
{
	numbers_add(data, number);
}

static void end_line(struct numbers *numbers)
{
	struct err err cleanup_err = {0};
	struct str *line = &numbers->line;
	bool is_blank = strspn(str_text(line), " \t\r") == line->length;

	if (numbers->is_too_long)
		err_set(&err, ERR_INPUT, "is longer than %d bytes", NUMBER_LINE_CAP);
	else if (!is_blank)
		number_line_read(line->text, line->length, take_number, numbers, &err);
	if (err.kind != ERR_NONE && !numbers->complained) {
		log_warning("TONY_METRICS_FILE: a line is passed over: %s", err_message(&err));
		numbers->complained = true;
	}
	numbers->is_too_long = false;
	str_truncate(line, 0);
}

static void take_bytes(struct numbers *numbers, const char *bytes, size_t length)
{
	while (length > 0) {
		const char *end = memchr(bytes, '\n', length);
		size_t part = end ? (size_t)(end - bytes) : length;
		if (numbers->line.length + part > NUMBER_LINE_CAP)
			numbers->is_too_long = true;
		if (!numbers->is_too_long)
			str_append_bytes(&numbers->line, bytes, part);
		if (end)
			end_line(numbers);
		bytes += part + (end != NULL);
		length -= part + (end != NULL);
	}
}

/* ---- reading ------------------------------------------------------------------------------ */

/* The user's program owns the file, and may put anything in its place. */
static int open_file(struct numbers *numbers)
{
	int fd = open(numbers->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
		mem_cleanup_close(&fd);
		return -1;
	}
	if (status.st_ino != numbers->inode || status.st_size < numbers->offset) {
		numbers->inode = status.st_ino;
		numbers->offset = 0;
		numbers->is_too_long = false;
		str_truncate(&numbers->line, 0);
	}
	return fd;
}

void numbers_look(struct numbers *numbers, int64_t now_ms)
{
	char buffer[READ_BYTES];
	int fd cleanup_close = open_file(numbers);

	numbers->now_ms = now_ms;
	for (int i = 0; fd >= 0 && i < READS_MAX; i++) {
		if (!numbers_have_room(numbers))
			return;
		ssize_t got = pread(fd, buffer, sizeof(buffer), numbers->offset);
		if (got <= 0)
			return;
		numbers->offset += got;
		take_bytes(numbers, buffer, (size_t)got);
	}
}

/* ---- sending ------------------------------------------------------------------------------ */

/* Quotes and backslashes in a text are two bytes. */
static size_t bytes_of(const struct numbers *numbers, const struct waiting *waiting)
{
	const struct name *name = &numbers->names[waiting->name];

	return ROW_BYTES + 2 * (strlen(name->name) + strlen(name->run));
}

void numbers_next(const struct numbers *numbers, size_t bytes, struct number_list *list)
{
	const struct waiting *waiting;

	*list = (struct number_list){.from = numbers->first};
	list->items = mem_alloc_array(numbers->waiting_count, sizeof(*list->items));
	STAILQ_FOREACH(waiting, &numbers->waiting, link)
	{
		const struct name *name = &numbers->names[waiting->name];
		size_t more = bytes_of(numbers, waiting);
		if (more > bytes)
			break;
		bytes -= more;
		list->items[list->count++] = (struct number){.name = name->name,
							     .run = name->run,
							     .time_ms = waiting->time_ms,
							     .step = waiting->step,
							     .value = waiting->value};
	}
}

void numbers_taken(struct numbers *numbers, int64_t count)
{
	while (numbers->waiting_count > 0 && numbers->first < count)
		drop_first(numbers);
}
