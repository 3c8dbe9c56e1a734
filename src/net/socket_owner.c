#include "net/socket_owner.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/socket_table.h"

struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 body;
};

struct route_question {
	struct nlmsghdr head;
	struct rtmsg body;
	struct rtattr attribute;
	unsigned char to[sizeof(struct in6_addr)];
};

struct answer {
	union {
		struct nlmsghdr head;
		char bytes[4096];
	};
};

static __be16 put_address(const struct net_address *address, __be32 *into)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->storage;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->storage;

	if (address->storage.ss_family == AF_INET6) {
		memcpy(into, &v6->sin6_addr, sizeof(v6->sin6_addr));
		return v6->sin6_port;
	}
	memcpy(into, &v4->sin_addr, sizeof(v4->sin_addr));
	return v4->sin_port;
}

static int open_netlink(int protocol)
{
	return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
}

/* The head of the first message of its answer. NULL: errno. */
static const struct nlmsghdr *exchange(int protocol, const struct nlmsghdr *question,
				       struct answer *answer)
{
	int fd cleanup_close = open_netlink(protocol);
	ssize_t length = fd < 0 || send(fd, question, question->nlmsg_len, 0) < 0
				 ? -1
				 : recv(fd, answer, sizeof(*answer), 0);

	if (length < 0)
		return NULL;
	if (!NLMSG_OK(&answer->head, (size_t)length)) {
		errno = EPROTO;
		return NULL;
	}
	if (answer->head.nlmsg_type != NLMSG_ERROR)
		return &answer->head;
	const struct nlmsgerr *error = NLMSG_DATA(&answer->head);
	errno = -error->error;
	return NULL;
}

/* 1: *found is the socket that answers; 0: there is none; -1: errno. */
static int ask(const struct question *question, struct socket_entry *found)
{
	struct answer answer;
	const struct nlmsghdr *head = exchange(NETLINK_SOCK_DIAG, &question->head, &answer);

	if (!head || head->nlmsg_type == NLMSG_DONE)
		return head ? 0 : -1;
	const struct inet_diag_msg *message = NLMSG_DATA(head);
	found->uid = message->idiag_uid;
	/* A connection that was not accepted belongs to no process yet, and the kernel calls it
	 * root's. */
	found->is_accepted = message->idiag_state != TCP_LISTEN && message->idiag_inode != 0;
	return 1;
}

static struct question question_of(int family, uint16_t flags)
{
	return (struct question){
		.head = {.nlmsg_len = sizeof(struct question),
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST | flags},
		.body = {.sdiag_family = (uint8_t)family,
			 .sdiag_protocol = IPPROTO_TCP,
			 .id.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}},
	};
}

/* A kernel without inet_diag says the same as one that found no socket. It lists none either. A
 * kernel that has answered once has inet_diag. */
static bool can_answer(void)
{
	static bool has_answered;
	struct question nothing = question_of(AF_INET, NLM_F_DUMP); /* sockets in no state */
	struct socket_entry found;

	has_answered = has_answered || ask(&nothing, &found) >= 0;
	return has_answered;
}

/* ---- listeners ------------------------------------------------------------------------------ */

static struct socket_listener read_listener(const struct nlmsghdr *head)
{
	const struct inet_diag_msg *message = NLMSG_DATA(head);
	struct socket_listener listener = {.uid = message->idiag_uid};
	int left = (int)(head->nlmsg_len - NLMSG_LENGTH(sizeof(*message)));

