#include "ui_stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "net/address.h"

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *peer,
		      int length, void *data)
{
	struct stage *stage = data;

	if (stage->is_called)
		peer_close(&stage->program);
	peer_take(&stage->program, stage->bed->base, fd);
	stage->is_called = true;
}

void listen_as_program(struct stage *stage)
{
	struct net_address address;
	struct sockaddr_in *v4 = (struct sockaddr_in *)&address.storage;

	assert_int_equal(net_address_parse("127.0.0.1:0", &address, NULL), 0);
	stage->listener = evconnlistener_new_bind(
		stage->bed->base, on_accept, stage, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC,
		16, (struct sockaddr *)&address.storage, (int)address.length);
	assert_non_null(stage->listener);
	assert_int_equal(getsockname(evconnlistener_get_fd(stage->listener),
				     (struct sockaddr *)&address.storage, &address.length),
			 0);
	stage->port = ntohs(v4->sin_port);
}

void serve(struct stage *stage)
{
	char *beat cleanup_free = mem_printf("{\"attempt\":1,\"epoch\":1,\"restart\":0,"
					     "\"state\":\"running\",\"ui_port\":%d}",
					     stage->port);

	ask_later(stage->bed, &stage->beat, "POST", "/v1/tasks/worker:0/beat", beat);
}

struct stage *stage_create(void (*tune)(struct bed *bed))
{
	struct stage *stage = mem_alloc(sizeof(*stage));

	stage->bed = api_bed_create("worker=1 ps=1:untracked", tune);
	bring_in(stage->bed, "worker:0", 4001);
	bring_in(stage->bed, "ps:0", 4002);
	listen_as_program(stage);
	return stage;
}

void stage_destroy(struct stage *stage)
{
	if (stage->browser.received.capacity > 0 || stage->browser.fd > 0)
		peer_close(&stage->browser);
	if (stage->is_called)
		peer_close(&stage->program);
	reply_finish(&stage->beat);
	evconnlistener_free(stage->listener);
	api_bed_destroy(stage->bed);
	free(stage);
}

void call_at(struct stage *stage, const char *address, const char *request)
{
	peer_open(&stage->browser, stage->bed->base, address);
	peer_send(&stage->browser, request);
}

void call(struct stage *stage, const char *request)
{
	call_at(stage, api_address(stage->bed->api), request);
}

void hang_up(struct stage *stage)
{
	peer_close(&stage->browser);
	if (stage->is_called)
		peer_close(&stage->program);
	stage->is_called = false;
}

void expect_program(struct stage *stage, const char *text)
{
	run_until(stage->bed->base, &stage->is_called);
	peer_expect(&stage->program, stage->bed->base, text);
}

void expect_browser(struct stage *stage, const char *text)
{
	peer_expect(&stage->browser, stage->bed->base, text);
}

void expect_end(struct stage *stage)
{
	peer_expect_end(&stage->browser, stage->bed->base);
}
