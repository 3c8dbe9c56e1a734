#include "hadoop/kms.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "net/address.h"

static int refuse(const char *uri, struct err *err)
{
	return err_set(err, ERR_CONFIG,
		       "\"%s\" is no key management server; write one as kms://https@host:9600/kms",
		       uri);
}

static int take_hosts(struct kms *kms, const char *scheme, char *hosts, const char *uri,
		      struct err *err)
{
	struct str_list names cleanup_str_list = {0};
	const char *port = strrchr(hosts, ':');

	str_split(&names, hosts, ';');
	if (names.count == 0)
		return refuse(uri, err);
	for (size_t i = 0; i < names.count; i++) {
		bool has_port = i + 1 == names.count; /* that of all */
		char *address cleanup_free =
			mem_printf("%s%s", names.items[i], has_port || !port ? "" : port);
		char *host cleanup_free = NULL;
		int number;
		if (net_address_split(address, &host, &number, NULL) < 0)
			return refuse(uri, err);
		str_list_take(&kms->urls, mem_printf("%s://%s", scheme, address));
	}
	return 0;
}

int kms_parse(const char *uri, struct kms *kms, struct err *err)
{
	static const char beginning[] = "kms://";
	const char *scheme = str_starts_with(uri, beginning) ? uri + strlen(beginning) : NULL;
	const char *at = scheme ? strchr(scheme, '@') : NULL;
	const char *path = at ? strchr(at, '/') : NULL;

	*kms = (struct kms){0};
	char *protocol cleanup_free = path ? mem_strndup(scheme, (size_t)(at - scheme)) : NULL;
	if (!str_equal(protocol, "http") && !str_equal(protocol, "https"))
		return refuse(uri, err);
	char *hosts cleanup_free = mem_strndup(at + 1, (size_t)(path - at - 1));
	if (take_hosts(kms, protocol, hosts, uri, err) < 0) {
		kms_finish(kms);
		return -1;
	}
	kms->path = mem_printf("%s/v1", path);
	return 0;
}

void kms_finish(struct kms *kms)
{
	free(kms->path);
	str_list_finish(&kms->urls);
	*kms = (struct kms){0};
}
