"""Elastic types on a cluster: a node is lost, or decommissioned, and comes back, and the job is scaled. The file has a cluster of its own
to break, whose nodes have room for one task each."""

import pytest
from program import wait_until

CLUSTER = {"--nodes": 3, "--heartbeat-ms": 100}
KEYS = {"tony.application.framework": "pytorch", "tony.application.elastic-settle-time": "200ms",
        "tony.worker.instances": 3, "tony.worker.min-instances": 2, "tony.worker.memory": "2500m",
        "tony.am.retry-delay": "10ms", "tony.am.retry-count": 0, "tony.am.infrastructure-retry-count": 0}


@pytest.fixture
def tony(own_tony):
    return own_tony


def node_of(host):
    return int(host.rpartition(".")[2]) - 1


def start(tony, **keys):
    """Programs that say what they are told, and do not mind what becomes of the others."""
    return tony.submit({**KEYS, **keys}, "--executes",
                       f"echo $TONY_EPOCH $RANK $WORLD_SIZE; exec ./exit_after.sh {tony.directory}/go 0")


def formation(job, *tasks):
    """Waits until just these tasks run together, and returns their epoch."""
    def together():
        lines = [job.logs(task).splitlines()[-1:] for task in tasks]
        epoch = str(job.status()["epoch"])
        return [line.split() for [line] in filter(None, lines)] == \
            [[epoch, str(rank), str(len(tasks))] for rank in range(len(tasks))] and int(epoch)
    epoch = wait_until(together, f"{job.id}: {tasks} to run together", 180)
    wait_until(lambda: job.status()["progress"].get("running") == len(tasks), f"{tasks} and no others to run")
    return epoch


def test_a_node_is_lost_and_comes_back_under_an_elastic_job(tony):
    job = start(tony)
    workers = [f"worker:{index}" for index in range(3)]
    begun = formation(job, *workers)
    am = job.application()["amHostHttpAddress"].split(":")[0]
    lost = next(task for task in job.status()["tasks"] if task["host"] != am)
    node = node_of(lost["host"])
    tony.cluster.kill("nm", node, containers=True)
    try:
        fewer = formation(job, *(task for task in workers if task != lost["task"]))
        assert fewer > begun
        waiting = "can run with fewer; waits for 1 more containers (worker x 1)"
        wait_until(lambda: waiting in job.status().get("waiting", ""), "what it waits for")
    finally:
        tony.cluster.restart("nm", node)
    again = formation(job, *workers)
    assert again > fewer
    assert tony.run("scale", job.id, "worker=2").returncode == 0
    scaled = formation(job, *workers[:2])
    assert scaled > again
    assert tony.run("scale", job.id, "worker=3").returncode == 0
    assert formation(job, *workers) > scaled
    (tony.directory / "go").touch()
    assert job.wait(180) == 0
    status = job.status()
    assert (status["retries"], status["infrastructure_retries"]) == (0, 0)
    job.wait_final("SUCCEEDED")


def test_a_node_of_an_elastic_job_is_decommissioned(tony):
    """The job goes on without it, at no cost, before the node goes."""
    job = start(tony, **{"tony.worker.stop-grace": "90s"})
    workers = [f"worker:{index}" for index in range(3)]
    begun = formation(job, *workers)
    am = job.application()["amHostHttpAddress"].split(":")[0]
    moved = next(task for task in job.status()["tasks"] if task["host"] != am)
    node = node_of(moved["host"])
    tony.cluster.kit("decommission", node, "--timeout", 120)
    try:
        fewer = formation(job, *(task for task in workers if task != moved["task"]))
        assert fewer > begun
    finally:
        tony.cluster.kit("recommission", node)
    assert formation(job, *workers) > fewer
    (tony.directory / "go").touch()
    assert job.wait(180) == 0
    status = job.status()
    assert (status["retries"], status["infrastructure_retries"]) == (0, 0)
    cause = next(event["cause"] for event in job.events() if event["ev"] == "task" and event.get("cause"))
    assert cause["kind"] == "preempted" and moved["host"] in cause["text"]
