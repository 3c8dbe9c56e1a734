"""A job on YARN and its run at a tracking server: across AMs, with the proof that travels with the job, and to its end, whoever ends it."""

import pytest
from program import PYTHON, wait_until
from tracking_server import Fake

SHOW = "env | grep -E '^MLFLOW' | sort"


@pytest.fixture
def server():
    server = Fake(proof="Bearer open sesame")
    yield server
    server.close()


def submit(tony, server, command, **keys):
    (tony.directory / "token").write_text("open sesame\n")
    return tony.submit({"tony.worker.instances": 1, "tony.tracking.uri": server.url, "tony.application.name": "digits", **keys},
                       "--secret", f"MLFLOW_TRACKING_TOKEN={tony.directory}/token", "--executes", command)


def test_the_next_am_goes_on_with_the_run(tony, server):
    go = tony.directory / "go"
    job = submit(tony, server, f"{SHOW}; {PYTHON} tell_numbers.py; until [ -e {go} ]; do sleep 0.1; done")
    job.wait_task("worker:0")
    wait_until(lambda: server.runs and "loss" in server.find(job)["metrics"], "the numbers")
    job.kill_am()
    go.touch()
    assert job.wait() == 0
    wait_until(lambda: job.status().get("notices"), "the end to be told")
    run = server.find(job)
    assert run["status"] == "FINISHED" and f"MLFLOW_RUN_ID={run['id']}" in job.logs("worker:0")
    assert run["tags"]["tony_scheduler"] == "yarn" and "sesame" not in str(run)


def test_a_run_ends_though_no_am_is_left(tony, server):
    job = submit(tony, server, "sleep 600", **{"tony.am.max-attempts": 1})
    job.wait_task("worker:0")
    wait_until(lambda: server.runs, "the run")
    tony.kill_application(job.application()["id"])
    wait_until(lambda: job.status().get("notices"), "the end to be told")
    assert server.find(job)["status"] == "KILLED"
