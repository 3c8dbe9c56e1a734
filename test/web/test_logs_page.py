"""The logs of all tasks as one, numbers of lines, and what is written when a job ends."""

import re

import browser
from fake_job import HugeLog, Job, Log
from test_log_view import SEARCH, lines_of_log, scroll


def heads(page):
    return page.run("return [...document.querySelectorAll('.log .line')].map((line) => line.dataset.head)")


def write(job, tasks, lines=40):
    """In turn, each to its stdout, every tenth line to stderr."""
    for number in range(lines * tasks):
        task, name = f"worker:{number % tasks}", "stderr" if number % 10 == 9 else "stdout"
        log = job.log(task, name) or job.set_log(task, name, Log(part=f"{number % tasks:x}{'e' if name == 'stderr' else 'a'}"))
        log.append(f"line {number:05d} of {name}\n", 1_000_000 + number)


def numbers(page):
    return [int(text.split()[1]) for text in lines_of_log(page)]


def test_logs_of_all_tasks_are_one(page, serve):
    job = Job(tasks=7).start()
    write(job, 3)
    job.log("worker:1", "stdout").append("loss 0.5\n", 2_000_000)
    page.open(serve(job), "#/")
    page.button("Logs", ".top")
    page.wait_for_text("loss 0.5", ".log")
    assert [int(text.split()[1]) for text in lines_of_log(page)[:-1]] == list(range(120))
    assert heads(page)[-1].strip() == "worker:1"
    assert {head.strip() for head in heads(page)} == {"worker:0", "worker:1", "worker:2"}
    job.log("worker:2", "stderr").append("a warning\n")
    page.wait_for_text("a warning", ".log .stderr")
    page.type("[aria-label='Filter tasks']", "worker:2")
    page.wait(lambda: lines_of_log(page)[-1:] == ["a warning"] and len(lines_of_log(page)) == 41)
    page.choose("Stream", "stdout")
    page.wait(lambda: all("of stdout" in line for line in lines_of_log(page)) and lines_of_log(page))
    assert page.run("return location.hash") == "#/logs?task=worker%3A2&stream=stdout"
    page.driver.refresh()
    page.wait(lambda: len(lines_of_log(page)) == 36 and all("of stdout" in line for line in lines_of_log(page)))


def test_the_logs_of_one_task_are_read_after_the_end(page, serve):
    """It is not said to be empty before it has been read."""
    job = Job(tasks=1).start()
    job.scheduler = "local"
    write(job, 1, lines=30)
    job.end()
    server = serve(job)
    for hash_ in ("#/logs?task=worker:0", "#/logs?task=worker:0&q=line"):
        page.open(server, hash_)
        page.wait_for_text("End of the log.", ".log-foot")
        assert numbers(page) == list(range(30))
        page.leave()


def test_logs_that_grow_fast_are_caught_up_with(page, serve):
    """More than one look takes, in one of them."""
    job = Job(tasks=7).start()
    write(job, 3)
    page.open(serve(job), "#/logs")
    page.wait_for_text("Following", ".log-foot")
    for number in range(6000):
        job.log("worker:1", "stdout").append(f"fast {number:05d} {'x' * 300}\n", 3_000_000 + number)
    page.wait_for_text("fast 05999", ".log .line:last-child")
    shown = [int(line.split()[1]) for line in lines_of_log(page)]
    assert shown == list(range(shown[0], 6000))


def test_a_line_leads_to_its_task(page, serve):
    job = Job(tasks=7).start()
    job.scheduler = "local"
    write(job, 3)
    job.end()
    server = serve(job)
    page.open(server, "#/logs")
    page.wait_for_text("End of the log.", ".log-foot")
    page.run("[...document.querySelectorAll('.log .line')].find((line) => line.textContent.includes('00051')).click()")
    page.wait_for_text("worker:0 stdout, byte", ".log-found")
    address = page.run("return location.hash")
    page.leave()
    page.open(server, address)
    page.wait_for_text("line 00051 of stdout", ".log .found")
    page.button("Open worker:0", ".log-found")
    page.wait_for_text("worker:0", "h1")
    page.wait_for_text("line 00051 of stdout", ".log .found")


