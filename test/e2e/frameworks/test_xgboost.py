"""XGBoost, distributed: trains on the digits table while its tracker and its workers are killed and
frozen, one after the other."""

import os
import re
import signal

from conftest import venv_bin, wait_until


# Trains until told otherwise: each formation looks when it starts.
COMMAND = 'tony.worker.command=python3 train.py --rounds "$(cat "$TONY_CHECKPOINT_DIR/rounds" || echo 1000000)"'


def rounds_of(job):
    return [int(number) for number in re.findall(r"round +(\d+) ", job.logs("worker:0"))]


def wait_round(job, number):
    """Until the latest formation has done so many rounds; the last one that was seen."""
    return wait_until(lambda: (done := rounds_of(job)) and done[-1] >= number and done[-1],
                      f"round {number}: {job.logs('worker:0', 'stderr')}")


def hit(job, task, signal_number, **members):
    os.kill(job.wait_task(task, **members)["pids"][0], signal_number)


def resumptions(job):
    return [int(number) for number in re.findall(r"resuming at round (\d+)", job.logs("worker:0"))]


def test_every_role_is_lost_once(tony):
    job = tony.example("xgboost", "--conf", COMMAND, "--conf", "tony.worker.frozen-timeout=2s",
                       "--conf", "tony.am.retry-delay=10ms", python=venv_bin("xgboost"))
    # Nobody needs the tracker while the workers train: it starts anew in its place.
    wait_round(job, 5)
    hit(job, "tracker:0", signal.SIGKILL)
    tracker = job.wait_task("tracker:0", restart=1)
    assert tracker["epoch"] == 1 and job.task("worker:0")["state"] == "running"
    # A worker takes the others with it.
    before = wait_round(job, rounds_of(job)[-1] + 5)
    hit(job, "worker:1", signal.SIGKILL)
    job.wait_task("worker:1", epoch=2)
    wait_until(lambda: resumptions(job), "the second formation")
    assert resumptions(job)[0] >= before
    # Nobody would ever notice that one stands still.
    before = wait_round(job, resumptions(job)[0] + 5)
    (job.directory / "checkpoint/rounds").write_text("200")  # for the last formation
    hit(job, "worker:0", signal.SIGSTOP, epoch=2)
    assert job.wait() == 0, job.logs("worker:0", "stderr")
    assert any("worker:0: ended, frozen: process" in event.get("text", "") for event in job.events())
    assert len(resumptions(job)) == 2 and resumptions(job)[1] >= before
    reached = re.search(r"done: accuracy (\S+)", job.logs("worker:0"))
    assert reached and float(reached.group(1)) >= 0.95
    assert job.status()["epoch"] == 3
