"""The dashboard in a real browser, of jobs on one machine."""

import pytest
from dashboard_rows import *  # noqa: F401,F403
from dashboard_rows import open_by, states, submit
from patience import wait_until


@pytest.fixture
def link_to(tony):
    """What `tony open` prints, which is good once."""
    def find(job):
        answer = tony.run("open", job.id)
        assert answer.returncode == 0, answer.stderr
        return answer.stdout.strip()
    return find


def test_the_page_of_a_job_whose_am_has_exited_says_who_has_the_rest(tony, page, orders, link_to):
    job = submit(tony, orders)
    open_by(page, link_to(job))
    page.wait_for_rows(lambda rows: states(rows) == ["running", "running"])
    orders.give("worker:0", out="a line\n")
    job.wait_log("worker:0", "a line")
    page.expect_end()
    for task in ("worker:0", "worker:1"):
        orders.give(task, exit=0)
    page.wait_for_text(f"tony logs {job.id} tony portal --link {job.id}", ".away pre")
    assert job.wait() == 0
    wait_until(lambda: not job.processes(), "the AM to exit")
    for hash_, unknown in (("#/logs", ["The log"]), ("#/tasks/worker:0", ["The log", "Its runs"]),
                           ("#/config", ["The cluster spec", "Environment variables"])):
        page.turn_to(hash_)
        for what in unknown:
            page.wait_for_text(f"{what}: not known. Cannot reach the server.")
        assert "No measurements" not in page.text("main"), "what the page had of them it keeps (test/web/test_ended.py)"
