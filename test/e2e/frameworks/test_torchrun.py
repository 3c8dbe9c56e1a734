"""torchrun's own agents (Debian's PyTorch), two containers with two ranks each: what dies or freezes,
a rank or an agent, is made good, and the training goes on from its checkpoint."""

import os
import re
import signal

import pytest
from conftest import children_of, wait_until
from endless import EPOCHS, end_after

TASKS = ("worker:0", "worker:1")
# Ranks look themselves: an agent starts them anew as it was told to itself.
COMMAND = f"tony.worker.command=torchrun --max_restarts=3 --no_python sh -c 'exec python3 train.py {EPOCHS}'"


def found(job, pattern):
    """In the output of whichever task has rank 0 at the time."""
    return [int(number) for task in TASKS for number in re.findall(pattern, job.logs(task))]


def wait_epochs(job, more):
    """For so many further epochs; the highest one that was seen."""
    before = len(found(job, r"epoch +(\d+) of"))
    wait_until(lambda: len(found(job, r"epoch +(\d+) of")) >= before + more,
               f"{more} more epochs: {job.logs('worker:0', 'stderr')}")
    return max(found(job, r"epoch +(\d+) of"))


def wait_resumed(job, times, reached):
    """Until the training has resumed so often, the last time at or behind the epoch reached."""
    resumed = wait_until(lambda: len(all_ := found(job, r"resuming at epoch (\d+)")) >= times and all_,
                         f"{times} resumptions: {job.events()} {job.logs('worker:0', 'stderr')}")
    assert max(resumed) >= reached


def agent(job, task, **members):
    return job.wait_task(task, **members)["pids"][0]


def test_a_rank_and_an_agent_are_lost(tony):
    job = tony.example("torchrun", "--conf", COMMAND,
                       "--conf", "tony.worker.frozen-timeout=2s", "--conf", "tony.am.retry-delay=10ms")
    reached = wait_epochs(job, 5)
    agents = [agent(job, task) for task in TASKS]
    # A rank is torchrun's affair: it starts all ranks anew, and tony only tells of it.
    os.kill(wait_until(lambda: children_of(agents[1]), "ranks of worker:1")[0], signal.SIGKILL)
    wait_resumed(job, 1, reached)
    told = r"worker:1 goes on after 1 failure inside of it, the last: torchrun: rank \d here was killed by signal 9 \(SIGKILL\)"
    wait_until(lambda: any(re.fullmatch(told, event.get("text", "")) for event in job.events()), "the event of it")
    reached = wait_epochs(job, 5)
    assert [agent(job, task) for task in TASKS] == agents and job.status()["epoch"] == 1
    # An agent takes its ranks along, and worker:0's the store in which all meet.
    os.kill(agents[0], signal.SIGKILL)
    wait_resumed(job, 2, reached)
    reached = wait_epochs(job, 5)
    end_after(job, reached + 60)
    os.kill(agent(job, "worker:1", epoch=2), signal.SIGSTOP)
    wait_resumed(job, 3, reached)
    assert job.wait() == 0, job.logs("worker:0", "stderr")
    assert any("worker:1: ended, frozen: process" in event.get("text", "") for event in job.events())
    accuracy = [float(number) for task in TASKS for number in re.findall(r"done: accuracy (\S+)", job.logs(task))]
    assert accuracy and min(accuracy) >= 0.90
    assert job.status()["epoch"] == 3


@pytest.mark.slow
def test_an_agent_comes_back_in_its_place(tony):
    job = tony.example("torchrun", "--conf", COMMAND,
                       "--conf", "tony.worker.max-restarts=1", "--conf", "tony.am.retry-count=0")
    reached = wait_epochs(job, 5)
    end_after(job, reached + 50)
    os.kill(agent(job, "worker:1"), signal.SIGKILL)
    wait_resumed(job, 1, reached)
    assert job.wait() == 0, job.logs("worker:0", "stderr")
    assert job.status()["epoch"] == 1 and job.task("worker:1")["restarts_used"] == 1
