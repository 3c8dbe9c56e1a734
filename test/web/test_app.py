"""The dashboard in a real browser: what a person sees of a job, and what becomes of it when the job,
the server or the way between them changes."""

import pytest

import browser
from fake_job import ATTACKS, HugeLog, Job, Log, fill_portal
from page import Keys

PORTAL_JOB = "tony-20261101-000005-1f3a"
JOB_PAGES = ["#/", "#/tasks/worker:0", "#/logs", "#/events", "#/events?view=table", "#/events?view=list", "#/config?all=1"]

HIDE = """
    Object.defineProperty(document, 'hidden', {value: arguments[0], configurable: true});
    document.dispatchEvent(new Event('visibilitychange'));"""


@pytest.fixture
def portal(serve):
    live = Job(tasks=6).start()
    return serve(live, *fill_portal(250), is_portal=True)


# ---- the job ------------------------------------------------------------------------------------


def test_job_at_a_glance(page, serve, job):
    page.open(serve(job))
    assert page.text("h1") == "mnist"
    assert page.text(".title .badge") == "running"
    for fact in ("ada", "research", "yarn", "tensorflow", job.id, "nightly"):
        assert fact in page.text(".facts")
    assert "Uses" not in page.text(".facts")  # a job of no pipeline
    rows = page.wait_for_rows(lambda rows: len(rows) == 8)
    assert [row[0] for row in rows][:2] == ["chief:0", "worker:0"]
    assert {row[1] for row in rows} == {"running"}
    assert page.driver.title == "running: mnist · tony"
    page.wait_for_rows(lambda rows: all("%" in row[6] and "GiB" in row[7] for row in rows))
    assert page.run("return document.querySelector('[role=grid] .spark-line').getAttribute('d').length") > 50
    assert page.text(".legend") == "8 running"


def test_failed_job_tells_why(page, serve, job):
    page.expected_errors = ["404"]  # of the logs of worker:1, which the page asks for in vain
    job.fail("worker:1", lines=["noise"] * 30 + ["Traceback", "ValueError: no data"], headline="ValueError: no data")
    job.give_advice()
    job.advice[0]["severity"] = "critical"
    job.end("failed", "worker:1 exited with code 1")
    page.open(serve(job))
    assert "Root cause" in page.text(".notice")
    assert "worker:1" in page.text(".notice a") and "exited with code 1" in page.text(".notice")
    assert page.text(".tail .headline") == "ValueError: no data"
    assert len(page.all(".tail .line")) == 12
    page.button("All 32 lines")
    assert len(page.all(".tail .line")) == 32
    page.wait_for_text("Workers use a third of their memory", ".suggestion")
    assert "tony.worker.memory" in page.text(".settings")
    assert page.text(".connection") == "Ended"
    page.button("stderr", ".notice")
    page.wait_for_text("worker:1", "h1")
    page.wait_for_text("stderr", "[aria-label='Which log'] [aria-pressed=true]")


def test_how_far_the_programs_are(page, serve, job):
    page.open(serve(job))
    page.wait_for_text("8 running", ".legend")
    assert not page.wait_for(".page").find_element("css selector", ".work").is_displayed()
    job.lag()
    page.wait_for_text("31% \u00b7 step 400 of 1 000", ".work")
    assert page.run("return document.querySelector('.work progress').value") == 0.316
    job.lag("worker:1", step=12)
    page.wait_for_text("31% \u00b7 steps 12 to 400 of 1 000", ".work")
    job.end()
    page.wait_until_gone("steps 12 to 400")


def test_how_far_the_data_is_that_tasks_share(page, serve, job):
    page.open(serve(job))
    page.wait_for_text("8 running", ".legend")
    job.work["splits"] = [{"name": "logs", "items": 2000, "complete": True, "pass": 2, "passes": 3, "done": 1860, "leased": 16, "waiting": 0},
                          {"name": "images", "items": 40, "complete": False, "pass": 1, "passes": 1, "done": 0, "leased": 0, "waiting": 40}]
    page.wait_for_text("logs \u00b7 31% \u00b7 1 860 of 6 000 splits \u00b7 pass 2 of 3 \u00b7 16 leased", ".page")
    page.wait_for_text("images \u00b7 40 splits listed so far", ".page")
    assert page.run("return document.querySelector('[aria-label=\"Progress of the data logs\"]').value") == 0.31
    job.end()
    page.wait_until_gone("1 860 of 6 000")


