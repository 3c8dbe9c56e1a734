/* `tony list --watch`. */
#ifndef TONY_CLIENT_LIST_WATCH_H
#define TONY_CLIENT_LIST_WATCH_H

#include "client/job_list.h"
#include "client/list_table.h"

/* Asks again each second: `find` fills the list. A terminal has a table that is drawn anew;
 * elsewhere each job gets a line when it is first seen, and when its state changes. A warning of
 * `find` is told once when it begins and once when it is over, and stands below the table
 * meanwhile. Returns the exit code once a signal ends it; -1: `err`. */
typedef int list_watch_find(void *data, struct job_list *list, struct err *err);
int list_watch(list_watch_find *find, void *data, const struct list_form *form, struct err *err);

#endif
