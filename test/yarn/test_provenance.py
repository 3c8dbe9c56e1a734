"""Where the code of a job on a cluster comes from, and the same code once more: known on any machine."""

import json
import os
import signal
import subprocess
import time

import pytest
from program import PYTHON, wait_until
from test_history import elsewhere

ONE = {"tony.worker.instances": 1, "tony.application.provenance-timeout": "60s"}  # a busy machine answers late


def git(directory, *arguments):
    return subprocess.run(
        ["git", "-c", "user.name=u", "-c", "user.email=u@example.org", *arguments], cwd=directory, check=True,
        capture_output=True, text=True, env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"}).stdout


@pytest.fixture(name="work")
def work_fixture(tmp_path):
    """A repository whose program differs from its commit."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "train.py").write_text("print('committed')\n")
    git(work, "init", "--quiet", "--initial-branch", "try")
    git(work, "add", ".")
    git(work, "commit", "--quiet", "--message", "first")
    (work / "train.py").write_text("print('tried')\n")
    return work


def kept_diff(tony, place):
    return wait_until(lambda: tony.cluster.get(f"{place}/source.diff"), f"the difference to be published in {place}").decode()


def test_commit_and_difference_are_known_and_run_again_from_anywhere(tony, work):
    diff = git(work, "diff")
    answer, job = tony.job(ONE, "--executes", f"{PYTHON} train.py", src_dir=work)
    assert answer.returncode == 0, answer.stderr
    assert kept_diff(tony, job.history) == diff
    assert tony.cluster.status(f"{job.history}/source.diff")["permission"] == "600"
    commit = git(work, "rev-parse", "HEAD").strip()
    git(work, "commit", "--quiet", "--all", "--message", "second")
    (work / "train.py").write_text("print('of a later day')\n")

    env = elsewhere(tony)
    assert f"code: commit {commit[:12]} of try, with changes\n" in tony.run("status", job.id, env=env).stdout
    code = json.loads(tony.run("status", "--json", job.id, env=env).stdout)["provenance"]
    assert (code["commit"], code["branch"], code["dirty"]) == (commit, "try", True)
    assert code["diff_bytes"] == len(diff) and [row["path"] for row in code["changed"]] == ["train.py"]

    answer = tony.run("rerun", "--follow", job.id, env=env, cwd=tony.directory)
    again = tony.found_job(answer.stderr.replace(job.id, ""))
    assert answer.returncode == 0 and answer.stdout == "tried\n", answer.stdout + answer.stderr
    said = json.loads(tony.run("status", "--json", again.id, env=env).stdout)
    assert said["rerun_of"] == job.id and said["provenance"] == code
    day = time.strftime("%Y/%m/%d", time.gmtime(said["submitted_ms"] / 1000))
    assert kept_diff(tony, f"/user/{tony.cluster.user}/.tony/history/{day}/{again.id}") == diff


def test_the_history_of_a_killed_job_has_its_difference(tony, work):
    job = tony.submit({**ONE, **tony.one_am}, "--executes", "sleep 1000", src_dir=work)
    job.wait_task("worker:0")
    assert tony.cluster.get(f"{job.files}/source.diff").decode() == git(work, "diff")
    wait_until(lambda: job.rest("GET", "/v1/diff") == (200, git(work, "diff").encode()), "the AM to have the difference")
    job.wear_out_am(signal.SIGKILL)
    job.ended_application()
    assert tony.run("status", job.id, env=elsewhere(tony)).returncode == 0
    assert kept_diff(tony, job.history) == git(work, "diff")
    wait_until(lambda: tony.cluster.list(job.files) == [], "its files to be removed")
