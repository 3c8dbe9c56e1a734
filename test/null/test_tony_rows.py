"""TonY's rows with a third engine."""

from tony_rows import *  # noqa: F401,F403
