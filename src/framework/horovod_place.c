#include "framework/horovod_place.h"

#include "base/mem.h"

char *horovod_process_name(const struct horovod_process *process)
{
	return mem_printf("%s~%s.%d.%d~%d.%d.%d", process->host, process->type, process->slot,
			  process->process, process->attempt, process->epoch, process->restart);
}

/* It has no local rank before it has a place, and Horovod always tells one. */
char *horovod_place_path(const char *name)
{
	return mem_printf("/rank_and_size/%s:0", name);
}

char *horovod_place_text(const struct slot *slot, size_t ring_size)
{
	return mem_printf("%d,%zu,%d,%d,%d,%d", slot->rank, ring_size, slot->local_rank,
			  slot->local_size, slot->cross_rank, slot->cross_size);
}

int horovod_place_apply(const char *text, struct environment *variables, struct err *err)
{
	static const char *const names[] = {
		"HOROVOD_RANK",	      "HOROVOD_SIZE",	    "HOROVOD_LOCAL_RANK",
		"HOROVOD_LOCAL_SIZE", "HOROVOD_CROSS_RANK", "HOROVOD_CROSS_SIZE",
	};
	struct str_list numbers cleanup_str_list = {0};
	int64_t number;

	str_split(&numbers, text, ',');
	for (size_t i = 0; i < array_length(names); i++) {
		if (numbers.count != array_length(names) ||
		    str_parse_int(numbers.items[i], 0, INT32_MAX, &number) < 0)
			return err_set(err, ERR_INPUT, "\"%s\" is no place in a ring", text);
		environment_set(variables, names[i], numbers.items[i]);
	}
	return 0;
}
