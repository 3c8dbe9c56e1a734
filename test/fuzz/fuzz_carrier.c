/*
 * A channel's other side, and the sockets that it is carried for, in any order of words, bytes and
 * ends. Whatever they do, the carrier says frames of carrier.h alone, and keeps to the window.
 *
 * The first byte says which side this is. Then come steps: a byte that says what happens, one that
 * counts the bytes which go with it, and those.
 */
#include <arpa/inet.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/carrier.h"
#include "net/channel.h"

enum { NUMBER = 4, PEERS_MAX = 16, SAID_MAX = 64, ROUNDS = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In place of channel.c's. */
struct channel {
	bool has_room;
	struct {
		uint32_t number;
		size_t on_the_way;
	} said[SAID_MAX];
	size_t said_count;
};

struct scene {
	struct event_base *base;
	struct channel channel;
	struct carrier *carrier;
	int listener; /* 0: the carrier accepts */
	int peers[PEERS_MAX];
	size_t peer_count;
};

static size_t *find_way(struct channel *channel, uint32_t number)
{
	static size_t beyond;

	for (size_t i = 0; i < channel->said_count; i++)
		if (channel->said[i].number == number)
			return &channel->said[i].on_the_way;
	if (channel->said_count == SAID_MAX) {
		beyond = 0;
		return &beyond;
	}
	channel->said[channel->said_count].number = number;
	return &channel->said[channel->said_count++].on_the_way;
}

void channel_say(struct channel *channel, unsigned char kind, const void *content, size_t length)
{
	uint32_t number;

	if (length < NUMBER || length > CHANNEL_FRAME_MAX || !memchr("crbmgz", kind, 6))
		BUG("a frame of kind %d and %zu bytes", kind, length);
	memcpy(&number, content, sizeof(number));
	size_t *on_the_way = find_way(channel, number);
	if (kind == CARRIER_CONNECT)
		*on_the_way = 0; /* another one may have had the number */
	if (kind == CARRIER_BYTES)
		*on_the_way += length - NUMBER;
	if (*on_the_way > CARRIER_WINDOW)
		BUG("%zu bytes are on the way", *on_the_way);
}

bool channel_has_room(const struct channel *channel)
{
	return channel->has_room;
}

static void on_answered(void *data, const char *why)
{
}

static void keep_peer(struct scene *scene, int fd)
{
	if (scene->peer_count == PEERS_MAX)
		carrier_break(fd);
	else
		scene->peers[scene->peer_count++] = fd;
}

static void listen_for_dials(struct scene *scene, int *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);

	scene->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (bind(scene->listener, (struct sockaddr *)&address, length) < 0 ||
	    listen(scene->listener, PEERS_MAX) < 0 ||
	    getsockname(scene->listener, (struct sockaddr *)&address, &length) < 0)
		abort();
	*port = ntohs(address.sin_port);
}

static void go_on(struct scene *scene)
{
	for (int i = 0; i < ROUNDS; i++) {
		event_base_loop(scene->base, EVLOOP_NONBLOCK);
		int fd = scene->listener > 0 ? accept4(scene->listener, NULL, NULL, SOCK_NONBLOCK)
					     : -1;
		if (fd >= 0)
			keep_peer(scene, fd);
	}
}

static void accept_one(struct scene *scene)
{
	int ends[2];

	if (scene->listener > 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0)
		return;
	keep_peer(scene, ends[1]);
	carrier_accept(scene->carrier, ends[0]);
}

/* So many times 1 KiB of the peer that sends, or all that it can read. */
static void move_bytes(int fd, size_t count, bool sends)
{
	char bytes[1024] = {0};

	for (size_t i = 0; i < count; i++)
		if ((sends ? send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL)
			   : read(fd, bytes, sizeof(bytes))) <= 0)
			break;
}

static void step_of_peer(struct scene *scene, uint8_t what, const uint8_t *bytes, size_t length)
{
	if (scene->peer_count == 0 || length == 0)
		return;
	int *fd = &scene->peers[bytes[0] % scene->peer_count];
	switch (what) {
	case 'W':
	case 'R':
		move_bytes(*fd, length > 1 ? bytes[1] : 1, what == 'W');
		break;
	case 'S':
		shutdown(*fd, SHUT_WR);
		break;
	default:
		carrier_break(*fd);
		*fd = scene->peers[--scene->peer_count];
	}
}

/* The other side knows what is on the way: what it takes is no more than that. */
static void note_taken(struct scene *scene, const char *content, size_t length)
{
	int64_t taken;
	uint32_t number;

	if (length < NUMBER)
		return;
	memcpy(&number, content, sizeof(number));
	size_t *on_the_way = find_way(&scene->channel, number);
	if (str_parse_int(content + NUMBER, 0, (int64_t)*on_the_way, &taken) == 0)
		*on_the_way -= (size_t)taken;
}

static void step(struct scene *scene, uint8_t what, const uint8_t *bytes, size_t length)
{
	char content[UINT8_MAX + 1];

	switch (what) {
	case 'A':
		accept_one(scene);
		break;
	case 'F':
		scene->channel.has_room = !scene->channel.has_room;
		break;
	case 'D':
		carrier_drain(scene->carrier);
		break;
	case 'W':
	case 'R':
	case 'S':
	case 'C':
		step_of_peer(scene, what, bytes, length);
		break;
	default: /* a frame */
		memcpy(content, bytes, length);
		content[length] = '\0';
		if (what == CARRIER_TAKEN)
			note_taken(scene, content, length);
		carrier_hear(scene->carrier, what, content, length);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scene scene = {.base = event_base_new(), .channel = {.has_room = true}};
	struct carrier_options options = {
		.base = scene.base, .channel = &scene.channel, .answered = on_answered};

	if (size > 0 && data[0] % 2 == 1)
		listen_for_dials(&scene, &options.port);
	scene.carrier = carrier_create(&options);
	for (size_t i = 1; i + 1 < size;) {
		size_t length = data[i + 1];
		if (length > size - i - 2)
			length = size - i - 2;
		step(&scene, data[i], data + i + 2, length);
		go_on(&scene);
		i += 2 + length;
	}
	carrier_destroy(scene.carrier);
	event_base_loop(scene.base, EVLOOP_NONBLOCK);
	event_base_free(scene.base);
	while (scene.peer_count > 0)
		carrier_break(scene.peers[--scene.peer_count]);
	if (scene.listener > 0)
		close(scene.listener);
	return 0;
}
