/*
 * A job's configuration in layers, of which a later one wins:
 *
 *   built-in < the framework's < $TONY_CONF_DIR/tony-site.xml < tony.xml or --conf_file
 *            < --conf k=v < options
 *
 * Create it, load the layers from the lowest up, set what the options say, then conf_resolve():
 * variables are substituted and every value is checked. What is wrong is collected in
 * conf_problems(), so that all of it is told at once; a value that failed its check reads as if it
 * were not set.
 */
#ifndef TONY_CONF_CONF_H
#define TONY_CONF_CONF_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "conf/keys.h"
#include "conf/problems.h"

#define CONF_FILE_CAP	  (16u << 20) /* bytes of a file, with all that it includes */
#define CONF_VARIABLE_CAP 20	      /* variables within variables */
#define CONF_VALUE_CAP	  (1u << 20)  /* bytes of a value after substitution */
#define CONF_TOTAL_CAP	  (64u << 20) /* of all values */

#define CONF_MASK "***" /* in the place of a value that is kept back */

enum conf_layer {
	CONF_LAYER_DEFAULT,
	CONF_LAYER_SITE,
	CONF_LAYER_FILE,
	CONF_LAYER_CONF,
	CONF_LAYER_OPTION,
};

/* Where a value comes from. `where` is a file's path or an option ("--workers"); borrowed. */
struct conf_place {
	enum conf_layer layer;
	const char *where;
	int line; /* 0: not a file */
};

struct conf_entry {
	char *name;
	const struct key *key; /* NULL: not a tony.* key (only for ${...}), or an unknown one */
	char *raw;	       /* as written */
	char *set_as;	       /* its own name, or the alias by which it was set last */
	struct str_list literal_items; /* further ones of a list, which take no part in `raw` */
	char *value; /* after conf_resolve(): substituted, trimmed, a choice as the table has it */
	enum conf_layer layer; /* of the last place */
	char *origin;  /* "tony.xml:12"; several places of a key that adds up: ", " between */
	bool typed;    /* by options alone: messages name the option and not the key */
	bool in_file;  /* or a part of it */
	bool literal;  /* not substituted: the user's shell has seen it already */
	bool recorded; /* or a part of it: from the configuration of another job */
	bool in_yaml;  /* a job file in YAML has set it last */
	bool named;    /* after conf_resolve(): ${...} of another value names it */
	bool final;    /* the site's last word */
	bool earlier;  /* from before conf_begin_part() */
	bool invalid;  /* an error has been told */
	enum { CONF_UNRESOLVED, CONF_RESOLVING, CONF_RESOLVED } state;
};

struct conf;
struct xml_node;

struct conf *conf_create(void);
void conf_destroy(struct conf *conf); /* NULL is fine */
void conf_cleanup(struct conf **conf);
#define cleanup_conf __attribute__((cleanup(conf_cleanup)))

struct problems *conf_problems(struct conf *conf);

/* tony-site.xml, then `conf_file` or, when that is NULL, tony.xml if there is one. Fails when a
 * file cannot be read or is not of the right form, and when another user could have written a
 * tony.xml that is not named (fs_read_own()): then nothing else can be trusted. */
int conf_load_files(struct conf *conf, const char *conf_file, struct err *err);
/* tony-site.xml alone, if there is one: what holds for all jobs. */
int conf_load_site(struct conf *conf, struct err *err);
bool conf_has_file(const struct conf *conf); /* a tony.xml or --conf_file was loaded */
/* The job file found in the current directory, or NULL. A static string. */
const char *conf_found_file(const struct conf *conf);

/* In place of a tony.xml: a job file from elsewhere, which `name` stands for in messages. It
 * includes nothing: paths in it would be of another machine, or of another user's choice.
 * `is_stream`: its name says nothing of its form. */
int conf_load_alone(struct conf *conf, const char *name, bool is_stream, const char *bytes,
		    size_t length, struct err *err);

/* In place of a tony.xml there are several parts: what the next one sets wins, as a later layer
 * does, over what files have set so far. */
void conf_begin_part(struct conf *conf);

