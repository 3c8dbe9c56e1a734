"""Requests as the scheduler rounds and limits them; queues that are made when they are used, and moved jobs."""

import json
import os
import urllib.request

import pytest
from patience import PATIENCE_S
from program import wait_until

CONFIG, DENIED, CAPACITY = 3, 6, 7  # see tony-exit(7)


def refused(tony, code, keys, *words, env=None):
    answer, job = tony.job(keys, "--executes", "true", env=env)
    assert answer.returncode == code and job is None, answer.stdout + answer.stderr
    for word in words:
        assert word in answer.stderr, f"{word!r} is not in {answer.stderr}"


def test_requests_count_as_the_scheduler_rounds_them(tony):
    """60 of 64 MiB would fit; as YARN gives them they are 256 MiB each."""
    refused(tony, CAPACITY, {"tony.worker.instances": 60}, "need 15.2 GiB", "each worker gets 256 MiB instead of 64 MiB",
            "12.0 GiB", "--wait-for-capacity")


def test_what_is_given_is_told_beside_what_is_asked_for(tony):
    answer = tony.run("check", "--type", "worker=3", "--memory", "64m", "--executes", "true")
    assert "tasks: 3, memory: 768 MiB in all (192 MiB asked for)" in answer.stdout, answer.stdout + answer.stderr


def test_containers_that_the_nodes_have_no_room_for(tony):
    """In all there would be: each of three nodes holds one."""
    refused(tony, CAPACITY, {"tony.worker.instances": 4, "tony.worker.memory": "2200m"}, "4 containers", "2.2 GiB",
            "(3 nodes) have room for 3 of them")


def test_limit_of_the_user(tony):
    """The queue's share is 1.2 GiB and 2 cores, and no user may have more. Its last container may go beyond."""
    limited = {"tony.yarn.queue": "mine", "tony.worker.instances": 5, "tony.worker.memory": "512m"}
    refused(tony, CAPACITY, limited, 'in the queue "mine"', "1.2 GiB", "user-limit-factor 1")
    answer, _ = tony.job({**limited, "tony.worker.instances": 2}, "--executes", "true")
    assert answer.returncode == 0, answer.stderr


def listed(tony, job):
    return next(row for row in json.loads(tony.run("list", "--state", "forming", "--json").stdout) if row["id"] == job.id)["waiting"]


def test_a_job_may_wait_for_capacity(tony):
    """It is told why it gets no further, and what each container costs."""
    job = tony.submit({"tony.yarn.queue": "mine", "tony.worker.instances": 5, "tony.worker.memory": "500m"},
                      "--wait-for-capacity", "--executes", "true")
    wait_until(lambda: "each worker has 512 MiB instead of 500 MiB" in (job.status().get("waiting") or ""),
               "the job to say what a container costs")
    wait_until(lambda: listed(tony, job) == (status := job.status())["waiting"] and status["state"] == "forming",
               "tony list to say the same")
    assert tony.run("kill", job.id).returncode == 0


def test_a_queue_that_the_user_may_not_use(tony):
    refused(tony, DENIED, {"tony.worker.instances": 1, "tony.yarn.queue": "staff"},
            'the user bob may not submit to the queue "staff"', env={"HADOOP_USER_NAME": "bob"})


def test_a_queue_is_made_when_it_is_named(tony):
    name = f"users.q{os.urandom(4).hex()}"
    answer, job = tony.job({"tony.worker.instances": 1}, "--queue", name, "--executes", "true")
    assert answer.returncode == 0, answer.stderr
    assert job.application()["queue"] == f"root.{name}" == job.status()["queue"]
    refused(tony, CONFIG, {"tony.worker.instances": 1, "tony.yarn.queue": "ml.any"}, 'no queue "ml.any"')


@pytest.fixture
def carol(tony):
    tony.cluster.hdfs("PUT", "/user/carol", op="MKDIRS")
    tony.cluster.hdfs("PUT", "/user/carol", op="SETOWNER", owner="carol")
    return {"HADOOP_USER_NAME": "carol"}


def test_a_queue_is_made_for_the_user_of_a_mapping(tony, carol):
    """The mapping counts for jobs that name no queue."""
    refused(tony, CONFIG, {"tony.worker.instances": 1, "tony.yarn.queue": "teams.carol"}, "leave the key out", env=carol)
    answer, job = tony.job({"tony.worker.instances": 1}, "--executes", "true", env=carol)
    assert answer.returncode == 0, answer.stderr
    assert job.application()["queue"] == "root.teams.carol"


def move(tony, job, queue):
    """As `yarn app -changeQueue`."""
    url = f"{tony.cluster.active('rm')}/ws/v1/cluster/apps/{job.id}/queue?user.name={tony.cluster.user}"
    request = urllib.request.Request(url, json.dumps({"queue": queue}).encode(), method="PUT",
                                     headers={"Content-Type": "application/json"})
    tony.cluster.open(request, timeout=PATIENCE_S).close()


def test_a_moved_job_shows_its_new_queue(tony):
    job = tony.submit({"tony.worker.instances": 1}, "--executes", f"./exit_after.sh {tony.directory}/go 0")
    job.wait_task("worker:0")
    assert job.status()["queue"].split(".")[-1] == "default"
    move(tony, job, "ml")
    wait_until(lambda: job.status()["queue"].split(".")[-1] == "ml", "the new queue")
    listed = json.loads(tony.run("list", "--json").stdout)
    assert [row["queue"].split(".")[-1] for row in listed if row["id"] == job.id] == ["ml"]
    (tony.directory / "go").touch()
    assert job.wait() == 0
