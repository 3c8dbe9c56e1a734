/* Browsers that ask for the events again and again, or whose stream broke off, are between two
 * questions for a while. Who is so when the job ends would never hear of it. */
#include "am/api_internal.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/timer.h"

enum { RETURN_MS = 10000 }; /* who has not asked again by then does not look any more */

static size_t expected(const struct api *api)
{
	return clock_monotonic_ms() - api->viewer_expected_at < RETURN_MS ? api->viewers_expected
									  : 0;
}

void api_expect_viewer(struct api *api)
{
	api->viewers_expected = expected(api) + 1;
	api->viewer_expected_at = clock_monotonic_ms();
}

void api_viewer_came(struct api *api)
{
	if (api->viewers_expected > 0 && --api->viewers_expected == 0 && api->lingered)
		event_active(&api->linger, EV_TIMEOUT, 0);
}

void api_on_linger_over(evutil_socket_t fd, short what, void *data)
{
	struct api *api = data;
	void (*lingered)(void *data) = mem_steal(&api->lingered);

	if (lingered)
		lingered(api->lingered_data);
}

void api_linger(struct api *api, int64_t timeout_ms, void (*done)(void *data), void *data)
{
	api->lingered = done;
	api->lingered_data = data;
	timer_start(&api->linger, expected(api) > 0 ? timeout_ms : 0);
}
