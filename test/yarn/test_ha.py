"""Pairs: of two ResourceManagers, and of two NameNodes, one serves and the other stands by. Which is which
changes while jobs run. The keys of AMRMTokens change, too, as often as YARN allows."""

import os
import uuid

import pytest
from program import PATIENCE_S, wait_until

CLUSTER = {"--nodes": 2, "--heartbeat-ms": 100, "--expiry-ms": 10000, "--ha": None, "--token-roll-sec": 31}
WRITES = ("exec bash -c 'echo one >$TONY_CHECKPOINT_DIR/one; until [ -e {go} ]; do sleep 0.1; done; "
          "echo two >$TONY_CHECKPOINT_DIR/two'")


@pytest.fixture
def tony(own_tony):
    return own_tony


def serves(cluster, service):
    """Which of the pair does."""
    number = cluster.masters(service).index(cluster.active(service)) + 1
    return number, 3 - number


def fail_over(cluster, service):
    """The one that serves dies, and the other takes its place; then it comes back, to stand by."""
    active, other = serves(cluster, service)
    cluster.kill(service, active)
    cluster.activate(service, other)
    cluster.restart(service, active)


def start(tony, workers=2, command="./exit_after.sh {go} 0", **keys):
    job = tony.submit({"tony.worker.instances": workers, "tony.application.framework": "pytorch",
                       "tony.am.retry-delay": "10ms", **keys}, "--executes",
                      command.format(go=tony.directory / "go"))
    for index in range(workers):
        job.wait_task(f"worker:{index}")
    return job


def finish(tony, job):
    (tony.directory / "go").touch()
    return job.wait(180)


def assert_ended(job, state, yarn_state="FINISHED"):
    """To tony, and to the ResourceManager that serves now."""
    assert job.status()["state"] == state
    report = job.ended_application()
    assert (report["state"], report["finalStatus"]) == (yarn_state, state.upper())


@pytest.mark.parametrize("number", [2, 1])
def test_either_of_each_pair_may_serve(tony, number):
    """Staging, submission, what NodeManagers fetch from hdfs://NAMESERVICE, history: all go to the one that
    serves, whichever is named first."""
    for service in ("rm", "nn"):
        tony.cluster.activate(service, number)
    place = f"/user/{tony.cluster.user}/{uuid.uuid4()}"
    tony.cluster.put(f"{place}/data", b"fetched")
    answer, job = tony.job({"tony.worker.instances": 2, "tony.worker.resources":
                            f"{tony.cluster.env['HDFS_URI']}{place}/data"}, "--executes", "cat data")
    tony.cluster.hdfs("DELETE", place, op="DELETE", recursive="true")
    assert answer.returncode == 0, answer.stderr
    assert job.logs("worker:1") == "fetched"
    assert_ended(job, "succeeded")
    assert job.id in tony.run("list", "--all").stdout


def test_the_resource_manager_fails_over_under_a_job(tony):
    """No task notices; who follows the job hears its end; the new one gives containers."""
    job = start(tony)
    before = {name: job.wait_task(name)["pids"] for name in ("worker:0", "worker:1")}
    follower = tony.start("events", "-f", job.id)
    assert follower.stdout.readline()
    fail_over(tony.cluster, "rm")
    executor = wait_until(lambda: job.task("worker:1").get("executor_pid"), "the AM to be found")
    wait_until(lambda: {name: job.task(name).get("pids") for name in before} == before, "the same processes")
    os.kill(executor, 9)
    job.wait_task("worker:1", attempt=2)
    assert finish(tony, job) == 0
    said, errors = follower.communicate(timeout=PATIENCE_S)
    assert "end: succeeded" in said and follower.returncode == 0, said + errors
    assert_ended(job, "succeeded")


def test_a_job_is_killed_after_a_planned_fail_over(tony):
    """The one that served lives on, and stands by."""
    job = start(tony)
    tony.cluster.activate("rm", serves(tony.cluster, "rm")[1])
    answer = tony.run("kill", job.id)
    assert answer.returncode == 0, answer.stderr
    assert job.wait_state("killed")
    job.wait_final("KILLED")


def test_the_name_node_fails_over_under_a_job(tony):
    """What the program wrote before and after it is stored, and so is the job's history."""
    job = start(tony, 1, WRITES)
    checkpoints = f"/user/{tony.cluster.user}/.tony/checkpoints/{job.id}"
    wait_until(lambda: tony.cluster.get(f"{checkpoints}/one"), "the first to be stored")
    fail_over(tony.cluster, "nn")
    assert finish(tony, job) == 0
    assert [tony.cluster.get(f"{checkpoints}/{name}") for name in ("one", "two")] == [b"one\n", b"two\n"]
    wait_until(lambda: {"job.json", "events.jsonl", "summary.json"} <= set(tony.cluster.list(job.history)),
               "the history to be published")
    assert_ended(job, "succeeded")


def test_a_job_outlives_the_keys_of_its_token(tony):
    """The token that the AM was started with is worth nothing after two changes of the key. It has had others
    since: containers come, and a ResourceManager that takes over believes it."""
    job = start(tony)
    seen = tony.cluster.rolls()
    wait_until(lambda: tony.cluster.rolls() >= seen + 2, "the key to change twice")
    os.kill(job.wait_task("worker:1")["executor_pid"], 9)
    job.wait_task("worker:1", attempt=2)
    fail_over(tony.cluster, "rm")
    executor = wait_until(lambda: job.task("worker:1").get("executor_pid"), "the AM to be found")
    os.kill(executor, 9)
    job.wait_task("worker:1", attempt=3)
    assert finish(tony, job) == 0
    assert_ended(job, "succeeded")
