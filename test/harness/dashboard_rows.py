"""The dashboard in a real browser, as application masters and a portal serve it: the same functions for
each scheduler, whose suite gives them its own `tony`, and says with `link_to` how one gets to a job's page."""

import json
import os
import re

import browser
import pytest
from fake_job import ATTACKS
from page import Keys, visit
from portal import Portal
from program import PYTHON, wait_until

JOB_PAGES = ["#/", "#/logs", "#/tasks/worker:1", "#/events", "#/events?view=table", "#/events?view=list", "#/config?all=1"]
MARKUP = ATTACKS[:6]  # what a command line and XML can hold


class Orders:
    """For tasks that are programs/obey.py."""

    def __init__(self, tony):
        self.directory = tony.directory / "orders"
        self.directory.mkdir()
        self.command = f"exec {PYTHON} obey.py {self.directory}"
        self.count = 0

    def give(self, task, **what):
        self.count += 1
        draft = self.directory / "draft"
        draft.write_text(json.dumps(what), encoding="utf-8")
        draft.rename(self.directory / f"{task}.{self.count}")

    def wait_obeyed(self, task):
        """By a process that has set up what it does with SIGTERM."""
        wait_until(lambda: not list(self.directory.glob(f"{task}.*")), f"{task} to obey")

    def wait_stays(self, task):
        """Asked to end, it has not."""
        wait_until((self.directory / f"stays.{task}").exists, f"{task} to be asked to end")

    def stay(self, on):
        """Whether who is asked to end does so."""
        if on:
            (self.directory / "stay").touch()
        else:
            (self.directory / "stay").unlink()


@pytest.fixture(scope="session")
def chromium():
    yield from browser.lend()


@pytest.fixture
def page(chromium, tony):  # which leaves before what it looks at ends
    yield from visit(chromium)


@pytest.fixture
def orders(tony):
    return Orders(tony)


@pytest.fixture
def portal(tony, page):
    portal = Portal(tony)
    yield portal
    page.leave()
    portal.stop()


def submit(tony, orders, keys=None):
    return tony.submit({"tony.application.name": "mnist", "tony.worker.instances": 2, **(keys or {})},
                       "--executes", orders.command)


def open_by(page, link):
    page.go(link)
    assert "login" not in page.run("return location.href")  # what was good once is nothing to keep


def states(rows):
    return [row[1] for row in rows]


def test_a_job_is_watched_while_it_fails_is_repaired_and_ends(tony, page, orders, link_to):
    job = submit(tony, orders, {"tony.worker.max-restarts": 1, "tony.worker.stop-grace": "600s",
                                "tony.am.retry-count": 1, "tony.am.retry-delay": "10ms"})
    open_by(page, link_to(job))
    page.wait_for_rows(lambda rows: states(rows) == ["running", "running"])
    page.wait(lambda: page.text(".connection").startswith("Live"))
    assert page.text("h1") == "mnist" and job.id in page.text(".facts")

    # Its log grows, and goes on with the process that is started in its place.
    page.turn_to("#/tasks/worker:1")
    orders.give("worker:1", out="step 1\n", err="W slow input\n")
    page.wait_for_text("step 1", ".log")
    page.wait_for_text("slow input", ".log .stderr")
    orders.give("worker:1", err="Traceback\nValueError: no data\n", exit=3)
    page.wait_for_text("exited with code 3", ".notice")
    assert page.text(".tail .headline") == "ValueError: no data"
    orders.give("worker:1", out="step 2\n")
    page.wait_for_text("step 2", ".log")
    page.wait(lambda: ["exited with code 3", ""] == [row.text for row in page.all("[aria-label=Runs] .reason")])

    # The cluster forms anew, as soon as the other one has let go.
    page.turn_to("#/")
    page.wait_for_rows(lambda rows: rows[1][4] == "1")
    orders.stay(True)
    orders.give("worker:0", out="a step of the first\n")
    orders.wait_obeyed("worker:0")
    orders.give("worker:1", err="RuntimeError: bad loss\n", exit=4)
    page.wait_for_text("reforming", ".title .badge")
    page.wait_for_text("Being repaired", ".notice")
    assert "worker:1" in page.text(".notice a") and "exited with code 4" in page.text(".notice")
    page.wait_for_rows(lambda rows: states(rows) == ["stopping", "registered"])
    orders.wait_stays("worker:0")
    orders.stay(False)
    orders.give("worker:0", exit=0)
    page.wait_for_text("running", ".title .badge")
    page.wait(lambda: not page.all("[aria-label='Being repaired']"), "that it is repaired")
    page.wait(lambda: re.search(r"Cluster starts ?2 ?Retries ?1", page.text(".facts")), "that it formed twice")
    page.wait_for_text("Recovered from 2 failures", ".repairs")
    assert re.search(r"worker:1, run 2: exited with code 4 .*worker:1, run 1: exited with code 3 ", page.text(".repairs"))
    page.wait_for_text("a step of the first", "[aria-labelledby=tail]")
    page.wait_for_rows(lambda rows: states(rows) == ["running", "running"] and rows[1][-1] == "exited with code 4")

    page.expect_end()
    lines = [f"line {number}" for number in range(30)]
    orders.give("worker:1", err="\n".join([*lines, "ValueError: still no data", ""]), exit=5)
    page.wait_for_text("Root cause", ".notice")
    page.wait_for_text("Ended", ".connection")
    page.wait_for_text("failed", ".title .badge")  # a frame later
    assert "worker:1" in page.text(".notice a") and "exited with code 5" in page.text(".notice")
    assert page.text(".tail .headline") == "ValueError: still no data"
    assert job.wait() == 1


