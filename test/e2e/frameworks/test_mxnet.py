"""MXNet's parameter server trains on the digits table while one process of each role is killed, and one
frozen: those that are left never notice, and would wait for ever."""

import os
import re
import signal

from conftest import venv_bin, wait_until
from endless import EPOCHS, end_after

LOSSES = (("worker:1", signal.SIGKILL), ("server:0", signal.SIGKILL), ("scheduler:0", signal.SIGKILL),
          ("server:0", signal.SIGSTOP))


def of_workers(job, pattern):
    """The numbers that rank 0 printed, whichever worker that was."""
    logs = job.logs("worker:0") + job.logs("worker:1")
    return sorted(float(number) for number in re.findall(pattern, logs))


def resumptions(job):
    return of_workers(job, r"resuming at epoch (\d+)")


def wait_epoch(job, number):
    """Until so many epochs are done; the last one that was seen."""
    return wait_until(lambda: (done := of_workers(job, r"epoch +(\d+) of")) and done[-1] >= number and done[-1],
                      f"epoch {number}: {job.logs('worker:0', 'stderr')}")


def test_every_role_is_lost_once(tony):
    job = tony.example("mxnet", "--conf", f"tony.worker.command=python3 train.py {EPOCHS}",
                       "--conf", "tony.server.frozen-timeout=2s",
                       "--conf", "tony.am.retry-delay=10ms", "--conf", f"tony.am.retry-count={len(LOSSES)}",
                       python=venv_bin("mxnet"))
    for formation, (task, number) in enumerate(LOSSES, 1):
        trained = wait_epoch(job, (resumptions(job) or [0])[-1] + 3)
        if formation == len(LOSSES):
            end_after(job, 100)
        os.kill(job.wait_task(task, epoch=formation)["pids"][0], number)
        wait_until(lambda: len(resumptions(job)) == formation, f"formation {formation + 1}")
        assert resumptions(job)[-1] >= trained
    assert job.wait() == 0, job.logs("worker:0", "stderr")
    assert any("server:0: ended, frozen: process" in event.get("text", "") for event in job.events())
    assert of_workers(job, r"done: accuracy (\S+)")[-1] >= 0.95
    assert job.status()["epoch"] == 1 + len(LOSSES)
