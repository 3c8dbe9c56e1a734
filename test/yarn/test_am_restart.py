"""The AM of a job on YARN is lost: another one follows, perhaps on another node and at another address, and no task is
started again."""

import json
import os
import signal
import tarfile
from pathlib import Path

import pytest
from program import PATIENCE_S, read_environ, stand_still, wait_until

NAMES = ["worker:0", "worker:1", "worker:2"]


def kept_job(tony, names, **keys):
    """A job, and what its tasks are, once that is in HDFS: what follows half a second after is promised."""
    job = tony.submit({"tony.worker.instances": len(names), "tony.application.framework": "pytorch", **keys},
                      "--executes", f"./exit_after.sh {tony.directory}/go 0")
    before = {name: identity(job.wait_task(name)) for name in names}
    wait_until(lambda: (job.tony.cluster.get(f"{job.files}/journal-1.jsonl") or b"").count(b'"up":true') >= len(names),
               "the journal to be kept")
    return job, before


def start(tony, **keys):
    return kept_job(tony, NAMES, **keys)


def identity(task):
    return task["pids"], task["attempt"], task["container"], task["epoch"], task["restart"]


def am_processes(job):
    """Of the AM's container, the first of each attempt."""
    return [pid for pid in job.processes()
            if any(value.startswith(b"CONTAINER_ID=") and value.endswith(b"_000001") for value in read_environ(pid))]


def am_log(pid):
    """What prepares the AM's container looks like an AM, too, and may have ended by now."""
    for value in read_environ(pid):
        if value.startswith(b"LOG_DIRS="):
            path = Path(value.decode().split("=")[1]) / "am.stderr"
            return path.read_text() if path.exists() else ""
    return ""


def kill_am(job):
    for pid in am_processes(job):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass   # it had noticed that the others are gone


def am_of(job):
    answer = job.tony.run("status", "--json", job.id)
    return json.loads(answer.stdout).get("am_attempt") if answer.returncode == 0 else None


def wait_am(job, attempt):
    wait_until(lambda: am_of(job) == attempt, f"AM {attempt} of {job.id}")


def finish(job):
    (job.tony.directory / "go").touch()
    return job.wait()


@pytest.mark.promise("R37", "R52")
def test_no_task_notices(tony):
    """Also who follows the job goes on, without a gap, and nothing twice."""
    job, before = start(tony)
    follower = tony.start("events", "--json", "-f", job.id)
    first = follower.stdout.readline()
    waiter = tony.start("wait", job.id)
    kill_am(job)
    wait_am(job, 2)
    for name in NAMES:
        assert identity(job.wait_task(name)) == before[name]
    assert finish(job) == 0
    assert waiter.wait(PATIENCE_S) == 0
    said, errors = follower.stdout.read(), follower.stderr.read()
    lines = [line for line in map(json.loads, (first + said).splitlines())
             if line["seq"]]   # or YARN's word on why there is no AM yet
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1)), errors
    assert [line["attempt"] for line in lines if line["ev"] == "am"] == [1, 2]
    assert {line["attempt"] for line in lines if line["ev"] == "task"} <= {0, 1}


@pytest.mark.promise("R37")
def test_who_follows_goes_on_when_another_command_has_heard_of_the_next_am_and_of_the_end(tony):
    job, _ = kept_job(tony, NAMES[:1])
    waiter = tony.start("wait", job.id)
    follower = tony.start("events", "--json", "-f", job.id)
    follower.stdout.readline()
    stand_still(waiter.pid, follower.pid)
    try:
        kill_am(job)
        wait_am(job, 2)
        assert finish(job) == 0
    finally:
        os.kill(waiter.pid, signal.SIGCONT)
        os.kill(follower.pid, signal.SIGCONT)
    assert waiter.wait(PATIENCE_S) == 0
    assert '"succeeded"' in follower.stdout.read().splitlines()[-1]


def test_logs_wait_for_the_next_am(tony):
    """And for what the cluster has kept, once the job has ended. Those of several jobs do so, too."""
    other = tony.submit({"tony.worker.instances": 1, "tony.application.name": "other"}, "--executes", "echo over")
    assert other.wait() == 0
    job = tony.submit({"tony.worker.instances": 2, "tony.application.name": "one"},
                      "--executes", f"echo begun; ./exit_after.sh {tony.directory}/go 0")
    for name in NAMES[:2]:
        job.wait_task(name)
        wait_until(lambda: job.logs(name) == "begun\n", "the first line")
    kill_am(job)
    several = tony.start("logs", other.id, job.id)
    answer = tony.run("logs", job.id)
    assert (answer.returncode, sorted(answer.stdout.splitlines())) == (0, ["worker:0| begun", "worker:1| begun"]), answer.stderr
    said, errors = several.communicate(timeout=PATIENCE_S)
    assert (several.returncode, sorted(said.splitlines())) == (
        0, ["one worker:0| begun", "one worker:1| begun", "other| over"]), errors
    assert finish(job) == 0
    answer = tony.run("logs", job.id)
    assert (answer.returncode, sorted(answer.stdout.splitlines())) == (0, ["worker:0| begun", "worker:1| begun"]), answer.stderr
    made = tony.run("bundle", "--json", "--output", f"{tony.directory}/all.tgz", job.id)
    assert made.returncode == 0, made.stderr
    with tarfile.open(f"{tony.directory}/all.tgz") as archive:
        assert archive.extractfile(f"{job.id}/logs/tasks.log").read().count(b"| begun\n") == 2
        assert archive.extractfile(f"{job.id}/logs/executors.log").read().count(b" executor| ") > 1


