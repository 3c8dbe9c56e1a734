"""A task that is far behind its siblings is marked while it runs, and no longer once it has caught up."""

import json

import pytest
from conftest import wait_until

WORKER = """
[ $TASK_INDEX = 3 ] && step=120 || step=400
echo $step/1000 >"$TONY_PROGRESS_FILE"
until [ -e {0}/caught-up ]; do sleep 0.05; done
echo 400/1000 >"$TONY_PROGRESS_FILE"
./exit_after.sh {0}/end 0
"""


def stragglers(job):
    return {task["task"]: task["straggler"]["text"] for task in job.status()["tasks"] if "straggler" in task}


def work(job):
    status, body = job.rest("GET", "/v1/work")
    assert status == 200, body
    return json.loads(body)


@pytest.mark.promise("R23", "R25")
def test_a_straggler_is_marked_until_it_has_caught_up(tony):
    job = tony.submit({"tony.worker.instances": 5, "tony.task.metrics-interval-ms": 100,
                       "tony.task.heartbeat-interval-ms": 100, "tony.task.max-missed-heartbeats": 250},
                      "--executes", WORKER.format(tony.directory))
    words = "worker:3 is at step 120, its siblings at 400"
    # Four of them are enough to mark it; the fifth may begin later.
    wait_until(lambda: stragglers(job) == {"worker:3": words} and work(job).get("done") == 0.344,
               "the straggler to be marked, and all to have told their steps")
    shown = tony.run("status", job.id).stdout
    assert f"straggler: {words}\n" in shown
    assert "progress: [######..............] 34%, steps 120 to 400 of 1000\n" in shown
    rows = {row.split()[0]: row for row in shown.splitlines() if row.startswith("worker:")}
    assert "running, straggler" in rows["worker:3"] and "120/1000" in rows["worker:3"]
    assert "straggler" not in rows["worker:2"] and "400/1000" in rows["worker:2"]
    assert job.status()["work"] == work(job)
    assert (work(job)["done"], work(job)["least_step"], work(job)["most_step"]) == (0.344, 120, 400)
    (tony.directory / "caught-up").touch()
    wait_until(lambda: stragglers(job) == {} and work(job)["least_step"] == 400, "the mark to go")
    assert "straggler" not in tony.run("status", job.id).stdout.replace(str(tony.directory), "")
    (tony.directory / "end").touch()
    assert job.wait() == 0
