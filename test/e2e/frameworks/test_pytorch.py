"""PyTorch DDP over gloo (Debian's package) trains on the digits table, loses a process to SIGKILL and
finishes from its checkpoint."""

import os
import re
import signal

from conftest import wait_until


def test_ddp_loses_a_process_and_finishes_from_its_checkpoint(tony):
    job = tony.example("pytorch", "--conf", "tony.worker.command=python3 train.py --epochs 40")
    wait_until(lambda: re.search(r"epoch +5 of", job.logs("worker:0")), "five epochs", 120)
    os.kill(job.wait_task("worker:1")["pids"][0], signal.SIGKILL)
    assert job.wait(120) == 0, job.logs("worker:0", "stderr")
    log = job.logs("worker:0")
    resumed = re.search(r"resuming at epoch (\d+)", log)
    assert resumed and int(resumed.group(1)) >= 5, log
    reached = re.search(r"done: accuracy (\S+)", log)
    assert reached and float(reached.group(1)) >= 0.90
    assert job.status()["epoch"] == 2
