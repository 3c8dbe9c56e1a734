"""A link that lets change the job: its buttons, what they ask, and what they send."""

import pytest

from page import Keys

SECRET = "00ff" * 16


@pytest.fixture
def controlled(page, serve, job):
    """The page that such a link has led to."""
    job.types[1] |= {"min_instances": 2, "max_instances": 8, "wanted": 4}
    server = serve(job)
    server.control = SECRET
    page.open(server, f"#/?control={SECRET}")
    return server


@pytest.mark.promise("S100")
def test_the_secret_leaves_the_address(page, controlled):
    assert page.run("return location.hash") == "#/"
    page.button("Stop the job\u2026")
    page.driver.refresh()
    page.button("Stop the job\u2026")


@pytest.mark.promise("S100")
def test_an_order_is_asked_for_once_more(page, controlled, job):
    page.button("Stop the job\u2026")
    page.wait_for("dialog[open]")
    assert page.run("return document.activeElement.textContent") == "Cancel"
    page.press(Keys.ESCAPE)
    page.wait(lambda: not page.all("dialog.order[open]"))
    assert controlled.orders == []
    page.button("Stop the job\u2026")
    page.wait_for_text("This stops all tasks of mnist and ends the job.", "dialog[open]")
    page.type("dialog[open] input", "out of credit")
    page.button("Stop the job", "dialog[open]")
    page.wait(lambda: controlled.orders == [("/v1/job/kill", {"reason": "out of credit"})])
    page.wait(lambda: not page.all("dialog.order[open]"))
    job.end("killed", "killed by the user: out of credit")
    page.wait_for_text("Ended", ".connection")
    page.wait_until_gone("Stop the job")


def test_scale(page, controlled):
    page.button("Scale\u2026")
    page.wait_for_text("2 to 8", "dialog[open]")
    page.type("dialog[open] input", "6")
    page.button("Scale", "dialog[open]")
    page.wait(lambda: controlled.orders == [("/v1/job/scale", {"worker": 6})])


def test_restart_of_a_task(page, controlled):
    page.turn_to("#/tasks/worker:0")
    page.button("Restart\u2026")
    page.button("Restart", "dialog[open]")
    page.wait(lambda: controlled.orders == [("/v1/tasks/worker:0/restart", {})])


def test_why_an_order_is_not_taken(page, controlled):
    page.expected_errors = ["409", "401"]
    controlled.conflict = "the job is ending already"
    page.button("Stop the job\u2026")
    page.button("Stop the job", "dialog[open]")
    page.wait_for_text("the job is ending already", "dialog[open] [role=alert]")
    controlled.control = "another one"
    page.button("Stop the job", "dialog[open]")
    page.wait_for_text("tony open --control prints another link", "dialog[open] [role=alert]")


@pytest.mark.promise("S101")
def test_a_plain_link_has_no_such_button(page, serve, job):
    page.open(serve(job))
    page.settle()
    assert "Stop the job" not in page.text()
    page.turn_to("#/tasks/worker:0")
    page.settle()
    assert "Restart\u2026" not in page.text()


@pytest.mark.promise("S104")
def test_orders_by_way_of_a_portal(page, serve, job):
    """Of a user whom the job's modify ACL names; of others the page has no button."""
    server = serve(job, is_portal=True)
    server.control = SECRET
    page.open(server, f"#/jobs/{job.id}")
    page.button("Stop the job\u2026")
    page.button("Stop the job", "dialog[open]")
    page.wait(lambda: server.orders == [(f"/v1/jobs/{job.id}/job/kill", {})])
    page.turn_to(f"#/jobs/{job.id}/tasks/worker:0")
    page.button("Restart\u2026")
    page.button("Restart", "dialog[open]")
    page.wait(lambda: server.orders[1:] == [(f"/v1/jobs/{job.id}/tasks/worker:0/restart", {})])
    server.control = None
    page.driver.refresh()
    page.settle()
    assert "Restart\u2026" not in page.text()


def test_dialogs_are_accessible(page, controlled):
    page.button("Scale\u2026")
    page.wait_for("dialog[open]")
    assert page.violations() == []
