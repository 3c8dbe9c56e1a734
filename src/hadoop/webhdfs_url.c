/* URLs as they come from a cluster's configuration and from its NameNodes. */
#include <string.h>

#include "base/mem.h"
#include "hadoop/webhdfs.h"
#include "net/tls.h"

int webhdfs_url_parse(const char *text, struct net_url *url, struct err *err)
{
	if (net_url_parse(text, url, err) == 0 && !url->user)
		return 0;
	if (url->user)
		err_set(err, ERR_INPUT, "it has a user or password in it");
	/* There may be a token in the query. */
	char *shown cleanup_free = str_printable(text, strcspn(text, "?"));
	net_url_finish(url);
	return err_wrap(err, "\"%s\" is not a URL such as http://namenode:9870", shown);
}

int webhdfs_tls_create(const char *url, const char *authorities, struct tls_context **tls,
		       struct err *err)
{
	if (!net_url_is_https(url))
		return 0;
	*tls = tls_context_create_client(authorities, WEBHDFS_TRUST_REMEDY, err);
	return *tls ? 0 : -1;
}

bool webhdfs_are_https(const struct str_list *urls)
{
	for (size_t i = 0; i < urls->count; i++)
		if (!net_url_is_https(urls->items[i]))
			return false;
	return true;
}
