"""Which lines a task's page shows of stdout and stderr, by which of them are there."""

import pytest
from fake_job import Job, Log


def lines_of_log(page):
    return [line.text for line in page.all(".log .line")]


def test_log_of_one_stream(page, serve):
    """The server knows a stream from its first byte on; what it does not know is not asked for: it would answer 404."""
    job = Job(tasks=8).start()
    for task, name in (("worker:0", "stdout"), ("worker:1", "stderr")):
        job.set_log(task, name, Log(f"a line of {name}\n".encode()))
    server = serve(job)
    page.open(server, "#/tasks/worker:0")
    page.wait(lambda: lines_of_log(page) == ["a line of stdout"])
    page.wait_for_text("Following", ".log-foot")
    page.wait(lambda: job.log("worker:0", "stderr"), "that it is asked for").append("one of stderr\n")
    page.wait(lambda: lines_of_log(page) == ["a line of stdout", "one of stderr"])

    page.turn_to("#/tasks/worker:1")
    page.wait(lambda: lines_of_log(page) == ["a line of stderr"])
    page.button("Start")  # and it follows no more
    job.set_log("worker:1", "stdout", Log(b"the last line\n"))
    job.end()
    page.wait_for_text("Ended", ".connection")
    page.settle()
    page.button("End")
    page.wait(lambda: sorted(lines_of_log(page)) == ["a line of stderr", "the last line"])


@pytest.mark.parametrize("streams", [["stdout"], ["stderr"], ["stdout", "stderr"], []], ids=" and ".join)
def test_log_of_an_ended_task(page, serve, streams):
    job = Job(tasks=4).start()
    job.scheduler = "local"
    for name in streams:
        job.set_log("worker:0", name, Log(f"a line of {name}\n".encode()))
    job.end()
    page.open(serve(job), "#/tasks/worker:0")
    for tab, wanted in (("stdout + stderr", streams), ("stdout", ["stdout"]), ("stderr", ["stderr"])):
        page.button(tab, "[aria-label='Which log']")
        shown = [f"a line of {name}" for name in wanted if name in streams]
        page.wait_for_text("End of the log." if shown else "This log is empty.", ".log-foot")
        assert lines_of_log(page) == shown


def test_log_of_an_ended_task_that_its_node_has(page, serve):
    """While the job goes on; what the server says is told instead of nothing."""
    page.expected_errors = ["404"]
    job = Job(tasks=4).start()
    job.move("worker:0", "succeeded")
    page.open(serve(job), "#/tasks/worker:0")
    page.wait_for_text("there is no log stdout", ".log-foot")


def test_log_that_is_not_there_any_more(page, serve):
    """The page tells the server's words, and no lost connection."""
    page.expected_errors = ["410"]
    job = Job(tasks=4).start()
    job.end()
    job.refusals["worker:0"] = (410, "gone", "stdout of worker:0 is not there any more: attempt 2 alone is kept")
    page.open(serve(job), "#/tasks/worker:0")
    page.wait_for_text("stdout of worker:0 is not there any more: attempt 2 alone is kept", ".log-foot")


def test_log_that_yarn_has_not_collected(page, serve):
    page.expected_errors = ["404"]
    job = Job(tasks=4).start()
    job.end()
    page.open(serve(job), "#/tasks/worker:0")
    page.wait_for_text("there is no log stdout", ".log-foot")
    page.button("stderr", "[aria-label='Which log']")
    page.wait_for_text("there is no log stderr", ".log-foot")
    job.set_log("worker:0", "stderr", Log(b"collected by now\n"))
    for tab in ("stderr", "stdout + stderr"):
        page.button(tab, "[aria-label='Which log']")
        page.wait_for_text("End of the log.", ".log-foot")
        assert lines_of_log(page) == ["collected by now"]


def test_log_that_is_cut_at_the_front(page, serve):
    """A history keeps the ends of logs."""
    job = Job(tasks=4).start()
    for name in ("stdout", "stderr"):
        job.set_log("worker:0", name, Log(f"a line of {name}\n".encode()))
    job.log("worker:0", "stdout").cut_bytes = 1258291
    job.end()
    page.open(serve(job), "#/tasks/worker:0")
    page.wait_for_text("Cut at the front: the 1.2 MiB before this are not here.", ".log-cut")
    page.button("stderr", "[aria-label='Which log']")
    page.wait(lambda: lines_of_log(page) == ["a line of stderr"])
    assert page.text(".log-cut") == ""