/* --conf KEY=VALUE, in order; flaws become problems. */
void conf_load_pairs(struct conf *conf, const struct str_list *pairs);

/* Reads one file of properties: Hadoop's XML, or as the job's file YAML (*.yaml, *.yml). `path`
 * names it in messages and places what it includes; conf_load_bytes() with a NULL path includes
 * nothing. */
int conf_load_file(struct conf *conf, enum conf_layer layer, const char *path, struct err *err);
int conf_load_bytes(struct conf *conf, enum conf_layer layer, const char *path, const char *bytes,
		    size_t length, struct err *err);
/* In place of a tony.xml: the <property> and <include> elements in `parent`, which is of the file
 * `path`. */
int conf_load_properties(struct conf *conf, const char *path, const struct xml_node *parent,
			 struct err *err);

void conf_set(struct conf *conf, const struct conf_place *place, const char *name,
	      const char *value);
/* For values that must not be substituted. */
void conf_set_literal(struct conf *conf, const struct conf_place *place, const char *name,
		      const char *value);
/* Adds an item to a list; `value` is one item: commas in it are kept when it is KEY=VALUE. */
void conf_append(struct conf *conf, const struct conf_place *place, const char *name,
		 const char *value);
/* Adds an item to a list as it stands: nothing in it is substituted, and it is shown nowhere. */
void conf_append_literal(struct conf *conf, const struct conf_place *place, const char *name,
			 const char *item);
/* A row of the configuration that another job had in effect (struct job's `config`), in any layer's
 * place. Defaults of that job, and of its
 * framework, are defaults again. */
void conf_set_recorded(struct conf *conf, const struct conf_place *place, const char *origin,
		       const char *name, const char *value);
/* In place of a tony.xml, above tony-site.xml: the whole `config` of a job, which `name` stands for
 * in messages. */
int conf_load_job(struct conf *conf, const char *name, const json_t *config, struct err *err);
/* A file's <final>: from the site, nothing later may change it. */
void conf_set_final(struct conf *conf, const struct conf_place *place, const char *name);
/* Another built-in default for this job. */
void conf_set_default(struct conf *conf, const char *name, const char *value);
/* The same after conf_resolve(): the default depends on what is set. `origin` is shown. */
void conf_add_default(struct conf *conf, const char *origin, const char *name, const char *value);

/* From now on a variable of a job's file or of --conf that is not set is an error. The commands may
 * have variables of their shell's all the same: in capital letters, or set in the value itself or
 * by an environment (NAME=). */
void conf_require_variables(struct conf *conf);

/* `allow_unknown`: unknown keys are warnings instead of errors. */
void conf_resolve(struct conf *conf, bool allow_unknown);

/* Of a resolved tony-site.xml, for a portal: an error for each of the portal's keys that has a bad
 * value or promises something that the portal does not do; a warning for each not needed. */
void conf_check_portal(const struct conf *conf, struct problems *problems);

/* What was set for the key, valid or not; NULL: nothing was. */
const struct conf_entry *conf_find(const struct conf *conf, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* In the order they were first set. for (size_t i = 0; conf_next(conf, &i, &entry);) */
bool conf_next(const struct conf *conf, size_t *cursor, const struct conf_entry **entry);

/* Readers by key name: the valid value that was set, else the default. */
const char *conf_text(const struct conf *conf, const char *format, ...)
	__attribute__((format(printf, 2, 3))); /* NULL: unset or empty, and no default */
bool conf_bool(const struct conf *conf, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
int64_t conf_int(const struct conf *conf, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
int64_t conf_mib(const struct conf *conf, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
int64_t conf_ms(const struct conf *conf, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void conf_list(const struct conf *conf, struct str_list *list, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* "tony.xml:12: tony.worker.memory", or "--memory", for messages. The caller frees. */
char *conf_label(const struct conf_entry *entry);
/* The same by the key's name; the name alone where nothing was set. The caller frees. */
char *conf_locate(const struct conf *conf, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Where a user mends the value. NULL or a default, and so a job in which something lacks: in the
 * job file where there is one, else on the command line. */
enum problem_source conf_source(const struct conf *conf, const struct conf_entry *entry);

#endif
