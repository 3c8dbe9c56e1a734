"""What is kept of jobs on a cluster, in HDFS: where, for whom, and found again from anywhere."""

import json
import os
import signal

import pytest
from program import wait_until, write_xml

FILES = {"job.json", "tony-final.xml", "events.jsonl", "summary.json"}


def elsewhere(tony):
    """Another machine of the user's, which knows nothing yet."""
    return {"TONY_STATE_DIR": str(tony.directory / f"elsewhere-{os.urandom(4).hex()}")}


def test_what_was_measured_outlives_the_am(tony):
    job = tony.submit({"tony.worker.instances": 1, "tony.am.max-attempts": 1, "tony.task.metrics-interval-ms": "100"},
                      "--executes", "sleep 1000")
    job.wait_task("worker:0")
    wait_until(lambda: "metrics.jsonl" in tony.cluster.list(job.files), "the metrics so far to be kept")
    os.kill(job.status()["am_pid"], signal.SIGKILL)
    assert job.wait() == 1
    wait_until(lambda: FILES | {"metrics.jsonl"} <= set(tony.cluster.list(job.history)), "the history to be published")
    summary = json.loads(tony.cluster.get(f"{job.history}/summary.json"))
    assert summary["state"] == "failed" and summary["types"][0]["p95_rss_bytes"] > 0
    lines = tony.cluster.get(f"{job.history}/metrics.jsonl").splitlines()
    assert [json.loads(line)["task"] for line in lines] == ["worker:0"]
    wait_until(lambda: tony.cluster.list(job.files) == [], "its files to be removed")


@pytest.mark.short
def test_an_ended_job_is_kept_and_found_from_elsewhere(tony):
    answer, job = tony.job({"tony.worker.instances": 2}, "--executes", "echo hello; exit $TASK_INDEX")
    assert answer.returncode == 1, answer.stderr
    wait_until(lambda: FILES <= set(tony.cluster.list(job.history)), "the history to be published")
    summary = json.loads(tony.cluster.get(f"{job.history}/summary.json"))
    assert summary["id"] == job.id and summary["state"] == "failed" and summary["scheduler"] == "yarn"
    assert summary["cause_task"] == "worker:1" and summary["task_count"] == 2
    assert tony.cluster.status(job.history)["permission"] == "700"
    assert tony.cluster.status(f"{job.history}/events.jsonl")["permission"] == "600"
    assert tony.cluster.list(os.path.dirname(job.history)).count(job.id) == 1
    env = elsewhere(tony)
    rows = json.loads(tony.run("history", "--json", "--last", "50", env=env).stdout)
    # Older programs read the number of tasks by its older name; the answer has none of that.
    assert summary.pop("tasks") == summary["task_count"]
    assert [row for row in rows if row["id"] == job.id] == [{**summary, "exit_code": 1}]
    status = json.loads(tony.run("status", "--json", job.id, env=env).stdout)
    assert status["state"] == "failed" and status["cause"]["exit_code"] == 1
    assert tony.run("events", job.id, env=env).stdout == tony.run("events", job.id).stdout
    assert "hello" in tony.run("logs", job.id, env=env).stdout


def test_a_store_for_all(tony, shared):
    for location in (shared, f"hdfs://{shared}"):
        answer, job = tony.job({"tony.worker.instances": 1, "tony.history.location": location,
                                "tony.history.permissions": "group"}, "--executes", "true")
        assert answer.returncode == 0, answer.stderr
        place = shared + job.history.partition("/history")[2]
        wait_until(lambda: FILES <= set(tony.cluster.list(place)), "the history to be published")
        assert tony.cluster.status(os.path.dirname(place))["permission"] == "1777"
        assert tony.cluster.status(place)["permission"] == "750"
        assert tony.cluster.status(f"{place}/job.json")["permission"] == "640"
        rows = json.loads(tony.run("history", "--json", "--location", f"hdfs://{shared}").stdout)
        assert job.id in [row["id"] for row in rows]
        assert tony.run("status", job.id).returncode == 0


def take(tony, place, owner):
    """HDFS has it for another user's then, whatever its files say."""
    for path in [place, *(f"{place}/{name}" for name in tony.cluster.list(place))]:
        tony.cluster.hdfs("PUT", path, op="SETOWNER", owner=owner)


