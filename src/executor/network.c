#include "executor/network.h"

#include <dirent.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

enum {
	FILES_CAP = 65536, /* descriptors that are looked at */
	ANSWER_BYTES = 32768,
	TIME_LIMIT_MS = 1000,
	TCP_STATE_LISTEN = 10,
	TCP_STATE_TIME_WAIT = 6, /* of no process any more */
};

/* A connection of this machine, as of the last look. */
struct connection {
	uint64_t cookie; /* never given twice, unlike an inode */
	uint64_t received, sent;
	uint32_t inode;
	bool is_ours;	/* of the processes */
	bool is_judged; /* it was looked whose it is, twice where it is another's */
};

struct network {
	int fd; /* of netlink; -1: it is not to be had */
	uint32_t sequence;
	struct connection *known, *found; /* of the last look; of this one. Sorted by cookie */
	size_t known_count, found_count, found_capacity;
	uint64_t receive, send;
};

struct network *network_create(void)
{
	const struct timeval limit = {.tv_sec = TIME_LIMIT_MS / 1000};
	struct network *network = mem_alloc(sizeof(*network));

	network->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (network->fd >= 0)
		setsockopt(network->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return network;
}

static void give_up(struct network *network)
{
	mem_cleanup_close(&network->fd);
}

void network_destroy(struct network *network)
{
	if (!network)
		return;
	give_up(network);
	free(network->known);
	free(network->found);
	free(network);
}

void network_begin(struct network *network)
{
	network->known_count = 0;
	network->receive = network->send = 0;
}

/* ---- the processes' sockets --------------------------------------------------------------- */

struct inodes {
	uint64_t *items;
	size_t count, capacity, files;
};

static void add_inode(struct inodes *inodes, uint64_t inode)
{
	if (inodes->count == inodes->capacity) {
		inodes->capacity = inodes->capacity ? 2 * inodes->capacity : 64;
		inodes->items =
			mem_realloc_array(inodes->items, inodes->capacity, sizeof(*inodes->items));
	}
	inodes->items[inodes->count++] = inode;
}

static void add_sockets_of(pid_t pid, struct inodes *inodes)
{
	static const char prefix[] = "socket:[";
	char path[64], target[64];

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	DIR *directory cleanup_dir = opendir(path);
	const struct dirent *file;

	while (directory && inodes->files < FILES_CAP && (file = readdir(directory))) {
		inodes->files++;
		ssize_t length =
			readlinkat(dirfd(directory), file->d_name, target, sizeof(target) - 1);
		if (length <= 0)
			continue;
		target[length] = '\0';
		if (strncmp(target, prefix, sizeof(prefix) - 1) == 0)
			add_inode(inodes, strtoull(target + sizeof(prefix) - 1, NULL, 10));
	}
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *first = a, *second = b;

	return (*first > *second) - (*first < *second);
}

static void find_inodes(const struct proc_list *processes, struct inodes *inodes)
{
	for (size_t i = 0; i < processes->count; i++)
		add_sockets_of(processes->items[i].pid, inodes);
	if (inodes->count > 0)
		qsort(inodes->items, inodes->count, sizeof(*inodes->items), by_value);
}

static bool has_inode(const struct inodes *inodes, uint64_t inode)
{
	return inodes->count > 0 && bsearch(&inode, inodes->items, inodes->count,
					    sizeof(*inodes->items), by_value) != NULL;
}

/* ---- asking the kernel -------------------------------------------------------------------- */

/* The older form of the question is for both families at once: each dump is a walk over all of the
 * kernel's table, however few connections there are. */
static int ask(struct network *network)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req request;
	} message = {
		.head = {.nlmsg_len = sizeof(message),
			 .nlmsg_type = TCPDIAG_GETSOCK,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
			 .nlmsg_seq = ++network->sequence},
		.request = {.idiag_family = AF_INET,
			    .idiag_ext = 1 << (INET_DIAG_INFO - 1),
			    .idiag_states = ~(1u << TCP_STATE_LISTEN | 1u << TCP_STATE_TIME_WAIT)},
	};

	return send(network->fd, &message, sizeof(message), 0) == sizeof(message) ? 0 : -1;
}

/* Older kernels give a shorter one, newer ones a longer one. */
static bool read_info(const struct rtattr *attribute, struct connection *connection)
{
	struct tcp_info info = {0};
	size_t length = RTA_PAYLOAD(attribute);

	if (attribute->rta_type != INET_DIAG_INFO ||
	    length < offsetof(struct tcp_info, tcpi_bytes_received) +
			     sizeof(info.tcpi_bytes_received))
		return false;
	memcpy(&info, RTA_DATA(attribute), length < sizeof(info) ? length : sizeof(info));
	connection->received = info.tcpi_bytes_received;
	connection->sent = info.tcpi_bytes_acked;
	return true;
}

