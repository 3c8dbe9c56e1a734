"""The elastic rendezvous of Horovod's, with programs that speak as its processes do: those that live on
keep their processes, and a ring that forms anew has those that run, the eldest first."""

import itertools
import os
import signal

import pytest
from conftest import wait_until

# Long enough for the first ring to have all: who comes later, and is the last, is not kept waiting by it.
KEYS = {"tony.application.framework": "horovod", "tony.worker.instances": 3, "tony.worker.min-instances": 1,
        "tony.application.elastic-settle-time": "10m"}


def submit(tony, **keys):
    (tony.directory / "changes").mkdir()
    keys = KEYS | {f"tony.worker.{name.replace('_', '-')}": value for name, value in keys.items()}
    return tony.submit(keys, "--executes", f"python3 elastic_member.py {tony.directory}")


def wait_places(job, places):
    """`places`: by worker, all that it ever had. A word that comes late may make a ring form once more."""
    def had(worker):
        lines = (line.removeprefix("rank ") for line in job.logs(f"worker:{worker}").splitlines())
        return [place for place, _ in itertools.groupby(lines)]
    wait_until(lambda: all(had(worker) == wanted for worker, wanted in places.items()),
               f"the places {places}")


def notice_loss(tony):
    (tony.directory / "changes" / "loss").touch()


def finish(tony, job):
    (tony.directory / "end").touch()
    assert job.wait() == 0
    assert job.status()["epoch"] == 1


def test_one_is_lost_and_another_comes(tony):
    job = submit(tony)
    wait_places(job, {0: ["0 of 3"], 1: ["1 of 3"], 2: ["2 of 3"]})
    survivors = [job.wait_task(f"worker:{worker}")["pids"] for worker in (1, 2)]
    os.kill(job.wait_task("worker:0")["executor_pid"], signal.SIGKILL)
    job.wait_task("worker:0", attempt=2)
    notice_loss(tony)
    wait_places(job, {0: ["0 of 3", "2 of 3"], 1: ["1 of 3", "0 of 3"], 2: ["2 of 3", "1 of 3"]})
    assert [job.wait_task(f"worker:{worker}")["pids"] for worker in (1, 2)] == survivors
    finish(tony, job)


@pytest.mark.promise("R41")
def test_it_is_scaled_and_its_am_killed(tony):
    job = submit(tony, instances=2, max_instances=4)
    wait_places(job, {0: ["0 of 2"], 1: ["1 of 2"]})
    job.kill_am()
    assert job.rest("POST", "/v1/job/scale", {"worker": 3})[0] == 200
    wait_places(job, {0: ["0 of 2", "0 of 3"], 1: ["1 of 2", "1 of 3"], 2: ["2 of 3"]})
    assert job.rest("POST", "/v1/job/scale", {"worker": 2})[0] == 200
    job.wait_task("worker:2", state="stopped")
    notice_loss(tony)
    wait_places(job, {0: ["0 of 2", "0 of 3", "0 of 2"], 1: ["1 of 2", "1 of 3", "1 of 2"]})
    finish(tony, job)


def test_a_program_that_fails_is_taken_in_again(tony):
    job = submit(tony, instances=2, max_restarts=1)
    wait_places(job, {0: ["0 of 2"], 1: ["1 of 2"]})
    os.kill(job.wait_task("worker:0")["pids"][0], signal.SIGKILL)
    job.wait_task("worker:0", restart=1)
    notice_loss(tony)
    wait_places(job, {0: ["0 of 2", "1 of 2"], 1: ["1 of 2", "0 of 2"]})
    finish(tony, job)
