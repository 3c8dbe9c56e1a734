#include "client/stacks_group.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "?";
}

static int compare_words(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort(struct str_list *list)
{
	if (list->count > 0)
		qsort(list->items, list->count, sizeof(*list->items), compare_words);
}

/* ---- Python's stacks, as py-spy prints them ------------------------------------------------- */

/* "Thread 4711 (idle): "MainThread"": numbers tell one process from the next, and states change. */
static bool is_thread(const char *line)
{
	return str_starts_with(line, "Thread ");
}

/* About the process, as "Process 4711: python3 train.py" and "Python v3.11.2 (...)". */
static bool is_head(const char *line)
{
	return str_starts_with(line, "Process ") || str_starts_with(line, "Python v");
}

/* Of each thread its name and frames; without names that come after other words. */
static void list_python(const json_t *lines, struct str_list *stacks)
{
	struct str stack cleanup_str = {0};
	size_t i;
	json_t *item;

	json_array_foreach(lines, i, item)
	{
		const char *line = json_string_value(item);
		if (!line || is_head(line))
			continue;
		if (is_thread(line)) {
			const char *name = strchr(line, ':');
			if (stack.length > 0)
				str_list_add(stacks, stack.text);
			str_truncate(&stack, 0);
			line = name ? name : "";
		}
		str_append_format(&stack, "%s\n", line);
	}
	if (stack.length > 0)
		str_list_add(stacks, stack.text);
	sort(stacks);
}

static void show_python(const json_t *lines, json_t *shown)
{
	size_t i;
	json_t *item;

	json_array_foreach(lines, i, item)
	{
		const char *line = json_string_value(item);
		if (!line || is_head(line))
			continue;
		const char *rest = is_thread(line) ? strchr(line + strlen("Thread "), ' ') : NULL;
		char *text cleanup_free =
			mem_printf("%s%s", rest ? "Thread" : "", rest ? rest : line);
		json_array_append_new(shown, json_string(text));
	}
}

/* ---- places in the kernel ----------------------------------------------------------------- */

/* "python3: S (sleeping), in the kernel at futex_wait_queue, system call 202" */
static char *place_of(const json_t *thread)
{
	const char *call = text_of(thread, "call"), *place = text_of(thread, "place");

	if (str_equal(call, "running"))
		return mem_printf("%s: %s", text_of(thread, "name"), text_of(thread, "state"));
	return mem_printf("%s: %s, in the kernel at %s, system call %.*s", text_of(thread, "name"),
			  text_of(thread, "state"), place, (int)strcspn(call, " "), call);
}

static void list_places(const json_t *threads, struct str_list *places)
{
	size_t i;
	json_t *thread;

	json_array_foreach(threads, i, thread)
	{
		str_list_take(places, place_of(thread));
	}
	sort(places);
}

/* How many there are from there on that are equal. */
static size_t count_equal(const struct str_list *places, size_t from)
{
	size_t count = 1;

	while (from + count < places->count &&
	       str_equal(places->items[from], places->items[from + count]))
		count++;
	return count;
}

static void show_places(const struct str_list *places, json_t *shown)
{
	for (size_t i = 0, count; i < places->count; i += count) {
		count = count_equal(places, i);
		char *line cleanup_free =
			mem_printf("%zu thread%s %s", count, str_plural(count), places->items[i]);
		json_array_append_new(shown, json_string(line));
	}
}

/* ---- groups ------------------------------------------------------------------------------- */

/* Equal for processes of one group. */
static char *key_of(const json_t *process, const struct str_list *places)
{
	struct str_list stacks cleanup_str_list = {0};
	struct str key cleanup_str = {0};

	str_append_format(&key, "%s\n", text_of(process, "name"));
	list_python(json_object_get(process, "python"), &stacks);
	for (size_t i = 0; i < stacks.count; i++)
		str_append(&key, stacks.items[i]);
	for (size_t i = 0; stacks.count == 0 && i < places->count; i += count_equal(places, i))
		str_append_format(&key, "%s\n", places->items[i]);
	return str_steal(&key);
}

static json_t *create_group(const json_t *process, const struct str_list *places)
{
	json_t *group = json_object(), *lines = json_array();
	const char *problem = json_string_value(json_object_get(process, "problem"));

	json_set_text(group, "name", text_of(process, "name"));
	json_set_text(group, "command", text_of(process, "command"));
	json_object_set_new(group, "tasks", json_array());
	show_python(json_object_get(process, "python"), lines);
	if (problem)
		json_array_append_new(lines, json_string(problem));
	show_places(places, lines);
	json_object_set_new(group, "lines", lines);
	return group;
}

static void add_task(json_t *group, const char *task)
{
	json_t *tasks = json_object_get(group, "tasks");
	const char *last = json_string_value(json_array_get(tasks, json_array_size(tasks) - 1));

	if (!str_equal(last, task))
		json_array_append_new(tasks, json_string(task));
	json_set_int(group, "processes",
		     json_integer_value(json_object_get(group, "processes")) + 1);
}

static void add_process(struct map *groups, const char *task, const json_t *process)
{
	struct str_list places cleanup_str_list = {0};

	list_places(json_object_get(process, "threads"), &places);
	char *key cleanup_free = key_of(process, &places);
	json_t *group = map_get(groups, key);
	if (!group) {
		group = create_group(process, &places);
		map_set(groups, key, group);
	}
	add_task(group, task);
}

static int most_first(const void *a, const void *b)
{
	json_t *const *first = a, *const *second = b;
	size_t own = json_array_size(json_object_get(*first, "tasks"));
	size_t other = json_array_size(json_object_get(*second, "tasks"));

	return (own < other) - (own > other);
}

static json_t *sorted(const struct map *groups)
{
	size_t count = map_count(groups), n = 0;
	json_t **items cleanup_free = mem_alloc_array(count, sizeof(json_t *));
	json_t *array = json_array();
	const char *key;
	void *group;

	for (size_t i = 0; map_next(groups, &i, &key, &group);)
		items[n++] = group;
	if (count > 0)
		qsort(items, count, sizeof(json_t *), most_first);
	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, items[i]);
	return array;
}

