"""Every verb of `tony` on a cluster: the same as on one machine, while the job runs and after its end."""

import json
import os
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
from program import PYTHON, describe, read_environ, wait_until


@pytest.fixture
def running(tony):
    job = tony.submit({"tony.application.name": "fox", "tony.worker.instances": 2}, "--executes",
                      f"echo hello from $TASK_INDEX; echo trouble >&2; ./exit_after.sh {tony.directory}/go 0")
    job.wait_task("worker:0")
    job.wait_task("worker:1")
    return job


def finish(tony, job):
    (tony.directory / "go").touch()
    return job.wait()


@pytest.mark.short
def test_logs_of_a_running_job_and_of_an_ended_one(tony, running):
    running.wait_log("worker:0", "hello from 0")
    running.wait_log("worker:1", "hello from 1")
    running.wait_log("worker:1", "trouble", "stderr")
    assert finish(tony, running) == 0
    assert running.logs("worker:1") == "hello from 1\n"
    assert running.logs("worker:1", "stderr") == "trouble\n"
    merged = tony.run("logs", running.id).stdout
    assert "hello from 0" in merged and "hello from 1" in merged


def test_logs_follow(tony):
    job = tony.submit({"tony.worker.instances": 1}, "--executes",
                      f"echo first; ./exit_after.sh {tony.directory}/go 0; echo last")
    job.wait_task("worker:0")
    follower = tony.start("logs", "-f", job.id)
    assert follower.stdout.readline() == "first\n"
    (tony.directory / "go").touch()
    assert follower.stdout.readline() == "last\n"
    assert follower.wait(60) == 0


@pytest.mark.short
def test_the_am_tells_logs_of_other_machines_to_their_end(tony):
    job = tony.submit({"tony.worker.instances": 1}, "--executes",
                      f"echo first; ./exit_after.sh {tony.directory}/go 0; echo last")
    job.wait_task("worker:0")
    url, authorization = job.status()["am_url"], {"Authorization": f"Bearer {job.token()}"}

    def read(query):
        request = urllib.request.Request(f"{url}/v1/tasks/worker:0/logs/{query}", headers=authorization)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.read().decode()

    with ThreadPoolExecutor() as pool:
        followers = [pool.submit(read, "stdout?follow=1&attempt=1") for _ in range(3)]
        wait_until(lambda: read("stdout") == "first\n", "the first line")
        assert read("stdout?offset=-3") == "st\n"
        assert "started process" in read("executor")
        (tony.directory / "go").touch()
        assert {follower.result() for follower in followers} == {"first\nlast\n"}
    assert job.wait() == 0


@pytest.mark.short
def test_status_list_and_events(tony, running):
    listed = tony.run("list").stdout
    assert running.id in listed and "fox" in listed
    assert "worker:1" in tony.run("status", running.id).stdout
    assert finish(tony, running) == 0
    status = running.status()
    assert status["state"] == "succeeded"
    assert {task["state"] for task in status["tasks"]} == {"succeeded"}
    assert "succeeded" in json.dumps(running.events()[-1])


def test_kill(tony, running):
    assert tony.run("kill", running.id).returncode == 0
    assert running.wait() != 0
    assert running.status()["state"] == "killed"
    assert running.application()["finalStatus"] == "KILLED"


def test_wait_has_the_exit_code_of_the_job(tony):
    job = tony.submit({"tony.worker.instances": 1}, "--executes", "exit 7")
    assert job.wait() == 1
    assert job.status()["cause"]["exit_code"] == 7


def test_restart_of_a_task(tony, running):
    before = running.task("worker:1")["pids"][0]
    answer = tony.run("restart", running.id, "worker:1")
    assert answer.returncode == 0, answer.stderr
    wait_until(lambda: (task := running.task("worker:1"))["state"] == "running" and task.get("pids")
               and task["pids"][0] != before, "another process")
    assert finish(tony, running) == 0


def test_the_client_may_go(tony, running):
    """Nothing of the job hangs on the program that submitted it."""
    assert finish(tony, running) == 0


@pytest.mark.short
def test_what_the_resource_manager_says_of_a_failed_job(tony):
    answer, job = tony.job({"tony.worker.instances": 1}, "--executes", "echo ValueError: no data >&2; exit 7")
    assert answer.returncode == 1
    report = job.application()
    assert (report["state"], report["finalStatus"]) == ("FINISHED", "FAILED")
    assert "worker:0" in report["diagnostics"] and "ValueError: no data" in report["diagnostics"]


def test_tracking_url_through_the_proxy(tony, running):
    url = running.application()["trackingUrl"]
    assert running.id in url
    with urllib.request.urlopen(url, timeout=30) as answer:
        page = answer.read().decode()
    assert "worker:0" in page and "fox" in page
    assert finish(tony, running) == 0


@pytest.mark.short
def test_nothing_is_uploaded_twice(tony):
    """The second time it is the description of the job that travels, and nothing else."""
    tony.run(*tony.arguments({"tony.worker.instances": 1}, "--executes", "true"))
    cache = f"/user/{tony.cluster.user}/.tony/cache"
    before = {name: tony.cluster.status(f"{cache}/{name}")["modificationTime"]
              for name in tony.cluster.list(cache)}
    assert before
    answer, _ = tony.job({"tony.worker.instances": 1}, "--executes", "true")
    assert answer.returncode == 0, answer.stderr
    for name, time in before.items():
        assert tony.cluster.status(f"{cache}/{name}")["modificationTime"] == time


def test_the_token_is_nobody_elses_to_read(tony, running):
    status = tony.cluster.status(f"{running.files}/token")
    assert status["permission"] == "600"
    assert tony.cluster.status(running.files)["permission"] == "700"
    token = running.token()
    for pid in running.processes():
        assert token.encode() not in b"".join(read_environ(pid)) and token not in describe(pid)
    assert finish(tony, running) == 0


def test_nothing_is_left_when_the_job_is_killed_hard(tony):
    """Processes that do what they can to get away, and an AM that dies with SIGKILL."""
    job = tony.submit({"tony.worker.instances": 2, "tony.worker.stop-grace": "200ms"}, "--executes",
                      f"{PYTHON} escape.py")
    for name in ("worker:0", "worker:1"):
        job.wait_log(name, "left")
    os.kill(job.status()["am_pid"], 9)
    tony.kill_application(job.id)
    wait_until(lambda: not job.processes(), "every process to end")
