/* What the key tony.history.location says. */
#ifndef TONY_HISTORY_LOCATION_H
#define TONY_HISTORY_LOCATION_H

#include "base/err.h"

enum history_location_kind {
	HISTORY_PATH, /* "/path": of this machine, or of a cluster's own file system */
	HISTORY_FILE, /* "file:///path": of this machine */
	HISTORY_HDFS, /* "hdfs://authority/path" */
};

struct history_location {
	enum history_location_kind kind;
	char *authority; /* of HISTORY_HDFS, as it stands there; may be empty */
	char *path;	 /* absolute, without "." and ".." and without a slash at its end */
};
void history_location_finish(struct history_location *location);
#define cleanup_history_location __attribute__((cleanup(history_location_finish)))

/* ERR_CONFIG: it is none of these. */
int history_location_parse(const char *text, struct history_location *location, struct err *err);

#endif
