"""JAX over gloo trains on the digits table while a worker, the coordinator and a worker again are
lost: killed, killed and frozen."""

import os
import re
import signal
import socket

import pytest
from conftest import PROGRAMS, venv_bin, wait_until
from endless import EPOCHS, end_after


def epochs_of(job):
    return [int(number) for number in re.findall(r"epoch +(\d+) of", job.logs("worker:0"))]


def resumptions(job):
    return [int(number) for number in re.findall(r"resuming at epoch (\d+)", job.logs("worker:0"))]


def wait_epochs(job, more):
    """Until the latest formation has trained for so many epochs; the last one that was seen."""
    first = resumptions(job)[-1] if resumptions(job) else 0
    return wait_until(lambda: (done := epochs_of(job)) and done[-1] >= first + more and done[-1],
                      f"{more} epochs: {job.logs('worker:0', 'stderr')}")


def hit(job, task, signal_number, epoch):
    """Ends the formation `epoch`, after some training, by a signal to this task."""
    before = wait_epochs(job, 5)
    os.kill(job.wait_task(task, epoch=epoch)["pids"][0], signal_number)
    wait_until(lambda: len(resumptions(job)) == epoch, f"formation {epoch + 1}: {job.events()}")
    assert resumptions(job)[-1] >= before


def test_a_worker_and_the_coordinator_are_lost(tony):
    job = tony.example("jax", "--conf", f"tony.worker.command=python3 train.py {EPOCHS}",
                       "--conf", "tony.worker.frozen-timeout=2s", "--conf", "tony.am.retry-count=3",
                       "--conf", "tony.am.retry-delay=10ms", python=venv_bin("jax"))
    hit(job, "worker:1", signal.SIGKILL, epoch=1)
    hit(job, "worker:0", signal.SIGKILL, epoch=2)
    end_after(job, 60)
    hit(job, "worker:1", signal.SIGSTOP, epoch=3)
    assert job.wait() == 0, job.logs("worker:0", "stderr")
    assert any("worker:1: ended, frozen: process" in event.get("text", "") for event in job.events())
    reached = re.search(r"done: accuracy (\S+)", job.logs("worker:0"))
    assert reached and float(reached.group(1)) >= 0.95
    assert job.status()["epoch"] == 4


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.mark.slow
@pytest.mark.parametrize("variables", [{}, {"tony.worker.envs": "JAX_COORDINATOR_BIND_ADDRESS={{cluster.worker.0}}"}])
def test_a_program_may_name_the_coordinator_itself(tony, variables):
    address = "$JAX_COORDINATOR_ADDRESS" if variables else f"localhost:{free_port()}"
    answer, job = tony.job({"tony.application.framework": "jax", "tony.worker.instances": 3, **variables},
                           "--executes", f"{venv_bin('jax') / 'python3'} {PROGRAMS}/jax_toy.py {address} "
                                         "$JAX_NUM_PROCESSES $JAX_PROCESS_ID")
    assert answer.returncode == 0, answer.stdout
    for rank in range(3):
        assert f"process {rank} of 3, 3 devices, sum 6\n" in job.logs(f"worker:{rank}")
