#include "web/assets.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *path, const void *asset)
{
	return strcmp(path, ((const struct web_asset *)asset)->path);
}

const struct web_asset *web_asset_find(const char *path)
{
	return bsearch(path, web_assets, web_asset_count, sizeof(web_assets[0]), compare);
}
