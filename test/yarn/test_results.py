"""Results of a job come home from a cluster, and its end is told from there."""

import os
import signal

import pytest
from program import wait_until
from receiver import Receiver

WEBHOOK = "tony.application.on-end-webhook"
WRITE = ('echo "$TONY_TASK $TONY_EPOCH" >> "$TONY_OUTPUT_DIR/log"; mkdir -p "$TONY_OUTPUT_DIR/a b"; '
         'echo model > "$TONY_OUTPUT_DIR/a b/model"')
BOTH = {"worker-0/log": "worker:0 1\n", "worker-1/log": "worker:1 1\n", "worker-0/a b/model": "model\n", "worker-1/a b/model": "model\n"}


def files_of(directory):
    return {str(path.relative_to(directory)): path.read_text() for path in directory.rglob("*") if path.is_file()}


def kept(tony, job, task):
    return tony.cluster.list(f"/user/{tony.cluster.user}/.tony/output/{job.id}/{task}")


def test_results_come_home_with_the_end(tony):
    answer, job = tony.job({"tony.worker.instances": 2}, "--output", "home", "--executes", WRITE)
    assert answer.returncode == 0, answer.stderr
    there = tony.directory / "home" / job.id
    assert files_of(there) == BOTH
    assert tony.run("results", job.id).stdout == f"{there}\n"
    assert f"results: {there}\n" in tony.run("status", job.id).stdout
    assert job.status()["output"] == str(there)
    assert tony.cluster.status(f"/user/{tony.cluster.user}/.tony/output/{job.id}")["permission"] == "700"


def test_a_job_without_results_has_no_directory_for_them(tony):
    answer, job = tony.job({"tony.worker.instances": 1}, "--output", "home", "--executes", "true")
    assert answer.returncode == 0, answer.stderr
    assert tony.cluster.status(f"/user/{tony.cluster.user}/.tony/output/{job.id}") is None
    assert not (tony.directory / "home" / job.id).exists()


def test_a_retry_in_another_container_goes_on_with_the_results(tony):
    answer, job = tony.job({"tony.worker.instances": 1, "tony.am.retry-count": 1, "tony.am.retry-delay": "10ms"},
                           "--output", "home", "--executes", WRITE + '; [ "$TONY_EPOCH" = 2 ] || kill -9 $$')
    assert answer.returncode == 0, answer.stderr
    assert files_of(tony.directory / "home" / job.id)["worker-0/log"] == "worker:0 1\nworker:0 2\n"


@pytest.mark.promise("S132")
@pytest.mark.parametrize("part", ["", "/worker-0", "/worker-0/log"])
def test_results_that_another_user_has_put_in_their_place_are_not_read(tony, part):
    """As in a directory for all: tony.Job.value() would unpickle what comes."""
    answer, job = tony.job({"tony.worker.instances": 1}, "--executes", WRITE)
    assert answer.returncode == 0, answer.stderr
    there = f"/user/{tony.cluster.user}/.tony/output/{job.id}"
    tony.cluster.hdfs("PUT", there + part, op="SETOWNER", owner="mallory")
    answer = tony.run("results", job.id, "--output", "home")
    assert answer.returncode == 6, answer
    assert f"{job.id}{part} belongs to mallory, who is not the job's user: no results are read there" in answer.stderr, answer
    assert not (tony.directory / "home" / job.id).exists()
    tony.cluster.hdfs("PUT", there + part, op="SETOWNER", owner=tony.cluster.user)
    assert tony.run("results", job.id, "--output", "home").returncode == 0
    assert "worker-0/log" in files_of(tony.directory / "home" / job.id)


@pytest.mark.promise("R63")
def test_what_is_stored_of_a_job_that_runs_or_was_killed_comes_home(tony):
    job = tony.submit({"tony.worker.instances": 2}, "--executes", WRITE + "; sleep 1000")
    for task in ("worker-0", "worker-1"):
        wait_until(lambda task=task: {"log", "a b"} <= set(kept(tony, job, task)), f"the results of {task} to be stored")
    for output in ("first", "second"):
        answer = tony.run("results", job.id, "--output", output)
        assert answer.returncode == 0, answer.stderr
        assert files_of(tony.directory / output / job.id) == BOTH
        assert os.listdir(tony.directory / output) == [job.id]
        if output == "first":
            assert tony.run("kill", job.id).returncode == 0
            assert job.wait() == 8
            assert job.task("worker:0")["used"]["max_rss_bytes"] > 0, "it is known of a program that tony stopped, too"
    place = tony.run("results", job.id).stdout.strip()
    assert place.startswith("hdfs://") and job.status()["output"] == place
    assert f"results: {place}\n" in tony.run("status", job.id).stdout


def test_results_that_are_there_are_not_fetched_again(tony):
    answer, job = tony.job({"tony.worker.instances": 2}, "--executes",
                           WRITE + '; touch -d "2026-01-01" "$TONY_OUTPUT_DIR/log" "$TONY_OUTPUT_DIR/a b/model"')
    assert answer.returncode == 0, answer.stderr
    there = tony.directory / "home" / job.id
    taken = []
    for _ in range(2):
        assert tony.run("results", job.id, "--output", "home").returncode == 0
        assert files_of(there) == BOTH
        taken.append({path: (path.stat().st_ino, path.stat().st_ctime_ns) for path in there.rglob("*") if path.is_file()})
    assert taken[0] == taken[1]
    changed = there / "worker-0" / "log"
    changed.write_text("changed")
    assert tony.run("results", job.id, "--output", "home").returncode == 0
    assert files_of(there) == BOTH and changed.stat().st_mtime == (there / "worker-1" / "log").stat().st_mtime


@pytest.mark.promise("R62")
def test_the_next_am_tells_a_notice_again_whose_am_was_killed(tony):
    receiver = Receiver(Receiver.HOLD)
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 1, WEBHOOK: receiver.url, "tony.application.output-dir": tony.directory / "home"},
                      "--executes", WRITE + f"; while [ ! -e {go} ]; do sleep 0.1; done")
    job.wait_task("worker:0")
    am = job.status()["am_pid"]
    go.touch()
    receiver.wait_requests(1)
    assert job.wait() == 0, "nobody waits for the notice"
    assert files_of(tony.directory / "home" / job.id)["worker-0/log"] == "worker:0 1\n"
    os.kill(am, signal.SIGKILL)
    assert receiver.wait_requests(2)[1][2] == receiver.requests[0][2]
    notices = wait_until(lambda: job.status().get("notices"), "the notices")
    assert notices == [{"of": WEBHOOK, "text": f"http://{receiver.address} took it"}]
    assert job.events()[-1]["notices"] == notices
    receiver.close()


def test_results_outlive_an_am_that_is_killed(tony):
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 1, "tony.application.output-dir": tony.directory / "home"},
                      "--executes", WRITE + f"; while [ ! -e {go} ]; do sleep 0.1; done")
    job.wait_task("worker:0")
    before = job.status()["am_pid"]
    os.kill(before, signal.SIGKILL)
    wait_until(lambda: (pid := job.status().get("am_pid")) != before and pid, "another AM")
    go.touch()
    assert job.wait() == 0
    assert files_of(tony.directory / "home" / job.id)["worker-0/log"] == "worker:0 1\n"