def test_ended_jobs_are_found_in_the_portal_and_compared(tony, page, orders, portal):
    name = {"tony.application.name": f"mnist-{os.urandom(4).hex()}"}
    first = submit(tony, orders, name)
    first.wait_task("worker:1")
    open_by(page, portal.ask_link())
    search, named = "[aria-label='Search jobs']", f"name:{name['tony.application.name']}"
    page.type(search, named)
    page.wait_for_rows(lambda rows: [row[1:4:2] for row in rows] == [["running", first.id]])
    orders.give("worker:1", out="step 1\n", err="ValueError: no data\n", exit=5)
    page.wait_for_rows(lambda rows: states(rows) == ["failed"])
    second = submit(tony, orders, {**name, "tony.application.tags": "nightly"})
    page.wait_for_rows(lambda rows: states(rows) == ["running", "failed"])
    for task in ("worker:0", "worker:1"):
        orders.give(task, exit=0)
    page.wait_for_rows(lambda rows: states(rows) == ["succeeded", "failed"])
    portal.wait_kept(first, "failed")
    portal.wait_kept(second, "succeeded")
    portal.wait_logs(first, "worker:1")

    page.type(search, f"{named} tag:nightly")
    page.wait_for_rows(lambda rows: [row[3] for row in rows] == [second.id])
    page.type(search, named)
    page.button("1 failed")
    page.wait_for_rows(lambda rows: [row[3] for row in rows] == [first.id])
    page.focus("[role=grid]")
    page.press(Keys.ENTER)
    page.wait_for_text("Root cause", ".notice")
    page.wait_for_text("Ended", ".connection")
    assert page.text(".tail .headline") == "ValueError: no data"
    page.button("stderr", ".notice")
    page.wait_for_text("ValueError: no data", ".log")
    page.button("stdout")
    page.wait_for_text("step 1", ".log")
    page.wait_for_text("exited with code 5", "[aria-label=Runs]")
    page.button("Events", ".top")
    page.wait_for("canvas")
    page.button("Journal")
    page.wait_for_rows(lambda rows: any("running \u2192 failed" in row[2] for row in rows), "Journal")
    page.button("Configuration", ".top")
    page.wait_for_text("tony.worker.instances 2", ".config")
    page.wait_for_text("tony.worker.instances", ".config .key-doc")

    page.button("tony \u00b7 jobs", ".top")
    page.type(search, named)
    page.wait_for_rows(lambda rows: len(rows) == 2)
    for number in range(2):
        page.run("document.querySelectorAll('.grid-item input')[arguments[0]].click()", number)
    page.button("Compare 2 jobs")
    page.wait_for_text("tony.application.tags", ".compare .differs")
    assert first.id in page.text(".compare") and second.id in page.text(".compare")
    assert_accessible(page, ["#/", f"#/jobs/{first.id}", f"#/jobs/{first.id}/tasks/worker:1"])