static void add_connection(struct network *network, const struct nlmsghdr *head)
{
	const struct inet_diag_msg *message = NLMSG_DATA(head);
	const struct rtattr *attribute = (const struct rtattr *)(message + 1);

	/* One that nobody has accepted yet has no inode. */
	if (head->nlmsg_len < NLMSG_LENGTH(sizeof(*message)) || message->idiag_inode == 0)
		return;
	struct connection connection = {.cookie = (uint64_t)message->id.idiag_cookie[1] << 32 |
						  message->id.idiag_cookie[0],
					.inode = message->idiag_inode};
	int left = (int)(head->nlmsg_len - NLMSG_LENGTH(sizeof(*message)));
	for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
		if (!read_info(attribute, &connection))
			continue;
		if (network->found_count == network->found_capacity) {
			network->found_capacity = 2 * network->found_capacity + 16;
			network->found = mem_realloc_array(network->found, network->found_capacity,
							   sizeof(*network->found));
		}
		network->found[network->found_count++] = connection;
		return;
	}
}

/* 1: more is to come; 0: that was all. */
static int take_answer(struct network *network, const void *bytes, size_t length)
{
	const struct nlmsghdr *head = bytes;

	for (; NLMSG_OK(head, length); head = NLMSG_NEXT(head, length)) {
		if (head->nlmsg_seq != network->sequence)
			continue;
		if (head->nlmsg_type == NLMSG_DONE)
			return 0;
		if (head->nlmsg_type == NLMSG_ERROR)
			return -1;
		if (head->nlmsg_type == TCPDIAG_GETSOCK)
			add_connection(network, head);
	}
	return 1;
}

static int list_connections(struct network *network)
{
	_Alignas(struct nlmsghdr) char buffer[ANSWER_BYTES];
	int more = 1;

	if (ask(network) < 0)
		return -1;
	while (more > 0) {
		ssize_t got = recv(network->fd, buffer, sizeof(buffer), 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		more = take_answer(network, buffer, (size_t)got);
	}
	return more;
}

/* ---- counting ----------------------------------------------------------------------------- */

static int by_cookie(const void *a, const void *b)
{
	const struct connection *first = a, *second = b;

	return (first->cookie > second->cookie) - (first->cookie < second->cookie);
}

static const struct connection *find_known(const struct network *network,
					   const struct connection *connection)
{
	if (network->known_count == 0)
		return NULL;
	return bsearch(connection, network->known, network->known_count, sizeof(*connection),
		       by_cookie);
}

/* Whose a connection is does not change: only when there are new ones the processes are asked,
 * which costs more than all the rest. What is nobody's may be that of a process which was not there
 * when the processes were listed: then it is theirs at the next look. */
static void find_ours(struct network *network, const struct proc_list *processes)
{
	struct inodes inodes = {0};
	bool is_listed = false;

	for (size_t i = 0; i < network->found_count; i++) {
		struct connection *connection = &network->found[i];
		const struct connection *known = find_known(network, connection);
		if (known && known->is_judged) {
			connection->is_ours = known->is_ours;
			connection->is_judged = true;
			continue;
		}
		if (!is_listed)
			find_inodes(processes, &inodes);
		is_listed = true;
		connection->is_ours = has_inode(&inodes, connection->inode);
		connection->is_judged = known || connection->is_ours;
	}
	free(inodes.items);
}

static void count(struct network *network)
{
	const struct connection none = {0};

	for (size_t i = 0; i < network->found_count; i++) {
		const struct connection *now = &network->found[i];
		const struct connection *before = find_known(network, now);
		if (!now->is_ours)
			continue;
		if (!before || !before->is_ours)
			before = &none;
		network->receive += now->received - before->received;
		network->send += now->sent - before->sent;
	}
}

/* What was found is what is known at the next look. */
static void remember(struct network *network)
{
	if (network->found_count > 0)
		qsort(network->found, network->found_count, sizeof(*network->found), by_cookie);
	free(network->known);
	network->known = mem_steal(&network->found);
	network->known_count = network->found_count;
	network->found_capacity = 0;
}

/* The kernel walks over the connections of the whole machine, which a thousand executors would ask
 * of it for each of themselves. */
static bool may_have_any(const struct network *network, const struct proc_list *processes)
{
	struct inodes inodes = {0};

	for (size_t i = 0; i < network->known_count; i++)
		if (network->known[i].is_ours)
			return true;
	find_inodes(processes, &inodes);
	free(inodes.items);
	return inodes.count > 0;
}

bool network_look(struct network *network, const struct proc_list *processes, uint64_t *receive,
		  uint64_t *send)
{
	network->found_count = 0;
	if (network->fd < 0 ||
	    (may_have_any(network, processes) && list_connections(network) < 0)) {
		give_up(network);
		return false;
	}
	find_ours(network, processes);
	count(network);
	remember(network);
	*receive = network->receive;
	*send = network->send;
	return true;
}
