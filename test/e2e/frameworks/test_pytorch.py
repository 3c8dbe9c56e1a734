"""PyTorch DDP over gloo (Debian's package) trains on the digits table, loses both ranks to SIGKILL and
one that freezes, and finishes from its checkpoint."""

import os
import re
import signal

from conftest import wait_until


def resumptions(job):
    return [int(number) for number in re.findall(r"resuming at epoch (\d+)", job.logs("worker:0"))]


def hit(job, task, signal_number, epoch):
    """Ends the formation `epoch`, after some training, by a signal to this task."""
    first = resumptions(job)[-1] if epoch > 1 else 0
    wait_until(lambda: f"epoch {first + 5:3} of" in job.logs("worker:0"),
               f"five epochs: {job.logs('worker:0', 'stderr')}", 120)
    os.kill(job.wait_task(task, epoch=epoch)["pids"][0], signal_number)
    wait_until(lambda: len(resumptions(job)) == epoch, f"formation {epoch + 1}: {job.events()}", 120)
    assert resumptions(job)[-1] >= first + 5


def test_both_ranks_are_lost_and_one_freezes(tony):
    job = tony.example("pytorch", "--conf", "tony.worker.command=python3 train.py --epochs 60",
                       "--conf", "tony.worker.frozen-timeout=2s", "--conf", "tony.am.retry-count=3",
                       "--conf", "tony.am.retry-delay=10ms")
    hit(job, "worker:1", signal.SIGKILL, epoch=1)
    hit(job, "worker:0", signal.SIGKILL, epoch=2)
    hit(job, "worker:1", signal.SIGSTOP, epoch=3)
    assert job.wait(120) == 0, job.logs("worker:0", "stderr")
    assert any("worker:1: ended, frozen: process" in event.get("text", "") for event in job.events())
    reached = re.search(r"done: accuracy (\S+)", job.logs("worker:0"))
    assert reached and float(reached.group(1)) >= 0.90
    assert job.status()["epoch"] == 4
