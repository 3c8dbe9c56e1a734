"""Jobs whose files are in a directory that all nodes see, in place of HDFS."""

import json
import os
import signal
import stat

import pytest
from program import wait_until, write_xml
from test_am_restart import am_log, am_processes, identity, kill_am, wait_am

KEY = "tony.yarn.staging-location"
NAMES = ["worker:0", "worker:1"]


def make_staging(tony):
    """For every program of this user's."""
    directory = tony.directory / "staging"
    directory.mkdir()
    write_xml(tony.directory / "conf" / "tony-site.xml", {KEY: directory.as_uri()})
    return directory


@pytest.fixture
def staging(tony):
    return make_staging(tony)


def own(tony, staging):
    return staging / tony.cluster.user / ".tony"


def files_of(directory):
    return {str(path.relative_to(directory)): path.read_text() for path in directory.rglob("*") if path.is_file()}


def nothing_in_hdfs(tony, job):
    if not tony.cluster.has_hdfs:
        return True
    home = f"/user/{tony.cluster.user}/.tony"
    return not any(job.id in tony.cluster.list(f"{home}{below}") for below in ("", "/checkpoints", "/output"))


WRITE = ('cat code; echo "$TASK_INDEX" > "$TONY_OUTPUT_DIR/result"; echo saved > "$TONY_CHECKPOINT_DIR/$TASK_INDEX"; '
         'sleep 1; cat "$TONY_CHECKPOINT_DIR"/*')


def check_a_job(tony, staging):
    source = tony.directory / "src"
    source.mkdir()
    (source / "code").write_text("of the job\n")
    answer, job = tony.job({"tony.worker.instances": 2}, "--output", "home", "--executes", WRITE, src_dir=source)
    assert answer.returncode == 0, answer.stderr
    place = own(tony, staging)
    assert stat.S_IMODE(os.stat(staging / tony.cluster.user).st_mode) == 0o700
    assert files_of(tony.directory / "home" / job.id) == {"worker-0/result": "0\n", "worker-1/result": "1\n"}
    assert files_of(place / "checkpoints" / job.id) == {"0": "saved\n", "1": "saved\n"}
    wait_until(lambda: not (place / job.id).exists(), "the job's directory to be removed")
    for name in NAMES:
        assert job.logs(name) == "of the job\nsaved\nsaved\n"
    # Found from another machine of the user's, by what the staging directory has.
    elsewhere = {"TONY_STATE_DIR": str(tony.directory / "elsewhere")}
    status = json.loads(tony.run("status", "--json", job.id, env=elsewhere).stdout)
    assert status["state"] == "succeeded"
    assert [row["id"] for row in json.loads(tony.run("history", "--json", env=elsewhere).stdout)] == [job.id]
    assert nothing_in_hdfs(tony, job)
    # The second one sends nothing.
    cache = set(os.listdir(place / "cache"))
    again = tony.run("rerun", "--detach", job.id)
    assert again.returncode == 0, again.stderr
    second = tony.found_job(again.stdout + again.stderr)
    assert second.wait() == 0
    assert set(os.listdir(place / "cache")) == cache
    removed = tony.run("rm", job.id, second.id)
    assert removed.returncode == 0, removed.stderr
    assert not any(job.id in str(path) for path in place.rglob("*"))


@pytest.mark.short
def test_a_job_without_a_file_in_hdfs(tony, staging):
    check_a_job(tony, staging)


def check_the_next_am(tony, staging):
    job = tony.submit({"tony.worker.instances": 2, "tony.application.framework": "pytorch"},
                      "--executes", f"./exit_after.sh {tony.directory}/go 0")
    before = {name: identity(job.wait_task(name)) for name in NAMES}
    journal = own(tony, staging) / job.id / "journal-1.jsonl"
    wait_until(lambda: journal.exists() and journal.read_bytes().count(b'"up":true') == 2, "the journal to be kept")
    kill_am(job)
    wait_am(job, 2)
    assert {name: identity(job.wait_task(name)) for name in NAMES} == before, [am_log(pid) for pid in am_processes(job)]
    (tony.directory / "go").touch()
    assert job.wait() == 0
    job.wait_final("SUCCEEDED")
    assert nothing_in_hdfs(tony, job)


def test_an_am_that_follows_reads_the_journal_there(tony, staging):
    check_the_next_am(tony, staging)


def test_a_client_publishes_what_a_killed_am_has_left(tony, staging):
    """Also of a job that has files in HDFS, which are used in place."""
    path = f"/tmp/{tony.directory.name}"
    tony.cluster.hdfs("PUT", path, b"in HDFS\n", op="CREATE", overwrite="true")
    job = tony.submit({"tony.worker.instances": 1, "tony.am.max-attempts": 1,
                       "tony.containers.resources": f"hdfs://{path}::data"}, "--executes", "cat data; sleep 1000")
    job.wait_task("worker:0")
    wait_until(lambda: job.logs("worker:0") == "in HDFS\n", "the file")
    os.kill(job.status()["am_pid"], signal.SIGKILL)
    assert job.wait() == 1
    place = own(tony, staging)
    wait_until(lambda: {"job.json", "events.jsonl", "summary.json"} <=
               {file.name for file in place.glob(f"history/*/*/*/{job.id}/*")}, "the history to be published")
    wait_until(lambda: not (place / job.id).exists(), "the job's directory to be removed")
    tony.cluster.hdfs("DELETE", path, op="DELETE")


@pytest.mark.promise("S61")
def test_a_place_that_is_not_fit(tony, staging):
    def refused(*words):
        answer = tony.run(*tony.arguments({"tony.worker.instances": 1}), "--executes", "true")
        assert answer.returncode != 0
        for word in (f"{KEY}: ", *words):
            assert word in answer.stderr

    staging.chmod(0o777)
    refused(f'others can replace what is in {staging}; have its owner type: chmod +t {staging}')
    staging.chmod(0o1777)
    (staging / tony.cluster.user).mkdir(0o777)
    (staging / tony.cluster.user).chmod(0o777)
    refused(f"others can write to {staging}/{tony.cluster.user}")
    (staging / tony.cluster.user).rmdir()
    (staging / tony.cluster.user).symlink_to(tony.directory)   # of somebody who knows where jobs will be looked for
    refused("no directory of yours")
    for words in (["list"], ["status", "application_1_0001"]):
        answer = tony.run(*words)
        assert "no directory of yours" in answer.stderr, (words, answer)
    (staging / tony.cluster.user).unlink()
    staging.rmdir()
    refused(str(staging), "No such file or directory")
