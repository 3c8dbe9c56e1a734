"""Ended jobs on YARN are removed whole: checkpoints and output in HDFS, this machine's copy, and the history."""

import json

import pytest
import schemas
from program import wait_until


def in_hdfs(tony, job):
    """What there is of the job in its user's home."""
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