def test_stragglers_are_marked_until_they_have_caught_up(page, serve):
    job = Job(tasks=40).start()
    job.lag("worker:3", *(f"worker:{number}" for number in range(10, 16)))
    server = serve(job)
    page.open(server)
    page.wait_for_text("worker:3 is at step 120, its siblings at 400", ".stragglers")
    page.wait_for_rows(lambda rows: [row[1] for row in rows if row[0] == "worker:3"] == ["running\u25bc straggler"])
    assert {row[1] for row in page.rows() if row[0] in ("chief:0", "worker:2", "worker:4")} == {"running"}
    page.button("and 2 more")
    page.wait_for_rows(lambda rows: [row[0] for row in rows] == ["worker:3", *(f"worker:{n}" for n in range(10, 16))])
    page.button("worker:3 is at step 120, its siblings at 400")
    page.wait_for_text("worker:3", "h1")
    page.wait_for_text("Straggler: worker:3 is at step 120, its siblings at 400", ".notice")
    job.lag("worker:10")
    page.wait(lambda: "Straggler" not in page.text())
    page.open(server)
    page.wait_for_text("worker:10 is at step 120", ".stragglers")
    job.move("worker:10", "stopping")  # what does not run is none, whoever says so
    page.wait(lambda: page.all(".stragglers") == [])


def test_what_cannot_be_stored_is_told_until_it_can(page, serve):
    job = Job(tasks=40).start()
    server = serve(job)
    page.open(server)
    job.trouble("its checkpoints cannot be stored: no room", "worker:1")
    job.trouble("the journal's file cannot be written")
    page.wait_for_text("worker:1: its checkpoints cannot be stored: no room (for ", ".troubles")
    page.wait_for_text("the journal's file cannot be written (for ", ".troubles")
    page.open(server)
    page.wait_for_text("the journal's file cannot be written (for ", ".troubles")
    page.button("worker:1: its checkpoints cannot be stored: no room")
    page.wait_for_text("worker:1", "h1")
    page.wait_for_text("Checkpoints: its checkpoints cannot be stored: no room (for ", ".notice")
    job.trouble(None, "worker:1")
    page.wait_until_gone("Checkpoints: ")
    job.trouble(None)
    page.open(server)
    page.wait_for_text("worker:1")
    assert page.all(".troubles") == []


def test_what_is_waited_for(page, serve):
    job = Job(tasks=4)
    page.open(serve(job))
    job.wait_for("4 containers of the queue research")
    page.wait_for_text("Waiting: 4 containers of the queue research")
    job.wait_for(None)
    page.wait_until_gone("Waiting")


def test_changes_are_seen_without_asking_again(page, serve):
    job = Job(tasks=40).start()
    server = serve(job)
    page.open(server)
    page.wait_for_rows(lambda rows: len(rows) > 10)
    page.wait_for_text("Live", ".connection")
    server.requests.clear()
    for _ in range(20):
        for number in range(30):
            job.move(f"worker:{number}", "stopping")
            job.move(f"worker:{number}", "running")
    job.fail("worker:3")
    page.wait_for_rows(lambda rows: "failed" in [row[1] for row in rows if row[0] == "worker:3"])
    page.wait_for_text("1 failed", ".legend")
    assert [path for path in server.requests if "/tasks?" in path or path.endswith("/job")] == []


def test_job_that_ends_while_it_is_watched(page, serve, job):
    page.open(serve(job))
    page.wait_for_text("Live", ".connection")
    job.end("succeeded", "all tracked tasks have succeeded")
    page.wait_for_text("Ended", ".connection")
    page.wait_for_text("succeeded", ".title .badge")  # a frame later
    page.wait_for_text("all tracked tasks have succeeded")
    page.wait_for_text("8 succeeded", ".legend")


def test_links_come_with_what_they_lead_to(page, serve, job):
    page.open(serve(job, prefix="/proxy/application_1_0001"))
    assert page.all(".links a") == []
    job.move("tensorboard:0", "running", ui_port=6006)
    link = page.wait_for(".links a")
    assert link.text == "TensorBoard"
    assert link.get_attribute("href").endswith("/proxy/application_1_0001/ui/tensorboard/")


# ---- the way to the server ----------------------------------------------------------------------


def test_lost_connection_is_told_and_made_up_for(page, serve, job):
    page.expected_errors = ["ERR_", "Failed to load"]
    server = serve(job)
    page.open(server)
    page.wait_for_text("Live", ".connection")
    server.go_away()
    page.wait_for_text("Connection lost, trying again", ".connection")
    job.fail("worker:0")
    server.come_back()
    page.wait_for_rows(lambda rows: ["failed"] == [row[1] for row in rows if row[0] == "worker:0"])
    page.wait(lambda: page.text(".connection") == "Live")


def test_a_server_that_does_not_come_back_is_told(page, serve, job):
    page.expected_errors = ["ERR_", "Failed to load"]
    server = serve(job)
    page.open(server)
    page.wait_for_text("Live", ".connection")
    server.go_away()
    page.wait_for_text("No answer", ".connection")
    page.wait_for_text("The application master no longer answers. The last known state of the job is running.", ".away")
    assert page.text(".away pre") == f"tony status {job.id} tony logs {job.id} tony portal --link {job.id}"
    assert page.violations() == []
    server.come_back()
    job.end("succeeded", "all tracked tasks have succeeded")
    page.wait_for_text("Ended", ".connection")
    assert "no longer answers" not in page.text(".away")


