"""Programs are stopped in good order: they save on SIGTERM, and know when their container is taken back."""

import contextlib
import os
import signal

import pytest
from conftest import PYTHON, wait_until

KEYS = {"tony.worker.instances": 1, "tony.am.retry-delay": "10ms"}


def lives(job):
    return (job.directory / "checkpoint/lives").read_text().splitlines()


@pytest.mark.promise("R27")
def test_who_is_killed_saves_first(tony):
    job = tony.submit(KEYS, "--executes", f"{PYTHON} save_on_sigterm.py {tony.directory / 'go'}")
    job.wait_log("worker:0", "life 0")
    assert tony.run("kill", job.id).returncode == 0
    job.wait()
    assert lives(job) == ["no word"]


@pytest.mark.promise("R30")
def test_executor_reports_that_it_is_told_to_end_before_its_program_has_ended(tony):
    """The program ignores SIGTERM, and its grace is longer than the test waits."""
    once = tony.directory / "once"
    job = tony.submit({**KEYS, "tony.worker.stop-grace": "1h"}, "--executes",
                      f"test -e {once} && exit; touch {once}; trap '' TERM; echo last words >&2; exec sleep 1000")
    job.wait_log("worker:0", "last words", "stderr")
    task = job.wait_task("worker:0")
    os.kill(task["executor_pid"], signal.SIGTERM)
    stopped = wait_until(lambda: [event["cause"] for event in job.events() if event["ev"] == "task" and "cause" in event],
                         "the executor's report")
    assert stopped[0]["kind"] == "container-stopped" and "last words" in stopped[0]["tail"]
    for pid in task["pids"]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert job.wait() == 0


@pytest.mark.promise("R4", "R29", "R30")
def test_whose_container_is_taken_back_is_told_and_goes_on_elsewhere(tony):
    """Who manages a machine tells an executor to end, as a NodeManager does."""
    go = tony.directory / "go"
    job = tony.submit(KEYS, "--executes", f"echo last words >&2; {PYTHON} save_on_sigterm.py {go}; true")
    job.wait_log("worker:0", "life 0")
    os.kill(job.wait_task("worker:0")["executor_pid"], signal.SIGTERM)
    job.wait_task("worker:0", attempt=2)
    job.wait_log("worker:0", "life 1")
    assert lives(job) == ["its container is told to end (SIGTERM)"]
    go.touch()
    assert job.wait() == 0
    cause = next(event["cause"] for event in job.events() if event["ev"] == "task" and "cause" in event)
    assert cause["kind"] == "container-stopped" and "last words" in cause["tail"]
    status = job.status()
    assert status["retries"] == 0 and status["infrastructure_retries"] == 1


@pytest.mark.promise("R27")
def test_every_process_of_a_task_is_told(tony):
    """The shell's background processes, too, and those in sessions of their own."""
    command = f"trap 'echo shell >&2' TERM; setsid {PYTHON} save_on_sigterm.py {tony.directory / 'go'} & wait; wait; true"
    job = tony.submit(KEYS, "--executes", command)
    job.wait_log("worker:0", "life 0")
    tony.run("kill", job.id)
    job.wait()
    assert lives(job) == ["no word"]
    assert set(job.logs("worker:0", "stderr").split()) == {"shell", "saved"}
