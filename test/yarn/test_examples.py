"""The examples run on a cluster as they are. Their checkpoints are plain files to them, and are kept in
HDFS: a task that loses its container goes on in another one, on another machine."""

import os
import re
import signal
import uuid

import pytest
from patience import PATIENCE_S, wait_until
from program import venv_bin


def kept(tony, job):
    """What HDFS has of the job's checkpoints: what is on its way is hidden."""
    return [name for name in tony.cluster.list(f"/user/{tony.cluster.user}/.tony/checkpoints/{job.id}")
            if not name.startswith(".")]


def expect_success(job, task, goal):
    assert job.wait(PATIENCE_S) == 0, job.logs(task, "stderr")
    reached = re.findall(r"done: accuracy (\S+)", job.logs(task))
    assert reached and float(reached[-1]) >= goal


def test_pytorch_goes_on_in_another_container(tony):
    """The container that writes the checkpoints is lost, executor and all, with its directory. Until then it trains
    without an end."""
    job = tony.example("pytorch",
                       "--conf", "tony.worker.command=python3 train.py --epochs $((TONY_EPOCH == 1 ? 1000000 : 40))",
                       "--conf", "tony.am.retry-delay=10ms")
    wait_until(lambda: "epoch   3 of" in job.logs("worker:0") and "digits.pt" in kept(tony, job),
               "a checkpoint in HDFS", PATIENCE_S)
    lost = job.wait_task("worker:0")
    os.kill(lost["executor_pid"], signal.SIGKILL)
    expect_success(job, "worker:0", 0.90)
    found = job.task("worker:0")
    # More than one more, where another program of this machine has the port that its ranks are to meet at.
    assert found["attempt"] > lost["attempt"] and found["container"] != lost["container"]
    assert re.search(r"resuming at epoch [1-9]", job.logs("worker:0"))
    assert "digits.pt" in kept(tony, job)


def test_pytorch_goes_on_from_the_checkpoint_of_another_job(tony):
    """The first job's checkpoint is the second's beginning, wherever either ran."""
    place = f"{tony.cluster.env['HDFS_URI']}/user/{tony.cluster.user}/{uuid.uuid4()}"
    for epochs, beginning in ((3, "starting at epoch 0"), (40, "resuming at epoch 3")):
        job = tony.example("pytorch", "--conf", f"tony.application.checkpoint-dir={place}",
                           "--conf", f"tony.worker.command=python3 train.py --epochs {epochs} --goal 0.1")
        assert job.wait(PATIENCE_S) == 0, job.logs("worker:0", "stderr")
        assert beginning in job.logs("worker:0")
    expect_success(job, "worker:0", 0.90)


def test_mpi(tony):
    """The first time it trains until it is killed."""
    command = "mpirun python3 train.py --epochs $((TONY_EPOCH == 1 ? 1000000 : 40))"
    job = tony.example("mpi", "--conf", f"tony.launcher.command={command}")
    wait_until(lambda: "digits.npz" in kept(tony, job), "a checkpoint in HDFS", PATIENCE_S)
    os.kill(job.wait_task("launcher:0")["pids"][0], signal.SIGKILL)
    expect_success(job, "launcher:0", 0.90)
    assert re.search(r"resuming at epoch [1-9]", job.logs("launcher:0"))


@pytest.mark.slow
def test_horovod(tony):
    """A rank is lost: the ring forms anew, through the rendezvous that the AM serves."""
    job = tony.example("horovod", "--conf", f"tony.execution.envs=PATH={venv_bin('horovod')}:/usr/bin:/bin",
                       "--conf", "tony.worker.command=python3 train.py --epochs $((TONY_EPOCH == 1 ? 1000000 : 60))")
    wait_until(lambda: "digits.pt" in kept(tony, job), "a checkpoint in HDFS", PATIENCE_S)
    os.kill(job.wait_task("worker:1")["pids"][0], signal.SIGKILL)
    expect_success(job, "worker:0", 0.90)
    assert "2 ranks, starting at epoch 0" in job.logs("worker:0")
    assert re.search(r"2 ranks, resuming at epoch [1-9]", job.logs("worker:0"))
    assert job.status()["epoch"] == 2


@pytest.mark.slow
def test_tensorflow_with_parameter_servers(tony):
    """A worker restarts in its place; the chief loses its process, and the cluster forms anew."""
    path = f"PATH={venv_bin('tensorflow')}:/usr/bin:/bin"
    job = tony.example("tensorflow-ps", "--conf", f"tony.execution.envs={path}",
                       "--conf", "tony.chief.command=python3 train.py --epochs $((TONY_EPOCH == 1 ? 1000000 : 20))")
    wait_until(lambda: kept(tony, job), "a checkpoint in HDFS", PATIENCE_S)
    os.kill(job.wait_task("chief:0")["pids"][0], signal.SIGKILL)
    expect_success(job, "chief:0", 0.90)