LOGS = {  # what each task has written to its present container's stdout and stderr
    "out:0": (["a line"], []),
    "err:0": ([], ["a warning"]),
    "both:0": (["a line"], ["a warning"]),
    "none:0": ([], []),
    "rotated:0": ([f"line {number:03}" for number in range(300)], []),
    "retried:0": (["of the second container"], []),
    "restarted:0": (["of the second run"], ["of the first run"]),
}


def submit_logs(tony, orders):
    """A job that has written LOGS and goes on."""
    job = tony.submit({**{f"tony.{task[:-2]}.instances": 1 for task in LOGS}, "tony.restarted.max-restarts": 1,
                       "tony.am.retry-count": 1, "tony.am.retry-delay": "10ms", "tony.task.log-rotate-size": "1m"},
                      "--executes", orders.command)
    orders.give("retried:0", err="of the first container\n", lose=True)
    job.wait_task("retried:0", attempt=2)
    orders.give("restarted:0", err="of the first run\n", exit=3)
    orders.give("restarted:0", out="of the second run\n")
    for task, (out, err) in LOGS.items():
        if task != "restarted:0":
            orders.give(task, **{name: "".join(f"{line}\n" for line in lines)
                                 for name, lines in (("out", out), ("err", err)) if lines})
    for task in LOGS:
        orders.wait_obeyed(task)
    return job


def wait_for_log(page, streams, *feet):
    """Until these lines of stdout and of stderr are shown, no others, and below them a text that begins in one of these ways."""
    def shown():
        lines = page.run("return [...document.querySelectorAll('.log .line')].map((line) => "
                         "[line.classList.contains('stderr'), line.textContent])")
        return tuple([text for is_err, text in lines if is_err == wanted] for wanted in (False, True))
    page.wait(lambda: shown() == streams and page.text(".log-foot").startswith(feet), f"{streams} and {feet}")


def wait_for_all_logs(page):
    """Until each line of LOGS is shown behind the name of its task. A log of a line or two may be over before the page's first lines."""
    page.wait_for_text("line 299", ".log")
    page.button("Start")
    wanted = sorted([task, line] for task, streams in LOGS.items() for lines in streams for line in lines)
    page.wait(lambda: sorted(page.run("return [...document.querySelectorAll('.log .line')].map((line) => "
                                      "[line.dataset.head.trim(), line.textContent])")) == wanted, "all logs as one")


def test_a_log_is_shown_whichever_streams_its_task_wrote_to(tony, page, orders, portal, link_to):
    job = submit_logs(tony, orders)
    open_by(page, link_to(job))
    page.turn_to("#/logs")
    wait_for_all_logs(page)
    for task, streams in LOGS.items():
        page.turn_to(f"#/tasks/{task}")
        wait_for_log(page, streams, "Following")
    page.turn_to("#/tasks/out:0")
    wait_for_log(page, LOGS["out:0"], "Following")
    page.expect_end()
    for task in LOGS:
        orders.give(task, exit=0)
    page.wait_for_text("Ended", ".connection")
    # The AM exits once it has waited for a moment: it may not answer a page that asks later.
    wait_for_log(page, LOGS["out:0"], "End of the log.", "The rest of the log: not known.")

    portal.wait_kept(job, "succeeded")
    for task, streams in LOGS.items():
        if any(streams) or not tony.one_host:  # YARN collects empty logs, too
            portal.wait_logs(job, task)
    page.leave()
    assert page.errors() == []
    page.expected_errors = []
    open_by(page, portal.ask_link())
    page.turn_to(f"#/jobs/{job.id}/logs")
    wait_for_all_logs(page)
    for task, streams in LOGS.items():
        page.turn_to(f"#/jobs/{job.id}/tasks/{task}")
        for tab, wanted in (("stdout + stderr", streams), ("stdout", (streams[0], [])), ("stderr", ([], streams[1]))):
            page.button(tab, "[aria-label='Which log']")
            wait_for_log(page, wanted, "End of the log." if any(wanted) else "This log is empty.")