def test_a_frozen_connection_is_not_live(fast_page, serve, job):
    page, server = fast_page, serve(job)
    page.open(server)
    page.wait_for_text("Live", ".connection")
    server.moves.clear()
    page.wait_for_text("No data for", ".connection")
    assert "live" not in page.all(".connection")[0].get_attribute("class")
    page.wait_for_text("No answer", ".connection")
    server.moves.set()
    page.wait(lambda: page.text(".connection") == "Live")


def test_a_server_that_comes_back_and_knows_its_reader_no_more(page, serve, job):
    page.expected_errors = ["ERR_", "Failed to load"]
    server = serve(job)
    page.open(server)
    page.wait_for_text("Live", ".connection")
    server.go_away()
    page.wait_for_text("The application master no longer answers.", ".away")
    server.denies = True
    server.come_back()
    page.wait_for_text("tony open", "main pre")
    assert not page.all(".away")[0].is_displayed()


@pytest.mark.parametrize("is_portal, hash_, command", [
    (False, "#/logs?q=first", "tony open JOB"),
    (True, "#/jobs/tony-20261121-061400-1f3a/logs?q=first", "tony portal --link tony-20261121-061400-1f3a"),
    (True, "#/?q=mnist", "tony portal --link")])
def test_a_page_stays_asked_for_while_its_user_signs_in(page, serve, job, is_portal, hash_, command):
    server = serve(job, is_portal=is_portal)
    server.denies = True
    page.open(server, hash_)
    assert page.text("main pre") == command
    server.denies = False
    page.open(server)  # as the link leads there
    page.wait(lambda: page.run("return location.hash") == hash_)
    page.wait_for_text("Logs" if "logs" in hash_ else "Jobs", "h1")
    page.open(server)  # it is not asked for any more
    page.wait_for_text("mnist")
    assert page.run("return location.hash") in ("", "#/")


def test_a_link_to_a_page_comes_before_the_page_that_was_asked_for(page, serve, job):
    server = serve(job)
    server.denies = True
    page.open(server, "#/events")
    server.denies = False
    page.open(server, "#/config")
    page.wait_for_text("Configuration", "h1")
    page.open(server)
    page.wait_for_text("mnist", "h1")


def test_the_page_goes_on_once_its_user_has_signed_in_elsewhere(page, serve, job):
    server = serve(job)
    server.denies = True
    page.open(server, "#/config")
    page.wait_for_text("tony open", "main pre")
    server.denies = False
    page.run("window.dispatchEvent(new Event('focus'))")
    page.wait_for_text("Configuration", "h1")


def test_a_proxy_that_leads_elsewhere_once_the_job_has_ended(page, serve, job):
    server = serve(job)
    page.open(server, "#/tasks/worker:0")
    page.wait_for_text("Following", ".log-foot")
    job.end()
    page.wait_for_text("Ended", ".connection")
    server.leads_to = "http://127.0.0.1:1/executions/application_1_0001"
    page.turn_to("#/tasks/worker:1")
    page.wait_for_text("Cannot reach the server.", ".log-foot")
    assert page.errors() == []


def test_stream_that_does_not_come_through(page, serve, job):
    page.expected_errors = ["ERR_"]
    server = serve(job)
    server.holds_streams = True
    page.open(server)
    page.wait_for_text("Live (polling)", ".connection")
    job.fail("worker:0")
    page.wait_for_rows(lambda rows: ["failed"] == [row[1] for row in rows if row[0] == "worker:0"])
    server.holds_streams = False
    page.wait(lambda: page.text(".connection") == "Live", "a stream again")
    job.fail("worker:1")
    page.wait_for_rows(lambda rows: ["failed"] == [row[1] for row in rows if row[0] == "worker:1"])


def test_log_follows_where_streams_do_not_come_through(page, serve, job):
    page.expected_errors = ["ERR_"]
    server = serve(job)
    server.holds_streams = True
    page.open(server, "#/tasks/worker:0?log=stdout")
    page.wait_for_text("first line of stdout", ".log")
    job.log("worker:0", "stdout").append("second line\n")
    page.wait_for_text("second line", ".log")
    job.log("worker:0", "stdout").append("third line\n")
    page.wait_for_text("third line", ".log")


def test_who_may_not_see_it_is_told_what_to_do(page, serve, job):
    page.expected_errors = ["401"]
    server = serve(job)
    server.denies = True
    page.open(server)
    assert "tony open JOB" in page.text("main")


def test_server_that_comes_later(page, serve, job):
    page.expected_errors = ["503", "502", "ERR_", "Failed to load"]
    server = serve(job)
    page.open(server)
    server.go_away()
    page.button("Events", ".top")
    page.wait_for_text("Cannot reach the server", "main")
    server.come_back()
    page.button("Configuration", ".top")
    page.wait_for_text("tony.worker.memory", "main")


