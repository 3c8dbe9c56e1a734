"""A FairScheduler as Hadoop has it: memory in steps of 1 GiB, and queues that nobody declared."""

import json

from program import wait_until
from test_capacity import CAPACITY, refused

CLUSTER = {"--nodes": 2, "--fair": None, "--expiry-ms": 5000}


def queue_of(job):
    return job.application()["queue"]


def test_queues_are_made_when_they_are_used(own_tony):
    answer, job = own_tony.job({"tony.worker.instances": 1}, "--queue", "some.where", "--executes", "true")
    assert answer.returncode == 0, answer.stderr
    assert queue_of(job) == "root.some.where"


def test_queues_are_listed_with_the_parents_that_make_them(own_tony):
    rows = {row["name"]: row for row in json.loads(own_tony.run("queues", "--json").stdout)}
    assert rows["root"]["makes_queues"] and "makes_queues" not in rows.get("root.default", {})


def test_a_job_without_a_queue_goes_to_its_users(own_tony):
    """Also that of root, which is the name of all queues' root."""
    answer, job = own_tony.job({"tony.worker.instances": 1}, "--executes", "true")
    assert answer.returncode == 0, answer.stderr
    assert queue_of(job) == f"root.{own_tony.cluster.user}"


def test_a_job_beyond_the_queues_share_for_application_masters(own_tony):
    """maxAMShare is a half unless it is set: of 8 GiB, 4."""
    first = own_tony.submit({"tony.worker.instances": 1, "tony.am.memory": "3g"}, "--executes", "sleep 600")
    first.wait_task("worker:0")
    second = own_tony.submit({"tony.worker.instances": 1, "tony.am.memory": "2g"}, "--executes", "true")
    told = wait_until(lambda: (text := second.status().get("waiting")) and "AM" in text and text, "the reason to be told")
    assert "exceeds maximum AM resource allowed" in told, told
    own_tony.run("kill", first.id)
    assert second.wait() == 0


def test_what_can_never_be_had_is_refused(own_tony):
    """8 GiB are 8 containers, however little each asks for; the node that is away is named."""
    keys = {"tony.worker.instances": 8}
    refused(own_tony, CAPACITY, keys, "need 9.0 GiB", "each worker gets 1.0 GiB instead of 64 MiB", "(2 nodes)")
    own_tony.cluster.kill("nm", 2)
    wait_until(lambda: own_tony.cluster.rm("nodes", "&states=LOST")["nodes"],
               "the ResourceManager to miss the node")
    refused(own_tony, CAPACITY, keys, "(1 node; 1 more is lost)")
