/* What conf.c shares with the files that load, substitute and check. */
#ifndef TONY_CONF_CONF_INTERNAL_H
#define TONY_CONF_CONF_INTERNAL_H

#include "base/map.h"
#include "conf/conf.h"

struct conf {
	struct map *entries; /* name -> struct conf_entry, owned */
	struct problems problems;
	bool has_file;
	size_t expanded; /* bytes of all substituted values */
};

struct conf_entry *conf_entry_of(const struct conf *conf, const char *name);

/* Fills entry->value of every entry (substitute.c). */
void conf_substitute(struct conf *conf);

#endif
