#include "net/resolve.h"

#include <arpa/inet.h>
#include <event2/dns.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"

enum {
	ADDRESSES_CAP = 8, /* more of one name are not tried */
	HOSTS_BYTES_CAP = 4 << 20,
};

struct resolve {
	struct event step; /* begins, and tells */
	struct event_base *base;
	struct evdns_base *dns;	 /* while a question is under way */
	bool is_asked, is_ended; /* is_asked: evdns calls back once more, whatever happens */
	bool is_cancelled;
	char *host, *hosts_file, *servers_file;
	int port;
	struct net_address addresses[ADDRESSES_CAP];
	size_t count;
	struct err err;
	resolve_done *done;
	void *data;
};

static void free_resolve(struct resolve *resolve)
{
	event_del(&resolve->step);
	free(resolve->host);
	free(resolve->hosts_file);
	free(resolve->servers_file);
	err_finish(&resolve->err);
	free(resolve);
}

static void add(struct resolve *resolve, const char *host)
{
	if (resolve->count < ADDRESSES_CAP &&
	    net_address_from_host(host, resolve->port, &resolve->addresses[resolve->count]) == 0)
		resolve->count++;
}

/* The addresses of one family that the lines of /etc/hosts give for the name. */
static void look_in_lines(struct resolve *resolve, const struct str_list *lines, int family)
{
	for (size_t i = 0; i < lines->count && resolve->count < ADDRESSES_CAP; i++) {
		struct str_list words cleanup_str_list = {0};

		lines->items[i][strcspn(lines->items[i], "#")] = '\0';
		for (char *c = lines->items[i]; *c; c++)
			*c = *c == '\t' || *c == '\r' ? ' ' : *c;
		str_split(&words, lines->items[i], ' ');
		for (size_t j = 1; j < words.count; j++) {
			if (!str_equal_nocase(words.items[j], resolve->host))
				continue;
			if ((strchr(words.items[0], ':') ? AF_INET6 : AF_INET) == family)
				add(resolve, words.items[0]);
			break;
		}
	}
}

static void look_in_hosts(struct resolve *resolve)
{
	char *text cleanup_free = fs_read_file(resolve->hosts_file, HOSTS_BYTES_CAP, NULL, NULL);
	struct str_list lines cleanup_str_list = {0};

	if (!text)
		return;
	str_split(&lines, text, '\n');
	look_in_lines(resolve, &lines, AF_INET);
	if (resolve->count == 0)
		look_in_lines(resolve, &lines, AF_INET6);
}

static void end(struct resolve *resolve)
{
	resolve->is_ended = true;
	event_active(&resolve->step, EV_TIMEOUT, 0);
}

static void fail(struct resolve *resolve, enum err_kind kind, const char *why)
{
	err_set(&resolve->err, kind,
		"the address of \"%s\" cannot be found in %s nor through %s: %s", resolve->host,
		resolve->hosts_file, resolve->servers_file, why);
	end(resolve);
}

static void take(struct resolve *resolve, int family, int count, const void *addresses)
{
	const size_t size = family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr);
	char text[INET6_ADDRSTRLEN];

	for (int i = 0; i < count; i++) {
		inet_ntop(family, (const char *)addresses + (size_t)i * size, text, sizeof(text));
		add(resolve, text);
	}
}

/* The name exists nowhere, or has no address of this family: not that nobody answered. */
static bool is_negative(int result)
{
	return result == DNS_ERR_NONE || result == DNS_ERR_NOTEXIST || result == DNS_ERR_NODATA;
}

static void on_v6(int result, char type, int count, int ttl, void *addresses, void *data)
{
	struct resolve *resolve = data;

	resolve->is_asked = false;
	if (resolve->is_cancelled) {
		free_resolve(resolve);
		return;
	}
	if (type == DNS_IPv6_AAAA)
		take(resolve, AF_INET6, count, addresses);
	if (resolve->count > 0)
		end(resolve);
	else
		fail(resolve, is_negative(result) ? ERR_NOT_FOUND : ERR_UNREACHABLE,
		     is_negative(result) ? "there is no such name" : evdns_err_to_string(result));
}

