"""Web servers on a cluster with Kerberos and https, YARN's and an HttpFS gateway: each asks who the user is, and is told by
a ticket."""

import os
import subprocess

from program import write_xml
from test_queues import told
from test_staging import make_staging

CLUSTER = {"--nodes": 1, "--secure": None, "--https": None, "--httpfs": None, "--protection": "privacy",
           "--limited-queues": None}


def tickets(tony):
    """Of services, in the cache."""
    return [line.split()[-1] for line in subprocess.run(
        ["klist"], env=os.environ | tony.env, capture_output=True, text=True, check=True).stdout.splitlines()
        if "@" in line and "/" in line.split()[-1]]


def test_nodes_and_queues(own_tony):
    """The limits of users are known to the web service alone."""
    queues = told(own_tony, "queues")
    assert queues["default"]["parts"][0]["user_limit"], queues
    nodes = told(own_tony, "nodes")
    assert [node["opportunistic_count"] for node in nodes.values()] == [0], nodes
    assert any(name.startswith("HTTP/127.0.0.1@") for name in tickets(own_tony))


def test_capacity_and_logs_of_a_job(own_tony):
    """A job that asks for more than a user may have is refused, by what the web service says of the queue; the log of
    one that runs is its NodeManager's."""
    make_staging(own_tony)
    job = own_tony.submit({"tony.worker.instances": 1}, "--executes", "echo hello; sleep 1000")
    job.wait_log("worker:0", "hello")
    assert "registered" in own_tony.run("logs", "--am", job.id).stdout
    assert any(name.startswith("HTTP/127.0.0.2@") for name in tickets(own_tony))
    keys = {"tony.yarn.queue": "mine", "tony.worker.instances": 3, "tony.worker.memory": "512m"}
    refused = own_tony.run(*own_tony.arguments(keys, "--executes", "true"))
    assert refused.returncode != 0 and "user-limit-factor 1" in refused.stderr, refused.stderr
    own_tony.run("kill", job.id)
    job.wait_final("KILLED")


def test_a_setting_that_differs(own_tony):
    entry = "hadoop.http.authentication.type</name><value>"
    answer = own_tony.run("queues", env=own_tony.change_site("core-site.xml", f"{entry}kerberos", f"{entry}simple"))
    assert answer.returncode == 0, answer.stderr
    assert "HTTP status 401; hadoop.http.authentication.type" in answer.stderr


def test_a_job_through_a_gateway(own_tony, own_cluster):
    """Staging, the node's fetching, checkpoints and history go by the gateway's token, logs by the NameNode's."""
    write_xml(own_tony.directory / "conf/tony-site.xml", {"tony.hdfs.httpfs": own_cluster.env["HTTPFS_URL"]})
    answer, job = own_tony.job({"tony.worker.instances": 1},
                               "--executes", "bash -c 'echo hello; date >$TONY_CHECKPOINT_DIR/step'")
    assert answer.returncode == 0, answer.stderr
    assert "step" in own_cluster.list(f"/user/{own_cluster.user}/.tony/checkpoints/{job.id}")
    own_tony.forget()
    assert job.status()["state"] == "succeeded"
    assert job.logs("worker:0") == "hello\n"


def test_a_proxy_user_through_a_gateway(own_tony, own_cluster):
    """gw acts as alice, and as nobody else, also where no NameNode is asked for a token."""
    write_xml(own_tony.directory / "conf/tony-site.xml", {"tony.hdfs.httpfs": own_cluster.env["HTTPFS_URL"]})
    own_tony.env |= {"KRB5CCNAME": own_cluster.env_of("gw")["KRB5CCNAME"], "HADOOP_PROXY_USER": "alice"}
    answer, job = own_tony.job({"tony.worker.instances": 1},
                               "--executes", "bash -c 'echo hello; date >$TONY_CHECKPOINT_DIR/step'")
    assert answer.returncode == 0, answer.stderr
    assert job.application()["user"] == "alice"
    step = own_cluster.status(f"/user/alice/.tony/checkpoints/{job.id}/step")
    assert step["owner"] == "alice", step
    own_tony.forget()
    assert job.status()["state"] == "succeeded"
    refused = own_tony.run(*own_tony.arguments({"tony.worker.instances": 1}, "--executes", "true"), env={"HADOOP_PROXY_USER": "bob"})
    assert refused.returncode != 0 and "gw is not allowed to impersonate bob" in refused.stderr, refused.stderr


def test_no_ticket_for_a_gateway(own_tony, own_cluster):
    write_xml(own_tony.directory / "conf/tony-site.xml", {"tony.hdfs.httpfs": own_cluster.env["HTTPFS_URL"]})
    answer = own_tony.run(*own_tony.arguments({"tony.worker.instances": 1}, "--executes", "true"),
                          env={"KRB5CCNAME": f"FILE:{own_tony.directory}/none"})
    assert answer.returncode != 0
    assert "No Kerberos credentials available" in answer.stderr and "kinit" in answer.stderr, answer.stderr
