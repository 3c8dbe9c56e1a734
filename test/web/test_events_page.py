"""The events: tasks sorted and in groups, marks of failures, and a journal that is longer than what the page keeps."""

import pytest

from fake_job import Job
from page import Keys


def said(page):
    return page.run("return document.querySelector('.gantt-frame [aria-live]').textContent")


def labels(page, count):
    """The rows' names, as the keyboard goes through them."""
    page.focus(".gantt")
    page.press(Keys.HOME)
    found = []
    for _ in range(count):
        found.append(said(page).split(",")[0].split(":")[0] + ":" + said(page).split(",")[0].split(":")[1].split(" ")[0])
        page.press(Keys.ARROW_DOWN)
    return found


@pytest.fixture
def uneven(job):
    """worker:2 began last, and worker:1 has failed twice."""
    for _ in range(2):
        job.move("worker:1", "registered", up=False, cause=job.make_cause())
        job.move("worker:1", "running", up=True)
    return job


def test_tasks_are_sorted(page, serve, uneven):
    page.open(serve(uneven), "#/events?sort=failures")
    page.wait_for_text("8 tasks")
    assert labels(page, 2) == ["worker:1", "chief:0"]
    page.choose("Sort by", "task")
    page.draw()
    assert labels(page, 2) == ["chief:0", "worker:0"]
    assert page.run("return location.hash") == "#/events"


def test_tasks_are_folded_by_type(page, serve, uneven):
    page.open(serve(uneven), "#/events?group=type")
    page.wait_for_text("8 tasks")
    page.focus(".gantt")
    page.press(Keys.HOME, Keys.ARROW_DOWN)
    page.wait(lambda: said(page).startswith("worker (4): "))
    assert "worker:1: exited with code 1" in said(page)
    page.press(Keys.ENTER)
    page.draw()
    page.press(Keys.ARROW_DOWN)
    page.wait(lambda: said(page).startswith("worker:0, run 1"))
    page.press(Keys.ARROW_UP, Keys.ENTER)
    page.draw()
    page.press(Keys.ARROW_DOWN)
    page.wait(lambda: said(page).startswith("ps (2)"))


def test_zoom_of_the_timeline_can_be_reset(page, serve, job):
    page.open(serve(job), "#/events")
    page.wait_for_text("8 tasks")
    assert "Reset zoom" not in page.text()
    page.click("[aria-label='Zoom in']")
    page.button("Reset zoom")
    page.wait_until_gone("Reset zoom")


def test_legend_has_what_is_to_be_seen(page, serve, job):
    page.open(serve(job), "#/events")
    page.wait_for_text("running", ".legend")
    assert "lost" not in page.text(".legend") and "succeeded" not in page.text(".legend")


def test_why_the_cluster_formed_again(page, serve, job):
    job.fail("worker:0")
    job.move_job("reforming")
    job.form(["worker:0"])
    job.run()
    page.open(serve(job), "#/events")
    page.wait_for_text("2 cluster starts")
    page.run("document.querySelector('main details').open = true")
    page.wait_for_text("after worker:0: exited with code 1", "main details")


@pytest.fixture(scope="module")
def long_journal():
    """Of more lines than the page keeps."""
    job = Job(tasks=4).start()
    job.fail("worker:0")
    for number in range(60_200):
        job.note(f"note {number}")
    return job


def test_a_long_journal_is_read_from_either_end(page, serve, long_journal):
    page.open(serve(long_journal), "#/events?view=list")
    page.wait_for_text("the last 50 000 of 60 2", ".toolbar")
    page.wait_for_rows(lambda rows: rows[0][2] == "note 60199", "Journal")
    page.button("First lines")
    page.wait_for_text("the first 50 000 of", ".toolbar")
    page.wait_for_rows(lambda rows: rows[0][2] == "The application master has begun, attempt 1", "Journal")
    page.button("Last lines")
    page.wait_for_rows(lambda rows: rows[0][2] == "note 60199", "Journal")


def test_a_long_journal_is_filtered_as_a_whole(page, serve, long_journal):
    page.open(serve(long_journal), "#/events?view=list")
    page.wait_for_text("the last 50 000 of", ".toolbar")
    page.type("[aria-label='Filter tasks and events']", "worker:0 failed")
    page.wait_for_rows(lambda rows: len(rows) == 1 and "running \u2192 failed" in rows[0][2], "Journal")
