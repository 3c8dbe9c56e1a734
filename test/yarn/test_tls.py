"""A job on YARN with tony.application.tls: what goes over the cluster's network between tony, its AM and its executors
is TLS, whichever AM it is."""

import json
import urllib.request

import pytest
from program import PATIENCE_S, PYTHON, wait_until
from test_am_restart import am_processes, kill_am, wait_am

# Asks the AM for the job whenever a file says so, and says which AM has answered.
ASKS = """
import json, os, sys, time, urllib.error, urllib.request
token = open(os.environ["TONY_TOKEN_FILE"]).read().strip()
request = urllib.request.Request(os.environ["TONY_AM_URL"] + "/v1/job", headers={"Authorization": "Bearer " + token})
said = 0
while True:
    try:
        attempt = json.load(urllib.request.urlopen(request))["am_attempt"]
    except (OSError, ValueError):   # between two AMs
        attempt = said
    if attempt != said:
        print("AM", attempt, "answers", flush=True)
    said = attempt
    time.sleep(0.1)
"""


def submit(tony):
    (tony.directory / "asks.py").write_text(ASKS)
    job = tony.submit({"tony.application.tls": "true", "tony.worker.instances": 2}, "--executes",
                      f"exec {PYTHON} {tony.directory}/asks.py")
    for index in range(2):
        job.wait_task(f"worker:{index}")
    return job


def test_all_verbs_and_the_proxy(tony):
    job = submit(tony)
    assert job.status()["am_url"].startswith("https://")
    follower = tony.start("logs", "--follow", "--task", "worker:1", job.id)
    assert follower.stdout.readline() == "AM 1 answers\n"
    assert f"{job.id}" in tony.run("list").stdout and "running" in tony.run("list").stdout
    url = job.tracking_url().rstrip("/")
    with urllib.request.urlopen(f"{url}/v1/job", timeout=PATIENCE_S) as answer:
        assert json.load(answer)["state"] == "running"
    link = tony.run("open", job.id).stdout.strip()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    assert opener.open(link, timeout=PATIENCE_S).status == 200
    copy = tony.state / "yarn" / job.id / "token"
    token = copy.read_text()
    copy.write_text("0" * 64)
    assert f"the token in {copy} is not the job's" in tony.run("status", job.id).stderr
    copy.write_text(token)
    plain = job.status()["am_url"].replace("https://", "http://")
    with pytest.raises(OSError):
        urllib.request.urlopen(f"{plain}/v1/server", timeout=PATIENCE_S)
    killed = tony.run("kill", job.id)
    assert killed.returncode == 0, killed.stderr
    follower.communicate(timeout=PATIENCE_S)
    job.wait_final("KILLED")


@pytest.mark.slow
def test_programs_find_the_next_am(tony):
    """Their executor leads them, at the address that they have."""
    job = submit(tony)
    before = [job.task(f"worker:{index}")["pids"] for index in range(2)]
    wait_until(lambda: len(am_processes(job)) > 0, "the AM's processes")
    kill_am(job)
    wait_am(job, 2)
    follower = tony.start("logs", "--follow", "--task", "worker:0", job.id)
    assert [follower.stdout.readline() for _ in range(2)] == ["AM 1 answers\n", "AM 2 answers\n"]
    assert [job.wait_task(f"worker:{index}")["pids"] for index in range(2)] == before
    assert tony.run("kill", job.id).returncode == 0
    follower.communicate(timeout=PATIENCE_S)
