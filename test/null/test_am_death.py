"""The AM of a job is lost and its engine starts another one, at another address: no task is started again."""

import contextlib
import json
import os
import signal

import pytest
from patience import PATIENCE_S, wait_until

NAMES = ["worker:0", "worker:1", "worker:2"]


def start(tony, **keys):
    """A job, and what its tasks are."""
    job = tony.submit({"tony.worker.instances": len(NAMES), "tony.application.framework": "pytorch", **keys},
                      "--executes", f"./exit_after.sh {tony.directory}/go 0")
    return job, {name: identity(wait_known(job, name)) for name in NAMES}


def wait_known(job, name):
    """A program may run before its container is told as allocated."""
    return wait_until(lambda: (task := job.wait_task(name)).get("container") and task, f"the container of {name}")


def identity(task):
    return task["pids"], task["attempt"], task["container"], task["epoch"], task["restart"]


def kill_both(job):
    """The AM and its guardian; what is left of it, the engine ends."""
    for pid in job.am():
        with contextlib.suppress(ProcessLookupError):  # it had noticed that the other one was gone
            os.kill(pid, signal.SIGKILL)


def wait_am(job, attempt):
    wait_until(lambda: job.status().get("am_attempt") == attempt, f"AM {attempt} of {job.id}")


def finish(job):
    (job.tony.directory / "go").touch()
    return job.wait()


@pytest.mark.parametrize("kill", [lambda job: job.kill_am(), kill_both], ids=["am", "am-and-guardian"])
def test_no_task_notices(tony, kill):
    """A follower of the job goes on without a gap, and nothing comes twice."""
    job, before = start(tony)
    follower = tony.start("events", "--json", "-f", job.id)
    first = follower.stdout.readline()
    waiter = tony.start("wait", job.id)
    kill(job)
    wait_am(job, 2)
    for name in NAMES:
        assert identity(wait_known(job, name)) == before[name]
    assert finish(job) == 0
    assert waiter.wait(PATIENCE_S) == 0
    said, errors = follower.stdout.read(), follower.stderr.read()
    lines = [json.loads(line) for line in (first + said).splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1)), errors
    assert [line["attempt"] for line in lines if line["ev"] == "am"] == [1, 2]
    assert {line["attempt"] for line in lines if line["ev"] == "task"} <= {0, 1}


def test_no_program_is_started_twice_however_early_its_am_is_killed(tony):
    starts = tony.directory / "starts"
    starts.mkdir()
    job = tony.submit({"tony.worker.instances": len(NAMES), "tony.application.framework": "pytorch"}, "--executes",
                      f"echo started >>{starts}/$TASK_INDEX; exec ./exit_after.sh {tony.directory}/go 0")
    wait_until(lambda: any(starts.iterdir()), "a program to start")
    kill_both(job)
    wait_am(job, 2)
    for name in NAMES:
        job.wait_task(name, attempt=1)
    assert finish(job) == 0
    assert [path.read_text() for path in starts.iterdir()] == ["started\n"] * len(NAMES)


def test_a_container_that_had_not_registered_is_started_anew_for_the_next_am(tony):
    """Its executor knows the AM before alone, and nobody can tell it of the next one."""
    tony.stop_executors()
    job = tony.submit({"tony.worker.instances": 2}, "--executes", f"./exit_after.sh {tony.directory}/go 0")
    executors = wait_until(lambda: len(found := tony.executors(job)) == 2 and found, "the containers")
    kill_both(job)
    wait_am(job, 2)
    wait_until(lambda: len(found := tony.executors(job)) == 2 and not executors & found, "other executors")
    tony.let_executors_go(job)
    for name in NAMES[:2]:
        job.wait_task(name, attempt=1)
    assert finish(job) == 0


def test_an_executor_registers_before_its_container_is_known(tony):
    job, _ = start(tony)
    for name in NAMES:
        rows = [event for event in job.events() if event["ev"] == "task" and event["task"] == name]
        registered = next(row for row in rows if row["to"] == "registered")
        assert "container" not in registered
        assert any(row.get("container") for row in rows if row["seq"] > registered["seq"])
    assert finish(job) == 0


def test_the_next_am_has_what_programs_gave_the_one_before(tony):
    job, _ = start(tony)
    assert job.rest("PUT", "/v1/kv/key", {"value": "kept"})[0] == 200
    job.kill_am()  # its guardian clears up
    status, body = wait_until(lambda: (answer := job.rest("GET", "/v1/kv/key"))[0] == 200 and answer, "the value")
    assert "kept" in body.decode()
    assert finish(job) == 0


def test_a_job_is_killed_while_it_has_no_am(tony):
    job, _ = start(tony)
    os.kill(tony.engine.pid, signal.SIGSTOP)
    kill_both(job)
    killer = tony.start("kill", job.id)
    os.kill(tony.engine.pid, signal.SIGCONT)
    assert killer.wait(PATIENCE_S) == 0
    job.wait_state("killed")
    wait_until(lambda: not job.processes(), "its processes to end")
    assert [line["state"] for line in job.events() if line["ev"] == "final"] == ["killed"]


def test_a_job_ends_with_the_last_of_its_ams(tony):
    job, _ = start(tony)
    waiter = tony.start("wait", job.id)
    job.wear_out_am()
    assert waiter.wait(PATIENCE_S) == 1
    wait_until(lambda: not job.processes(), "its executors to end")
    status = job.status()
    assert status["state"] == "failed" and {task["state"] for task in status["tasks"]} == {"stopped"}
    assert [line["state"] for line in job.events() if line["ev"] == "final"] == ["failed"]
    assert json.loads((job.published() / "summary.json").read_text())["state"] == "failed"
    assert tony.run("rm", job.id).returncode == 0
    assert tony.ids() == []
