"""A browser for each worker, a server of made-up jobs for each test."""

import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
pytest.register_assert_rewrite("page")
import browser  # noqa: E402
import fake_server  # noqa: E402
from fake_job import Job, Log  # noqa: E402
from page import visit  # noqa: E402


@pytest.fixture(scope="session")
def chromium():
    yield from browser.lend()


@pytest.fixture
def serve():
    """serve(job, ..., **options of fake_server.Server)"""
    servers = []

    def start(*jobs, **options):
        servers.append(fake_server.serve(jobs, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.go_away()
        server.stop()


@pytest.fixture
def page(chromium, serve):  # which leaves before its servers do
    yield from visit(chromium)


@pytest.fixture
def job():
    """A job of 8 tasks that runs, with a log."""
    job = Job(tasks=8).start()
    for name in ("stdout", "stderr"):
        job.set_log("worker:0", name, Log(f"first line of {name}\n".encode()))
    return job


FAST = """
    const wait = window.setTimeout;
    window.setTimeout = (action, ms) => wait(action, ms >= 10000 ? ms / 10 : ms);"""


@pytest.fixture
def fast_page(page):
    """Whose long times pass ten times as fast."""
    script = page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": FAST})
    yield page
    page.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
