"""How long tests wait for what should happen, and look at what should not.

Tests wait for events, never for a time to pass: wait_until() polls a condition and gives up, loudly, long after it
should have come true. assert_never() looks for what should not happen, and says for how long it looked. Neither fails
because the machine is busy. test/lint/waits.py checks that tests wait in no other way; for C, test/unit/base/patience.h
has the same.
"""

import time

import pytest

PATIENCE_S = 180  # until what a test waits for counts as never coming
BETWEEN_LOOKS_S = 0.02


def wait_until(condition, what, patience_s=PATIENCE_S):
    """The first true value of condition(); fails the test when none comes."""
    deadline = time.monotonic() + patience_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            pytest.fail(f"waited {patience_s} s in vain: {what}")
        time.sleep(BETWEEN_LOOKS_S)


def assert_never(condition, what, seconds):
    """Looks for so long, and fails as soon as condition() is true. A busy machine makes it look less often, which fails
    no test."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            pytest.fail(f"came true within {seconds} s: {what}: {value}")
        if time.monotonic() > end:
            return
        time.sleep(BETWEEN_LOOKS_S)


def let_pass(seconds):
    """Lets others go on for about so long. The test's promises must hold however far they have come."""
    time.sleep(seconds)
