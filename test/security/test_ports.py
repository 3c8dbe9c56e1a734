"""The ports that tasks are given: what another user of the machine can do with one, and what becomes of the job."""

import json
import re
import signal
import subprocess

import pytest

# pylint: disable=import-error
from program import PYTHON
from patience import PATIENCE_S, assert_never, wait_until

from conftest import FINAL, OWNER, STRANGER

# Waits for the file go-EPOCH in its owner's home, listens on the port in the variable NAME with an option, says so, and waits
# for end-EPOCH.
SERVER = """
import os, socket, sys, threading, time
name, option, home = sys.argv[1:]
def wait_for(what):
    while not os.path.exists(f"{home}/{what}-{os.environ['TONY_EPOCH']}"):
        time.sleep(0.02)
print("TB_PORT", os.environ.get("TB_PORT"), flush=True)
wait_for("go")
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, getattr(socket, option), 1)
try:
    listener.bind(("127.0.0.1", int(os.environ[name])))
except OSError:
    print("refused", flush=True)
    wait_for("gone")
    raise
listener.listen()


def serve():  # as a web interface does
    while True:
        try:
            peer, _ = listener.accept()
        except OSError:
            return
        peer.recv(4096)
        peer.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n")
        peer.close()


threading.Thread(target=serve, daemon=True).start()
print("listens", flush=True)
wait_for("close")
listener.shutdown(socket.SHUT_RDWR)
listener.close()
print("closed", flush=True)
wait_for("end")
"""


def submit(machine, name, option="SO_REUSEADDR", **keys):
    program = machine.owner.write("server.py", SERVER)
    job = machine.owner.submit({"tony.application.framework": "generic", "tony.worker.instances": 1,
                                "tony.worker.memory": "64m",
                                "tony.worker.command": f"exec {PYTHON} {program} {name} {option} {machine.owner.home}", **keys})
    return job, machine.owner.wait_task(job, "worker:0")


def let(machine, epoch, *what):
    for name in what:
        machine.owner.write(f"{name}-{epoch}", "")


def wait_says(machine, job, what):
    return wait_until(lambda: re.search(what, machine.owner.logs(job, "worker:0")), f"worker:0 to say {what}")


def ui_port(machine, job):
    return int(wait_says(machine, job, r"TB_PORT (\d+)")[1])


def fetch(machine, url, token, method="GET"):
    """(status, body) of a question of the owner's."""
    answer = machine.owner.run("curl", "--silent", "--max-time", PATIENCE_S, "--request", method, "--write-out", "\n%{http_code}",
                               "--header", f"Authorization: Bearer {token}", url)
    body, _, status = answer.stdout.rpartition("\n")
    return int(status), body


def am_page(machine, job):
    """The answer of the AM's door to the task's web interface."""
    folder = machine.owner.state / "jobs" / job
    am = json.loads(machine.owner.read(folder / "am.json"))
    return fetch(machine, f"http://{am['address']}/ui/tensorboard/", machine.owner.read(folder / "token").strip())


def events(machine, job):
    return machine.owner.tony("events", job).stdout


@pytest.mark.promise("S36")
@pytest.mark.parametrize("option", ["SO_REUSEADDR", "SO_REUSEPORT"])
def test_a_strict_port_is_refused_to_a_stranger(machine, option):
    job, task = submit(machine, "TONY_PORT", "SO_REUSEPORT", **{"tony.worker.strict-port": "true"})
    for go_on in (("go",), ("close",), ("end",)):
        thief, line = machine.stranger.attack("steal", task["port"], "127.0.0.1", option)
        assert line == "refused: Address already in use" and thief.wait(PATIENCE_S) == 0
        let(machine, 1, *go_on)
        if go_on != ("end",):
            wait_says(machine, job, {"go": "listens", "close": "closed"}[go_on[0]])
    assert machine.owner.wait_end(job)["state"] == "succeeded"


# A socket that is bound to a device is found by no question that does not name the device.
BOUND_OR_NOT = pytest.mark.parametrize("how", [(), ("127.0.0.1", "SO_REUSEADDR", "lo")], ids=["plain", "bound-to-lo"])


