"""A task's log on the page: two streams in one, search in all of it, links to lines, and how lines look."""

import pytest
from fake_job import Job, Log
from selenium.webdriver.common.keys import Keys

SEARCH = "[aria-label='Search the log']"


def lines_of_log(page):
    return page.run("return [...document.querySelectorAll('.log .line')].map((line) => line.textContent)")


def scroll(page, place):
    page.run(f"document.querySelector('.log').scrollTop = {place}")


@pytest.fixture
def ended():
    """Its task has written 9,000 lines in turn to two streams; stderr has few, and most of them late."""
    job = Job(tasks=4).start()
    job.scheduler = "local"
    logs = {name: job.set_log("worker:0", name, Log(part=part)) for name, part in (("stdout", "a1"), ("stderr", "b2"))}
    for number in range(9000):
        name = "stderr" if number % 997 == 0 or 7000 <= number < 7900 else "stdout"
        logs[name].append(f"line {number:06d} of {name}\n", 1_000_000 + number)
    job.end()
    return job


def numbers(page):
    return [int(text.split()[1]) for text in lines_of_log(page)]


def connected(page):
    """The lines that are shown, of which none may be left out."""
    shown = numbers(page)
    assert shown == list(range(shown[0], shown[0] + len(shown)))
    return shown


def test_two_streams_are_paged_both_ways(page, serve, ended):
    page.open(serve(ended), "#/tasks/worker:0")
    page.wait_for_text("End of the log.", ".log-foot")
    assert connected(page)[-1] == 8999
    while (first := connected(page)[0]) > 0:
        scroll(page, 0)
        page.wait(lambda: numbers(page)[0] < first)
    assert len(numbers(page)) <= 3000
    while (last := connected(page)[-1]) < 8999:
        scroll(page, "document.querySelector('.log').scrollHeight")
        page.wait(lambda: numbers(page)[-1] > last)
    page.button("Start")
    page.wait(lambda: numbers(page)[:1] == [0])
    connected(page)
    page.button("End")
    page.wait(lambda: numbers(page)[-1:] == [8999])


def test_two_streams_are_searched_to_their_ends(page, serve, ended):
    page.open(serve(ended), "#/tasks/worker:0")
    page.wait_for_text("End of the log.", ".log-foot")
    page.type(SEARCH, "0997 of STDERR")
    page.press_with(Keys.SHIFT, Keys.ENTER)
    page.wait_for_text("line 000997 of stderr", ".log .found")
    assert 997 in connected(page)
    page.press(Keys.ENTER)
    page.wait_for_text("The only match: stderr, byte", ".log-found")
    page.type(SEARCH, "1004 of")
    page.press(Keys.ENTER)
    page.wait_for_text("line 001004 of stdout", ".log .found")
    page.type(SEARCH, "no such line")
    page.press(Keys.ENTER)
    page.wait_for_text("No line of the whole log matches.", ".log-found")


@pytest.mark.parametrize("hash_", ["#/tasks/worker:0", "#/logs"])
def test_enter_finds_what_stands_far_above_the_end(page, serve, ended, hash_):
    page.open(serve(ended), hash_)
    page.wait_for_text("End of the log.", ".log-foot")
    page.press("/")
    page.press(*"000042 of", Keys.ENTER)
    page.wait_for_text("line 000042 of stdout", ".log .found")
    page.wait_for_text("From the start: ", ".log-found")


def test_only_lines_that_match(page, serve, ended):
    page.open(serve(ended), "#/tasks/worker:0")
    page.wait_for_text("End of the log.", ".log-foot")
    page.type(SEARCH, "97 of")
    page.click(".search label:last-child input")
    page.wait_for_text("90 lines of the whole log match.", ".log-foot")
    assert numbers(page) == list(range(97, 9000, 100))
    page.run("[...document.querySelectorAll('.log .line')].find((line) => line.textContent.includes('5597')).click()")
    page.wait_for_text("line 005597 of stdout", ".log .found")
    assert {5596, 5597, 5598} <= set(connected(page))
    page.type(SEARCH, "nobody says this")
    page.click(".search label:last-child input")
    page.wait_for_text("No line matches.", ".log-foot")


