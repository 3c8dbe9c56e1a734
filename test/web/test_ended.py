"""The dashboard in a real browser: what pages say of what no server has told them."""

import pytest

from fake_job import Job, Log
from test_app import HIDE

NOTHING = ("This log is empty", "No measurements", "had no container", "not formed", "was not formed", "None was given",
           "No line matches")
SHOWN = (("#/config", ("Cluster spec", "of cluster start", "OMP_NUM_THREADS")),
         ("#/tasks/worker:0", ("loss", "CPU", "Runs")))
LATER = """
    const now = Date.now;
    Date.now = () => now() + 7200000;"""


@pytest.fixture
def ended(page, serve, job):
    """The server of a job that has ended, with its page open; it has left."""
    server = serve(job)
    page.open(server)
    page.wait_for_text("now, by 8 of 8 tasks", "[aria-labelledby=use]")
    job.end()
    page.wait_for_text("Ended", ".connection")
    page.expect_end()
    server.go_away()
    return server


def test_the_page_of_an_application_master_tells_who_has_the_rest(page, ended, job):
    page.wait_for_text("its application master exits. This page keeps what it has read", ".away")
    assert page.text(".away pre") == f"tony logs {job.id} tony portal --link {job.id}"
    assert "now, by" not in page.text()
    assert page.violations() == []


@pytest.mark.parametrize("hash_, unknown", [
    ("#/tasks/worker:0", ["The log: not known. Cannot reach the server.", "Measurements: not known.", "Its runs: not known."]),
    ("#/logs", ["The log: not known. Cannot reach the server. In a terminal: tony logs {job}"]),
    ("#/logs?q=line", ["The log: not known."]),
    ("#/config", ["The cluster spec: not known.", "Environment variables: not known."])])
def test_nothing_is_said_to_be_empty_that_was_not_read(page, ended, job, hash_, unknown):
    page.turn_to(hash_)
    for words in unknown:
        page.wait_for_text(words.format(job=job.id))
    said = page.text()
    assert not [words for words in NOTHING if words in said]


def test_tabs_that_were_open_before_keep_what_they_had(page, serve, job):
    server = serve(job)
    page.open(server)
    for hash_, words in SHOWN:
        page.turn_to(hash_)
        for one in words:
            page.wait_for_text(one)
    page.turn_to("#/")
    job.end()
    page.wait_for_text("Ended", ".connection")
    page.expect_end()
    server.go_away()
    for hash_, words in SHOWN:
        page.turn_to(hash_)
        for one in words:
            page.wait_for_text(one)
        assert not [one for one in ("Measurements: not known", "Its runs: not known", "spec: not known", "variables: not known")
                    if one in page.text()]


def test_what_was_searched_in_vain_was_not_searched(page, ended):
    page.turn_to("#/logs?q=line")
    page.wait_for_text("The log: not known.", ".log-foot")
    page.run("[...document.querySelectorAll('.search label')].find((one) => one.textContent === 'Only matches').click()")
    page.wait(lambda: "Searching" not in page.text(".log-foot") and "not known" in page.text(".log-foot"))
    assert "No line matches" not in page.text()


@pytest.mark.parametrize("hash_", ["#/tasks/worker:0", "#/logs"])
def test_lines_stay_and_their_end_is_not_that_of_the_log(page, serve, job, hash_):
    server = serve(job)
    page.open(server, hash_)
    page.wait_for_text("first line of stdout", ".log")
    page.wait_for_text("Following", ".log-foot")
    job.refusals["worker:0"] = (502, "bad-gateway", "the executor does not answer")
    page.expected_errors = ["502"]
    job.end()
    page.wait_for_text(f"The rest of the log: not known. the executor does not answer. In a terminal: tony logs {job.id}",
                       ".log-foot")
    assert "first line of stdout" in page.text(".log") and "End of the log" not in page.text()


@pytest.mark.parametrize("hash_", ["#/tasks/worker:0", "#/logs"])
def test_lines_stay_in_a_tab_whose_server_left_while_nobody_looked(page, serve, job, hash_):
    server = serve(job)
    page.open(server, hash_)
    page.wait_for_text("first line of stdout", ".log")
    page.wait_for_text("Following", ".log-foot")
    page.run(HIDE, True)
    page.expect_end()
    server.go_away()
    page.run(HIDE, False)
    page.wait_for_text("The rest of the log: not known. Cannot reach the server.", ".log-foot")
    assert "first line of stdout" in page.text(".log") and "first line of stderr" in page.text(".log")


def test_an_empty_log_is_empty_when_its_server_says_so(page, serve, job):
    job.set_log("worker:1", "stdout", Log(b""))
    job.end()
    page.open(serve(job), "#/logs?task=worker:1")
    page.wait_for_text("This log is empty.", ".log-foot")


def test_a_proxys_answer_is_not_the_servers(page, serve, job):
    """Of a proxy whose server has left: 404, and a page of its own."""
    page.expected_errors = ["404"]
    server = serve(job)
    page.open(server)
    job.end()
    page.wait_for_text("Ended", ".connection")
    server.is_unknown = True
    page.turn_to("#/config")
    page.wait_for_text("The cluster spec: not known. The server answered 404.")
    page.turn_to("#/tasks/worker:0")
    page.wait_for_text("Measurements: not known.")
    page.wait_for_text("The log: not known.", ".log-foot")


def test_what_goes_on_is_not_timed_where_nobody_tells(page, serve, job):
    server = serve(job)
    page.open(server)
    page.wait_for_text("now, by 8 of 8 tasks", "[aria-labelledby=use]")
    page.expect_end()
    server.go_away()
    page.wait_for_text("Connection lost", ".connection")
    page.wait_until_gone("now, by", "[aria-labelledby=use]")
    page.wait_for_text("by 8 of 8 tasks", "[aria-labelledby=use]")
    page.run(LATER)
    page.wait_for_text("2 h ago", ".facts")
    assert " h" not in page.text(".title")
    page.wait_for_rows(lambda rows: not any("h" in row[5] for row in rows))


def test_curves_of_others_do_not_stay(page, ended):
    page.wait_for_text("loss", "[aria-labelledby=curves]")
    page.choose("Whose curves", "1")
    page.wait_for_text("Metrics: not known. Cannot reach the server.", "[aria-labelledby=curves]")
    assert page.all("[aria-labelledby=curves] .chart") == []


def test_a_comparison_names_the_job_whose_curves_were_not_read(page, serve):
    page.expected_errors = ["503"]
    jobs = [Job(tasks=2, identity=f"tony-20261101-00000{number}-1f3a").start() for number in (1, 2)]
    server = serve(*jobs, is_portal=True)
    server.troubled = f"/v1/jobs/{jobs[1].id}/series"
    page.open(server, f"#/compare?jobs={jobs[0].id},{jobs[1].id}")
    page.wait_for_text("not known. its history does not answer.")
    assert "No measurements" not in page.text()