def test_who_was_not_let_in_is_told_how_to_get_in(tony, page, portal):
    page.go(f"{portal.url}#/?q=mnist")
    page.wait_for_text("Sign in: open a new link")
    words = page.text("pre").split()
    assert words[0] == "tony"
    link = tony.run(*words[1:])
    assert link.returncode == 0, link.stderr
    open_by(page, link.stdout.strip())
    page.wait_for_text("Jobs", "h1")
    assert page.run("return location.hash") == "#/?q=mnist"


def assert_accessible(page, pages):
    bad = [("here", page.violations())]
    for hash_ in pages:
        page.turn_to(hash_)
        bad.append((hash_, page.violations()))
    assert [found for found in bad if found[1]] == []


def test_pages_of_a_job_that_goes_on_are_accessible(tony, page, orders, link_to):
    job = submit(tony, orders, {"tony.am.retry-count": 1})
    orders.give("worker:1", err="ValueError: no data\n", exit=1)
    open_by(page, link_to(job))
    page.wait_for_rows(lambda rows: rows[1][-1] == "exited with code 1")
    assert_accessible(page, JOB_PAGES)
    page.expect_end()
    tony.run("kill", job.id)
    page.wait_for_text("Ended", ".connection")


def test_what_a_task_serves_is_behind_the_page(tony, page, link_to):
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 1}, "--executes", f"exec {PYTHON} web_program.py {go}")
    open_by(page, link_to(job))
    page.wait_for_rows(lambda rows: states(rows) == ["running"])
    assert page.all(".links a") == []
    go.touch()
    link = page.wait_for(".links a")
    assert link.text == "TensorBoard"
    root = page.run("return location.href").split("#")[0]
    page.expected_errors = ["favicon.ico"]  # which the program does not have
    page.driver.get(link.get_attribute("href"))
    seen = json.loads(page.text("body"))
    assert seen["path"] == "/" and page.driver.current_url.endswith("/ui/tensorboard/")
    assert not page.driver.current_url.startswith(root)
    answer = page.driver.execute_async_script(
        "fetch('a/b?c=d').then((answer) => answer.json()).then(arguments[0], (error) => arguments[0](String(error)))")
    assert answer["path"] == "/a/b?c=d"
    tony.run("kill", job.id)


def look_for_markup(page):
    """All that the page says, none of which is markup."""
    assert page.foreign() == 0, page.driver.current_url
    return page.run("return document.body.textContent")


def test_no_string_of_a_job_becomes_part_of_a_page(tony, page, orders, portal, link_to):
    def turn_and_look(hash_):
        page.turn_to(hash_)
        return look_for_markup(page)

    text = "".join(f"{attack}\n" for attack in ATTACKS)
    job = tony.submit({"tony.application.name": MARKUP[0], "tony.application.tags": MARKUP[2], "tony.worker.instances": 2},
                      "--shell_env", f"ATTACK={MARKUP[1]}", "--executes", f": '{MARKUP[1]}'; {orders.command}")
    open_by(page, link_to(job))
    page.wait_for_rows(lambda rows: states(rows) == ["running", "running"])
    orders.give("worker:1", out=text, err=text, own={"step": 1, MARKUP[0]: 0.5, "run": MARKUP[1]})
    page.turn_to("#/tasks/worker:1")
    page.wait_for_text(MARKUP[0], "figcaption")
    page.wait_for_text(MARKUP[5], ".log .stderr")
    live = look_for_markup(page) + "".join(map(turn_and_look, JOB_PAGES))
    page.expect_end()
    orders.give("worker:1", err=text, exit=1)
    page.wait_for_text("Ended", ".connection")
    portal.wait_kept(job, "failed")
    open_by(page, portal.ask_link())
    kept = "".join(map(turn_and_look, ["#/", *(f"#/jobs/{job.id}{hash_[1:]}" for hash_ in JOB_PAGES)]))
    for attack in MARKUP:
        assert attack in live and attack in kept
