"""The dashboard in a real browser, through YARN's web proxy."""

import dashboard_rows
import pytest
from dashboard_rows import *  # noqa: F401,F403

# The fast lane has it on one machine.
test_a_log_is_shown_whichever_streams_its_task_wrote_to = pytest.mark.slow(
    dashboard_rows.test_a_log_is_shown_whichever_streams_its_task_wrote_to)


@pytest.fixture
def link_to():
    """What the ResourceManager's page has for it."""
    def find(job):
        job.wait_state("running")
        url = job.tracking_url()
        assert f"/proxy/{job.id}" in url
        return url
    return find
