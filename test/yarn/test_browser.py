"""The dashboard in a real browser, through YARN's web proxy."""

import dashboard_rows
import pytest
from dashboard_rows import *  # noqa: F401,F403
from program import PYTHON

# The fast lane has it on one machine.
test_a_log_is_shown_whichever_streams_its_task_wrote_to = pytest.mark.slow(
    dashboard_rows.test_a_log_is_shown_whichever_streams_its_task_wrote_to)


def test_what_a_task_serves_is_behind_the_page(tony, page, link_to):
    """Behind the proxy it would share the origin of all that the proxy shows."""
    go = tony.directory / "go"
    go.touch()
    job = tony.submit({"tony.worker.instances": 1}, "--executes", f"exec {PYTHON} web_program.py {go}")
    dashboard_rows.open_by(page, link_to(job))
    link = page.wait_for(".links a")
    page.expected_errors = ["favicon.ico", "status of 403"]
    page.driver.get(link.get_attribute("href"))
    page.wait_for_text("tony.application.ui-origin=shared-origin", "body")
    tony.run("kill", job.id)


@pytest.fixture
def link_to():
    """What the ResourceManager's page has for it."""
    def find(job):
        job.wait_state("running")
        url = job.tracking_url()
        assert f"/proxy/{job.id}" in url
        return url
    return find
