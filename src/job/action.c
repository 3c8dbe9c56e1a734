#include <stdlib.h>

#include "job/machine.h"

void action_list_clear(struct action_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].text);
	list->count = 0;
}

void action_list_finish(struct action_list *list)
{
	action_list_clear(list);
	free(list->items);
	*list = (struct action_list){0};
}
