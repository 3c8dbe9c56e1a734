"""The suite's own ground: the cluster is what the other tests take it for."""

import subprocess

import kit
import pytest
from program import PYTHON, wait_until


@pytest.mark.short
def test_nodes_and_what_they_offer(cluster):
    nodes = cluster.rm("nodes")["nodes"]["node"]
    assert {node["state"] for node in nodes} == {"RUNNING"}
    assert len(nodes) == kit.SUITE["--nodes"]
    labelled = [node["nodeHostName"] for node in nodes if node.get("nodeLabels")]
    assert labelled == [f"127.0.0.{kit.LABELLED_NODE + 1}"]
    if "totalResource" in nodes[0]:  # which Hadoop 2 does not tell
        resources = nodes[0]["totalResource"]["resourceInformations"]["resourceInformation"]
        assert {row["name"]: row["value"] for row in resources}["yarn.io/gpu"] == kit.SUITE["--gpus"]


@pytest.mark.short
def test_files(cluster):
    path = f"/user/{cluster.user}/a file, with 100% & more"
    cluster.put(path, b"content")
    assert cluster.get(path) == b"content"
    assert cluster.status(path)["length"] == 7
    cluster.hdfs("DELETE", path, op="DELETE")
    assert cluster.get(path) is None


def test_a_cluster_ends_with_who_started_it():
    """Also if that one was killed: what takes the cluster down waits for the end of a pipe."""
    starter = subprocess.Popen([PYTHON, "-c", "import kit; w = kit.Watched({'--nodes': 1}); "
                                "print(w.cluster.directory, flush=True); input()"],
                               cwd=kit.KIT.parents[1], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    started = kit.Cluster(starter.stdout.readline().strip())
    assert started.is_up()
    starter.kill()
    wait_until(lambda: not started.directory.parent.exists(), "the cluster to be taken down")
    starter.communicate()
