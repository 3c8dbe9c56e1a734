"""The dashboard in a real browser, through YARN's web proxy."""

import pytest
from dashboard_rows import *  # noqa: F401,F403


@pytest.fixture
def link_to():
    """What the ResourceManager's page has for it."""
    def find(job):
        job.wait_state("running")
        url = job.tracking_url()
        assert f"/proxy/{job.id}" in url
        return url
    return find