# Is safe once a thief has gone round twice; with "serve" it then listens as PyTorch's store does.
TARGET = """
import os, socket, sys, time
home, scans, serves = sys.argv[1], sys.argv[2], sys.argv[3:] == ["serve"] and os.environ["TONY_TASK_INDEX"] == "0"
def count():
    with open(scans) as file:
        return int(file.read())
begin = count()
while count() < begin + 2:
    time.sleep(0.02)
if serves:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(os.environ["TONY_PORT"])))
    listener.listen()
print("safe in", os.environ["TONY_EPOCH"], flush=True)
while not os.path.exists(f"{home}/end"):
    time.sleep(0.02)
"""


@pytest.mark.promise("S151", "S152")
@pytest.mark.parametrize("framework, tasks, serves, is_taken", [
    ("generic", ["worker"], "", True), ("generic", ["worker"] * 3, "", False), ("generic", ["worker"] * 2, "serve", False),
    ("mpi", ["launcher", "worker"], "", False), ("pytorch", ["worker"] * 2, "serve", False),
], ids=["one task", "several tasks", "servers", "mpi", "pytorch"])
def test_a_thief_of_every_port_costs_no_retry(machine, framework, tasks, serves, is_taken):
    """A sole task keeps its program; the others find a port that the thief does not get."""
    owner, folder = machine.owner, machine.root / "thief"
    machine.run("install", "-d", "-m", "755", "-o", STRANGER, folder)
    assert machine.stranger.attack("thief", folder)[1] == "began"
    program = owner.write("target.py", TARGET)
    keys = {"tony.application.framework": framework, "tony.worker.instances": tasks.count("worker"),
            "tony.worker.memory": "64m", "tony.am.retry-delay": "1ms", "tony.am.infrastructure-retry-count": 0}
    keys[f"tony.{tasks[0]}.command"] = f"exec {PYTHON} {program} {owner.home} {folder}/scans {serves}"
    job = owner.submit(keys)

    def is_safe():
        status = owner.status(job)
        assert status["state"] not in FINAL, events(machine, job)
        stolen = (folder / "stolen").read_text().split()
        own = [task for task in status["tasks"] if task["task"].startswith(tasks[0])]
        return all(f"safe in {status['epoch']}\n" in owner.logs(job, task["task"]) for task in own) and \
            (is_taken or not any(str(task["port"]) in stolen for task in own)) and status
    status = wait_until(is_safe, "the job to be safe")
    assert (status["epoch"] == 1) == (is_taken or framework == "mpi"), status
    owner.write("end", "")
    end = owner.wait_end(job)
    assert end["state"] == "succeeded" and (end["infrastructure_retries"], end["retries"]) == (0, 0), end


# Binds the port of an argument and waits until a thief listens there, or takes that of its environment and waits as TARGET does.
SPEAKER = """
import os, socket, sys, time
home, scans, port = sys.argv[1], sys.argv[2], int(sys.argv[3] if sys.argv[3:] else os.environ["TONY_PORT"])
def count():
    with open(scans) as file:
        return int(file.read())
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", port))
begin = count()
while socket.socket().connect_ex(("127.0.0.1", port)) if sys.argv[3:] else count() < begin + 2:
    time.sleep(0.02)
listener.listen()
print("safe in", os.environ["TONY_EPOCH"], flush=True)
while not os.path.exists(f"{home}/end"):
    time.sleep(0.02)
"""


def submit_beside_a_reader(machine, *arguments):
    """A job of which a thief steals each port that an argument list names."""
    folder = machine.root / "thief"
    machine.run("install", "-d", "-m", "755", "-o", STRANGER, folder)
    assert machine.stranger.attack("thief", folder, "arguments")[1] == "began"
    command = ["exec", PYTHON, machine.owner.write("speaker.py", SPEAKER), machine.owner.home, folder / "scans", *arguments]
    return machine.owner.submit({"tony.worker.instances": 2, "tony.worker.memory": "64m", "tony.am.retry-delay": "1ms",
                                 "tony.worker.command": " ".join(map(str, command))})


