#include "net/carrier.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/channel.h"
#include "net/dial.h"
#include "net/wire.h"

enum {
	NUMBER = 4,
	PIECE = 32 * 1024,
	DIAL_MS = 10 * 1000,
};

struct connection {
	LIST_ENTRY(connection) link;
	struct carrier *carrier;
	uint32_t number;
	struct dial *dial; /* NULL: not connecting */
	char *refusal;	   /* of the first address; NULL: none */
	struct wire wire;
	bool is_open; /* `wire` is */
	bool is_connected;
	size_t on_the_way;     /* bytes that the other side has not taken yet */
	size_t received, told; /* bytes of the other side's; so many are known there to be taken */
	bool has_ended, is_told;   /* the socket; and the other side knows */
	bool ended_there, is_shut; /* the other side; and the socket's peer knows */
};

struct carrier {
	struct carrier_options options;
	LIST_HEAD(, connection) connections;
	size_t count; /* of them */
	uint32_t last;
};

/* It is to be closed by a reset. */
static void forbid_lingering(int fd)
{
	const struct linger none = {.l_onoff = 1};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
}

void carrier_break(int fd)
{
	forbid_lingering(fd);
	close(fd);
}

static void say(const struct connection *connection, unsigned char kind, const void *content,
		size_t length)
{
	char frame[NUMBER + PIECE];
	uint32_t number = htonl(connection->number);

	if (length > PIECE)
		BUG("a piece of %zu bytes", length);
	memcpy(frame, &number, NUMBER);
	memcpy(frame + NUMBER, content, length);
	channel_say(connection->carrier->options.channel, kind, frame, NUMBER + length);
}

static void destroy(struct connection *connection)
{
	LIST_REMOVE(connection, link);
	connection->carrier->count--;
	if (connection->dial)
		dial_cancel(connection->dial);
	if (connection->is_open)
		wire_finish(&connection->wire);
	free(connection->refusal);
	free(connection);
}

/* Its peer sees that this is no end as it should be. */
static void abandon(struct connection *connection)
{
	if (connection->is_open)
		forbid_lingering(connection->wire.fd);
	destroy(connection);
}

static void give_up(struct connection *connection, unsigned char kind, const char *why)
{
	say(connection, kind, why, strlen(why));
	abandon(connection);
}

static struct connection *create(struct carrier *carrier, uint32_t number)
{
	struct connection *connection = mem_alloc(sizeof(*connection));

	connection->carrier = carrier;
	connection->number = number;
	LIST_INSERT_HEAD(&carrier->connections, connection, link);
	carrier->count++;
	return connection;
}

static struct connection *find(const struct carrier *carrier, uint32_t number)
{
	struct connection *connection;

	LIST_FOREACH(connection, &carrier->connections, link)
	if (connection->number == number)
		break;
	return connection;
}

/* ---- bytes -------------------------------------------------------------------------------- */

static void pass_on(struct connection *connection)
{
	struct evbuffer *input = connection->wire.input;
	char piece[PIECE];

	while (evbuffer_get_length(input) > 0 && connection->on_the_way < CARRIER_WINDOW &&
	       channel_has_room(connection->carrier->options.channel)) {
		size_t room = CARRIER_WINDOW - connection->on_the_way;
		int got = evbuffer_remove(input, piece, room < PIECE ? room : PIECE);
		say(connection, CARRIER_BYTES, piece, (size_t)got);
		connection->on_the_way += (size_t)got;
	}
	if (connection->has_ended && !connection->is_told && evbuffer_get_length(input) == 0) {
		say(connection, CARRIER_NO_MORE, "", 0);
		connection->is_told = true;
	}
	wire_resume(&connection->wire);
}

static void tell_taken(struct connection *connection)
{
	size_t taken = connection->received - evbuffer_get_length(connection->wire.output);

	if (taken - connection->told < CARRIER_WINDOW / 4)
		return;
	char *text cleanup_free = mem_printf("%zu", taken - connection->told);
	say(connection, CARRIER_TAKEN, text, strlen(text));
	connection->told = taken;
}

/* Does what can be done now; the connection may be gone. */
static void go_on(struct connection *connection)
{
	if (!connection->is_connected)
		return;
	pass_on(connection);
	tell_taken(connection);
	if (connection->ended_there && !connection->is_shut &&
	    !wire_is_sending(&connection->wire)) {
		wire_end_output(&connection->wire);
		connection->is_shut = true;
	}
	if (connection->is_told && connection->is_shut)
		destroy(connection);
}

static void on_changed(void *data)
{
	go_on(data);
}

static void on_end(void *data, int error)
{
	struct connection *connection = data;

	if (error) {
		give_up(connection, CARRIER_BROKEN, "");
		return;
	}
	connection->has_ended = true;
	wire_stop_reading(&connection->wire);
	go_on(connection);
}

