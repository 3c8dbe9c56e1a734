"""The output of a job can be seen, and how it goes. The ids are those of the review of the first hour."""

import os
import signal

import pytest
from patience import PATIENCE_S
from rows import run_row
from terminal import Terminal

UP = "echo up; sleep 1000"
# Starts a job of one task in the background, with its output in `out`, and goes on once it is up.
START = f"tony submit -f --memory 64m -- bash -c '{UP}' > out 2> err & until grep -q up out; do sleep 0.1; done; "

ROWS = [
    ("1 output", "tony submit -f --memory 64m -- bash -c 'echo on stdout; echo on stderr >&2' > out 2> err; cat out; "
     "[ \"$(cat out)\" = 'on stdout' ] && grep -q '^on stderr$' err && grep -q 'submitted$' err && grep '^see' err", 0,
     ["on stdout", "see: tony logs tony-"], []),
    ("1 processes", "tony submit -f --framework pytorch --workers 1 --processes 2 --memory 64m -- bash -c "
     "'echo on stdout; echo on stderr >&2' 2> err; grep 'stderr' err", 0,
     ["on stdout\n", "stdout-1| on stdout\n", "stderr| on stderr\n", "stderr-1| on stderr\n"], []),
    ("1 hint", "tony submit --memory 64m -- true 2> err | cat; cat err; [ $(grep -c -e --follow err) = 1 ]", 0,
     ["tony: see --follow (-f) for the program's output\n"], []),
    ("1 no hint", "for options in -f --no-follow --json '--workers 2'; do tony submit --memory 64m $options -- true; done 2>&1 "
     "| cat", 0, ["submitted"], ["--follow"]),
    ("1 several", "tony submit --follow --workers 2 --memory 64m -- bash -c 'echo on stdout; echo on stderr >&2' 2> err; "
     "grep 'stderr|' err", 0,
     ["worker:0| on stdout\n", "worker:1| on stdout\n", "worker:0 stderr| on stderr\n"], ["tasks:"]),
    ("2.2 contradiction", "tony submit --follow --detach -- true", 2, ["--follow and --detach contradict"], []),
    ("2.2 both", "tony attach --follow --no-follow", 2, ["--follow and --no-follow contradict"], []),
    ("2.2 watch", "tony status --watch --json", 2, ["tony events --follow --json"], []),
    ("2.5", "go=$PWD/go; job=$(tony submit -d --memory 64m -- "
     "bash -c \"trap 'until [ -e $go ]; do sleep 0.1; done; exit' TERM; touch $PWD/up; while :; do sleep 0.1; done\"); "
     "until [ -e up ]; do sleep 0.1; done; tony kill $job 2> err & "
     "until grep -q stopping err; do sleep 0.1; done; touch go; wait $!; rc=$?; cat err; exit $rc", 0,
     ["tony: stopping 1 task: SIGTERM now, SIGKILL after 10.0 s", "killed"], []),
    ("2.24", START + "kill $!; wait $!; rc=$?; cat err; exit $rc", 8,
     ["stopping 1 task: SIGTERM now, SIGKILL after 10.0 s; Ctrl-C again ends the job at once",
      "killed by the user: SIGTERM to the client"], ["killed by the user: Ctrl-C"]),
    ("2.24 hangup", START + "kill -HUP $!; wait $!; rc=$?; cat err; tony status; tony kill $(tony list | cut -d ' ' -f 1 | "
     "tail -1) 2>/dev/null; exit $rc", 129, ["goes on; tony attach tony-", "running"], ["stopping"]),
    ("3.74", "mkdir -p src/d && (cd src/d && touch $(seq 1000)) && mkfifo src/d/fifo; "
     "(for i in 1 2 3 4 5; do tony submit --src_dir src -- true; done; touch over) 2> submitted & "
     "until [ -e over ]; do tony list; done; wait; echo $(grep -c 'symbolic link' submitted) refused", 0,
     ["5 refused"], ["warning"]),
    ("1 bar", "tony submit --memory 64m -- bash -c 'for i in 1 2 3; do printf \"\\r%s%%\" $i; done; echo'; tony logs", 0,
     ["\n3%\n"], ["\r", "2%"]),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_row(tony, row):
    run_row(tony, row)


# A line over the cap of 64 KiB, a bar, a line of DOS, other bytes, and no newline at the end.
BYTES = b"x" * 200_000 + b"\n10%\r20%\r\nof DOS\r\n\r\r\n\0\xff\x1b[1m\n\nlast"


def test_a_file_gets_the_bytes_of_a_program(tony):
    (tony.directory / "bytes").write_bytes(BYTES)
    with (tony.directory / "out").open("wb") as out, (tony.directory / "err").open("wb") as err:
        child = tony.start("submit", "--follow", "--memory", "64m", "--", "bash", "-c",
                           f"cat {tony.directory}/bytes; cat {tony.directory}/bytes >&2", stdout=out, stderr=err)
        assert child.wait(timeout=PATIENCE_S) == 0
    assert (tony.directory / "out").read_bytes() == BYTES
    assert BYTES + b"\ntony-" in (tony.directory / "err").read_bytes(), "tony's own words have a line of their own"


def start(tony, *options, program=None):
    """A job in the background that has printed "up", and ends with 3 when the file `go` is there."""
    wait = f"echo up; until [ -e {tony.directory}/go ]; do sleep 0.1; done; printf last; exit 3"
    answer = tony.run("submit", "-d", "--memory", "64m", *options, "--", "bash", "-c", program or wait)
    assert answer.returncode == 0, answer.stderr
    job = tony.found_job(answer.stdout)
    tony.jobs.append(job)
    return job


def test_a_job_of_one_task_shows_its_output_in_a_terminal(tony):
    terminal = Terminal(tony, "submit", "--memory", "64m", "--", "bash", "-c",
                        f"printf 'bar 1%%\\r'; printf 'bar 2%%'; until [ -e {tony.directory}/go ]; do sleep 0.1; done; "
                        "echo; printf last; exit 1")
    terminal.wait_text("bar 2%")  # a line that has no end yet
    (tony.directory / "go").touch()
    assert terminal.finish() == 1
    said = terminal.text
    assert said.index(" submitted") < said.index("bar 2%\n") < said.index("last\n") < said.index(" failed after")
    assert "see: tony logs" in said and "launching" not in said, said


def test_a_job_that_waits_says_so_meanwhile(tony):
    first = start(tony, "--conf", "tony.local.memory=100m")
    first.wait_log("driver:0", "up")
    terminal = Terminal(tony, "submit", "--memory", "64m", "--conf", "tony.local.memory=100m", "--", "echo", "hello")
    terminal.wait_text("forming for ")
    terminal.wait_text("waiting: ")
    (tony.directory / "go").touch()
    assert terminal.finish() == 0
    assert "\x1b[K" in terminal.text and "hello\n" in terminal.text


def test_a_job_of_several_tasks_has_its_table_and_no_follow_is_for_all(tony):
    terminal = Terminal(tony, "submit", "--workers", "2", "--memory", "64m", "--", "echo", "hello")
    assert terminal.finish() == 0
    assert "worker:1  succeeded" in terminal.text and "hello" not in terminal.text
    terminal = Terminal(tony, "submit", "--no-follow", "--memory", "64m", "--", "echo", "hello")
    assert terminal.finish() == 0
    assert "driver:0" in terminal.text and "hello\n" not in terminal.text


def test_attach_shows_the_job_and_ctrl_c_leaves_it_alone(tony):
    job = start(tony)
    job.wait_log("driver:0", "up")
    terminal = Terminal(tony, "attach", job.id)
    terminal.wait_text("up\n")
    terminal.type("\x03")
    assert terminal.finish() == 130
    assert f"{job.id} goes on; tony attach {job.id} shows it again" in terminal.text
    assert job.status()["state"] == "running"
    attached = tony.start("attach", "--follow")
    assert attached.stdout.readline() == "up\n"
    (tony.directory / "go").touch()
    out, err = attached.communicate(timeout=PATIENCE_S)
    assert out == "last" and attached.returncode == 1, err
    assert f"{job.id} failed after" in err
    again = tony.run("attach", "--tail", "1", "--follow", job.id)
    assert again.returncode == 1 and again.stdout == "last", "of an ended job, the last lines"


def test_status_watch_and_wait_show_the_table(tony):
    job = start(tony)
    job.wait_log("driver:0", "up")
    watched, waited = Terminal(tony, "status", "-w"), Terminal(tony, "wait")
    watched.wait_text("driver:0")
    waited.wait_text("driver:0")
    waited.type("\x03")
    assert waited.finish() == 130 and "goes on" in waited.text
    timed = Terminal(tony, "wait", "--timeout", "1")
    assert timed.finish() == 9 and "still runs after 1" in timed.text
    waited = Terminal(tony, "wait")
    waited.wait_text("driver:0")
    (tony.directory / "go").touch()
    assert watched.finish() == 0 and "exited with code 3" in watched.text
    assert waited.finish() == 1 and f"{job.id} failed: " in waited.text
    lines = tony.run("status", "--watch", job.id)
    assert lines.returncode == 0 and "job failed" not in lines.stderr


def test_the_table_says_what_died(tony):
    wait = f"until [ -e {tony.directory}/go ]; do sleep 0.1; done"
    terminal = Terminal(tony, "submit", "--workers", "2", "--memory", "64m", "--retries", "1", "--", "bash", "-c", wait)
    terminal.wait_text("worker:0")
    job = tony.found_job(terminal.text)
    (pid,) = job.wait_task("worker:1")["pids"]
    os.kill(pid, signal.SIGKILL)
    terminal.wait_text("last failure, ")
    (tony.directory / "go").touch()
    assert terminal.finish() == 0
    assert "worker:1: killed by signal 9 (SIGKILL)" in terminal.text and "retry 1 of 1" in terminal.text


def test_who_hangs_up_leaves_the_job_alone(tony):
    terminal = Terminal(tony, "submit", "--memory", "64m", "--", "bash", "-c", UP)
    terminal.wait_text("up\n")
    job = tony.found_job(terminal.text)
    assert terminal.hang_up() == 129
    assert job.status()["state"] == "running"


@pytest.mark.parametrize("columns", [40, 80])
def test_narrow_terminals_are_readable_and_ids_whole(tony, columns):
    """Row 3.64."""
    job = start(tony, "--workers", "2")
    for number in 0, 1:
        job.wait_task(f"worker:{number}")
    (pid, *_) = job.task("worker:1")["pids"]
    for verb in ("list",), ("status", job.id), ("events", job.id), ("history",):
        terminal = Terminal(tony, *verb, columns=columns)
        assert terminal.finish() == 0, terminal.text
        if verb[0] in ("list", "status"):
            assert job.id in terminal.text
            assert max(map(len, terminal.text.splitlines())) <= columns, terminal.text
        if verb[0] == "status":
            assert str(pid) in terminal.text, terminal.text
    attached = Terminal(tony, "attach", columns=columns)
    attached.wait_text("worker:1")
    attached.type("\x03")
    attached.finish()
    assert ("127.0.0.1:" in attached.text) == (columns == 80), attached.text