@pytest.mark.promise("S152")
def test_a_thief_who_reads_argument_lists_is_named_and_costs_no_retry(machine):
    job = submit_beside_a_reader(machine, "$TONY_PORT")
    end = machine.owner.wait_end(job)
    assert end["state"] == "failed" and (end["infrastructure_retries"], end["retries"]) == (0, 0), end
    assert end["epoch"] == 21 and f"was taken by uid {STRANGER}" in end["message"], end
    assert "other users took too many of the job's ports" in events(machine, job)
    assert "let the program read TONY_PORT from its environment" in machine.owner.tony("status", job).stdout
    assert "another user of the machine takes the job's ports" in machine.owner.tony("advise", job).stdout


@pytest.mark.promise("S155")
def test_a_thief_who_reads_argument_lists_gains_nothing_where_they_name_no_port(machine):
    job = submit_beside_a_reader(machine)
    for task in ("worker:0", "worker:1"):
        wait_until(lambda name=task: "safe in 1\n" in machine.owner.logs(job, name), f"{task} to be safe")
    machine.owner.write("end", "")
    end = machine.owner.wait_end(job)
    assert end["state"] == "succeeded" and end["epoch"] == 1, end


@BOUND_OR_NOT
@pytest.mark.promise("S37")
def test_a_stolen_port_is_replaced_and_named(machine, how):
    job, task = submit(machine, "TONY_PORT", "SO_REUSEPORT", **{"tony.worker.instances": 2})
    let(machine, 2, "go", "close", "end")
    thief, line = machine.stranger.attack("steal", task["port"], *how)
    assert line == "stolen" and thief.poll() is None
    end = machine.owner.wait_end(job)
    assert end["state"] == "succeeded" and (end["infrastructure_retries"], end["retries"]) == (0, 0), end
    assert f"port {task['port']} was taken by uid {STRANGER}; for a program that" in events(machine, job)
    assert "tony.worker.strict-port=true keeps other users out" in events(machine, job)
    assert machine.owner.task(job, "worker:0")["port"] != task["port"]


@pytest.mark.promise("S37")
def test_a_program_that_never_listens_is_safe_at_a_strict_port(machine):
    job = machine.owner.submit({"tony.worker.instances": 1, "tony.worker.memory": "64m", "tony.worker.strict-port": "true",
                                "tony.worker.command": f"until [ -e {machine.owner.home}/end ]; do sleep 0.05; done"})
    port = machine.owner.wait_task(job, "worker:0")["port"]
    for how in (("127.0.0.1", "SO_REUSEADDR"), ("127.0.0.1", "SO_REUSEPORT"), ("0.0.0.0", "SO_REUSEADDR")):
        assert machine.stranger.attack("steal", port, *how)[1] == "refused: Address already in use"
    machine.owner.write("end", "")
    end = machine.owner.wait_end(job)
    assert end["state"] == "succeeded" and end["infrastructure_retries"] == 0, end


@pytest.mark.promise("S37")
def test_a_program_that_could_not_bind_a_stolen_port_is_not_to_blame(machine):
    job, _ = submit(machine, "TB_PORT")
    port = ui_port(machine, job)
    assert machine.stranger.attack("steal", port)[1] == "stolen"
    let(machine, 2, "go", "close", "end")
    let(machine, 1, "go", "gone")
    assert machine.owner.wait_end(job)["state"] == "succeeded"
    assert f"port {port} was taken by uid {STRANGER}" in events(machine, job)
    assert "hold-port" not in events(machine, job)


