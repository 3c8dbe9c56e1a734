"""Open MPI without ssh (Debian's packages): trains on the digits table, while ranks, daemons and mpirun
itself are killed and frozen."""

import os
import re
import signal
from pathlib import Path

import pytest
from conftest import PROGRAMS, PYTHON, children_of, wait_until
from endless import EPOCHS, end_after
from patience import PATIENCE_S

COMMAND = f"tony.launcher.command=mpirun python3 train.py {EPOCHS}"


def epochs_of(job):
    """The last epoch that the present ranks have finished."""
    done = re.findall(r"epoch +(\d+) of", job.logs("launcher:0").rpartition("ing at epoch")[2])
    return int(done[-1]) if done else 0


def wait_progress(job):
    """Ten more epochs; the number then."""
    goal = epochs_of(job) + 10
    wait_until(lambda: epochs_of(job) >= goal, f"epoch {goal}: {job.logs('launcher:0', 'stderr')}", PATIENCE_S)
    return goal


def wait_resumed(job, times, epoch):
    """The ranks have started anew, and went on where they were or later."""
    def found():
        resumed = re.findall(r"resuming at epoch (\d+)", job.logs("launcher:0"))
        return len(resumed) == times and resumed
    assert int(wait_until(found, f"resumed {times} times", PATIENCE_S)[-1]) >= epoch


def wait_note(job, pattern):
    def found():
        return any(event["ev"] == "note" and re.fullmatch(pattern, event["text"]) for event in job.events())
    wait_until(found, pattern, PATIENCE_S)


def find_below(pid, name):
    """The first process of that name among the descendants."""
    for child in children_of(pid):
        try:
            if Path(f"/proc/{child}/comm").read_text().strip() == name:
                return child
        except OSError:
            continue
        found = find_below(child, name)
        if found:
            return found
    return None


def strike(job, task, name, number=signal.SIGKILL):
    """Signals a process that the task runs."""
    def found():
        present = job.wait_task(task)["pids"][0]
        return present if Path(f"/proc/{present}/comm").read_text().strip() == name else find_below(present, name)
    os.kill(wait_until(found, f"{name} in {task}"), number)


def test_ranks_daemons_and_mpirun_are_lost(tony):
    job = tony.example("mpi", "--conf", COMMAND, "--conf", "tony.worker.frozen-timeout=2s",
                       "--conf", "tony.am.retry-count=4", "--conf", "tony.am.retry-delay=10ms")
    reached = wait_progress(job)

    strike(job, "worker:1", "python3")
    # mpirun notices, ends the others, and fails.
    wait_note(job, r"launcher:0: .*; the job re-forms \(retry 1 of 4\)")
    wait_resumed(job, 1, reached)
    reached = wait_progress(job)

    strike(job, "worker:0", "orted")
    # The task says so, or mpirun, which notices and fails.
    wait_note(job, r"(worker:0: killed by signal 9 \(SIGKILL\).*|launcher:0: exited with code \d+.*); the job re-forms \(retry 2 of 4\)")
    wait_resumed(job, 2, reached)
    reached = wait_progress(job)

    strike(job, "worker:1", "python3", signal.SIGSTOP)
    wait_note(job, r"worker:1: ended, frozen: process \d+ \(python3\) was stopped \(SIGSTOP\) and stood still for "
                   r"2.0 s; the job re-forms \(retry 3 of 4\)")
    wait_resumed(job, 3, reached)
    reached = wait_progress(job)

    end_after(job, reached + 30)
    strike(job, "launcher:0", "mpirun")
    wait_note(job, r"launcher:0: killed by signal 9 \(SIGKILL\).*; the job re-forms \(retry 4 of 4\)")
    wait_resumed(job, 4, reached)
    assert job.wait(PATIENCE_S) == 0, job.logs("launcher:0", "stderr")
    accuracy = re.search(r"done: accuracy (\S+)", job.logs("launcher:0"))
    assert accuracy and float(accuracy.group(1)) >= 0.95


KEYS = {"tony.application.framework": "mpi", "tony.worker.instances": 2, "tony.worker.processes": 2}


