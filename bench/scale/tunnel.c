/*
 * Leads whoever connects to an AM that speaks TLS: `scale-tunnel ADDRESS TOKEN-FILE` says where it
 * listens, and ends with its standard input.
 */
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "net/tunnel.h"

static void on_end(evutil_socket_t fd, short what, void *data)
{
	event_base_loopbreak(data);
}

int main(int argc, char **argv)
{
	struct err err cleanup_err = {0};
	char *token cleanup_free = argc == 3 ? fs_read_file(argv[2], 4096, NULL, &err) : NULL;
	struct event end;

	if (!token) {
		fprintf(stderr, "usage: scale-tunnel ADDRESS TOKEN-FILE\n%s\n", err_message(&err));
		return 2;
	}
	token[strcspn(token, "\n")] = '\0';
	const struct tunnel_options options = {.base = event_base_new(),
					       .listen = "127.0.0.1:0",
					       .target = argv[1],
					       .secret = token,
					       .user = geteuid()};
	struct tunnel *tunnel = tunnel_create(&options, &err);
	if (!tunnel) {
		fprintf(stderr, "scale-tunnel: %s\n", err_message(&err));
		return 1;
	}
	puts(tunnel_address(tunnel));
	fflush(stdout);
	event_assign(&end, options.base, STDIN_FILENO, EV_READ, on_end, options.base);
	event_add(&end, NULL);
	event_base_dispatch(options.base);
	tunnel_destroy(tunnel);
	event_base_free(options.base);
	return 0;
}
