"""`tony open` on a cluster: what it prints leads to the AM itself, past YARN's web proxy."""

import pytest
from open_rows import *  # noqa: F401,F403

pytestmark = pytest.mark.slow   # the fast lane has them on one machine