@pytest.mark.promise("S37")
@pytest.mark.parametrize("stays", [True, False], ids=["stays", "has gone"])
def test_a_port_that_nobody_listens_at_is_replaced_as_well(machine, stays):
    job, task = submit(machine, "TONY_PORT")
    thief, line = machine.stranger.attack("squat", task["port"], stdin=subprocess.PIPE)
    assert line == "bound"
    let(machine, 2, "go", "close", "end")
    let(machine, 1, "go")
    wait_says(machine, job, "refused")
    if not stays:
        thief.communicate("", PATIENCE_S)
    let(machine, 1, "gone")
    end = machine.owner.wait_end(job)
    assert end["state"] == "succeeded" and (end["infrastructure_retries"], end["retries"]) == (0, 0), end
    assert {True: f"port {task['port']} was taken by a socket that does not listen",
            False: f"could not bind its port {task['port']}"}[stays] in events(machine, job)
    assert "hold-port" not in events(machine, job)


@pytest.mark.promise("S37")
def test_a_user_who_may_listen_is_let(machine):
    job, task = submit(machine, "TB_PORT", **{"tony.worker.listener-uids": f"{OWNER + 5},{STRANGER}"})
    assert machine.stranger.attack("steal", task["port"])[1] == "stolen"
    assert_never(lambda: machine.owner.task(job, "worker:0")["state"] != "running", "the task is ended", 3)
    let(machine, 1, "go", "close", "end")
    assert machine.owner.wait_end(job)["state"] == "succeeded"


@BOUND_OR_NOT
@pytest.mark.promise("S38")
def test_a_strangers_page_is_never_shown_as_a_tasks(machine, how):
    job, _ = submit(machine, "TONY_PORT")
    port = ui_port(machine, job)
    assert machine.stranger.attack("steal", port, *how)[1] == "stolen"
    wait_until(lambda: f"uid {STRANGER} listens on port {port} of the web interface"
               in machine.owner.logs(job, "worker:0", "executor.log"), "the executor to see the thief")
    assert am_page(machine, job)[0] == 503
    assert "ui_url" not in machine.owner.task(job, "worker:0")


@BOUND_OR_NOT
@pytest.mark.promise("S38")
def test_a_page_that_a_stranger_replaces_is_shown_no_more(machine, how):
    job, _ = submit(machine, "TB_PORT")
    port = ui_port(machine, job)
    let(machine, 1, "go")
    wait_until(lambda: machine.owner.task(job, "worker:0").get("ui_url"), "the web interface to be told")
    let(machine, 1, "close")
    wait_says(machine, job, "closed")
    assert machine.stranger.attack("steal", port, *how)[1] == "stolen"
    status, page = am_page(machine, job)
    assert status in (502, 503) and "stolen" not in page
    wait_until(lambda: not machine.owner.task(job, "worker:0").get("ui_url"), "the web interface to be gone")


@pytest.mark.promise("S38")
def test_the_portal_shows_no_strangers_page_as_tensorboard(machine):
    owner = machine.owner
    job = owner.submit({"tony.worker.instances": 1, "tony.application.tensorboard-log-dir": owner.home,
                        "tony.worker.command": "true"})
    assert owner.wait_end(job)["state"] == "succeeded"
    slow = owner.write("slow", f'#!/bin/sh\necho "$6" > {owner.home}/port\nexec sleep 600\n', "700")
    portal = owner.start(machine.bin / "tony", "portal", "--listen", "127.0.0.1:0", "--tensorboard", slow)
    url = re.search(r"http://[^/\s]+", portal.stdout.readline())[0]
    token = wait_until(lambda: owner.read(owner.state / "portal/token"), "the portal's token").strip()
    path = f"{url}/v1/jobs/{job}/tensorboard"
    wait_until(lambda: fetch(machine, path, token)[0] == 200, "the job in the portal")
    assert fetch(machine, path, token, "PUT")[0] == 200
    port = int(wait_until(lambda: owner.read(owner.home / "port"), "TensorBoard's port"))
    assert machine.stranger.attack("steal", port)[1] == "stolen"
    state = json.loads(fetch(machine, path, token)[1])
    assert state["state"] == "failed" and f"port {port} was taken by uid {STRANGER}" in state["message"]
    status, page = fetch(machine, f"{url}/ui/{job}/tensorboard/", token)
    assert status == 502 and "stolen" not in page
    portal.send_signal(signal.SIGTERM)
    assert portal.wait(PATIENCE_S) == 0