def test_page_without_charts_says_so(page, serve, job):
    page.expected_errors = ["404", "uPlot"]
    server = serve(job)
    server.lacks_charts = True
    page.open(server, "#/tasks/worker:0")
    page.wait_for_text("The charts did not load.", ".chart-box")
    assert "mean" in page.text(".chart-numbers")


# ---- the table ----------------------------------------------------------------------------------


def test_tasks_are_filtered_and_sorted(page, serve):
    job = Job(tasks=30).start()
    job.fail("worker:10")
    job.fail("worker:9")
    page.open(serve(job))
    page.choose("State", "failed")
    page.wait_for_rows(lambda rows: [row[0] for row in rows] == ["worker:9", "worker:10"])
    assert page.text("[aria-labelledby=tasks] .toolbar [role=status]") == "2 of 30"
    page.click("[data-key=task]")
    page.wait_for_rows(lambda rows: [row[0] for row in rows] == ["worker:10", "worker:9"])
    assert page.wait_for("[aria-sort=descending]").text.startswith("Task")
    page.choose("State", "")
    page.choose("Type", "ps")
    page.wait_for_rows(lambda rows: [row[0] for row in rows] == ["ps:1", "ps:0"])
    page.choose("Type", "")
    page.type("[aria-label='Filter tasks']", "worker node05")
    page.wait_for_rows(lambda rows: [row[0] for row in rows] == ["worker:4"])
    page.driver.refresh()
    page.wait_for_rows(lambda rows: [row[0] for row in rows] == ["worker:4"])
    page.type("[aria-label='Filter tasks']", "nothing like it")
    page.wait_for_text("No tasks match these filters.")


def test_ten_thousand_tasks(page, serve):
    job = Job(tasks=10000).start()
    page.open(serve(job))
    page.wait_for_rows(lambda rows: len(rows) > 10)
    grid = page.wait_for("[role=grid]")
    assert grid.get_attribute("aria-rowcount") == "10001"
    page.focus("[role=grid]")
    page.press(Keys.END)
    page.wait(lambda: page.active_cell() == "tensorboard:0")
    assert page.rows()[-1][0] == "tensorboard:0"
    page.press(Keys.HOME, Keys.PAGE_DOWN, Keys.ARROW_DOWN)
    page.wait(lambda: page.active_cell() not in (None, "tensorboard:0", "chief:0"))
    assert len(page.all(".grid-item")) < 120
    job.fail("worker:5000")
    page.type("[aria-label='Filter tasks']", "failed")
    page.wait_for_rows(lambda rows: [row[0] for row in rows] == ["worker:5000"])


def test_rows_are_right_wherever_they_are_scrolled_to(page, serve):
    page.open(serve(Job(tasks=2000).start()))
    page.wait_for_rows(lambda rows: len(rows) > 10)
    for share in (0.5, 0.1, 0.999, 0, 0.77):
        page.run("const g = document.querySelector('[role=grid]'); g.scrollTop = g.scrollHeight * arguments[0]", share)
        wrong = page.wait(lambda: page.run("""
            const grid = document.querySelector('[role=grid]').getBoundingClientRect();
            const rows = [...document.querySelectorAll('.grid-item')].filter((row) => !row.hidden);
            const seen = rows.filter((row) => {
                const box = row.getBoundingClientRect();
                return box.bottom > grid.top && box.top < grid.bottom;
            });
            const names = ['chief:0', ...Array.from({length: 1996}, (_, i) => `worker:${i}`),
                'ps:0', 'ps:1', 'tensorboard:0'];
            const wrong = seen.filter((row) => row.firstChild.textContent !== names[row.ariaRowIndex - 2]);
            return seen.length * seen[0].offsetHeight >= grid.height - 60 ? [wrong.length] : null;"""))
        assert wrong == [0]


# ---- the task -----------------------------------------------------------------------------------


def test_task_page(page, serve, job):
    job.fail("worker:0")
    job.form(["worker:0"])
    job.run()
    page.open(serve(job), "#/tasks/worker:0")
    for fact in ("node01.example.org", "40001", "container_1795241651123_0001_01_000003", "/var/log/yarn/c1"):
        page.wait_for_text(fact, ".facts")
    assert "exited with code 1" in page.text(".notice")
    page.wait(lambda: len(page.all("[aria-label=Runs] tbody tr")) == 2)
    assert "exited with code 1" in page.text("[aria-label=Runs] tbody tr:first-child")
    page.wait(lambda: len(page.all(".chart canvas")) >= 6)
    assert "loss" in page.text("figcaption") and "mean" in page.text(".chart-numbers")
    page.click("[aria-label='Next task: worker:1']")
    page.wait_for_text("worker:1", "h1")


def test_task_that_is_none(page, serve, job):
    page.open(serve(job), "#/tasks/nobody:7")
    assert "The job has no such task" in page.text()


# ---- logs ---------------------------------------------------------------------------------------


