"""Dask trains on the digits table and loses, one after the other, a worker to SIGKILL, a worker that
freezes, the scheduler and the driver."""

import os
import re
import signal

from conftest import venv_bin, wait_until

# Runs until told: the driver looks when it starts.
COMMAND = 'python3 train.py --epochs "$(cat "$TONY_CHECKPOINT_DIR/epochs" || echo 1000000)"'


def epochs_of(job):
    """The last epoch that the present driver has finished."""
    done = re.findall(r"epoch +(\d+) of", job.logs("driver:0").rpartition("ing at epoch")[2])
    return int(done[-1]) if done else -1


def wait_progress(job):
    """Ten epochs from now; the number then."""
    now = max(epochs_of(job), 0)
    wait_until(lambda: epochs_of(job) >= now + 10, f"ten epochs after {now}")
    return now + 10


def wait_resumed(job, times, epoch):
    """The driver has started anew, and not from the beginning."""
    found = wait_until(lambda: len(f := re.findall(r"resuming at epoch (\d+)", job.logs("driver:0"))) == times and f,
                       f"{times} times resumed")
    assert int(found[-1]) >= epoch


def strike(job, task, number=signal.SIGKILL):
    os.kill(job.wait_task(task)["pids"][0], number)


def notes(job):
    return [event["text"] for event in job.events() if event["ev"] == "note"]


def test_a_lost_worker_comes_back_and_a_lost_scheduler_or_driver_forms_the_cluster_anew(tony):
    job = tony.example("dask", "--conf", f"tony.driver.command={COMMAND}",
                       "--conf", "tony.worker.frozen-timeout=2s", python=venv_bin("dask"))
    wait_progress(job)
    driver = job.wait_task("driver:0")["pids"]

    strike(job, "worker:1")
    job.wait_task("worker:1", restart=1)
    wait_progress(job)

    strike(job, "worker:0", signal.SIGSTOP)
    job.wait_task("worker:0", restart=1)
    wait_progress(job)
    assert any(re.match(r"worker:0 ended, frozen: process \d+ .* stood still for .*; restart 1 of 10 in place", note)
               for note in notes(job)), notes(job)

    assert (job.wait_task("driver:0")["pids"], job.status()["epoch"]) == (driver, 1)
    reached = wait_progress(job)
    strike(job, "scheduler:0")
    wait_resumed(job, 1, reached)
    reached = wait_progress(job)

    (job.directory / "checkpoint" / "epochs").write_text(str(reached + 100))
    strike(job, "driver:0")
    wait_resumed(job, 2, reached)
    assert job.wait(60) == 0, job.logs("driver:0", "stderr")
    accuracy = re.search(r"done: accuracy (\S+)", job.logs("driver:0"))
    assert accuracy and float(accuracy.group(1)) >= 0.92
    assert job.status()["epoch"] == 3