def run_program(tony, keys, *command):
    """What a job's ranks print, in order, when they run ./program."""
    program = tony.directory / "source" / "program"
    program.parent.mkdir(exist_ok=True)
    program.write_text("#!/bin/sh\necho $1 $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE in $TONY_TASK\n")
    program.chmod(0o755)
    answer, job = tony.job({**KEYS, **keys}, *command, src_dir=program.parent)
    assert answer.returncode == 0, answer.stdout + job.logs("launcher:0", "stderr")
    assert job.status()["epoch"] == 1
    return sorted(job.logs("launcher:0").splitlines())


def test_a_program_of_two_ranks_runs_as_it_is(tony):
    ranks = run_program(tony, {}, "--", "mpirun", "-np", "2", "./program", "two")
    assert ranks == ["two 0 of 2 in worker:0", "two 1 of 2 in worker:0"]


@pytest.mark.slow
@pytest.mark.parametrize("workers, processes", [(3, 1), (2, 2), (1, 3)])
def test_ranks_reach_into_each_others_memory(tony, workers, processes):
    ranks = run_program(tony, {"tony.worker.instances": workers, "tony.worker.processes": processes},
                        "--", "mpirun", PYTHON, str(PROGRAMS / "mpi_window.py"))
    count = workers * processes
    assert ranks == [f"rank 0 saw 100, sum {100 + sum(range(count))}",
                     *(f"rank {rank} saw 100" for rank in range(1, count))]


@pytest.mark.slow
def test_ranks_serve_a_pool_and_start_others(tony):
    pool = ["mpirun", PYTHON, "-m", "mpi4py.futures", PROGRAMS / "mpi_pool.py"]
    assert run_program(tony, {}, "--", *map(str, pool)) == ["168 primes"]
    spawn = ["mpirun", "-np", "1", PYTHON, PROGRAMS / "mpi_spawn.py"]
    assert run_program(tony, {}, "--", *map(str, spawn)) == ["sum 3"]


@pytest.mark.slow
def test_a_script_runs_mpirun_as_often_as_it_likes(tony):
    """Two at once, too. Open MPI makes and removes a directory of one name for both: two that begin or end in the same moment may fail."""
    there = 'touch "$TONY_CHECKPOINT_DIR/begun"; until [ -e "$TONY_CHECKPOINT_DIR/over" ]; do sleep 0.1; done; exec ./program there'
    script = ("mpirun ./program all; timeout -s KILL 2 mpirun sleep 1000; "
              f"mpirun --host tony-worker-1:2 sh -c '{there}' & until [ -e $TONY_CHECKPOINT_DIR/begun ]; do sleep 0.1; done; "
              "mpirun -np 1 ./program one; touch $TONY_CHECKPOINT_DIR/over; wait")
    assert run_program(tony, {"tony.launcher.command": script}) == [
        "all 0 of 4 in worker:0", "all 1 of 4 in worker:0", "all 2 of 4 in worker:1", "all 3 of 4 in worker:1",
        "one 0 of 1 in worker:0", "there 0 of 2 in worker:1", "there 1 of 2 in worker:1"]


def test_mpirun_may_start_again_while_the_workers_stay(tony):
    rank = 'touch "$TONY_CHECKPOINT_DIR/start-$START-$OMPI_COMM_WORLD_RANK"; test $START = 1 || exec sleep 1000'
    job = tony.submit({**KEYS, "tony.launcher.max-restarts": 1,
                       "tony.launcher.command": f"START=$TONY_RESTART mpirun -x START sh -c '{rank}'"})
    checkpoints = job.directory / "checkpoint"
    wait_until(lambda: len(list(checkpoints.glob("start-0-*"))) == 4, "all ranks", PATIENCE_S)
    strike(job, "launcher:0", "mpirun")
    wait_until(lambda: len(list(checkpoints.glob("start-1-*"))) == 4, "all ranks again", PATIENCE_S)
    assert job.wait() == 0
    assert job.status()["epoch"] == 1
    assert all(event["restart"] == 0 for event in job.events()
               if event["ev"] == "task" and event["task"].startswith("worker"))
