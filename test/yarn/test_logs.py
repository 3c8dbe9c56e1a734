"""Logs of ended jobs, however the cluster keeps them: packed, in its other format, on several disks, or not at all. The
plain way is in test_verbs.py."""

import re

from program import wait_until

CLUSTER = {"--nodes": 1, "--heartbeat-ms": 100}
CONTROLLER = "org.apache.hadoop.yarn.logaggregation.filecontroller.ifile.LogAggregationIndexedFileController"
LINES = 30000
# The executor that is killed has written all down before.
SCRIPT = (f"seq -f 'line %09.0f' {LINES}; echo trouble >&2; if test $TONY_TASK_ATTEMPT = 1; then "
          f"until test $(cat ${{LOG_DIRS%%,*}}/stdout ${{LOG_DIRS%%,*}}/stderr | wc -l) = {LINES + 1}; "
          "do sleep 0.1; done; kill -9 $PPID; fi; echo attempt $TONY_TASK_ATTEMPT")


def configure(cluster, **properties):
    """Sets properties of the NodeManager, and of the clients."""
    for site in cluster.directory.glob("conf/**/yarn-site.xml"):
        text = site.read_text()
        for name, value in properties.items():
            text = re.sub(rf"\s*<property><name>{re.escape(name)}</name>.*?</property>", "", text)
            text = text.replace("</configuration>", f"  <property><name>{name}</name><value>{value}</value>"
                                "</property>\n</configuration>")
        site.write_text(text)
    cluster.restart("nm", 1)


def aggregated(cluster, job):
    """Path in HDFS of the only node's file once it is complete."""
    def find():
        number = int(job.id.rsplit("_", 1)[1])
        for suffix in cluster.list(f"/app-logs/{cluster.user}"):
            place = f"/app-logs/{cluster.user}/{suffix}/{number:04}/{job.id}"
            for name in cluster.list(place):
                if not name.endswith(".tmp") and cluster.status(f"{place}/{name}")["length"] > 0:
                    return f"{place}/{name}"
        return None
    wait_until(find, "the logs to be aggregated")
    return find()


def run_job(tony):
    """A task that loses its first container."""
    job = tony.submit({"tony.worker.instances": 1, "tony.am.retry-count": 1}, "--executes", SCRIPT)
    assert job.wait() == 0
    return job


def check_logs(tony, job):
    whole = [f"line {i:09}" for i in range(1, LINES + 1)]
    assert job.logs("worker:0").splitlines() == [*whole, *whole, "attempt 2"]
    assert job.logs("worker:0", "stderr") == "trouble\ntrouble\n"
    last = tony.run("logs", "--tail", "2", "--stream", "stdout", job.id).stdout.splitlines()
    assert sorted(last) == sorted([*whole[-2:], whole[-1], "attempt 2"])


def test_packed(own_cluster, own_tony):
    configure(own_cluster, **{"yarn.nodemanager.log-aggregation.compression-type": "gz"})
    job = run_job(own_tony)
    packed = own_cluster.get(aggregated(own_cluster, job))
    assert len(packed) < LINES * 5 and b"line 000000007" not in packed
    check_logs(own_tony, job)


def test_the_indexed_format(own_cluster, own_tony):
    configure(own_cluster, **{"yarn.log-aggregation.file-formats": "IFile",
                              "yarn.log-aggregation.file-controller.IFile.class": CONTROLLER})
    job = run_job(own_tony)
    path = aggregated(own_cluster, job)
    check_logs(own_tony, job)  # also while it is being written, under its name
    wait_until(lambda: b"LogAggregationIndexedFileController" in own_cluster.get(path), "the file to be whole")
    check_logs(own_tony, job)


def test_several_disks_for_logs(own_cluster, own_tony):
    """A NodeManager has a container's directory on each; programs write to the first."""
    disks = [own_cluster.directory / f"data/logs-{number}" for number in (1, 2)]
    configure(own_cluster, **{"yarn.nodemanager.log-dirs": ",".join(map(str, disks))})
    job = run_job(own_tony)
    check_logs(own_tony, job)
    aggregated(own_cluster, job)
    check_logs(own_tony, job)
    assert "worker:0" in own_tony.run("logs", "--am", job.id).stdout


def test_what_is_not_aggregated_is_at_the_node(own_cluster, own_tony):
    configure(own_cluster, **{"yarn.log-aggregation-enable": "false"})
    check_logs(own_tony, run_job(own_tony))