static void open_wire(struct connection *connection, int fd)
{
	connection->is_open = true;
	connection->wire = (struct wire){
		.input_cap = CARRIER_WINDOW,
		.on_input = on_changed,
		.on_output = on_changed,
		.on_end = on_end,
		.data = connection,
	};
	wire_init(&connection->wire, connection->carrier->options.base, fd);
}

/* ---- a connection begins ------------------------------------------------------------------ */

void carrier_accept(struct carrier *carrier, int fd)
{
	struct connection *connection = create(carrier, ++carrier->last);

	open_wire(connection, fd);
	say(connection, CARRIER_CONNECT, "", 0);
}

static void on_dialed(void *data, int fd, const struct err *err);

static void dial(struct connection *connection, const char *host)
{
	const struct carrier_options *options = &connection->carrier->options;
	char *address cleanup_free = mem_printf("%s:%d", host, options->port);

	connection->dial = dial_start(options->base, address, DIAL_MS, on_dialed, connection, NULL);
}

static void on_dialed(void *data, int fd, const struct err *err)
{
	struct connection *connection = data;

	connection->dial = NULL;
	if (fd >= 0) {
		connection->is_connected = true;
		say(connection, CARRIER_CONNECT, "", 0);
		open_wire(connection, fd);
	} else if (!connection->refusal) {
		connection->refusal = mem_strdup(err_message(err));
		dial(connection, "[::1]");
	} else {
		give_up(connection, CARRIER_REFUSED, connection->refusal);
	}
}

static void connect_one(struct carrier *carrier, uint32_t number)
{
	struct connection *connection = create(carrier, number);

	if (carrier->count > CARRIER_CONNECTIONS_MAX)
		give_up(connection, CARRIER_REFUSED, "too many connections at a time");
	else
		dial(connection, "127.0.0.1");
}

/* ---- what the other side says ------------------------------------------------------------- */

static void take_bytes(struct connection *connection, const char *bytes, size_t length)
{
	if (!connection->is_connected || connection->ended_there ||
	    evbuffer_get_length(connection->wire.output) + length > CARRIER_WINDOW) {
		give_up(connection, CARRIER_BROKEN, ""); /* it does not keep to carrier.h */
		return;
	}
	connection->received += length;
	evbuffer_add(connection->wire.output, bytes, length);
	wire_flush(&connection->wire);
	go_on(connection);
}

static void take_answer(struct connection *connection, const char *why)
{
	struct carrier *carrier = connection->carrier;

	if (connection->is_connected)
		return;
	carrier->options.answered(carrier->options.data, why);
	if (why) {
		abandon(connection);
		return;
	}
	connection->is_connected = true;
	go_on(connection);
}

static void note_taken(struct connection *connection, const char *text)
{
	int64_t number;

	if (str_parse_int(text, 0, (int64_t)connection->on_the_way, &number) < 0) {
		give_up(connection, CARRIER_BROKEN, "");
		return;
	}
	connection->on_the_way -= (size_t)number;
	go_on(connection);
}

/* Of a connection that has ended here the last frames may still come. */
void carrier_hear(struct carrier *carrier, unsigned char kind, const char *content, size_t length)
{
	bool accepts = carrier->options.port == 0;
	uint32_t number;

	if (length < NUMBER)
		return;
	memcpy(&number, content, NUMBER);
	struct connection *connection = find(carrier, ntohl(number));
	content += NUMBER;
	length -= NUMBER;
	if (!connection) {
		if (kind == CARRIER_CONNECT && !accepts)
			connect_one(carrier, ntohl(number));
	} else if (kind == CARRIER_BYTES) {
		take_bytes(connection, content, length);
	} else if (kind == CARRIER_NO_MORE) {
		connection->ended_there = true;
		go_on(connection);
	} else if (kind == CARRIER_TAKEN) {
		note_taken(connection, content);
	} else if (kind == CARRIER_BROKEN) {
		abandon(connection);
	} else if (accepts && (kind == CARRIER_CONNECT || kind == CARRIER_REFUSED)) {
		take_answer(connection, kind == CARRIER_REFUSED ? content : NULL);
	}
}

void carrier_drain(struct carrier *carrier)
{
	for (struct connection *connection = LIST_FIRST(&carrier->connections), *next; connection;
	     connection = next) {
		next = LIST_NEXT(connection, link);
		go_on(connection);
	}
}

struct carrier *carrier_create(const struct carrier_options *options)
{
	struct carrier *carrier = mem_alloc(sizeof(*carrier));

	carrier->options = *options;
	LIST_INIT(&carrier->connections);
	return carrier;
}

void carrier_destroy(struct carrier *carrier)
{
	if (!carrier)
		return;
	while (!LIST_EMPTY(&carrier->connections))
		abandon(LIST_FIRST(&carrier->connections));
	free(carrier);
}
