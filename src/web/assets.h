/* The dashboard: the files of web/, embedded at build. index.html names the others below
 * assets/VERSION/. */
#ifndef TONY_WEB_ASSETS_H
#define TONY_WEB_ASSETS_H

#include <stddef.h>

struct web_asset {
	const char *path;	  /* below web/: "index.html", "app.js" */
	const char *content_type; /* as a header's value */
	const unsigned char *bytes;
	size_t length;
	const unsigned char *gzip;
	size_t gzip_length;
	const char *etag; /* in its quotes */
};

extern const struct web_asset web_assets[]; /* by path */
extern const size_t web_asset_count;
extern const char web_assets_version[]; /* 16 hexadecimal digits: a hash of all files */

const struct web_asset *web_asset_find(const char *path); /* NULL: there is none */

#endif
