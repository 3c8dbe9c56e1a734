"""Elastic types: DDP over gloo that starts with what there is, grows, shrinks and is scaled, each time from its
checkpoint, and pays for none of it."""

import json
import os
import signal

from conftest import wait_until
from portal import Portal

LOCAL = {"tony.local.memory": "1536m"}  # room for three
ELASTIC = {"tony.application.framework": "pytorch", "tony.application.elastic-settle-time": "100ms",
           "tony.worker.instances": 3, "tony.worker.min-instances": 2, "tony.worker.max-instances": 4,
           "tony.worker.memory": "512m", "tony.am.retry-delay": "10ms",
           "tony.am.retry-count": 0, "tony.am.infrastructure-retry-count": 0, **LOCAL}


def occupy(tony, name):
    """A job that holds the room of one of them until it is let go; `name` is unique in the test."""
    go = tony.directory / name
    job = tony.submit({"tony.worker.instances": 1, "tony.worker.memory": "512m", **LOCAL},
                      "--executes", f"./exit_after.sh {go} 0")
    return job, go


def leave(job, go):
    go.touch()
    assert job.wait() == 0


def start(tony, **keys):
    return tony.submit({**ELASTIC, **keys}, "--executes", f"python3 torch_elastic.py {tony.directory}/enough")


def finish(tony, job):
    (tony.directory / "enough").touch()
    assert job.wait() == 0, job.status()["message"]
    status = job.status()
    assert (status["retries"], status["infrastructure_retries"]) == (0, 0)
    return status


def said(job, task):
    """What each of the task's processes said of itself."""
    return [json.loads(line) for line in job.logs(task).splitlines()]


def formation(job, *tasks):
    """Waits until just these tasks train together; what they say must be of one piece. The step."""
    def together():
        last = [said(job, task)[-1:] for task in tasks]
        if not all(last) or len({one["epoch"] for [one] in last}) != 1:
            return None
        return [one for [one] in last] if last[0][0]["world"] == len(tasks) else None
    ranks = wait_until(together, f"{job.id}: {tasks} to train together: {job.status()}")
    number = str(len(tasks))
    for rank, (task, one) in enumerate(zip(tasks, ranks)):
        assert one == {"epoch": one["epoch"], "rank": rank, "world": len(tasks), "step": ranks[0]["step"],
                       "TONY_TASK": task, "TONY_TASK_INDEX": str(rank), "TONY_TASK_COUNT": number, "TASK_NUM": number}
    status = job.status()
    assert status["epoch"] == ranks[0]["epoch"] and status["progress"]["running"] == len(tasks)
    return ranks[0]["step"]


def trained(job, step):
    """Waits until there is a checkpoint of a later step than that of the formation's beginning."""
    checkpoint = job.directory / "checkpoint/steps.pt"
    before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
    wait_until(lambda: checkpoint.exists() and checkpoint.stat().st_mtime_ns > before, f"a step after {step}")


def shown(tony, job):
    answer = tony.run("status", job.id)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_a_job_starts_with_the_least_grows_and_goes_on_without_who_is_lost(tony):
    other, go = occupy(tony, "go-1")
    other.wait_task("worker:0")
    job = start(tony)
    trained(job, formation(job, "worker:0", "worker:1"))
    assert "can run with fewer; each further task waits for 512 MiB" in shown(tony, job)
    leave(other, go)
    first = formation(job, "worker:0", "worker:1", "worker:2")
    assert first > 0
    trained(job, first)
    # What is lost is not had back while another job waits for it.
    other, go = occupy(tony, "go-2")
    wait_until(lambda: other.status().get("waiting"), f"{other.id} to wait for room")
    os.kill(job.wait_task("worker:1")["executor_pid"], signal.SIGKILL)
    second = formation(job, "worker:0", "worker:2")
    assert second > first
    trained(job, second)
    other.wait_task("worker:0")
    leave(other, go)
    assert formation(job, "worker:0", "worker:1", "worker:2") > second
    assert job.task("worker:1")["attempt"] > 1
    assert finish(tony, job)["epoch"] == 4


def test_the_number_of_tasks_is_what_is_wanted(tony):
    """The same in list, status, portal and history, whatever the type may grow to."""
    portal = Portal(tony)
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 3, "tony.worker.min-instances": 1, "tony.worker.max-instances": 4,
                       "tony.worker.memory": "64m"}, "--executes", f"./exit_after.sh {go} 0")

    def told():
        listed, = json.loads(tony.run("list", "--all", "--json").stdout)
        in_portal = portal.jobs().get(job.id, {})
        assert not {key: 0 for key in ("epoch", "running_ms") if in_portal.get(key) == 0}, "0 is not what it is"
        return {"list": listed["task_count"], "status": job.status()["task_count"], "portal": in_portal.get("task_count")}
    for index in range(3):
        job.wait_task(f"worker:{index}")
    wait_until(lambda: set(told().values()) == {3}, f"3 tasks to be told: {told()}")
    assert tony.run("scale", job.id, "worker=2").returncode == 0
    wait_until(lambda: set(told().values()) == {2}, f"2 tasks to be told: {told()}")
    go.touch()
    assert job.wait() == 0
    kept = portal.wait_kept(job, "succeeded")
    assert kept["task_count"] == 2 and set(told().values()) == {2}, told()
    rows = portal.get(f"v1/compare?jobs={job.id},{job.id}")["rows"]
    assert [row["values"] for row in rows if row["key"] == "worker: tasks"] == [[2, 2]]
    portal.stop()


def test_a_job_is_scaled_while_it_runs_also_by_another_am(tony):
    job = start(tony)
    step = formation(job, "worker:0", "worker:1", "worker:2")
    trained(job, step)
    refused = tony.run("scale", job.id, "worker=5")
    assert refused.returncode != 0 and "worker: may have 2 to 4 tasks" in refused.stderr
    refused = tony.run("scale", job.id, "ps=1")
    assert refused.returncode == 4 and "has no task type" in refused.stderr
    answer = tony.run("scale", job.id, "worker=2")
    assert answer.returncode == 0 and "2 wanted, 1 fewer" in answer.stdout, answer.stderr
    fewer = formation(job, "worker:0", "worker:1")
    assert fewer > step
    assert "worker:2" not in shown(tony, job)
    trained(job, fewer)
    job.kill_am()
    pids = [job.wait_task(f"worker:{index}")["pids"] for index in range(2)]
    answer = tony.run("scale", job.id, "worker=4")
    assert answer.returncode == 0 and "4 wanted, 2 more" in answer.stdout, answer.stderr
    assert formation(job, "worker:0", "worker:1", "worker:2") > fewer
    assert [job.wait_task(f"worker:{index}")["pids"] for index in range(2)] != pids
    assert next(one for one in job.status()["types"] if one["name"] == "worker")["wanted"] == 4
    finish(tony, job)
    refused = tony.run("scale", job.id, "worker=2")
    assert refused.returncode == 4 and "has already ended" in refused.stderr