@pytest.mark.promise("S130", "S131")
def test_a_record_in_hdfs_is_its_owners_whatever_it_says(tony, shared):
    places = {}
    for owner in ("mallory", None):
        answer, job = tony.job({"tony.worker.instances": 1, "tony.history.location": shared, "tony.history.permissions": "all"},
                               "--executes", "echo ran")
        assert answer.returncode == 0, answer.stderr
        place = places[owner] = shared + job.history.partition("/history")[2]
        wait_until(lambda place=place: FILES <= set(tony.cluster.list(place)), "the history to be published")
        wait_until(lambda job=job: tony.cluster.list(job.files) == [], "its files to be removed")
    take(tony, places["mallory"], "mallory")
    bait, own = (os.path.basename(place) for place in places.values())
    write_xml(tony.directory / "conf/tony-site.xml", {"tony.history.location": shared})
    env = elsewhere(tony)
    for words in (["rerun"], ["wait"], ["results"], ["bundle"], ["submit", "--executes", "true", "--after"]):
        answer = tony.run(*words, bait, env=env)
        assert answer.returncode == 6 and "this job's record belongs to mallory, so tony does not use it" in answer.stderr, answer
    assert f"{bait} is mallory's" in tony.run("status", bait, env=env).stderr
    for words in (["wait"], ["rerun"]):
        answer = tony.run(*words, own, env=env)
        assert answer.returncode == 0, answer
    answer = tony.run("wait", "--of", "mallory", bait, env=env)
    assert answer.returncode == 0, answer


def test_a_store_that_cannot_be_written_costs_the_job_nothing(tony, shared):
    tony.cluster.put(f"{shared}/file", b"in the way")
    answer, job = tony.job({"tony.worker.instances": 1, "tony.history.location": f"{shared}/file"},
                           "--executes", "true")
    assert answer.returncode == 0, answer.stderr
    assert job.status()["state"] == "succeeded"


@pytest.mark.parametrize("location", ["file:///tony-history", "hdfs://nowhere:1/tony-history"])
def test_a_store_that_no_am_can_reach_is_refused(tony, location):
    answer, job = tony.job({"tony.worker.instances": 1, "tony.history.location": location}, "--executes", "true")
    assert answer.returncode != 0 and job is None
    assert location in answer.stderr


def test_a_local_job_is_kept_in_hdfs(tony, shared):
    verb, *rest = tony.arguments({"tony.worker.instances": 1, "tony.application.scheduler": "local",
                                  "tony.history.location": f"hdfs://{shared}"}, "--executes", "echo hello")
    answer = tony.run(verb, *rest)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    kept = wait_until(lambda: json.loads(
        tony.run("history", "--json", "--location", f"hdfs://{shared}").stdout), "the job to be published")
    assert kept[0]["scheduler"] == "local" and kept[0]["state"] == "succeeded"
    day = kept[0]["id"][5:13]
    place = f"{shared}/{day[:4]}/{day[4:6]}/{day[6:]}/{kept[0]['id']}"
    assert tony.cluster.get(f"{place}/logs/worker-0/stdout").endswith(b"hello\n")


def test_a_local_job_keeps_checkpoints_and_results_in_hdfs(tony, shared):
    """The second job goes on where the first one ended."""
    keys = {"tony.worker.instances": 1, "tony.application.scheduler": "local",
            "tony.application.checkpoint-dir": f"hdfs://{shared}/points",
            "tony.application.output-dir": f"hdfs://{shared}/results"}
    program = 'cd $TONY_CHECKPOINT_DIR; echo more >> step; cp step "$TONY_OUTPUT_DIR"'
    for steps in (b"more\n", b"more\nmore\n"):
        verb, *rest = tony.arguments(keys, "--json", "--executes", program)
        answer = tony.run(verb, *rest)
        assert answer.returncode == 0, answer.stdout + answer.stderr
        job = json.loads(answer.stdout)
        assert tony.cluster.get(f"{shared}/points/step") == steps
        assert tony.cluster.get(f"{shared}/results/{job['id']}/worker-0/step") == steps
        assert job["output"] == f"hdfs://{shared}/results/{job['id']}"
    assert tony.run("results", job["id"], "--output", "home").returncode == 0
    assert (tony.directory / "home" / job["id"] / "worker-0/step").read_bytes() == steps


def test_prune_in_hdfs(tony, shared):
    answer, job = tony.job({"tony.worker.instances": 1, "tony.history.location": shared}, "--executes", "true")
    assert answer.returncode == 0, answer.stderr
    place = shared + job.history.partition("/history")[2]
    wait_until(lambda: FILES <= set(tony.cluster.list(place)), "the history to be published")
    # As a publication makes them: HDFS itself would let everybody replace what is in them.
    for folder, mode in (("2020", "1777"), ("2020/01", "1777"), ("2020/01/02", "1777"), ("2020/01/02/application_1_0001", "755")):
        tony.cluster.hdfs("PUT", f"{shared}/{folder}", op="MKDIRS", permission=mode)
    for name in FILES:
        content = tony.cluster.get(f"{place}/{name}").replace(job.id.encode(), b"application_1_0001")
        tony.cluster.put(f"{shared}/2020/01/02/application_1_0001/{name}", content)
    answer = tony.run("history", "--prune", "--location", f"hdfs://{shared}")
    assert "1 removed, 1 kept" in answer.stdout, answer.stderr
    assert tony.cluster.list(f"{shared}/2020/01") == []
    assert tony.cluster.list(place) != []
