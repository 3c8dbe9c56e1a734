"""Real ranks notice that a node is gone before anybody else does: on this cluster that is known once the node is back."""

import json
import re

import pytest
from program import PYTHON, wait_until
from test_elastic import KEYS, node_of

CLUSTER = {"--nodes": 3, "--heartbeat-ms": 100, "--expiry-ms": 600000}


@pytest.fixture
def tony(own_tony):
    return own_tony


def said_last(job, task):
    """None: nothing, or the node that has it is away."""
    lines = job.tony.run("logs", "--task", task, "--stream", "stdout", job.id).stdout.splitlines()
    return json.loads(lines[-1]) if lines else None


def epoch_of(job, tasks):
    """That in which just these tasks train together; None: they do not."""
    said = [said_last(job, task) for task in tasks]
    if all(said) and {(one["world"], one["epoch"]) for one in said} == {(len(tasks), said[0]["epoch"])}:
        return said[0]["epoch"]
    return None


def test_those_that_miss_a_lost_node_do_not_pay_for_it(tony):
    """Their connections break at once. No budget would allow a failure of theirs."""
    job = tony.submit({**KEYS, "tony.task.max-missed-heartbeats": 600}, "--executes",
                      f"{PYTHON} torch_elastic.py {tony.directory}/enough")
    workers = [f"worker:{index}" for index in range(3)]
    begun = wait_until(lambda: epoch_of(job, workers), "all to train together", 180)
    am = job.application()["amHostHttpAddress"].split(":")[0]
    lost = next(task for task in job.status()["tasks"] if task["host"] != am)
    others = [task for task in workers if task != lost["task"]]
    tony.cluster.kill("nm", node_of(lost["host"]), containers=True)
    try:
        waits = rf"({'|'.join(others)}) exited with code 1: .*; whether a peer is lost is known within 10 m 00 s"
        wait_until(lambda: re.search(waits, tony.run("events", job.id).stdout), "a rank to miss its peer", 180)
    finally:
        tony.cluster.restart("nm", node_of(lost["host"]))
    wait_until(lambda: any((epoch_of(job, tasks) or 0) > begun for tasks in (others, workers)), "them to go on", 180)
    (tony.directory / "enough").touch()
    assert job.wait(180) == 0
    status = job.status()
    assert (status["retries"], status["infrastructure_retries"]) == (0, 0)
