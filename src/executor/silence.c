#include "executor/silence.h"

enum { LOOKS = 10, FORGIVEN = 3 };

static void plan_look(struct silence *silence, int64_t now)
{
	int64_t step = silence->limit_ms / LOOKS;

	silence->look_at = silence->limit_ms > 0 ? now + (step > 0 ? step : 1) : INT64_MAX;
}

void silence_begin(struct silence *silence, int64_t limit_ms, int64_t now)
{
	*silence = (struct silence){.limit_ms = limit_ms};
	silence_heard(silence, now);
}

void silence_heard(struct silence *silence, int64_t now)
{
	silence->heard_at = now;
	silence->counted_ms = 0;
	plan_look(silence, now);
}

bool silence_look(struct silence *silence, int64_t now)
{
	int64_t step = silence->limit_ms / LOOKS, late = now - silence->look_at;

	if (silence->limit_ms <= 0)
		return false;
	silence->counted_ms += late < step / 2 + 1 ? step + late : 0;
	plan_look(silence, now);
	return silence->counted_ms >= silence->limit_ms ||
	       now - silence->heard_at >= FORGIVEN * silence->limit_ms;
}
