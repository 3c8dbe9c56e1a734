"""Nothing is left behind: whichever of a job's own processes are killed with SIGKILL, in whatever
order, the job goes on with what is killed replaced, or, when nobody is left who could go on, every
process of the job ends; and in the end the ledger holds nothing. The user's program here does what
it can to get away: double fork, setsid, SIGTERM ignored."""

import itertools
import os
import signal
from pathlib import Path

import pytest
from conftest import PYTHON, is_locked, parent_of, wait_until
from program import is_alive

PARTS = ("am guardian", "am", "executor guardian", "supervisor")
ORDERS = [order for count in (1, 2, 3, 4) for order in itertools.permutations(PARTS, count)]
# All orders of one and of two; of three and four those that start with each part once are enough:
# what matters is who is left to notice.
CHOSEN = [order for order in ORDERS if len(order) <= 2] + [
    order for order in ORDERS if len(order) == 3][::3] + [
    order for order in ORDERS if len(order) == 4][::4]


def start(tony):
    """Its executors would hear nothing of their AM for long before they end for that."""
    job = tony.submit({"tony.worker.instances": 2, "tony.worker.stop-grace": "200ms",
                       "tony.task.max-missed-heartbeats": 1000}, "--executes", f"{PYTHON} escape.py")
    for task in ("worker:0", "worker:1"):
        job.wait_task(task)
        job.wait_log(task, "left")
    am, guardian = job.am()
    supervisor = job.wait_task("worker:0")["executor_pid"]
    pids = {"am": am, "am guardian": guardian,
            "supervisor": supervisor, "executor guardian": parent_of(supervisor)}
    assert len(set(pids.values())) == 4 and 1 not in pids.values(), pids
    return job, pids


def goes_on(job):
    """Whether a process is left that is the job's AM or will be."""
    return is_locked(job.directory / "am.lock")


def is_over(tony, job):
    """When both halves of the AM and both halves of an executor die within a moment, nobody is left
    to notice what escaped from that executor: the next `tony` that looks ends it."""
    tony.run("list")
    return not job.processes()


@pytest.mark.parametrize("order", CHOSEN, ids=lambda order: " then ".join(order))
@pytest.mark.promise("R50")
def test_killed(tony, order):
    job, pids = start(tony)
    before = job.wait_task("worker:1")
    for part in order:
        try:
            os.kill(pids[part], signal.SIGKILL)
        except ProcessLookupError:
            pass
    wait_until(lambda: not any(is_alive(pids[part]) for part in order), f"{order} to be dead")
    both = {"am", "am guardian"} <= set(order)
    if not both or goes_on(job):
        # Both: one of them was in time to start another AM, which was not killed.
        replaced = {"supervisor", "executor guardian"}.intersection(order)
        job.wait_task("worker:0", attempt=2 if replaced else 1)
        kept = ("attempt", "executor_pid") if replaced else ("attempt", "executor_pid", "pids")
        job.wait_task("worker:1", **{key: before[key] for key in kept})
        tony.run("kill", job.id)
    elif len(order) < 4:
        wait_until(lambda: not job.processes(), f"everything to end by itself after {order}")
    wait_until(lambda: is_over(tony, job), f"everything to end after {order}")
    wait_until(lambda: not tony.held(), "the ledger to be free")


@pytest.mark.promise("R43")
def test_both_processes_of_the_am_killed_at_once(tony):
    """Nobody goes on, and executors see to it at once that nothing of theirs does."""
    job, _ = start(tony)
    job.lose_am()
    wait_until(lambda: not job.processes(), "everything to end by itself")
    wait_until(lambda: not tony.held(), "the ledger to be free")


def is_agent(pid):
    try:
        return b"tony-agent" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False  # it is gone


def test_everything_of_the_job_killed_at_once_but_the_program(tony):
    job, _ = start(tony)
    programs = {pid for task in job.status()["tasks"] for pid in task["pids"]}
    for pid in job.processes():
        if pid not in programs and is_agent(pid):
            try:
                os.kill(pid, signal.SIGSTOP)
            except ProcessLookupError:
                pass
    # Stopped, none of them can react; then the same kill -9 for all: only the next `tony` that looks
    # remains.
    for pid in job.processes():
        try:
            if is_agent(pid):
                os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    tony.run("kill", job.id)
    tony.run("list")
    wait_until(lambda: not job.processes(), "everything to end")


@pytest.mark.promise("R50")
def test_normal_end_takes_escaped_processes_along(tony):
    answer, job = tony.job({"tony.worker.instances": 2, "tony.worker.stop-grace": 200},
                           "--executes", f"{PYTHON} escape.py --exit")
    assert answer.returncode == 0, answer.stderr
    wait_until(lambda: not job.processes(), "the escaped processes to end")


@pytest.mark.promise("R50")
def test_killing_the_job_takes_escaped_processes_along(tony):
    job, _ = start(tony)
    assert tony.run("kill", job.id).returncode == 0
    wait_until(lambda: not job.processes(), "the escaped processes to end")


def test_pid_namespace(tony):
    """The kernel's guarantee, for those who ask for it."""
    job = tony.submit({"tony.worker.instances": 1, "tony.worker.isolation": "pid-namespace"},
                      "--executes", f"{PYTHON} escape.py")
    job.wait_log("worker:0", "left")
    tony.run("kill", job.id)
    wait_until(lambda: not job.processes(), "everything to end")
