"""The dashboard in a real browser: answers that come when the page has asked for newer ones, or was left."""

import threading

from fake_job import Log
from patience import PATIENCE_S


class Late:
    """One of a job's answers. Once told to hold, the next is thought of when it is asked for, and given when let go."""

    def __init__(self, job, name):
        self.answer, self.holds = getattr(job, name), False
        self.asked, self.goes = threading.Event(), threading.Event()
        setattr(job, name, self)

    def __call__(self, task):
        said = self.answer(task)
        if self.holds:
            self.holds = False
            self.asked.set()
            self.goes.wait(PATIENCE_S)
        return said


def nothing_is_awaited(page, server):
    """The page has been told of all attempts and logs that it asked for, or has given the question up."""
    told = page.run("return performance.getEntriesByType('resource').filter(({name}) => "
                    "/(attempts|logs)$/.test(name)).length")
    return told >= len([path for path in server.requests if path.endswith(("/attempts", "/logs"))])


def test_the_newest_answer_stays_whichever_comes_last(page, serve, job):
    late = [Late(job, "attempts"), Late(job, "logs_of")]
    server = serve(job)
    page.open(server, "#/tasks/worker:0?log=stdout")
    page.wait_for_text("first line of stdout", ".log")
    page.wait(lambda: len(page.all("[aria-label=Runs] tbody tr")) == 1)
    for answer in late:
        answer.holds = True
    job.move("worker:0", "stopping")
    for answer in late:
        assert answer.asked.wait(PATIENCE_S)
    job.set_log("worker:0", "executor", Log(b"the executor began\n"))
    job.form(["worker:0"])
    job.run()
    page.wait(lambda: len(page.all("[aria-label=Runs] tbody tr")) == 2)
    page.wait_for_text("executor", "[aria-label='Which log']")
    for answer in late:
        answer.goes.set()
    page.wait(lambda: nothing_is_awaited(page, server))
    page.draw()
    assert len(page.all("[aria-label=Runs] tbody tr")) == 2
    assert "executor" in page.text("[aria-label='Which log']")


def test_nothing_is_begun_by_an_answer_for_a_page_that_was_left(page, serve, job):
    late = Late(job, "logs_of")
    late.holds = True
    server = serve(job)
    page.open(server, "#/tasks/worker:0")
    assert late.asked.wait(PATIENCE_S)
    page.turn_to("#/config")
    late.goes.set()
    page.wait(lambda: nothing_is_awaited(page, server))
    page.draw()
    assert [path for path in server.requests if "/logs/" in path] == []
