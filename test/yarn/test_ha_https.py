"""Pairs of ResourceManagers and NameNodes that speak https alone. Which of a pair serves changes while a job runs; the
files, the verbs, the logs and the pages go to the one that does, by a certificate of the cluster's own authority."""

import json
import os

from portal import Portal
from program import wait_until
from test_ha import fail_over

CLUSTER = {"--nodes": 1, "--heartbeat-ms": 100, "--expiry-ms": 10000, "--ha": None, "--https": None}
WRITES = ("exec bash -c 'echo one >$TONY_CHECKPOINT_DIR/one; until [ -e {go} ]; do sleep 0.1; done; "
          "echo two >$TONY_CHECKPOINT_DIR/two; echo said'")


def test_both_pairs_fail_over_under_a_job(own_cluster, own_tony):
    """Users who look at the job at any time, and those who look for it later, find it."""
    tony, go = own_tony, own_tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 1}, "--executes", WRITES.format(go=go))
    checkpoints = f"/user/{own_cluster.user}/.tony/checkpoints/{job.id}"
    before = job.wait_task("worker:0")["pids"]
    wait_until(lambda: own_cluster.get(f"{checkpoints}/one"), "the first to be stored")
    for service in ("nn", "rm"):
        fail_over(own_cluster, service)
    assert job.wait_task("worker:0")["pids"] == before
    assert [row["state"] for row in json.loads(tony.run("list", "--json").stdout) if row["id"] == job.id] == ["running"]
    portal = Portal(tony)
    portal.wait_job(job, "running")
    assert portal.get(f"v1/jobs/{job.id}/tasks")["tasks"][0]["pids"] == before
    os.kill(job.task("worker:0")["executor_pid"], 9)
    job.wait_task("worker:0", attempt=2)
    go.touch()
    assert job.wait() == 0
    assert [own_cluster.get(f"{checkpoints}/{name}") for name in ("one", "two")] == [b"one\n", b"two\n"]
    portal.wait_kept(job, "succeeded")
    portal.stop()
    job.wait_final("SUCCEEDED")
    assert job.final_url().startswith(own_cluster.active("nn").split("/webhdfs")[0])
    tony.forget()
    assert job.status()["state"] == "succeeded" and job.logs("worker:0").endswith("said\n")
