"""tony exec: a command in a container of YARN's."""

import json

import pytest
from program import wait_until


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
