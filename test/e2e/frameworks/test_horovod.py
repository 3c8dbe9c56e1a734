"""Horovod over Gloo, built on Debian's PyTorch: trains on the digits table, loses a process to SIGKILL
and one to SIGSTOP, and finishes from its checkpoint."""

import json
import os
import re
import signal
import socket

import pytest
from conftest import PROGRAMS, read_environ, venv_bin, wait_until
from endless import EPOCHS, end_after


def epochs(job):
    return [int(found) for found in re.findall(r"epoch +(\d+) of", job.logs("worker:0"))]


def wait_epochs(job, more):
    before = len(epochs(job))
    wait_until(lambda: len(epochs(job)) >= before + more, f"{more} more epochs")


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
    job = tony.example("horovod", "--conf", f"tony.worker.command=python3 train.py {EPOCHS}",
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
    wait_until(lambda: resumptions(job), "the ring to resume")
    wait_epochs(job, 5)
    end_after(job, epochs(job)[-1] + 30)
    os.kill(process, signal.SIGSTOP)

    assert job.wait() == 0, job.logs("worker:0", "stderr")
    assert job.status()["epoch"] == 3
    assert any("frozen" in json.dumps(event) for event in job.events())
    after_kill, after_freeze = resumptions(job)
    assert 5 <= after_kill < after_freeze
    assert accuracy(job) >= 0.90


@pytest.mark.slow
def test_the_user_brings_the_driver(tony):
    """Horovod's own rendezvous in a task of the job, two processes in one container; the driver dies."""
    job = tony.example("horovod", "--conf", f"tony.worker.command=python3 train.py {EPOCHS}",
                       "--conf", "tony.horovod.driver.mode.debug=true",
                       "--conf", "tony.driver.instances=1", "--conf", "tony.driver.memory=256m",
                       "--conf", "tony.driver.command=python3 horovod_rendezvous.py",
                       "--conf", f"tony.driver.resources={PROGRAMS}/horovod_rendezvous.py",
                       "--conf", "tony.worker.instances=1", "--conf", "tony.worker.processes=2",
                       python=venv_bin("horovod"))
    wait_epochs(job, 5)
    assert "2 ranks" in job.logs("worker:0")
    end_after(job, epochs(job)[-1] + 30)
    os.kill(job.wait_task("driver:0")["pids"][0], signal.SIGKILL)
    assert job.wait() == 0, job.logs("worker:0", "stderr") + job.logs("driver:0", "stderr")
    assert job.status()["epoch"] == 2
    assert resumptions(job)[0] >= 5
    assert accuracy(job) >= 0.90


@pytest.mark.slow
def test_a_program_of_horovodrun(tony):
    path = f"{venv_bin('horovod')}:{tony.env['PATH']}"
    answer, job = tony.job({"tony.application.framework": "horovod", "tony.worker.instances": 3,
                            "tony.worker.memory": "1g"},
                           "--executes", "python3 horovod_ring.py", env={"PATH": path})
    assert answer.returncode == 0, answer.stdout
    assert all(f"rank {i} of 3 is done" in job.logs(f"worker:{i}") for i in range(3))


@pytest.mark.slow
def test_a_ring_that_is_forming_outlives_the_am(tony):
    """One process is in hvd.init() and waits for the other while their AM is killed, and then its guardian."""
    go = tony.directory / "go"
    wait = f'[ "$HOROVOD_RANK" = 0 ] || until [ -e {go} ]; do sleep 0.05; done'
    job = tony.submit({"tony.application.framework": "horovod", "tony.worker.instances": 2, "tony.worker.memory": "1g"},
                      "--executes", f"{wait}; exec python3 horovod_ring.py",
                      env={"PATH": f"{venv_bin('horovod')}:{tony.env['PATH']}"})
    met = job.directory / "rendezvous.kv"
    wait_until(lambda: met.exists() and b"global/0" in met.read_bytes(), "the first process to be there")
    job.kill_am()
    os.kill(job.am()[1], signal.SIGKILL)
    wait_until(lambda: job.status()["am_attempt"] == 3, "the third AM")
    go.touch()
    assert job.wait() == 0, job.logs("worker:0", "stderr")
    assert job.status()["epoch"] == 1
    assert all(f"rank {rank} of 2 is done" in job.logs(f"worker:{rank}") for rank in range(2))


ELASTIC = {"tony.application.framework": "horovod", "tony.worker.min-instances": 2, "tony.worker.memory": "1g",
           "tony.application.elastic-settle-time": "200ms"}
# How long some may take to notice a loss; how long a newcomer may take to load.
PATIENCE = "HOROVOD_GLOO_TIMEOUT_SECONDS=40"


class Ring:
    """A job of programs/horovod_elastic.py."""

    def __init__(self, tony, **keys):
        self.end = tony.directory / "end"
        keys = {f"tony.worker.{name}": value for name, value in keys.items()}
        self.job = tony.submit(ELASTIC | keys, "--env", PATIENCE,
                               "--executes", f"python3 horovod_elastic.py {self.end}",
                               env={"PATH": f"{venv_bin('horovod')}:{tony.env['PATH']}"})

    def meetings(self, worker):
        """(rank, size, step, pid) of each ring that the worker was in."""
        return [tuple(int(number) for number in found) for found in
                re.findall(r"met: rank (\d+) of (\d+) at step (\d+) pid (\d+)", self.job.logs(f"worker:{worker}"))]

    def committed(self, worker):
        return [int(step) for step in re.findall(r"committed step (\d+)", self.job.logs(f"worker:{worker}"))]

    def wait_ring(self, workers):
        """They are together, and get on."""
        def are():
            last = [self.meetings(worker)[-1:] for worker in workers]
            return all(last) and {one[1] for one, in last} == {len(workers)} and len({one[2] for one, in last}) == 1
        wait_until(are, f"a ring of {workers}")
        before = {worker: len(self.committed(worker)) for worker in workers}
        wait_until(lambda: all(len(self.committed(worker)) > before[worker] for worker in workers), "a step")

    def pids(self, workers):
        return [self.job.wait_task(f"worker:{worker}")["pids"] for worker in workers]

    def lose(self, worker):
        os.kill(self.job.wait_task(f"worker:{worker}")["executor_pid"], signal.SIGKILL)

    def scale(self, count):
        assert self.job.rest("POST", "/v1/job/scale", {"worker": count})[0] == 200

    def finish(self, workers):
        self.end.touch()
        assert self.job.wait() == 0, self.job.logs("worker:0", "stderr")
        assert self.job.status()["epoch"] == 1
        for worker in workers:
            assert "done at step" in self.job.logs(f"worker:{worker}")

    def assert_kept(self, workers):
        """What was committed when a ring formed anew is what it went on from, or is behind it."""
        for worker in workers:
            lines = self.job.logs(f"worker:{worker}").splitlines()
            best = 0
            for line in lines:
                if found := re.match(r"committed step (\d+)", line):
                    best = max(best, int(found.group(1)))
                elif found := re.match(r"met: .* at step (\d+)", line):
                    assert int(found.group(1)) >= best, lines


@pytest.mark.slow
def test_an_elastic_ring_loses_one_and_takes_in_another(tony):
    """Its rank 0, of all; nobody else is started anew, and what was committed is kept."""
    ring = Ring(tony, instances=3)
    ring.wait_ring([0, 1, 2])
    survivors = ring.pids([1, 2])
    ring.lose(0)
    ring.job.wait_task("worker:0", attempt=2)
    ring.wait_ring([0, 1, 2])
    assert ring.pids([1, 2]) == survivors
    assert ring.meetings(0)[-1][0] == 2, "who comes anew has no state to tell the others"
    assert ring.meetings(0)[-1][2] > 0
    ring.finish([0, 1, 2])
    ring.assert_kept([1, 2])


@pytest.mark.slow
def test_an_elastic_ring_is_scaled(tony):
    ring = Ring(tony, instances=2, **{"max-instances": 4})
    ring.wait_ring([0, 1])
    first = ring.pids([0, 1])
    ring.scale(4)
    ring.wait_ring([0, 1, 2, 3])
    assert ring.meetings(3)[0][2] > 0
    ring.scale(2)
    ring.wait_ring([0, 1])
    assert ring.pids([0, 1]) == first
    ring.finish([0, 1])
    ring.assert_kept([0, 1])


@pytest.mark.slow
def test_an_elastic_ring_forms_anew_under_another_am(tony):
    ring = Ring(tony, instances=2, **{"max-instances": 3})
    ring.wait_ring([0, 1])
    first = ring.pids([0, 1])
    ring.job.kill_am()
    ring.scale(3)
    ring.wait_ring([0, 1, 2])
    ring.job.kill_am()
    ring.lose(2)
    ring.job.wait_task("worker:2", attempt=2)
    ring.wait_ring([0, 1, 2])
    assert ring.pids([0, 1]) == first
    ring.finish([0, 1, 2])
    ring.assert_kept([0, 1])


@pytest.mark.slow
def test_a_program_of_an_elastic_ring_fails(tony):
    """It alone is started again, in its place."""
    ring = Ring(tony, instances=2, **{"max-instances": 3, "max-restarts": 1})
    ring.wait_ring([0, 1])
    survivor, = ring.pids([0])
    os.kill(ring.job.wait_task("worker:1")["pids"][0], signal.SIGKILL)
    ring.job.wait_task("worker:1", restart=1)
    ring.wait_ring([0, 1])
    assert ring.pids([0]) == [survivor]
    ring.finish([0, 1])
    ring.assert_kept([0])
