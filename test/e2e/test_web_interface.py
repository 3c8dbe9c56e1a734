"""A program that serves a web interface on the port it was given: the user is told where, as soon as
there is something to see."""

import json
import re
import urllib.request

from conftest import PYTHON, wait_until
from patience import PATIENCE_S

SERVE = f'exec {PYTHON} -m http.server --bind 127.0.0.1 "$TB_PORT"'


def shown(tony, job, label):
    """The address in the line that `tony status` shows."""
    def line():
        answer = tony.run("status", job.id).stdout
        return next((line for line in answer.splitlines() if line.startswith(label)), None)
    return wait_until(line, f"{job.id}: {label} in `tony status`").split()[-1]


def test_of_the_chief_it_is_taken_for_tensorboard(tony):
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 2, "tony.worker.command": f"""
        [ -n "$TB_PORT" ] || exec sleep 1000
        until [ -e {go} ]; do sleep 0.1; done; {SERVE}"""})
    job.wait_task("worker:0")
    job.wait_task("worker:1")
    assert "ui_url" not in job.task("worker:0")  # the port is there, the interface is not
    assert "http://" not in tony.run("status", job.id).stdout
    go.touch()
    url = shown(tony, job, "TensorBoard ")
    assert urllib.request.urlopen(url, timeout=PATIENCE_S).status == 200
    assert job.task("worker:0")["ui_url"] == url
    assert "ui_url" not in job.task("worker:1")
    assert json.loads(job.rest("GET", "/v1/tasks/worker:0")[1])["ui_url"] == url
    assert "worker:0 serves its web interface" in tony.run("events", job.id).stdout
    tony.run("kill", job.id)
    assert job.wait() != 0
    assert "TensorBoard" not in tony.run("status", job.id).stdout
    assert "ui_url" not in job.task("worker:0")


def test_of_a_job_without_types_it_may_be_a_notebook(tony):
    job = tony.submit({}, "--executes", SERVE)
    url = shown(tony, job, "Web interface ")
    assert urllib.request.urlopen(url, timeout=PATIENCE_S).status == 200
    tony.run("kill", job.id)


def test_whoever_waits_is_told(tony):
    told = tony.directory / "told"
    with told.open("w") as file:
        tony.start(*tony.arguments({}, "--executes", SERVE), stdout=file, stderr=file)
    line = wait_until(lambda: re.search(r"Web interface  (\S+)\n", told.read_text()), "the address")
    assert urllib.request.urlopen(line.group(1), timeout=PATIENCE_S).status == 200
