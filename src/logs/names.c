#include "logs/names.h"

#include <string.h>

#include "base/mem.h"

#define PROCESSES_MAX 10000

char *log_file_name(const char *log)
{
	const char *dash = strchr(log, '-');
	char *stream cleanup_free = dash ? mem_strndup(log, (size_t)(dash - log)) : mem_strdup(log);
	int64_t process;

	if (str_equal(log, "executor"))
		return mem_strdup("executor.log");
	if (!str_equal(stream, "stdout") && !str_equal(stream, "stderr"))
		return NULL;
	if (dash && (dash[1] < '1' || dash[1] > '9' ||
		     str_parse_int(dash + 1, 1, PROCESSES_MAX, &process) < 0))
		return NULL;
	return mem_strdup(log);
}

char *log_name_of_file(const char *file)
{
	char *log cleanup_free = mem_strndup(file, strcspn(file, "."));
	char *wanted cleanup_free = log_file_name(log);

	return str_equal(wanted, file) ? mem_steal(&log) : NULL;
}

void log_names_add(struct str_list *names, const char *stream, int processes)
{
	static const char *const streams[] = {"stdout", "stderr"};

	for (size_t i = 0; i < array_length(streams); i++) {
		if (stream && !str_equal(stream, streams[i]))
			continue;
		str_list_add(names, streams[i]);
		for (int process = 1; process < processes; process++)
			str_list_add_format(names, "%s-%d", streams[i], process);
	}
}