	if (message->idiag_family == AF_INET)
		listener.address = net_address_map_v4(message->id.idiag_src[0]);
	else
		memcpy(&listener.address, message->id.idiag_src, sizeof(listener.address));
	for (const struct rtattr *attribute = (const struct rtattr *)(message + 1);
	     RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
		if (attribute->rta_type == INET_DIAG_SKV6ONLY && RTA_PAYLOAD(attribute) > 0)
			listener.is_v6_only = *(const uint8_t *)RTA_DATA(attribute) != 0;
	return listener;
}

/* 1: more follows; 0: that was all; -1: errno. */
static int receive_listeners(int fd, socket_listener_function *note, void *data)
{
	union {
		struct nlmsghdr head;
		char bytes[16384];
	} answer;
	ssize_t length = recv(fd, &answer, sizeof(answer), 0);

	if (length <= 0)
		return -1;
	for (const struct nlmsghdr *head = &answer.head; NLMSG_OK(head, (size_t)length);
	     head = NLMSG_NEXT(head, length)) {
		/* With a negative errno in both, or 0. */
		if (head->nlmsg_type == NLMSG_DONE || head->nlmsg_type == NLMSG_ERROR) {
			errno = -*(const int *)NLMSG_DATA(head);
			return errno ? -1 : 0;
		}
		const struct socket_listener listener = read_listener(head);
		note(data, &listener);
	}
	return 1;
}

/* All that listen at a port, by whichever address and interface. 0; -1: errno. */
static int ask_listeners(int port, socket_listener_function *note, void *data)
{
	static const int families[] = {AF_INET, AF_INET6};
	int fd cleanup_close = open_netlink(NETLINK_SOCK_DIAG);
	int result = fd < 0 ? -1 : 0;

	for (size_t i = 0; result == 0 && i < array_length(families); i++) {
		struct question question = question_of(families[i], NLM_F_DUMP);
		question.body.idiag_states = 1 << TCP_LISTEN;
		question.body.id.idiag_sport = htons((uint16_t)port);
		if (send(fd, &question, sizeof(question), 0) < 0)
			return -1;
		do {
			result = receive_listeners(fd, note, data);
		} while (result > 0);
	}
	return result;
}

struct search {
	const struct net_address *address;
	const struct str_list *others;
	enum socket_owner found;
	uid_t uid;
};

/* No other socket can have a listener's address, or one that contains it: so it gets what comes to
 * each address that is in both. */
static bool overlaps(const struct net_address *address, const struct socket_listener *listener)
{
	const struct in6_addr here = net_address_in6(address), *there = &listener->address;
	const struct in6_addr any_v4 = net_address_map_v4(INADDR_ANY);

	if (net_address_is_any(address) || IN6_ARE_ADDR_EQUAL(&here, there))
		return true;
	if (IN6_IS_ADDR_V4MAPPED(&here) && IN6_ARE_ADDR_EQUAL(&any_v4, there))
		return true;
	return IN6_IS_ADDR_UNSPECIFIED(there) &&
	       !(IN6_IS_ADDR_V4MAPPED(&here) && listener->is_v6_only);
}

/* The first that is not trusted stays. */
static void note_listener(void *data, const struct socket_listener *listener)
{
	struct search *search = data;

	if (!overlaps(search->address, listener) ||
	    (search->found == SOCKET_OWNER_KNOWN &&
	     !socket_owner_is_trusted(search->uid, geteuid(), search->others)))
		return;
	search->found = SOCKET_OWNER_KNOWN;
	search->uid = listener->uid;
}

/* ---- the other end -------------------------------------------------------------------------- */

/* Bytes between two programs of this machine arrive there, whatever address they use. It is the
 * first interface of every network namespace. */
enum { LOOPBACK_INTERFACE = 1 };

/* The socket of this machine that gets what comes from `remote` (NULL: from anywhere) to `local`.
 */
static int find(const struct net_address *local, const struct net_address *remote,
		struct socket_entry *found)
{
	struct question question = question_of(local->storage.ss_family, 0);
	struct inet_diag_sockid *id = &question.body.id;

	id->idiag_sport = put_address(local, id->idiag_src);
	if (remote)
		id->idiag_dport = put_address(remote, id->idiag_dst);
	id->idiag_if = LOOPBACK_INTERFACE;
	if (ask(&question, found) > 0)
		return 1;
	if (errno == ENOENT && can_answer())
		return 0;
	return socket_table_find(local, remote, found);
}

/* ---- a port's user ------------------------------------------------------------------------- */

/* Of a loopback address the kernel finds the listener by its table, whatever else listens on this
 * machine: all that comes there comes by one interface. */
static enum socket_owner find_at_loopback(const struct net_address *address, uid_t *uid)
{
	struct socket_entry listener = {0};
	int result = find(address, NULL, &listener);

	*uid = listener.uid;
	return result < 0    ? SOCKET_OWNER_UNKNOWN
	       : result == 0 ? SOCKET_OWNER_NONE
			     : SOCKET_OWNER_KNOWN;
}

static enum socket_owner find_among_all(const struct net_address *address,
					const struct str_list *others, uid_t *uid)
{
	struct search search = {.address = address, .others = others};
	int port = net_address_port(address);

	if (ask_listeners(port, note_listener, &search) < 0 &&
	    socket_table_listeners(port, note_listener, &search) < 0)
		return SOCKET_OWNER_UNKNOWN;
	*uid = search.uid;
	return search.found;
}

enum socket_owner socket_owner_of_listener(const struct net_address *address,
					   const struct str_list *others, uid_t *uid,
					   struct err *err)
{
	enum socket_owner found = net_address_is_loopback(address)
					  ? find_at_loopback(address, uid)
					  : find_among_all(address, others, uid);