def test_log_grows(page, serve, job):
    page.open(serve(job), "#/tasks/worker:0")
    page.wait_for_text("first line of stdout", ".log")
    job.log("worker:0", "stdout").append("\x1b[31mred\x1b[0m and\x1b[2J plain\n")
    job.log("worker:0", "stderr").append(" 10%\r 99%\r100%\n")
    page.wait_for_text("red and plain", ".log")
    page.wait_for_text("100%", ".log .stderr")
    assert page.text(".log .ansi-1") == "red"
    assert "99%" not in page.text(".log")
    page.button("stdout")
    page.wait_until_gone("100%", ".log")
    assert page.all(".log .stderr") == []
    job.log("worker:0", "stdout").append("half a ")
    page.wait_for_text("half a", ".log .line:last-child")
    job.log("worker:0", "stdout").append("line\n")
    page.wait(lambda: page.text(".log .line:last-child") == "half a line")


def test_log_of_a_gigabyte(page, serve, job):
    log = job.set_log("worker:0", "stdout", HugeLog(10_000_000, [1_000, 9_990_000]))
    assert log.length() == 10 ** 9
    page.open(serve(job), "#/tasks/worker:0?log=stdout")
    page.wait_for_text("step 009999999", ".log .line:last-child")
    page.draw()
    # Far back by scrolling: what is loaded stays bounded.
    for _ in range(8):
        first = page.text(".log .line:first-child")
        page.run("document.querySelector('.log').scrollTop = 0")
        page.wait(lambda: page.text(".log .line:first-child") != first)
    assert len(page.all(".log .line")) <= 3000
    assert "step 009999999" not in page.text(".log .line:last-child")
    page.button("Start")
    page.wait_for_text("step 000000000", ".log .line:first-child")
    for _ in range(4):
        last = page.text(".log .line:last-child")
        page.run("const log = document.querySelector('.log'); log.scrollTop = log.scrollHeight")
        page.wait(lambda: page.text(".log .line:last-child") != last)
    assert len(page.all(".log .line")) <= 3000
    page.button("End")
    page.wait_for_text("step 009999999", ".log .line:last-child")


def test_log_is_searched_beyond_what_is_loaded(page, serve, job):
    job.set_log("worker:0", "stdout", HugeLog(200_000, [1_000, 190_000]))
    page.open(serve(job), "#/tasks/worker:0?log=stdout")
    page.wait_for_text("step 000199999", ".log .line:last-child")
    page.type("[aria-label='Search the log']", "needle")
    page.press_with(Keys.SHIFT, Keys.ENTER)
    page.wait_for_text("step 000190000 NEEDLE", ".log .found")
    assert page.text(".log .found mark") == "NEEDLE"
    page.click("[aria-label='Previous match']")
    page.wait_for_text("step 000001000 NEEDLE", ".log .found")
    page.click("[aria-label='Previous match']")
    page.wait_for_text("step 000190000 NEEDLE", ".log .found")
    page.wait_for_text("From the end: stdout, byte 19 000 000", ".log-found")
    page.focus("[aria-label='Search the log']")
    page.press(Keys.ENTER)
    page.wait_for_text("step 000001000 NEEDLE", ".log .found")
    page.wait_for_text("From the start: stdout, byte 100 000", ".log-found")


def test_log_is_searched_by_pattern(page, serve, job):
    job.set_log("worker:0", "stdout", Log(b"loss=1.5\nLOSS=2.5\nnothing\n"))
    page.open(serve(job), "#/tasks/worker:0?log=stdout")
    page.wait_for_text("nothing", ".log")
    page.click(".search label:nth-of-type(1) input")
    page.type("[aria-label='Search the log']", r"loss=\d")
    page.wait(lambda: len(page.all(".log mark")) == 2)
    page.click(".search label:nth-of-type(2) input")
    page.wait(lambda: len(page.all(".log mark")) == 1)
    page.type("[aria-label='Search the log']", "(")
    page.wait(lambda: page.wait_for("[aria-label='Search the log']").get_attribute("aria-invalid") == "true")
    page.type("[aria-label='Search the log']", "")


def test_page_that_nobody_sees_gives_its_connections_back(page, serve, job):
    server = serve(job)
    page.open(server, "#/tasks/worker:0?log=stdout")
    page.wait_for_text("Following", ".log-foot")
    page.wait(lambda: len(server.streams) == 2)
    page.run(HIDE, True)

    def nobody_listens():
        """Who writes finds out, once the browser has closed the connection."""
        job.note("a line that finds out")
        job.log("worker:0", "stdout").append("nobody sees this\n")
        return not server.streams

    page.wait(nobody_listens)
    page.run(HIDE, False)
    page.wait_for_text("nobody sees this", ".log")
    page.wait_for_text("Live", ".connection")


