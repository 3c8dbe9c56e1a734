"""The node of a job's AM stands still, longer than YARN waits for either: it starts another AM elsewhere. When the node goes
on, the first AM is one too many."""

import http.client
import json
import os
import signal
import urllib.parse

import pytest
from patience import PATIENCE_S, let_pass, wait_until
from program import is_alive, stand_still
from receiver import Receiver
from test_am_restart import NAMES, am_log, am_processes, finish, identity, start, wait_am

pytestmark = pytest.mark.fast

# The tasks are on the labelled node, AMs on the others. Executors wait longer than YARN does for an AM that is silent.
KEYS = {"tony.worker.node-label": "fast", "tony.task.executor.am-timeout": "2m"}
CLUSTER = {"--nodes": 3, "--labels": ",,fast", "--heartbeat-ms": 100, "--expiry-ms": 20000}


@pytest.fixture
def tony(own_tony):
    return own_tony


def daemon(tony, name):
    return int((tony.cluster.directory / "pid" / name).read_text().split()[0])


def node_manager_of_am(job):
    host = job.application()["amHostHttpAddress"].split(":")[0]
    return daemon(job.tony, f"nm{int(host.rpartition('.')[2]) - 1}")


def go_on(*pids):
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def order_kill(url, token):
    """The system takes it for a process that stands still, which finds it when it goes on."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=PATIENCE_S)
    connection.request("POST", "/v1/job/kill", "{}", {"Authorization": f"Bearer {token}"})
    return connection


def state_at(url, token):
    """Of the job, in the eyes of this AM."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=PATIENCE_S)
    connection.request("GET", "/v1/job", headers={"Authorization": f"Bearer {token}"})
    return json.load(connection.getresponse())["state"]


def go_on_unanswered(job, am, url, connection):
    """For as long as a write to HDFS takes several times over, nobody tells it that it is one too many."""
    resource_manager = daemon(job.tony, "rm")
    stand_still(resource_manager)
    try:
        go_on(*am)
        wait_until(lambda: state_at(url, job.token()) == "finishing", "the order to be heard")
        let_pass(2)
    finally:
        go_on(resource_manager)
    with pytest.raises(ConnectionError):   # who gave the order knows that it was not obeyed
        connection.getresponse()


@pytest.mark.promise("R46")
def test_it_commands_nobody_writes_nothing_and_leaves(tony):
    job, before = start(tony, **KEYS)
    am, node_manager = am_processes(job), node_manager_of_am(job)
    url, token = job.status()["am_url"], job.token()
    stand_still(*am, node_manager)
    connection = order_kill(url, token)
    try:
        wait_am(job, 2)
        for name in NAMES:
            assert identity(job.wait_task(name)) == before[name]
        kept = job.tony.cluster.get(f"{job.files}/journal-1.jsonl")
        go_on_unanswered(job, am, url, connection)
        wait_until(lambda: not any(map(is_alive, am)), "the AM that stood still to leave")
    finally:
        go_on(*filter(is_alive, [*am, node_manager]))
    assert job.tony.cluster.get(f"{job.files}/journal-1.jsonl") == kept
    wait_am(job, 2)
    for name in NAMES:
        assert identity(job.wait_task(name)) == before[name]
    assert finish(job) == 0
    lines = job.events()
    assert [line["attempt"] for line in lines if line["ev"] == "am"] == [1, 2]
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert [line["ev"] for line in lines].count("final") == 1 and lines[-1]["state"] == "succeeded"
    job.wait_final("SUCCEEDED")


@pytest.fixture
def receiver():
    made = Receiver()
    yield made
    made.close()


@pytest.mark.promise("R62")
def test_it_tells_no_end_of_a_job_that_another_am_goes_on_with(tony, receiver):
    """It hears the order to kill a job without containers while YARN cannot tell it that it is one too many."""
    node_of_tasks = daemon(tony, "nm3")
    stand_still(node_of_tasks)
    job = tony.submit({"tony.worker.instances": 1, "tony.worker.node-label": "fast",
                       "tony.application.on-end-webhook": receiver.url},
                      "--executes", "true")
    wait_am(job, 1)
    am, node_manager = am_processes(job), node_manager_of_am(job)
    url, token = job.status()["am_url"], job.token()
    stand_still(*am, node_manager)
    connection = order_kill(url, token)
    resource_manager = daemon(tony, "rm")
    try:
        wait_am(job, 2)
        stand_still(resource_manager)
        go_on(*am)
        wait_until(lambda: state_at(url, token) == "killed", "the order to be heard")
        wait_until(lambda: any("before the end is told" in am_log(pid) for pid in am), "the AM to wait for an answer")
        let_pass(2)
        assert not receiver.requests
        go_on(resource_manager)
        wait_until(lambda: not any(map(is_alive, am)), "the AM that stood still to leave")
        assert not receiver.requests
    finally:
        go_on(*filter(is_alive, [node_of_tasks, resource_manager, node_manager, *am]))
        connection.close()
    assert job.wait() == 0
    receiver.wait_requests(1)
    assert [body["job"]["state"] for _, _, body in receiver.requests] == ["succeeded"]