@pytest.mark.promise("R51", "R52")
def test_no_program_is_started_twice_however_early_its_am_is_killed(tony):
    """Before the first of them is started, whom it is told of is known to any AM that follows."""
    starts = tony.directory / "starts"
    starts.mkdir()
    job = tony.submit({"tony.worker.instances": len(NAMES), "tony.application.framework": "pytorch"}, "--executes",
                      f"echo started >>{starts}/$TASK_INDEX; exec ./exit_after.sh {tony.directory}/go 0")
    wait_until(lambda: any(starts.iterdir()), "a program to start")
    kill_am(job)
    wait_am(job, 2)
    for name in NAMES:
        job.wait_task(name, attempt=1)
    assert finish(job) == 0
    assert [path.read_text() for path in starts.iterdir()] == ["started\n"] * len(NAMES)
    job.wait_final("SUCCEEDED")


@pytest.mark.promise("R15", "R17")
def test_the_next_am_avoids_the_machine_that_the_one_before_avoided(tony):
    """YARN itself keeps what an AM told it; that the next one tells it again, its log says."""
    job = tony.submit({"tony.worker.instances": 1, "tony.am.retry-count": 1}, "--executes",
                      f"test $TONY_EPOCH -gt 1 || kill -BUS $$; ./exit_after.sh {tony.directory}/go 0")
    task = job.wait_task("worker:0", attempt=2)
    (host,) = [event["host"] for event in job.events() if event["ev"] == "avoid"]
    assert task["host"] != host
    wait_until(lambda: (tony.cluster.get(f"{job.files}/journal-1.jsonl") or b"").count(b'"up":true') >= 2,
               "the journal to be kept")
    first = am_processes(job)
    kill_am(job)
    wait_until(lambda: any(f"{host} is avoided" in am_log(pid) for pid in am_processes(job) if pid not in first),
               "the next AM to avoid the machine")
    assert finish(job) == 0
    job.wait_final("SUCCEEDED")


@pytest.mark.promise("R47", "R51")
def test_a_job_ends_with_the_last_of_its_ams(tony):
    """YARN starts no other one: the executors leave, and what it says of that is told and kept."""
    job, before = start(tony, **{"tony.am.max-attempts": 2})
    waiter = tony.start("wait", job.id)
    kill_am(job)
    wait_am(job, 2)
    assert identity(job.wait_task("worker:1")) == before["worker:1"]
    kill_am(job)
    assert waiter.wait(PATIENCE_S) == 1
    report = job.ended_application()
    assert report["state"] == "FAILED" == report["finalStatus"]
    said = report["diagnostics"].splitlines()[0]
    assert "failed 2 times" in said and "exitCode: 137" in said
    wait_until(lambda: not job.processes(), "its executors to leave")
    wait_until(lambda: tony.cluster.list(job.files) == [], "its files to be removed")
    summary = json.loads(tony.cluster.get(f"{job.history}/summary.json"))
    assert summary["state"] == "failed" and "was killed by SIGKILL (2 attempts)" in summary["message"]
    lines = job.events()
    assert [line["attempt"] for line in lines if line["ev"] == "am"] == [1, 2]
    assert [line["state"] for line in lines if line["ev"] == "final"] == ["failed"]
    for env in ({}, {"TONY_STATE_DIR": str(tony.directory / "elsewhere")}):
        status = json.loads(tony.run("status", "--json", job.id, env=env).stdout)
        assert status["state"] == "failed" and status["message"] == summary["message"]
        assert {task["state"] for task in status["tasks"]} == {"stopped"}


@pytest.mark.promise("R82")
def test_splits_are_shared_on(tony):
    """Programs ask the next AM, wherever it is; what was done in the last moments may be read again."""
    env = {"ITEMS": 40, "PASSES": 1, "RECORDS": 2, "PAUSE": 0.3}
    job = tony.submit({"tony.worker.instances": 2}, "--executes", "exec python3 read_splits.py",
                      *(word for name, value in env.items() for word in ("--shell_env", f"{name}={value}")))
    wait_until(lambda: (job.tony.cluster.get(f"{job.files}/splits.state") or b"").count(b"numbers1 ") >= 12, "12 leases to be kept")
    kill_am(job)
    wait_am(job, 2)
    assert done(job) >= 10, "the queue goes on where it was"
    assert job.wait() == 0
    read = [tuple(map(int, line.split())) for name in NAMES[:2] for line in job.logs(name).splitlines()]
    assert set(read) == {(1, item, record) for item in range(env["ITEMS"]) for record in range(env["RECORDS"])}
    assert len(read) < 1.5 * len(set(read))


def done(job):
    sets = job.status().get("work", {}).get("splits", [])
    return sets[0]["done"] if sets else 0
