/* Browsers that ask for the events again and again, or whose stream broke off, are between two
 * questions for a while. Who is so when the job ends would never hear of it. */
#include "am/api_internal.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/timer.h"

enum { RETURN_MS = 10000 }; /* who has not asked again by then does not look any more */

static size_t expected(const struct api *api)
{
	return clock_monotonic_ms() - api->linger.expected_at < RETURN_MS ? api->linger.expected
									  : 0;
}

void api_expect_viewer(struct api *api)
{
	api->linger.expected = expected(api) + 1;
	api->linger.expected_at = clock_monotonic_ms();
}

void api_viewer_came(struct api *api)
{
	if (api->linger.expected > 0 && --api->linger.expected == 0 && api->linger.done)
		event_active(&api->linger.over, EV_TIMEOUT, 0);
}

static void on_over(evutil_socket_t fd, short what, void *data)
{
	struct api *api = data;
	void (*done)(void *data) = mem_steal(&api->linger.done);

	if (done)
		done(api->linger.data);
}

void api_linger(struct api *api, int64_t timeout_ms, void (*done)(void *data), void *data)
{
	api->linger.done = done;
	api->linger.data = data;
	timer_start(&api->linger.over, expected(api) > 0 ? timeout_ms : 0);
}

void api_linger_init(struct api *api)
{
	event_assign(&api->linger.over, api->base, -1, 0, on_over, api);
}

void api_linger_finish(struct api_linger *linger)
{
	event_del(&linger->over);
}
