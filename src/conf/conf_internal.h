/* What conf.c shares with the files that load, substitute and check. */
#ifndef TONY_CONF_CONF_INTERNAL_H
#define TONY_CONF_CONF_INTERNAL_H

#include "base/map.h"
#include "conf/conf.h"

struct conf {
	struct map *entries; /* name -> struct conf_entry, owned */
	struct problems problems;
	bool has_file;
	const char *found;	 /* of job_files[]; NULL: another, or none */
	bool is_strict;		 /* conf_require_variables() */
	struct str_list derived; /* origin, name, value; ... of recorded rows (conf.c) */
	size_t expanded;	 /* bytes of all substituted values */
};

/* Where bytes come from. */
struct conf_input {
	struct conf *conf;
	enum conf_layer layer;
	const char *path; /* for messages, and what it includes is looked for from there */
	bool may_include;
	bool is_stream; /* its path says nothing of its form */
};
/* 16 MiB at most, over all files. */
int conf_read_xml(const struct conf_input *source, const char *bytes, size_t length,
		  struct err *err);
int conf_read_yaml(const struct conf_input *source, const char *bytes, size_t length,
		   struct err *err);

struct conf_entry *conf_entry_of(const struct conf *conf, const char *name);

/* A secret of the configuration of another job, or of what was written of it. */
bool conf_is_masked(const struct conf_entry *entry);

/* A name for a message: one line, and no longer than a known key may be. The caller frees. */
char *conf_show_name(const char *name);

/* The origin of a row that a framework adds begins so; its name follows. */
#define FRAMEWORK_ORIGIN "framework "

/* Fills entry->value of every entry (substitute.c). */
void conf_substitute(struct conf *conf);

/* After that: conf_require_variables() (variables.c). */
void conf_check_variables(struct conf *conf);

#endif
