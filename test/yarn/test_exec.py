"""tony exec, cp, port-forward, stacks and top: a command, files and ports in containers of YARN's, and what they do."""

import json
import signal
import socket

import pytest
from patience import PATIENCE_S
from program import PYTHON, wait_until


@pytest.mark.promise("S98")
def test_a_command_runs_in_a_container(tony):
    job = tony.submit({"tony.worker.instances": 2}, "--executes", "exec sleep 1000")
    for index in range(2):
        task = job.wait_task(f"worker:{index}")
        answer = tony.run("exec", job.id, f"worker:{index}", "--", "sh", "-c", "echo $TONY_TASK $CONTAINER_ID; pwd; exit 7")
        assert answer.returncode == 7, answer.stderr
        named, directory = answer.stdout.splitlines()
        assert named == f"worker:{index} {task['container']}" and task["container"] in directory
    assert tony.run("kill", job.id).returncode == 0


def test_stacks_and_use_of_all_containers(tony):
    """Both workers stand at the same place, and each is measured."""
    job = tony.submit({"tony.worker.instances": 2, "tony.task.metrics-interval-ms": 200}, "--executes", "exec sleep 1000")
    nodes = {f"worker:{index}": job.wait_task(f"worker:{index}")["host"] for index in range(2)}
    told = json.loads(tony.run("stacks", "--json", job.id).stdout)
    group = next(group for group in told["groups"] if group["command"] == "sleep 1000")
    assert group["tasks"] == ["worker:0", "worker:1"] and group["processes"] == 2
    assert "S (sleeping), in the kernel at " in group["lines"][0]

    def used():
        tasks = json.loads(tony.run("top", "--json", job.id).stdout)["tasks"]
        return all("cpu_percent" in task.get("use", {}) for task in tasks) and tasks

    tasks = wait_until(used, "the use of both")
    assert {task["task"]: task["host"] for task in tasks} == nodes
    table = tony.run("top", "--once", job.id).stdout
    assert "2 tasks: 2 running; in all CPU " in table
    assert tony.run("kill", job.id).returncode == 0


def test_files_and_ports_of_a_container(tony):
    """The program listens on the loopback interface of its node alone."""
    job = tony.submit({"tony.worker.instances": 1}, "--executes", f"exec {PYTHON} loopback.py")
    job.wait_task("worker:0")
    wait_until(lambda: tony.run("exec", job.id, "--", "test", "-s", "loopback.port").returncode == 0, "the program to listen")
    (tony.directory / "sent").write_text("sent")
    for words in (("sent", f"{job.id}/worker:0:received"), (f"{job.id}/worker:0:.", "container")):
        copied = tony.run("cp", *words)
        assert copied.returncode == 0, copied.stderr
    assert (tony.directory / "container/received").read_text() == "sent"
    forward = tony.start("port-forward", job.id, f":{(tony.directory / 'container/loopback.port').read_text()}")
    line = forward.stdout.readline()
    assert line.endswith(" of worker:0\n"), forward.stderr.read()
    host, _, port = line.split()[0].partition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as peer:
        peer.sendall(b"who\n")
        assert int(peer.makefile().read()) > 0
    forward.send_signal(signal.SIGINT)
    assert forward.wait(timeout=PATIENCE_S) == 0
    assert tony.run("kill", job.id).returncode == 0