def test_page_that_is_kept_for_the_way_back_gives_its_connections_back(page, serve, job):
    server = serve(job)
    page.open(server)
    page.wait_for_text("Live", ".connection")
    page.wait(lambda: server.streams)
    page.run("window.dispatchEvent(new PageTransitionEvent('pagehide', {persisted: true}))")

    def nobody_listens():
        job.note("a line that finds out")
        return not server.streams

    page.wait(nobody_listens)
    page.run("window.dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
    page.wait(lambda: server.streams)
    page.wait_for_text("Live", ".connection")


def test_log_that_is_not_there_yet(page, serve):
    job = Job(tasks=4).start()
    page.open(serve(job), "#/tasks/worker:0")
    page.wait_for_text("Following", ".log-foot")
    job.set_log("worker:0", "executor", Log(b"the executor began\n"))
    page.wait(lambda: job.log("worker:0", "stdout"), "that it is asked for").append("here it is\n")
    page.wait_for_text("here it is", ".log")
    job.move("worker:0", "stopping")
    page.button("executor")
    page.wait_for_text("the executor began", ".log")


def test_log_download_is_whole(page, serve, job):
    page.open(serve(job), "#/tasks/worker:0?log=stdout")
    link = page.wait_for("a[download][href]")
    assert link.get_attribute("href").endswith("v1/tasks/worker:0/logs/stdout?from=oldest")
    assert link.get_attribute("download") == "worker-0-stdout.log"


# ---- events and configuration -------------------------------------------------------------------


def open_timeline(page, serve, job):
    """Of a task that has failed and runs again."""
    job.fail("worker:0")
    job.form(["worker:0"])
    job.run()
    page.open(serve(job), "#/events")
    page.wait_for_text("8 tasks")


def test_timeline(page, serve, job):
    open_timeline(page, serve, job)
    page.wait(lambda: page.run("""
        const canvas = document.querySelector('canvas');
        const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        return new Set(new Uint32Array(data.buffer)).size""") > 5, "its colours")
    page.focus(".gantt")
    page.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    page.wait_for_text("worker:0, run 2: running", "[aria-live]")
    page.press("+", "0", Keys.ENTER)
    page.wait_for_text("worker:0", "h1")


def test_the_cross_of_a_failure_is_not_covered_by_the_next_run(page, serve, job):
    """It has four arms, two on each side of its middle."""
    open_timeline(page, serve, job)
    left, right = page.wait(lambda: page.run("""
        const canvas = document.querySelector('canvas');
        const failed = getComputedStyle(document.documentElement).getPropertyValue('--s-failed').trim();
        const wanted = [1, 3, 5].map((at) => parseInt(failed.slice(at, at + 2), 16));
        const {data, width} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const columns = [];
        for (let i = 0; i < data.length; i += 4)
            if (wanted.every((value, at) => Math.abs(value - data[i + at]) < 40))
                columns.push(i / 4 % width);
        const middle = (Math.min(...columns) + Math.max(...columns)) / 2;
        const count = (is) => columns.filter(is).length;
        return columns.length > 20 && [count((x) => x < middle - 1), count((x) => x > middle + 1)]"""), "the cross")
    assert min(left, right) * 2 > max(left, right), (left, right)


def test_a_failure_that_was_repaired_in_place_is_marked_with_its_reason(page, serve, job):
    cause = {"kind": "signal", "signal": 11, "text": "killed by signal 11 (SIGSEGV)"}
    job.move("worker:1", "registered", cause=cause, up=False, restarts_used=1, restart=1)
    job.move("worker:1", "running", up=True)
    page.open(serve(job), "#/events")
    page.wait_for_text("8 tasks")
    page.wait_for_text("failure", ".legend")
    page.focus(".gantt")
    page.press(Keys.END)
    said = page.wait(lambda: page.run("return document.querySelector('[aria-live].visually-hidden, .gantt-frame [aria-live]').textContent"))
    assert ": running from" in said
    for _ in range(10):
        if said.startswith("worker:1,"):
            break
        page.press(Keys.ARROW_UP)
        said = page.run("return document.querySelector('.gantt-frame [aria-live]').textContent")
    assert "killed by signal 11 (SIGSEGV); started anew in place" in said
    page.button("Table")
    rows = page.wait_for_rows(lambda rows: len(rows) == 9, "Runs")
    runs = [row for row in rows if row[0] == "worker:1"]
    assert [row[1] for row in runs] == ["1", "2"] and "running" in runs[1]
    assert "failed" in runs[0] and any("killed by signal 11 (SIGSEGV); started anew in place" in cell for cell in runs[0])


def test_times_of_runs_as_a_table(page, serve, job):
    page.open(serve(job), "#/events")
    page.button("Table")
    rows = page.wait_for_rows(lambda rows: len(rows) == 8, "Runs")
    assert rows[1][0] == "worker:0" and "running" in rows[1]
    job.fail("worker:0")
    page.wait_for_rows(lambda rows: "failed" in rows[1], "Runs")
    page.wait_for_text("8 runs, 1 failure", ".toolbar")
    page.click("[data-key=duration]")
    page.wait_for("[aria-sort=ascending] [data-key=duration]")


def test_journal(page, serve, job):
    page.open(serve(job), "#/events?view=list")
    page.wait_for_rows(lambda rows: "forming → running" in rows[0][2], "Journal")
    job.fail("worker:1")
    page.wait_for_rows(lambda rows: rows[0][1:] == [
        "worker:1", "✕ log running → failed on node02.example.org: exited with code 1"], "Journal")
    assert page.wait_for(".crash a").get_attribute("href").endswith(
        "#/tasks/worker:1?log=stderr&q=ValueError%3A+no+data+in+%2Fdata%2Fmnist")
    page.type("[aria-label='Filter tasks and events']", "worker:1 allocated")
    page.wait_for_rows(lambda rows: len(rows) == 2, "Journal")


def test_a_table_that_is_wider_than_a_phone_shows_that_it_scrolls(page, serve, job):
    browser.resize(page.driver, 390, 844)
    page.open(serve(job), "#/config?all=1")
    page.wait(lambda: page.run("const one = document.querySelector('.scroll-x'); return one?.scrollWidth > one?.clientWidth"))
    shadows = page.run("return getComputedStyle(document.querySelector('.scroll-x')).backgroundAttachment")
    assert shadows == "local, local, scroll, scroll", "shadows stay at the sides, and what covers them moves"


def test_configuration(page, serve, job):
    page.open(serve(job), "#/config")
    page.wait_for_text("tony.worker.memory", ".config")
    assert "tony.example.key-007" not in page.text(".config")
    page.click("input[type=checkbox]")
    page.wait_for_text("tony.example.key-007", ".config")
    page.type("[aria-label='Filter configuration']", "memory of each task worker")
    page.wait(lambda: page.text(".config tbody") == "tony.worker.memory 8g 2g tony.xml:17")
    page.click(".config summary")
    page.wait_for_text("Memory of each task of this type. size", ".config")
    page.type("[aria-label='Filter configuration']", "site.xml")
    page.wait(lambda: page.text(".config tbody") == "tony.application.framework tensorflow tony-site.xml:3")
    page.wait_for_text("node01.example.org:40001")
    page.wait_for_text("OMP_NUM_THREADS")


# ---- the portal ---------------------------------------------------------------------------------


def test_job_out_of_the_list(page, portal):
    page.expected_errors = ["404"]  # of the logs of worker:0
    page.open(portal)
    page.wait_for_rows(lambda rows: len(rows) > 10)
    page.focus("[role=grid]")
    page.press(Keys.ARROW_DOWN, Keys.ENTER)
    page.wait_for_text("Ended", ".connection")
    page.button("worker:0")
    page.wait_for_text("worker:0", "h1")
    page.button("tony · jobs", ".top")
    page.wait_for_text("Jobs", "h1")


def test_a_job_that_is_none_has_no_header_of_another(page, portal):
    page.expected_errors = ["404"]
    page.open(portal, f"#/jobs/{PORTAL_JOB}")
    page.wait_for_text("Events", ".top")
    page.turn_to("#/jobs/tony-nope")
    page.wait_for_text("Not found")
    assert "Events" not in page.text(".top") and page.text(".trail") == "tony · jobs"
    assert page.run("return document.title") == "Not found · tony"
    page.button("All jobs")
    page.wait_for_text("Jobs", "h1")


def test_tensorboard_of_a_finished_job(page, portal):
    page.open(portal, f"#/jobs/{PORTAL_JOB}")
    page.button("Start TensorBoard")
    page.wait_for_text("Open TensorBoard", ".links")
    assert page.wait_for(".links a").get_attribute("href").endswith(f"/ui/{PORTAL_JOB}/tensorboard/")
    page.turn_to("#/")
    page.turn_to(f"#/jobs/{PORTAL_JOB}")
    page.wait_for_text("Open TensorBoard", ".links")


def test_no_tensorboard_is_offered_where_there_is_nothing_to_read(page, portal):
    portal.jobs[PORTAL_JOB].has_events = False
    page.open(portal, f"#/jobs/{PORTAL_JOB}")
    page.settle()
    assert any(path.endswith("/tensorboard") for path in portal.requests)
    assert "TensorBoard" not in page.text()


# ---- everywhere ---------------------------------------------------------------------------------


def every_page(serve, job, portal_jobs=()):
    am = serve(job)
    portal = serve(job, *portal_jobs, is_portal=True)
    pages = [(am, path) for path in JOB_PAGES] + [(portal, "#/"), (portal, f"#/jobs/{job.id}")]
    if portal_jobs:
        pages.append((portal, f"#/compare?jobs={portal_jobs[0].id},{portal_jobs[1].id}"))
    return pages


@pytest.mark.promise("S13")
def test_no_string_of_a_job_becomes_part_of_the_page(page, serve):
    job = Job(tasks=8, hostile=True).start()
    job.set_log("worker:0", "stdout", Log("".join(f"{attack}\n" for attack in ATTACKS).encode()))
    job.set_log("worker:0", "stderr", Log(b"\x1b]8;;javascript:alert(1)\x07link\x1b]8;;\x07\n"))
    job.fail("worker:1")
    job.wait_for(ATTACKS[0])
    job.note(ATTACKS[1])
    job.lag("worker:2", "worker:3")
    job.give_advice()
    other = Job(tasks=8, hostile=True, identity="tony-20261121-061400-ffff").start()
    other.end("failed")
    seen = ""
    for server, path in every_page(serve, job, [other, job]):
        page.open(server, path)
        page.settle()
        assert page.foreign() == 0
        seen += page.run("return document.body.textContent")
    for attack in ATTACKS[:3]:
        assert attack in seen


@pytest.mark.parametrize("width", [320, 3840])
def test_no_page_is_wider_than_the_screen(page, serve, job, width):
    job.fail("worker:1")
    job.lag("worker:2", "worker:3")
    job.give_advice()
    browser.resize(page.driver, width, 900)
    for server, path in every_page(serve, job, fill_portal(2)):
        page.open(server, path)
        page.settle()
        assert page.run("return document.documentElement.scrollWidth") <= width, path


def test_themes(page, serve, job):
    server = serve(job)
    page.open(server)
    light = page.styles("body", "backgroundColor")
    browser.prefer(page.driver, dark=True)
    page.wait(lambda: page.styles("body", "backgroundColor") != light)
    dark = page.styles("body", "backgroundColor")
    page.click("[aria-label='Theme: auto']")
    page.wait(lambda: page.styles("body", "backgroundColor") == light)
    page.driver.refresh()
    page.wait_for("[aria-label='Theme: light']")
    assert page.styles("body", "backgroundColor") == light
    page.click("[aria-label='Theme: light']")
    browser.prefer(page.driver, dark=False)
    page.wait(lambda: page.styles("body", "backgroundColor") == dark)
    page.click("[aria-label='Theme: dark']")
    page.wait(lambda: page.styles("body", "backgroundColor") == light)


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_accessibility(page, serve, job, dark, width):
    """WCAG 2.2, A and AA, as far as axe can tell, and its own best practices."""
    browser.resize(page.driver, width, 900)
    job.fail("worker:1")
    job.lag("worker:2", "worker:3")
    job.give_advice()
    job.wait_for("a container")
    browser.prefer(page.driver, dark)
    pages = every_page(serve, job, fill_portal(2))
    for server, path in [*pages, (pages[-1][0], "#/?group=name&from=1"), (pages[-1][0], "#/none"), (serve(is_portal=True), "#/")]:
        page.open(server, path)
        page.settle()
        page.draw()
        assert page.violations() == [], path


def test_keyboard_alone(page, serve, job):
    page.open(serve(job))
    page.wait_for_rows(lambda rows: len(rows) == 8)
    page.press("g", "e")
    page.wait_for_text("Events", "h1")
    page.press("g", "c")
    page.wait_for_text("Configuration", "h1")
    page.press("g", "j")
    page.wait_for_text("mnist", "h1")
    page.press("/")
    assert page.run("return document.activeElement.getAttribute('aria-label')") == "Filter tasks"
    page.press("worker:2")
    page.wait_for_rows(lambda rows: len(rows) == 1)
    page.press(Keys.TAB, Keys.TAB, Keys.TAB)
    assert page.run("return document.activeElement.getAttribute('role')") == "grid"
    page.wait(lambda: page.active_cell() == "worker:2")
    assert page.styles(".grid-item.active .active-cell", "outlineStyle") == "solid"
    page.press(Keys.ARROW_RIGHT)
    page.wait(lambda: page.active_cell() == "running")
    page.press(Keys.ENTER)
    page.wait_for_text("worker:2", "h1")
    page.press("?")
    page.wait_for("dialog[open]")
    assert page.run("return document.activeElement.textContent") == "Close"
    assert "Page\u00a0Up" in page.run("return [...document.querySelectorAll('kbd')].map((one) => one.textContent)")
    page.press(Keys.ESCAPE)
    page.wait(lambda: page.all("dialog[open]") == [])


def test_every_control_shows_its_focus(page, serve, job):
    page.open(serve(job))
    page.wait_for_rows(lambda rows: len(rows) == 8)
    for _ in range(20):
        page.press(Keys.TAB)
        assert page.run("""
            const style = getComputedStyle(document.activeElement);
            return document.activeElement === document.body ||
                style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2""")


def test_calm_where_calm_is_asked_for(page, serve, job):
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
        {"name": "prefers-reduced-motion", "value": "reduce"}]})
    page.open(serve(job))
    assert page.run("return document.getAnimations().length") == 0
    assert page.styles(".fill", "transitionDuration") == "0s"


def test_below_any_prefix(page, serve, job):
    server = serve(job, prefix="/proxy/application_1795241651123_0001")
    page.open(server, "#/tasks/worker:0")
    page.wait_for_text("first line of stdout", ".log")
    page.wait(lambda: len(page.all(".chart canvas")) >= 6)
    assert all(path.startswith(server.prefix) for path in server.requests)
