"""Horovod over Gloo, built on Debian's PyTorch: trains on the digits table, loses a process to SIGKILL
and one to SIGSTOP, and finishes from its checkpoint."""

import json
import os
import re
import signal
import socket

import pytest
from conftest import PROGRAMS, read_environ, venv_bin, wait_until

pytestmark = pytest.mark.slow


def epochs(job):
    return [int(found) for found in re.findall(r"epoch +(\d+) of", job.logs("worker:0"))]


def wait_epochs(job, more):
    before = len(epochs(job))
    wait_until(lambda: len(epochs(job)) >= before + more, f"{more} more epochs", 120)


def resumptions(job):
    return [int(found) for found in re.findall(r"resuming at epoch (\d+)", job.logs("worker:0"))]


def accuracy(job):
    return float(re.search(r"done: accuracy (\S+)", job.logs("worker:0")).group(1))


def rendezvous(pid):
    """Where the process found its peers."""
    variables = dict(pair.split(b"=", 1) for pair in read_environ(pid) if b"=" in pair)
    return (variables[b"HOROVOD_GLOO_RENDEZVOUS_ADDR"].decode(),
            int(variables[b"HOROVOD_GLOO_RENDEZVOUS_PORT"]))


def test_a_ring_loses_a_process_and_one_that_freezes(tony):
    job = tony.example("horovod", "--conf", "tony.worker.command=python3 train.py --epochs 40",
                       "--conf", "tony.worker.frozen-timeout=2s", python=venv_bin("horovod"))
    wait_epochs(job, 5)
    process = job.wait_task("worker:1")["pids"][0]
    first = rendezvous(process)
    os.kill(process, signal.SIGKILL)

    process = job.wait_task("worker:1", epoch=2)["pids"][0]
    second = rendezvous(process)
    assert first != second
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(first)
    wait_until(lambda: resumptions(job), "the ring to resume", 120)
    wait_epochs(job, 5)
    os.kill(process, signal.SIGSTOP)

    assert job.wait(120) == 0, job.logs("worker:0", "stderr")
    assert job.status()["epoch"] == 3
    assert any("frozen" in json.dumps(event) for event in job.events())
    after_kill, after_freeze = resumptions(job)
    assert 5 <= after_kill < after_freeze
    assert accuracy(job) >= 0.90


def test_the_user_brings_the_driver(tony):
    """Horovod's own rendezvous in a task of the job, two processes in one container; the driver dies."""
    job = tony.example("horovod", "--conf", "tony.worker.command=python3 train.py --epochs 40",
                       "--conf", "tony.horovod.driver.mode.debug=true",
                       "--conf", "tony.driver.instances=1", "--conf", "tony.driver.memory=256m",
                       "--conf", "tony.driver.command=python3 horovod_rendezvous.py",
                       "--conf", f"tony.driver.resources={PROGRAMS}/horovod_rendezvous.py",
                       "--conf", "tony.worker.instances=1", "--conf", "tony.worker.processes=2",
                       python=venv_bin("horovod"))
    wait_epochs(job, 5)
    assert "2 ranks" in job.logs("worker:0")
    os.kill(job.wait_task("driver:0")["pids"][0], signal.SIGKILL)
    assert job.wait(120) == 0, job.logs("worker:0", "stderr") + job.logs("driver:0", "stderr")
    assert job.status()["epoch"] == 2
    assert resumptions(job)[0] >= 5
    assert accuracy(job) >= 0.90


def test_a_program_of_horovodrun(tony):
    path = f"{venv_bin('horovod')}:{tony.env['PATH']}"
    answer, job = tony.job({"tony.application.framework": "horovod", "tony.worker.instances": 3,
                            "tony.worker.memory": "1g"},
                           "--executes", "python3 horovod_ring.py", env={"PATH": path}, timeout=120)
    assert answer.returncode == 0, answer.stdout
    assert all(f"rank {i} of 3 is done" in job.logs(f"worker:{i}") for i in range(3))
