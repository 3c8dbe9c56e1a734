"""The examples run on a cluster as they are, with their checkpoints in HDFS; one loses a process on the way."""

import os
import re
import signal

from program import wait_until

PATIENCE_S = 120


def accuracy(job, task):
    reached = re.search(r"done: accuracy (\S+)", job.logs(task))
    return reached and float(reached.group(1))


def test_pytorch_goes_on_from_its_checkpoint(tony):
    job = tony.example("pytorch", "--conf", "tony.worker.command=python3 train.py --epochs 60")
    wait_until(lambda: "epoch   5 of" in job.logs("worker:0"), "some training", PATIENCE_S)
    os.kill(job.wait_task("worker:1")["pids"][0], signal.SIGKILL)
    assert job.wait(PATIENCE_S) == 0, job.logs("worker:0", "stderr")
    resumed = re.findall(r"resuming at epoch (\d+)", job.logs("worker:0"))
    assert resumed and int(resumed[-1]) >= 5
    assert accuracy(job, "worker:0") >= 0.90


def test_mpi(tony):
    job = tony.example("mpi")
    assert job.wait(PATIENCE_S) == 0, job.logs("launcher:0", "stderr")
    assert accuracy(job, "launcher:0") >= 0.90
