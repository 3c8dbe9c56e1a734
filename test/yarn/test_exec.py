"""tony exec: a command in a container of YARN's."""

import pytest


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