json_t *stacks_group(const struct stacks_answer *answers, size_t count)
{
	struct map *groups = map_create(NULL);
	size_t k;
	json_t *process;

	for (size_t i = 0; i < count; i++)
		json_array_foreach(answers[i].processes, k, process)
		{
			add_process(groups, answers[i].task, process);
		}
	json_t *array = sorted(groups);
	map_destroy(groups);
	return array;
}

/* ---- names -------------------------------------------------------------------------------- */

static int64_t index_of(const char *task, size_t *type_length)
{
	const char *colon = strrchr(task, ':');
	int64_t index = -2;

	*type_length = colon ? (size_t)(colon - task) : strlen(task);
	return colon && str_parse_int(colon + 1, 0, INT32_MAX, &index) == 0 ? index : -2;
}

/* Is it the next one of the same type? */
static bool follows(const char *task, const char *before)
{
	size_t length, other;
	int64_t index = index_of(task, &length), last = index_of(before, &other);

	return length == other && strncmp(task, before, length) == 0 && index == last + 1;
}

void stacks_append_tasks(const json_t *tasks, struct str *out)
{
	const char *before = NULL;
	bool in_range = false;
	size_t i, length;
	json_t *item;

	json_array_foreach(tasks, i, item)
	{
		const char *task = json_string_value(item);
		bool goes_on = before && follows(task, before);
		if (!goes_on && in_range)
			str_append_format(out, "-%" PRId64, index_of(before, &length));
		if (!goes_on)
			str_append_format(out, "%s%s", before ? ", " : "", task);
		in_range = goes_on;
		before = task;
	}
	if (in_range)
		str_append_format(out, "-%" PRId64, index_of(before, &length));
}