static void on_v4(int result, char type, int count, int ttl, void *addresses, void *data)
{
	struct resolve *resolve = data;

	resolve->is_asked = false;
	if (resolve->is_cancelled) {
		free_resolve(resolve);
		return;
	}
	if (type == DNS_IPv4_A)
		take(resolve, AF_INET, count, addresses);
	if (resolve->count > 0) {
		end(resolve);
	} else if (!is_negative(result)) {
		fail(resolve, ERR_UNREACHABLE, evdns_err_to_string(result));
	} else {
		resolve->is_asked = true;
		if (!evdns_base_resolve_ipv6(resolve->dns, resolve->host, 0, on_v6, resolve)) {
			resolve->is_asked = false;
			fail(resolve, ERR_UNREACHABLE, "the question cannot be asked");
		}
	}
}

static void ask(struct resolve *resolve)
{
	resolve->dns = evdns_base_new(resolve->base, 0);
	if (!resolve->dns) {
		fail(resolve, ERR_UNREACHABLE, "the question cannot be asked");
		return;
	}
	/* Some servers do not give the letters' case back. */
	evdns_base_set_option(resolve->dns, "randomize-case:", "0");
	evdns_base_resolv_conf_parse(resolve->dns, DNS_OPTIONS_ALL & ~DNS_OPTION_HOSTSFILE,
				     resolve->servers_file);
	if (evdns_base_count_nameservers(resolve->dns) == 0) {
		fail(resolve, ERR_NOT_FOUND, "there is no name server");
		return;
	}
	resolve->is_asked = true;
	if (!evdns_base_resolve_ipv4(resolve->dns, resolve->host, 0, on_v4, resolve)) {
		resolve->is_asked = false;
		fail(resolve, ERR_UNREACHABLE, "the question cannot be asked");
	}
}

static void tell(struct resolve *resolve)
{
	struct net_address addresses[ADDRESSES_CAP];
	struct err err cleanup_err = resolve->err;
	const size_t count = resolve->count;
	resolve_done *done = resolve->done;
	void *data = resolve->data;

	memcpy(addresses, resolve->addresses, sizeof(addresses));
	resolve->err = (struct err){0};
	if (resolve->dns)
		evdns_base_free(resolve->dns, 0);
	free_resolve(resolve);
	done(data, addresses, count, &err);
}

static void on_step(evutil_socket_t fd, short what, void *data)
{
	struct resolve *resolve = data;

	if (resolve->is_ended) {
		tell(resolve);
		return;
	}
	add(resolve, resolve->host);
	if (resolve->count == 0)
		look_in_hosts(resolve);
	if (resolve->count > 0)
		tell(resolve);
	else
		ask(resolve);
}

struct resolve *resolve_start(struct event_base *base, const struct resolve_files *files,
			      const char *host, int port, resolve_done *done, void *data)
{
	struct resolve *resolve = mem_alloc(sizeof(*resolve));

	resolve->base = base;
	resolve->host = mem_strdup(host);
	resolve->hosts_file = mem_strdup(files ? files->hosts : "/etc/hosts");
	resolve->servers_file = mem_strdup(files ? files->servers : "/etc/resolv.conf");
	resolve->port = port;
	resolve->done = done;
	resolve->data = data;
	event_assign(&resolve->step, base, -1, 0, on_step, resolve);
	event_active(&resolve->step, EV_TIMEOUT, 0);
	return resolve;
}

void resolve_cancel(struct resolve *resolve)
{
	const bool is_asked = resolve->is_asked;

	resolve->is_cancelled = true;
	event_del(&resolve->step);
	/* The answer may lie in the loop's queue already, where nobody can take it back; evdns
	 * calls back for every question exactly once then, and the last of it is freed there. */
	if (resolve->dns)
		evdns_base_free(resolve->dns, 1);
	if (!is_asked)
		free_resolve(resolve);
}
