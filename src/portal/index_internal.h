/* SQLite, as the files of the index use it. */
#ifndef TONY_PORTAL_INDEX_INTERNAL_H
#define TONY_PORTAL_INDEX_INTERNAL_H

#include <sqlite3.h>

#include "portal/index.h"

struct portal_index {
	char *path;
	char *me; /* the name of this process's user, which may take a while to ask for */
	sqlite3 *db;
	const struct portal_viewer *viewer; /* of the statement that runs; NULL: all may be seen */
};

/* NULL: `err`. */
sqlite3_stmt *index_prepare(struct portal_index *index, const char *sql, struct err *err);
void index_cleanup(sqlite3_stmt **statement);
#define cleanup_statement __attribute__((cleanup(index_cleanup)))

/* Of a parameter that the statement does not have nothing is bound. */
void index_bind(sqlite3_stmt *statement, const char *name, const char *text);
void index_bind_int(sqlite3_stmt *statement, const char *name, int64_t value);

/* -1, with what SQLite says. */
int index_fail(struct portal_index *index, struct err *err);

#endif
