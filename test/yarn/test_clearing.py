"""Ended jobs on YARN are removed whole: checkpoints and output in HDFS, this machine's copy, and the history."""

import json
import os
import time

import pytest
import schemas
from program import wait_until

USER = "clearing"       # whose jobs are the business of one test at a time
LONG_AGO_MS = 1_600_000_000_000


@pytest.fixture(name="base")
def own_user(tony):
    """From here on tony runs for a user of its own, of whom it takes whatever has ended: where its files are."""
    home = f"/user/{USER}-{os.getpid()}"
    tony.cluster.hdfs("PUT", home, op="MKDIRS", permission="700")
    tony.cluster.hdfs("PUT", home, op="SETOWNER", owner=os.path.basename(home))
    tony.env["HADOOP_USER_NAME"] = os.path.basename(home)
    yield f"{home}/.tony"
    tony.cluster.hdfs("DELETE", home, op="DELETE", recursive="true")


def in_hdfs(tony, job):
    """The job's places in its user's home, as far as they are there."""
    home = f"/user/{tony.cluster.user}/.tony/"
    return [name for name in ("checkpoints/", "output/", "") if tony.cluster.status(home + name + job.id)]


def answer_of(tony, *arguments, code=0):
    answer = tony.run(*arguments)
    assert answer.returncode == code, answer.stdout + answer.stderr
    return answer


@pytest.mark.short
def test_rm_takes_all_that_a_job_left_in_hdfs(tony):
    live = tony.submit({"tony.worker.instances": 1}, "--executes", f"./exit_after.sh {tony.directory}/go 0")
    live.wait_task("worker:0")
    assert "tony kill" in answer_of(tony, "rm", live.id, code=2).stderr
    submitted, job = tony.job({"tony.worker.instances": 1}, "--executes", "echo saved >$TONY_CHECKPOINT_DIR/1")
    assert submitted.returncode == 0, submitted.stderr
    dry = schemas.check("rm", json.loads(answer_of(tony, "rm", "--dry-run", "--json", job.id).stdout))
    assert "checkpoints/" in in_hdfs(tony, job) and dry["bytes"] >= len("saved\n")
    answer_of(tony, "rm", job.id)
    assert in_hdfs(tony, job) == [] and not (tony.state / "yarn" / job.id).exists()
    assert job.id not in tony.run("history").stdout
    (tony.directory / "go").touch()
    assert live.wait() == 0


def test_clean_takes_checkpoints_and_passes_over_jobs_that_run(tony):
    live = tony.submit({"tony.worker.instances": 1}, "--executes", f"./exit_after.sh {tony.directory}/go 0")
    live.wait_task("worker:0")
    submitted, job = tony.job({"tony.worker.instances": 1}, "--executes", "echo saved >$TONY_CHECKPOINT_DIR/1")
    assert submitted.returncode == 0, submitted.stderr

    def listed():
        dry = json.loads(answer_of(tony, "clean", "--older-than", "0s", "--dry-run", "--json").stdout)
        ids = [row["id"] for row in dry["jobs"]]
        assert live.id not in ids
        return job.id in ids
    wait_until(listed, "its AM to be gone")
    assert "checkpoints/" in in_hdfs(tony, job)
    (tony.directory / "go").touch()
    assert live.wait() == 0


def places(tony, base, name):
    return [place for place in ("checkpoints", "output") if tony.cluster.status(f"{base}/{place}/{name}")]


def ended(tony, base):
    answer, job = tony.job({"tony.worker.instances": 1}, "--executes",
                           "echo saved >$TONY_CHECKPOINT_DIR/1; echo told >$TONY_OUTPUT_DIR/1")
    assert answer.returncode == 0, answer.stderr
    job.wait_final("SUCCEEDED")
    wait_until(lambda: not tony.cluster.status(f"{base}/{job.id}"), "its AM to remove the job's directory")
    assert places(tony, base, job.id) == ["checkpoints", "output"]
    return job


def set_times(tony, path):
    tony.cluster.hdfs("PUT", path, op="SETTIMES", accesstime=LONG_AGO_MS, modificationtime=LONG_AGO_MS)


def test_clean_takes_what_another_machine_submitted(tony, base):
    job = ended(tony, base)
    answer_of(tony, "clean", "--older-than", "7d")
    assert places(tony, base, job.id) and (tony.state / "yarn" / job.id).exists()
    tony.forget()
    told = schemas.check("clean", json.loads(answer_of(tony, "clean", "--older-than", "0s", "--json").stdout))
    assert [row["id"] for row in told["jobs"]] == [job.id] and places(tony, base, job.id) == []
    assert job.id in tony.run("history").stdout


