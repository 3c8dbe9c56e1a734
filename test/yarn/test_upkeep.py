"""What a submission does for those that follow: files of the cache that nobody uses any more go, and so does what
jobs have left that were killed from outside."""

import json
import os
import time
import uuid

import pytest
from program import wait_until

LONG_AGO_MS = 1_600_000_000_000


def submit_elsewhere(tony):
    """From a machine of the user's that has not looked for a while, with another history. Its process that looks is
    not waited for."""
    state = {"TONY_STATE_DIR": str(tony.directory / f"elsewhere-{uuid.uuid4()}")}
    history = {"tony.history.location": f"/user/{tony.cluster.user}/history-elsewhere"}
    answer, _ = tony.job({"tony.worker.instances": 1, **history}, "--executes", "true", env=state)
    assert answer.returncode == 0, answer.stderr


def wait_looked(tony, condition, what):
    """Who looks stops after 2 s, and leaves the cache for another time while some job's description is being written:
    other tests' jobs are here, too. Each try takes as long as a job."""
    def submit_and_see():
        submit_elsewhere(tony)
        return condition()
    wait_until(submit_and_see, what, 600)


def start(tony, *options):
    job = tony.submit({"tony.worker.instances": 1}, "--executes", f"./exit_after.sh {tony.directory}/go 0", *options)
    job.wait_task("worker:0")
    return job


@pytest.mark.short
def test_what_no_job_has_used_for_long_leaves_the_cache(tony):
    """What is used by a job that runs stays, and is found by the next one that has it."""
    cache = f"/user/{tony.cluster.user}/.tony/cache"
    used, unused = tony.directory / "used.txt", f"{cache}/~{uuid.uuid4()}"
    used.write_text(f"{uuid.uuid4()}")
    before = set(tony.cluster.list(cache))
    job = start(tony, "--conf", f"tony.worker.resources={used}")
    mine = [name for name in tony.cluster.list(cache) if name not in before
            and tony.cluster.get(f"{cache}/{name}") == used.read_bytes()]
    assert len(mine) == 1
    tony.cluster.put(unused, b"old")
    for path in (unused, f"{cache}/{mine[0]}"):
        tony.cluster.hdfs("PUT", path, op="SETTIMES", accesstime=LONG_AGO_MS, modificationtime=LONG_AGO_MS)
    wait_looked(tony, lambda: tony.cluster.status(unused) is None, "the unused file to go")   # the last one by its name
    assert tony.cluster.status(f"{cache}/{mine[0]}")
    # While the first one runs: after it, whoever else submits here may remove the file.
    answer, _ = tony.job({"tony.worker.instances": 1, "tony.worker.resources": used}, "--executes", "true")
    assert answer.returncode == 0, answer.stderr
    status = tony.cluster.status(f"{cache}/{mine[0]}")
    assert status["modificationTime"] == LONG_AGO_MS                # it was not sent anew
    assert abs(time.time() * 1000 - status["accessTime"]) < 3_600_000
    (tony.directory / "go").touch()
    assert job.wait() == 0


@pytest.mark.promise("R54")
def test_what_a_job_that_was_killed_from_outside_left_is_published_after_another_was_submitted(tony):
    job = start(tony)
    os.kill(job.status()["am_pid"], 9)
    tony.kill_application(job.id)
    wait_until(lambda: job.application()["state"] == "KILLED" and not job.processes(), "the application to end")
    wait_looked(tony, lambda: tony.cluster.list(job.files) == [], "its files to be removed")
    assert {"job.json", "events.jsonl"} <= set(tony.cluster.list(job.history))


def test_a_job_of_another_cluster_that_shares_the_file_system_is_left_alone(tony):
    """Its ResourceManager knows it; ours does not, as it does not know those that it has forgotten."""
    _, job = tony.job({"tony.worker.instances": 1}, "--executes", "true")
    text = wait_until(lambda: tony.cluster.get(f"{job.history}/job.json"), "the history to be published")
    description = json.loads(text) | {"id": "application_1_0077"}
    description["engine"]["rm"] = ["other.example:8032"]
    place = f"/user/{tony.cluster.user}/.tony/application_1_0077"
    tony.cluster.put(f"{place}/job.json", json.dumps(description).encode())
    try:
        assert tony.run("list").returncode == 0
        assert tony.cluster.list(place) == ["job.json"]
        elsewhere = {"TONY_STATE_DIR": str(tony.directory / "elsewhere")}
        answer = tony.run("status", "application_1_0077", env=elsewhere)
        assert answer.returncode == 3 and "the ResourceManager at other.example:8032" in answer.stderr, answer.stderr
        assert tony.cluster.list(place) == ["job.json"]
    finally:
        tony.cluster.hdfs("DELETE", place, op="DELETE", recursive="true")
