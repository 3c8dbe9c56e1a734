"""A job whose program is a driver, as in examples/dask and examples/ray: what their tests ask of it."""

import os
import re
import signal
from pathlib import Path

from conftest import children_of, wait_until
from endless import EPOCHS
from patience import PATIENCE_S

COMMAND = f"tony.driver.command=python3 train.py {EPOCHS}"
# One to three workers, none of which anybody pays for.
ELASTIC = ["--conf", "tony.worker.min-instances=1", "--conf", "tony.worker.max-instances=3",
           "--conf", "tony.application.elastic-settle-time=100ms", "--conf", "tony.am.infrastructure-retry-count=0"]


def epochs_of(job):
    """The last epoch that the present driver has finished."""
    done = re.findall(r"epoch +(\d+) of", job.logs("driver:0").rpartition("ing at epoch")[2])
    return int(done[-1]) if done else 0


def wait_progress(job):
    """Ten more epochs; the number then."""
    goal = epochs_of(job) + 10
    wait_until(lambda: epochs_of(job) >= goal, f"epoch {goal}", PATIENCE_S)
    return goal


def wait_resumed(job, times, epoch):
    """The driver has started anew, and went on where it was or later."""
    def found():
        resumed = re.findall(r"resuming at epoch (\d+)", job.logs("driver:0"))
        return len(resumed) == times and resumed
    assert int(wait_until(found, f"resumed {times} times", PATIENCE_S)[-1]) >= epoch


def name_of(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return None  # it has ended


def strike(job, task, number=signal.SIGKILL, child=None):
    """Signals the task's process, or its child of that name."""
    pid = job.wait_task(task)["pids"][0]
    if child:
        pid = next(pid for pid in children_of(pid) if name_of(pid) == child)
    os.kill(pid, number)


def wait_note(job, pattern):
    def found():
        return any(event["ev"] == "note" and re.fullmatch(pattern, event["text"]) for event in job.events())
    wait_until(found, pattern, PATIENCE_S)


def expect_success(job):
    assert job.wait(PATIENCE_S) == 0, job.logs("driver:0", "stderr")
    accuracy = re.search(r"done: accuracy (\S+)", job.logs("driver:0"))
    assert accuracy and float(accuracy.group(1)) >= 0.92
