"""HDFS behind a router of a federation (router-based federation): the mount table has what a job needs under other names."""

import os

from portal import Portal
from program import wait_until
from test_files import expect_all

CLUSTER = {"--nodes": 1, "--heartbeat-ms": 100, "--expiry-ms": 60000, "--router": None}
# The first container is lost when its checkpoint is in HDFS; the second goes on from there.
SCRIPT = ("cat data; cd $TONY_CHECKPOINT_DIR; if test $TONY_TASK_ATTEMPT = 1; then "
          "head -c 5000000 /dev/urandom >new; mv new step; sha256sum <step; sleep 1000; fi; sha256sum <step; "
          "echo result >$TONY_OUTPUT_DIR/result")


def test_a_job_over_a_router(own_cluster, own_tony):
    """Staging, what NodeManagers fetch, checkpoints, results, history and logs."""
    tony, home = own_tony, f"/user/{own_cluster.user}"
    own_cluster.put(f"{home}/input/data", b"fetched\n")
    job = tony.submit({"tony.worker.instances": 1, "tony.am.retry-count": 1,
                       "tony.worker.resources": f"{own_cluster.env['HDFS_URI']}{home}/input/data"}, "--executes", SCRIPT)
    job.wait_log("worker:0", "  -")
    checkpoints = f"{home}/.tony/checkpoints/{job.id}"
    wait_until(lambda: "step" in own_cluster.list(checkpoints), "the checkpoint to be in HDFS")
    own_cluster.kill("router")
    own_cluster.restart("router")
    os.kill(job.wait_task("worker:0")["executor_pid"], 9)
    assert job.wait() == 0
    history = job.history
    wait_until(lambda: {"job.json", "events.jsonl", "summary.json"} <= set(own_cluster.list(history)),
               "the history to be published")
    tony.forget()
    assert job.status()["state"] == "succeeded"
    _, before, _, after = job.logs("worker:0").splitlines()
    assert before == after
    portal = Portal(tony)
    portal.wait_kept(job, "succeeded")
    portal.stop()
    assert own_cluster.get(f"{home}/.tony/output/{job.id}/worker-0/result") == b"result\n"
    assert tony.run("rm", job.id).returncode == 0
    assert not own_cluster.list(history) and not own_cluster.list(checkpoints)


def test_a_program_reads_over_a_router(own_cluster, own_tony):
    path = f"/user/{own_cluster.user}/read"
    expect_all(own_tony, own_cluster, path, f"{own_cluster.env['HDFS_URI']}{path}")
