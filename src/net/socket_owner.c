#include "net/socket_owner.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
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

/* 1: *found is the socket that answers; 0: there is none; -1: errno. */
static int ask(struct question *question, struct socket_entry *found)
{
	union {
		struct nlmsghdr head;
		char bytes[4096];
	} answer;
	int fd cleanup_close = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	if (fd < 0 || send(fd, question, sizeof(*question), 0) < 0)
		return -1;
	ssize_t length = recv(fd, &answer, sizeof(answer), 0);
	if (length < 0)
		return -1;
	if (!NLMSG_OK(&answer.head, (size_t)length)) {
		errno = EPROTO;
		return -1;
	}
	if (answer.head.nlmsg_type == NLMSG_DONE)
		return 0;
	if (answer.head.nlmsg_type == NLMSG_ERROR) {
		const struct nlmsgerr *error = NLMSG_DATA(&answer.head);
		errno = -error->error;
		return -1;
	}
	const struct inet_diag_msg *message = NLMSG_DATA(&answer.head);
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

/* A kernel without inet_diag says the same as one that found no socket. It lists none either. */
static bool can_answer(void)
{
	struct question nothing = question_of(AF_INET, NLM_F_DUMP); /* sockets in no state */
	struct socket_entry found;

	return ask(&nothing, &found) >= 0;
}

/* Bytes between two programs of this machine arrive there, whatever address they use. It is the
 * first interface of every network namespace. */
enum { LOOPBACK_INTERFACE = 1 };

/* The socket of this machine that would get what comes from `remote` (NULL: from anywhere) to
 * `local` by this interface. A socket that is bound to an interface is found by no other. */
static int find(const struct net_address *local, const struct net_address *remote,
		unsigned interface, struct socket_entry *found)
{
	struct question question = question_of(local->storage.ss_family, 0);
	struct inet_diag_sockid *id = &question.body.id;

	id->idiag_sport = put_address(local, id->idiag_src);
	if (remote)
		id->idiag_dport = put_address(remote, id->idiag_dst);
	id->idiag_if = interface;
	if (ask(&question, found) > 0)
		return 1;
	if (errno == ENOENT && can_answer())
		return 0;
	return socket_table_find(local, remote, found);
}

/* By any interface; another user's before this one's. */
static int find_listener(const struct net_address *address, struct socket_entry *found)
{
	struct if_nameindex *interfaces = if_nameindex();
	struct socket_entry entry;
	int result = find(address, NULL, LOOPBACK_INTERFACE, found);

	for (size_t i = 0; interfaces && interfaces[i].if_index != 0; i++) {
		if (result < 0 || (result > 0 && found->uid != geteuid()))
			break;
		if (interfaces[i].if_index != LOOPBACK_INTERFACE &&
		    find(address, NULL, interfaces[i].if_index, &entry) > 0) {
			*found = entry;
			result = 1;
		}
	}
	if (interfaces)
		if_freenameindex(interfaces);
	return result;
}

enum socket_owner socket_owner_of_listener(const struct net_address *address, uid_t *uid,
					   struct err *err)
{
	struct socket_entry found;
	int result = find_listener(address, &found);

	if (result < 0)
		err_set_errno(err, "cannot ask the kernel who owns a socket");
	else if (result > 0)
		*uid = found.uid;
	return (enum socket_owner)result;
}

/* Towards another address of this machine the kernel gives our end the same one. */
static bool is_here(const struct net_address *ours, const struct net_address *theirs)
{
	char *our_host cleanup_free = net_address_host(ours);
	char *their_host cleanup_free = net_address_host(theirs);

	return net_address_is_loopback(theirs) || str_equal(our_host, their_host);
}

/* 1: *uid has it; else as find(). */
static int find_peer(const struct net_address *theirs, const struct net_address *ours, uid_t *uid)
{
	struct socket_entry end, listener = {0};
	int result = find(theirs, ours, LOOPBACK_INTERFACE, &end);

	/* The listener may accept it and close, and another one may follow, between any two
	 * questions. A listener that closes ends what it has not accepted: if the connection is
	 * there and was not accepted after the listener was asked for, that was its listener. */
	if (result > 0 && !end.is_accepted) {
		int listens = find(theirs, NULL, LOOPBACK_INTERFACE, &listener);
		result = find(theirs, ours, LOOPBACK_INTERFACE, &end);
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
	struct net_address ours = {.length = sizeof(ours.storage)};
	struct net_address theirs = {.length = sizeof(theirs.storage)};

	if (getsockname(fd, (struct sockaddr *)&ours.storage, &ours.length) < 0 ||
	    getpeername(fd, (struct sockaddr *)&theirs.storage, &theirs.length) < 0)
		return (enum socket_owner)err_set_errno(err, "the connection is gone");
	int result = find_peer(&theirs, &ours, uid);
	if (result > 0)
		return SOCKET_OWNER_KNOWN;
	if (!is_here(&ours, &theirs))
		return SOCKET_OWNER_NONE;
	if (result == 0)
		err_set(err, ERR_UNREACHABLE, "nobody has it, by now");
	else
		err_set_errno(err, "cannot ask the kernel who owns a socket");
	return SOCKET_OWNER_UNKNOWN;
}

bool socket_owner_is_trusted(uid_t uid, uid_t owner, const struct str_list *others)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", uid);
	return owner == SOCKET_OWNER_ANY || uid == owner || uid == 0 ||
	       (others && (str_list_has(others, text) || str_list_has(others, "any")));
}