def test_logs_of_many_tasks_are_paged_and_searched(page, serve):
    job = Job(tasks=44).start()
    job.scheduler = "local"
    write(job, 40, lines=300)
    job.end()
    page.open(serve(job), "#/logs")
    page.wait_for_text("The first 16 of 44 tasks", "main")
    page.wait_for_text("End of the log.", ".log-foot")
    mine = [number for number in range(12000) if number % 40 < 15]  # and the chief, which wrote nothing
    shown = numbers(page)
    assert shown == mine[-len(shown):]
    while (first := numbers(page)[0]) > 0:
        scroll(page, 0)
        page.wait(lambda: numbers(page)[0] < first)
    shown = numbers(page)
    assert shown == mine[:len(shown)] and len(shown) <= 3000
    page.type(SEARCH, "0777 of")
    page.click(".search label:last-child input")
    page.wait_for_text("2 lines of the whole log match.", ".log-foot")
    assert numbers(page) == [777, 10777]


def test_logs_of_ten_thousand_tasks_stay_bounded(page, serve):
    job = Job(tasks=10000).start()
    write(job, 9000, lines=2)
    job.fail("worker:8000")
    server = serve(job)
    page.open(server, "#/logs")
    page.wait_for_text("The first 16 of 10 000 tasks, failed ones before others.", "main")
    page.wait_for_text("line 17000", ".log")
    asked = {path.split("/tasks/")[1].split("/")[0] for path in server.requests if "/logs" in path}
    assert len(asked) == 16 and "worker:8000" in asked
    server.requests.clear()
    page.type(SEARCH, "of stdout")
    page.click(".search label:last-child input")
    page.wait_for_text("lines of the whole log match.", ".log-foot")
    asked = {path.split("/tasks/")[1].split("/")[0] for path in server.requests if "/logs" in path}
    assert 200 < len(asked) <= 256


def test_lines_that_match_are_followed_in_many_logs(page, serve):
    """Also of a task that starts later. Each look asks for what was written since, of each log."""
    job = Job(tasks=44).start()
    write(job, 39, lines=20)
    job.move("worker:39", "waiting", attempt=0)
    server = serve(job)
    page.open(server, "#/logs")
    page.wait_for_text("line 007", ".log")
    page.type(SEARCH, "0007 of")
    page.click(".search label:last-child input")
    page.wait_for_text("Following. 1 line of the whole log matches.", ".log-foot")
    server.requests.clear()
    job.log("worker:38", "stdout").append("line 10007 of stdout\nline 10008 of stdout\n")
    page.wait(lambda: numbers(page) == [7, 10007])
    page.wait_for_text("Following. 2 lines of the whole log match.", ".log-foot")
    searches = [path for path in server.requests if "match=" in path]
    assert searches and not any("oldest" in path or "%3A0&" in path for path in searches)
    job.move("worker:39", "running", attempt=1)
    job.set_log("worker:39", "stdout", Log(b"line 20007 of stdout\n", part="f1"))
    page.wait(lambda: numbers(page) == [7, 10007, 20007])


def test_lines_have_numbers(page, serve):
    job = Job(tasks=4).start()
    job.scheduler = "local"
    for name in ("stdout", "stderr"):
        log = job.set_log("worker:0", name, Log(part="a1" if name == "stdout" else "b2"))
        for number in range(1, 5001):
            log.append(f"{name} {number}\n", 1_000_000 + number)
    job.end()
    page.open(serve(job), "#/tasks/worker:0")
    page.wait_for_text("End of the log.", ".log-foot")

    def numbered():
        """Each line has the number that it says."""
        lines = page.run("return [...document.querySelectorAll('.log .line')].map((line) => "
                         "[line.dataset.head, line.textContent.split(' ')[1]])")
        return len(lines) > 100 and all(head.strip() == number for head, number in lines)

    page.run("[...document.querySelectorAll('.check')].find((one) => one.textContent === 'Numbers').firstChild.click()")
    page.wait(numbered, "numbers from the end")
    for _ in range(3):
        first = lines_of_log(page)[0]
        scroll(page, 0)
        page.wait(lambda: lines_of_log(page)[0] != first)
        page.wait(numbered, "numbers upwards")
    page.button("Start")
    page.wait(lambda: lines_of_log(page)[0].endswith(" 1") and numbered())
    page.button("stderr", "[aria-label='Which log']")
    page.wait(lambda: lines_of_log(page)[-1] == "stderr 5000" and numbered())
    page.run("document.querySelector('.log .line:last-child').click()")
    page.wait_for_text("stderr, line 5 000", ".log-found")
    page.run("[...document.querySelectorAll('.check')].find((one) => one.textContent === 'Numbers').firstChild.click()")
    page.wait(lambda: not any(heads(page)))