	if (found == SOCKET_OWNER_UNKNOWN)
		err_set_errno(err, "cannot ask the kernel who owns a socket");
	return found;
}

/* No route leads to an address of another machine that this one cannot reach, or whose family it
 * does not have. */
static bool is_unreachable(void)
{
	return errno == ENETUNREACH || errno == EHOSTUNREACH || errno == EAFNOSUPPORT ||
	       errno == EOPNOTSUPP;
}

/* The kernel is asked for the route: the address that it gives our end says nothing, since all
 * further addresses of a subnet have the first one as theirs, and a route can make a whole subnet
 * the machine's own. */
int socket_owner_is_here(const struct net_address *address)
{
	const struct in6_addr in6 = net_address_in6(address);
	bool is_v4 = IN6_IS_ADDR_V4MAPPED(&in6);
	size_t length = is_v4 ? sizeof(struct in_addr) : sizeof(in6);
	struct route_question question = {
		.head = {.nlmsg_len = (uint32_t)(offsetof(struct route_question, to) + length),
			 .nlmsg_type = RTM_GETROUTE,
			 .nlmsg_flags = NLM_F_REQUEST},
		.body = {.rtm_family = is_v4 ? AF_INET : AF_INET6,
			 .rtm_dst_len = (uint8_t)(length * 8)},
		.attribute = {.rta_len = (uint16_t)RTA_LENGTH(length), .rta_type = RTA_DST},
	};
	struct answer answer;

	memcpy(question.to, &in6.s6_addr[sizeof(in6) - length], length);
	if (net_address_is_loopback(address))
		return 1;
	const struct nlmsghdr *head = exchange(NETLINK_ROUTE, &question.head, &answer);
	if (!head)
		return is_unreachable() ? 0 : -1;
	const struct rtmsg *route = NLMSG_DATA(head);
	return route->rtm_type == RTN_LOCAL;
}

/* -1: errno. */
static int ends_of(int fd, struct net_address *ours, struct net_address *theirs)
{
	*ours = (struct net_address){.length = sizeof(ours->storage)};
	*theirs = (struct net_address){.length = sizeof(theirs->storage)};
	return getsockname(fd, (struct sockaddr *)&ours->storage, &ours->length) < 0
		       ? -1
		       : getpeername(fd, (struct sockaddr *)&theirs->storage, &theirs->length);
}

/* 1: *uid has it; else as find(). */
static int find_peer(const struct net_address *theirs, const struct net_address *ours, uid_t *uid)
{
	struct socket_entry end, listener = {0};
	int result = find(theirs, ours, &end);

	/* The listener may accept it and close, and another one may follow, between any two
	 * questions. A listener that closes ends what it has not accepted: if the connection is
	 * there and was not accepted after the listener was asked for, that was its listener. */
	if (result > 0 && !end.is_accepted) {
		int listens = find(theirs, NULL, &listener);
		result = find(theirs, ours, &end);
		/* A listener may accept a connection and close at once. */
		if (result > 0 && !end.is_accepted)
			result = listens;
	}
	if (result > 0)
		*uid = end.is_accepted ? end.uid : listener.uid;
	return result;
}

enum socket_owner socket_owner_of_peer(int fd, uid_t *uid, struct err *err)
{
	struct net_address ours, theirs;

	if (ends_of(fd, &ours, &theirs) < 0)
		return (enum socket_owner)err_set_errno(err, "the connection is gone");
	int result = find_peer(&theirs, &ours, uid);
	if (result > 0)
		return SOCKET_OWNER_KNOWN;
	if (socket_owner_is_here(&theirs) == 0)
		return SOCKET_OWNER_NONE;
	if (result == 0)
		err_set(err, ERR_UNREACHABLE, "nobody has it, by now");
	else
		err_set_errno(err, "cannot ask the kernel who owns a socket");
	return SOCKET_OWNER_UNKNOWN;
}

/* A connection that this kernel knows is a program's of this machine, whatever its address. A
 * caller who has closed it is nobody's any more, and was accepted by none. */
bool socket_owner_lets_in(int fd, const struct str_list *users)
{
	struct net_address ours, theirs;
	struct socket_entry caller;

	if (ends_of(fd, &ours, &theirs) < 0)
		return false;
	if (find(&theirs, &ours, &caller) > 0 && caller.is_accepted)
		return socket_owner_is_trusted(caller.uid, 0, users);
	return socket_owner_is_here(&theirs) == 0;
}

bool socket_owner_is_trusted(uid_t uid, uid_t owner, const struct str_list *others)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", uid);
	return owner == SOCKET_OWNER_ANY || uid == owner || uid == 0 ||
	       (others && (str_list_has(others, text) || str_list_has(others, "any")));
}
