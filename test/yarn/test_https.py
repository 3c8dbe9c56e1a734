"""Clusters that speak https only, HDFS and YARN alike, with an authority of their own."""

import os
import shutil

from patience import wait_until
from test_logs import check_logs, configure, run_job
from test_webhdfs import DENIED, Hdfs, digest

CLUSTER = {"--nodes": 1, "--https": None, "--httpfs": None}
# The first container is lost when its checkpoint is in HDFS; the second goes on from there.
SCRIPT = ("echo attempt $TONY_TASK_ATTEMPT; cd $TONY_CHECKPOINT_DIR; if test $TONY_TASK_ATTEMPT = 1; then "
          "head -c 5000000 /dev/urandom >new; mv new step; sha256sum <step; sleep 1000; fi; sha256sum <step")


def test_a_job_and_its_checkpoint(own_cluster, own_tony):
    """Whom to trust is in the key store that ssl-client.xml names, and travels with the job."""
    job = own_tony.submit({"tony.worker.instances": 1, "tony.am.retry-count": 1}, "--executes", SCRIPT)
    job.wait_log("worker:0", "  -")
    place = f"/user/{own_cluster.user}/.tony/checkpoints/{job.id}"
    wait_until(lambda: "step" in own_cluster.list(place), "the checkpoint to be in HDFS")
    os.kill(job.wait_task("worker:0")["executor_pid"], 9)
    assert job.wait() == 0
    own_tony.forget()
    first, before, second, after = job.logs("worker:0").splitlines()
    assert (first, second) == ("attempt 1", "attempt 2") and before == after
    assert job.status()["state"] == "succeeded"
    assert any("succeeded" in str(event) for event in job.events())
    job.wait_final("SUCCEEDED")
    assert job.final_url().startswith(own_cluster.env["WEBHDFS_URL"].split("/webhdfs")[0])


def test_whom_to_trust_is_said_by_a_key(own_cluster, own_tony):
    """Where nothing says so nothing is sent; with the key all goes on, through a gateway as well, and for verbs
    that know nothing but the job."""
    conf = own_tony.directory / "hadoop"
    shutil.copytree(own_cluster.env["HADOOP_CONF_DIR"], conf)
    (conf / "ssl-client.xml").unlink()
    own_tony.env["HADOOP_CONF_DIR"] = str(conf)
    answer = own_tony.run(*own_tony.arguments({"tony.worker.instances": 1}, "--executes", "true"))
    assert answer.returncode != 0
    assert "certificate" in answer.stderr and "set tony.hdfs.ca-file" in answer.stderr
    keys = {"tony.worker.instances": 1, "tony.hdfs.ca-file": own_cluster.env["TONY_YARN_CA"]}
    for way in ({}, {"tony.hdfs.httpfs": own_cluster.env["HTTPFS_URL"]}):
        answer, job = own_tony.job(keys | way, "--executes", "echo hello >$TONY_CHECKPOINT_DIR/x; echo hello")
        assert answer.returncode == 0, answer.stderr
        assert own_cluster.get(f"/user/{own_cluster.user}/.tony/checkpoints/{job.id}/x") == b"hello\n"
        assert job.logs("worker:0") == "hello\n"
        assert job.status()["state"] == "succeeded"


def test_large_files_both_ways(own_cluster, tmp_path, monkeypatch):
    source, copy = tmp_path / "source", tmp_path / "copy"
    source.write_bytes(os.urandom(40 << 20))
    for flags in ((), ("--agent",), ("--http-fs",), ("--agent", "--http-fs")):
        hdfs = Hdfs(own_cluster, tmp_path.name, *flags)
        monkeypatch.delenv("HDFS_CA_FILE", raising=False)
        kind, text = hdfs.fails("stat", "/")
        assert kind == DENIED and "tony.hdfs.ca-file" in text
        monkeypatch.setenv("HDFS_CA_FILE", own_cluster.env["TONY_YARN_CA"])
        hdfs("mkdir", hdfs.root, "755")
        hdfs("put", source, f"{hdfs.root}/large", "644")
        hdfs("get", f"{hdfs.root}/large", copy)
        assert digest(copy) == digest(source)
        hdfs("rm", hdfs.root)


def test_logs_at_the_node(own_cluster, own_tony):
    configure(own_cluster, **{"yarn.log-aggregation-enable": "false"})
    check_logs(own_tony, run_job(own_tony))