def test_lines_behind_a_hundred_megabytes_have_numbers(page, serve):
    """The server counts those before them: the page reads next to nothing for it."""
    job = Job(tasks=4).start()
    job.set_log("worker:0", "stdout", HugeLog(1_000_000))
    server = serve(job)
    page.open(server, "#/tasks/worker:0?log=stdout")
    page.wait_for_text("step 000999999", ".log .line:last-child")
    server.requests.clear()
    page.run("[...document.querySelectorAll('.check')].find((one) => one.textContent === 'Numbers').firstChild.click()")
    page.wait(lambda: heads(page)[-1].strip() == "1000000")
    asked = [path for path in server.requests if "from=at%3Aa1%3A0" in path or "from=at:a1:0" in path]
    assert len(asked) == 1 and "count_lines=1" in asked[0]
    job.log("worker:0", "stdout").lines += 1
    page.wait(lambda: heads(page)[-1].strip() == "1000001")


def test_lines_of_a_log_that_is_cut_have_no_numbers(page, serve):
    """Nobody knows how many stood before."""
    job = Job(tasks=4).start()
    job.scheduler = "local"
    job.set_log("worker:0", "stdout", Log(b"a line\n")).cut_bytes = 300
    job.end()
    page.open(serve(job), "#/tasks/worker:0")
    page.wait_for_text("Cut at the front: the 300 B before this are not here.", ".log-cut")
    page.run("[...document.querySelectorAll('.check')].find((one) => one.textContent === 'Numbers').firstChild.click()")
    page.wait(lambda: re.fullmatch(" +", heads(page)[0]))
    page.run("[...document.querySelectorAll('.check')].find((one) => one.textContent === 'Numbers').firstChild.click()")
    assert page.wait_for("a[download]").get_attribute("download") == "worker-0-stdout-end.log"
    page.wait_for_text("Download stdout the end", ".downloads")
    page.open(serve(job), "#/logs")
    page.wait_for_text("Cut at the front: the 300 B before this are not here.", ".log-cut")


def test_what_was_written_last_is_shown_when_the_job_ends(page, serve):
    """In one batch with the end of its task and of the job; a line without an end, too."""
    job = Job(tasks=4).start()
    for name in ("stdout", "stderr"):
        job.set_log("worker:0", name, Log(f"first line of {name}\n".encode(), part="a1" if name == "stdout" else "b2"))
    for number in (0, 1):
        server = serve(job)
        page.open(server, "#/tasks/worker:0" if number == 0 else "#/logs")
        page.wait_for_text("Following", ".log-foot")
        page.wait_for_text("first line of stderr", ".log")
        if number == 0:
            job.log("worker:0", "stdout").append("no end")
            page.wait_until_gone("no end", ".log")
    assert "Follow" in page.text(".log-view .toolbar")
    job.log("worker:0", "stderr").append("the last words\n")
    job.end()
    page.wait_for_text("End of the log.", ".log-foot")
    page.wait(lambda: {"no end", "the last words"} <= set(lines_of_log(page)))
    assert "Follow" not in page.text(".log-view .toolbar")


def test_what_is_shown_stays_where_nobody_answers_any_more(page, serve, job):
    server = serve(job)
    page.open(server, "#/tasks/worker:0")
    page.wait_for_text("first line of stdout", ".log")
    page.expect_end()
    page.expected_errors.append("404")
    job.refusals["worker:0"] = (404, "not-found", "nobody is there")
    job.end()
    page.wait_for_text("End of the log.", ".log-foot")
    assert "first line of stdout" in lines_of_log(page)


def test_logs_on_a_phone(page, serve):
    job = Job(tasks=7).start()
    write(job, 3)
    browser.resize(page.driver, 390, 800)
    page.open(serve(job), "#/logs")
    page.wait_for_text("line 00119", ".log")
    assert page.run("return document.documentElement.scrollWidth") <= 390