def test_only_lines_that_match_go_on(page, serve, job):
    page.open(serve(job), "#/tasks/worker:0?q=loss")
    page.wait_for_text("first line of stdout", ".log")
    page.click(".search label:last-child input")
    page.wait(lambda: lines_of_log(page) == [])
    job.log("worker:0", "stdout").append("loss 1\nother\nLOSS 2\n")
    page.wait(lambda: lines_of_log(page) == ["loss 1", "LOSS 2"])
    page.wait_for_text("Following. 2 lines of the whole log match.", ".log-foot")


def test_an_address_leads_to_a_line(page, serve, ended):
    server = serve(ended)
    page.open(server, "#/tasks/worker:0?log=stderr")
    page.wait_for_text("End of the log.", ".log-foot")
    page.button("Start")
    page.wait(lambda: numbers(page)[:1] == [0])
    page.run("document.querySelectorAll('.log .line')[3].click()")
    page.wait_for_text("line 002991 of stderr", ".log .found")
    address = page.run("return location.hash")
    page.leave()
    page.open(server, address)
    page.wait_for_text("line 002991 of stderr", ".log .found")
    page.wait_for_text("stderr", "[aria-label='Which log'] [aria-pressed=true]")
    page.button("stdout + stderr", "[aria-label='Which log']")
    page.wait(lambda: numbers(page)[-1:] == [8999])
    assert page.run("return location.hash") == "#/tasks/worker:0"
    page.type(SEARCH, "line 00(1|2)")
    page.click(".search label input")
    assert page.run("return location.hash") == "#/tasks/worker:0?q=line+00%281%7C2%29&regex=1"


def open_line(page, serve, length):
    """The log of a job that has ended: one line."""
    job = Job(tasks=4).start()
    job.scheduler = "local"
    job.set_log("worker:0", "stdout", Log(b"x" * length + b" its end\n"))
    job.end()
    page.open(serve(job), "#/tasks/worker:0")


def test_a_long_line_is_unfolded_when_it_is_asked_for(page, serve):
    open_line(page, serve, 9000)
    page.wait_for_text("7 008 more characters", ".log .unfold")
    assert "its end" not in lines_of_log(page)[0]
    page.click(".log .unfold")
    page.wait(lambda: lines_of_log(page) == ["x" * 9000 + " its end"])


def test_a_line_of_many_pieces_is_folded_as_one(page, serve):
    """Pieces of 16 KiB come behind the first: each is a row, and one button opens them all."""
    open_line(page, serve, 40000)
    page.wait(lambda: len(lines_of_log(page)) == 3 and len(page.all(".log .unfold")) == 3)
    assert "xxx" not in "".join(lines_of_log(page)[1:])
    page.click(".log .unfold")
    page.wait(lambda: "".join(lines_of_log(page)) == "x" * 40000 + " its end")
    assert page.all(".log .unfold") == []


def test_how_a_program_paints_its_lines(page, serve):
    job = Job(tasks=4).start()
    job.scheduler = "local"
    job.set_log("worker:0", "stdout", Log("\x1b[38;5;208morange\x1b[0m \x1b[4;7munder\x1b[0m \x1b[48;2;9;99;9mgreen\x1b[0m "
                                          "\u202eturned\n".encode()))
    job.end()
    page.open(serve(job), "#/tasks/worker:0")
    page.wait_for_text("orange under green [U+202E]turned", ".log")
    assert page.text(".log .ansi-rgb") == "orange" and page.text(".log .ansi-back-rgb") == "green"
    assert page.styles(".log .ansi-underline", "textDecorationLine") == "underline"
    assert page.violations() == []