def test_checkpoints_stay_as_long_as_a_later_job_that_went_on_with_them(tony, base):
    """Other machines know it by a directory in HDFS, which goes with the later job."""
    first = ended(tony, base)
    answer = tony.run("rerun", "--detach", first.id, "--resume")
    assert answer.returncode == 0, answer.stderr
    later = tony.found_job(answer.stdout)
    tony.jobs.append(later)
    assert later.wait() == 0
    assert tony.cluster.list(f"{base}/resumed") == [f"{later.id}.{first.id}"]
    wait_until(lambda: not tony.cluster.status(f"{base}/{later.id}"), "its AM to remove the job's directory")
    tony.forget()
    refused = answer_of(tony, "rm", first.id, code=2).stderr
    assert f"tony rm {later.id} {first.id}" in refused and places(tony, base, first.id) == ["checkpoints", "output"]
    dry = json.loads(answer_of(tony, "clean", "--older-than", "0s", "--dry-run", "--json").stdout)
    assert {row["id"] for row in dry["jobs"]} == {first.id, later.id}, "both are old enough"
    answer_of(tony, "rm", later.id)
    assert tony.cluster.list(f"{base}/resumed") == []
    answer_of(tony, "rm", first.id)
    assert places(tony, base, first.id) == []


def test_clean_takes_what_no_job_has_used_for_long_from_the_cache(tony, base):
    job = ended(tony, base)
    cache = f"{base}/cache"
    fresh = set(tony.cluster.list(cache))
    tony.cluster.put(f"{cache}/unused", b"x" * 1000)
    tony.cluster.hdfs("PUT", f"{cache}/unused", op="SETOWNER", owner=tony.env["HADOOP_USER_NAME"])
    set_times(tony, f"{cache}/unused")
    dry = json.loads(answer_of(tony, "clean", "--older-than", "7d", "--dry-run", "--json").stdout)
    assert (dry["jobs"], dry["cache_bytes"], dry["dry_run"]) == ([], 1000, True) and "unused" in tony.cluster.list(cache)
    assert "; of the cache 1000 B" in answer_of(tony, "clean", "--older-than", "7d").stdout
    assert set(tony.cluster.list(cache)) == fresh and places(tony, base, job.id)


def test_what_the_resource_manager_does_not_know_may_be_a_submission_or_another_clusters(tony, base):
    """A submission makes the directories of a job before the ResourceManager knows it."""
    live = tony.submit({"tony.worker.instances": 1}, "--executes", f"./exit_after.sh {tony.directory}/go 0")
    live.wait_task("worker:0")
    description = json.loads(wait_until(lambda: tony.cluster.get(f"{base}/{live.id}/job.json"), "the job's description"))
    fresh, old, foreign = (f"application_{int(time.time() * 1000)}_{number:04}" for number in (1, 2, 3))
    for name in (fresh, old, foreign):
        tony.cluster.hdfs("PUT", f"{base}/checkpoints/{name}", op="MKDIRS")
    description["id"], description["engine"]["rm"] = foreign, ["elsewhere:8032"]
    tony.cluster.put(f"{base}/{foreign}/job.json", json.dumps(description).encode())
    for path in (foreign, f"{foreign}/job.json", *(f"checkpoints/{name}" for name in (fresh, old, foreign))):
        tony.cluster.hdfs("PUT", f"{base}/{path}", op="SETOWNER", owner=tony.env["HADOOP_USER_NAME"])
    for path in (f"checkpoints/{old}", f"checkpoints/{foreign}", foreign):
        set_times(tony, f"{base}/{path}")
    answer_of(tony, "clean", "--older-than", "0s")
    assert places(tony, base, old) == []
    assert places(tony, base, fresh) == places(tony, base, foreign) == ["checkpoints"]
    assert tony.cluster.status(f"{base}/{foreign}/job.json") and places(tony, base, live.id)
    (tony.directory / "go").touch()
    assert live.wait() == 0


def test_copies_go_with_age_and_what_is_in_hdfs_only_if_the_user_says_so(tony, base):
    job = ended(tony, base)
    mirror, turn = tony.state / "yarn" / job.id, tony.state / "upkeep-yarn"
    wait_until(lambda: not tony.processes(), "an earlier upkeep to end")
    os.utime(mirror / "journal.jsonl", (0, 0))
    removed = tony.state / "removed" / f"application_{LONG_AGO_MS}_0009"
    removed.parent.mkdir()
    removed.touch()
    os.utime(removed, (0, 0))
    turn.unlink()
    later = ended(tony, base)
    wait_until(lambda: not mirror.exists(), "the copy to go")
    wait_until(lambda: not removed.exists(), "the note of a removal of long ago to go")
    assert (tony.state / "yarn" / later.id).exists() and places(tony, base, job.id) == ["checkpoints", "output"]
    wait_until(lambda: not tony.processes(), "the upkeep to end")
    turn.unlink()
    old = f"application_{LONG_AGO_MS}_0001"
    tony.cluster.hdfs("PUT", f"{base}/checkpoints/{old}", op="MKDIRS")
    tony.cluster.hdfs("PUT", f"{base}/checkpoints/{old}", op="SETOWNER", owner=tony.env["HADOOP_USER_NAME"])
    set_times(tony, f"{base}/checkpoints/{old}")
    answer, _ = tony.job({"tony.worker.instances": 1, "tony.jobs.results-max-age": "1ms"}, "--executes", "true")
    assert answer.returncode == 0, answer.stderr
    wait_until(lambda: places(tony, base, old) == [], "checkpoints of long ago to go")
    assert places(tony, base, job.id) == places(tony, base, later.id) == ["checkpoints", "output"]
