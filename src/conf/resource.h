/*
 * TonY's resource syntax: SOURCE[::LOCALNAME][#archive], "#archive" in any case
 * (reference: TonY's LocalizableResource). Parsed here, staged by client/stage.h.
 */
#ifndef TONY_CONF_RESOURCE_H
#define TONY_CONF_RESOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct resource_spec {
	char *source;  /* a path as written ("file:" taken off), or a URI when `remote` */
	char *name;    /* where it appears in the working directory: relative, without ".." */
	bool archive;  /* unpacked into a directory `name` */
	bool remote;   /* `source` has a scheme other than file: */
	bool optional; /* left out when it is not there; resource_parse() never says so */
};

struct resource_list {
	struct resource_spec *items;
	size_t count;
};

/* Fills a zeroed `spec`. The error is a phrase that begins with the quoted text. */
int resource_parse(const char *text, struct resource_spec *spec, struct err *err);
void resource_finish(struct resource_spec *spec);

/* Takes what `spec` owns and leaves it zeroed. */
void resource_list_take(struct resource_list *list, struct resource_spec *spec);
void resource_list_finish(struct resource_list *list);

#endif
