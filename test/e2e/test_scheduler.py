"""The local scheduler: several jobs share one machine through the ledger; a gang waits, visibly,
until all of it fits; GPUs belong to one task at a time."""

import json
import os
import re

import pytest
import schemas
from conftest import wait_until
from patience import PATIENCE_S
from program import write_xml

SMALL = ("--conf", "tony.local.memory=200m")
NVIDIA_SMI = """#!/bin/sh
# Stands for nvidia-smi on a machine with 4 devices.
case "$*" in
*--query-gpu=*) for gpu in 0 1 2 3; do echo "$gpu, GPU-0000000$gpu, 37, 1024, 81920"; done ;;
*-L*) for gpu in 0 1 2 3; do echo "GPU $gpu: NVIDIA H100 (UUID: GPU-0000000$gpu)"; done ;;
*) exit 1 ;;
esac
"""


def test_two_jobs_share_the_machine(tony):
    go = tony.directory / "go"
    jobs = [tony.submit({"tony.worker.instances": 1}, *SMALL, "--executes", f"./exit_after.sh {go} 0")
            for _ in range(2)]
    for job in jobs:
        job.wait_task("worker:0")
    go.touch()
    assert [job.wait() for job in jobs] == [0, 0]


def test_a_gang_waits_visibly_until_it_fits(tony):
    go = tony.directory / "go"
    first = tony.submit({"tony.worker.instances": 2}, *SMALL, "--executes", f"./exit_after.sh {go} 0")
    first.wait_task("worker:1")
    second = tony.submit({"tony.worker.instances": 2}, *SMALL, "--executes", "echo came")
    waiting = wait_until(lambda: second.status().get("waiting"), "the reason to be told")
    assert first.id in waiting and "MiB" in waiting
    assert {task["state"] for task in second.status()["tasks"]} == {"requested"}, "nothing is half held"
    assert waiting in tony.run("status", second.id).stdout
    assert f"waiting: {waiting}" in tony.run("list").stdout
    rows = {row["id"]: row for row in schemas.check("list", json.loads(tony.run("list", "--json").stdout))}
    assert rows[second.id]["waiting"] == waiting and not rows[first.id].get("waiting")
    for verb in "logs", "advise":
        assert f"{second.id}: waiting: {waiting}" in tony.run(verb, second.id).stderr
    assert "waiting: " not in tony.run("logs", first.id).stderr
    told = tony.directory / "told"
    with told.open("w") as file:
        reader = tony.start("logs", "-f", second.id, stderr=file)
    wait_until(lambda: f"{second.id}: waiting: {waiting}" in told.read_text(), "the reader to be told")
    go.touch()
    assert first.wait() == 0
    assert second.wait() == 0
    assert reader.communicate(timeout=PATIENCE_S)[0].count("came\n") == 2 and reader.returncode == 0


def test_what_a_killed_job_held_is_free_again(tony):
    first = tony.submit({"tony.worker.instances": 3}, *SMALL, "--executes", "sleep 1000")
    first.wait_task("worker:2")
    second = tony.submit({"tony.worker.instances": 3}, *SMALL, "--executes", "true")
    wait_until(lambda: second.status().get("waiting"), "the second job to wait")
    first.lose_am()
    assert second.wait() == 0


def test_many_jobs_wait_in_turn_and_are_listed_as_they_are(tony):
    """Each looks at the one before it alone, and the list knows again what it has read once."""
    go = tony.directory / "go"
    first = tony.submit({"tony.worker.instances": 3}, *SMALL, "--executes", f"./exit_after.sh {go} 0")
    first.wait_task("worker:2")
    others = [tony.submit({"tony.worker.instances": 3}, *SMALL, "--executes", "true") for _ in range(10)]

    def listed():
        return {row["id"]: row for row in json.loads(tony.run("list", "--json").stdout)}
    wait_until(lambda: all(listed()[job.id].get("waiting") for job in others), "all others to wait")
    wait_until(lambda: listed() and list(tony.state.glob("index/*")), "what is known of them to be kept")
    assert listed() == listed() and len(listed()) == 11
    lost = others.pop(4)
    lost.lose_am()
    assert lost.id not in listed(), "a job without an AM has ended, whatever was known of it"
    go.touch()
    assert [job.wait() for job in others] == [0] * 9
    assert not listed()


@pytest.mark.promise("R35")
def test_while_an_am_returns_nobody_gets_what_its_job_holds_or_waits_for(tony):
    go = tony.directory / "go"
    first = tony.submit({"tony.worker.instances": 3}, *SMALL, "--executes", f"./exit_after.sh {go} 0")
    first.wait_task("worker:2")
    waiting = []
    for _ in range(2):  # one behind the other: who has submitted first need not be the first to ask
        waiting.append(tony.submit({"tony.worker.instances": 3}, *SMALL, "--executes", "true"))
        wait_until(lambda: waiting[-1].status().get("waiting"), "the other jobs to wait")
    second, third = waiting
    for job in (first, second):
        job.kill_am()
        wait_until(lambda: job.status()["am_attempt"] == 2, "the next AM")
    wait_until(lambda: first.id in (second.status().get("waiting") or ""), "the second job to wait again, for the first")
    go.touch()
    assert [job.wait() for job in (first, second, third)] == [0] * 3
    began = [min(event["t"] for event in job.events() if event.get("to") == "allocated") for job in (second, third)]
    assert began == sorted(began), "it kept its place in the queue"


def test_jobs_one_after_the_other_under_pressure(tony):
    """Six jobs of which two fit at a time: all get through, none twice, none never."""
    jobs = [tony.submit({"tony.worker.instances": 1, "tony.worker.memory": "100m"}, *SMALL,
                        "--executes", "true") for _ in range(6)]
    assert [job.wait() for job in jobs] == [0] * 6


@pytest.fixture
def gpus(tony):
    tools = tony.directory / "tools"
    tools.mkdir()
    (tools / "nvidia-smi").write_text(NVIDIA_SMI)
    (tools / "nvidia-smi").chmod(0o755)
    tony.env["PATH"] = f"{tools}:{tony.env['PATH']}"
    return ("--conf", "tony.local.gpus=4", "--conf", f"tony.task.gpu-command={tools}/nvidia-smi")


def devices(job, tasks):
    """The devices of each task, from what its program printed."""
    return [set(job.wait_log(task, "gpus=").partition("gpus=")[2].split()[0].split(","))
            for task in tasks]


def test_gpus_are_exclusive(tony, gpus):
    show = "echo gpus=$CUDA_VISIBLE_DEVICES; sleep 1000"
    first = tony.submit({"tony.worker.instances": 2, "tony.worker.gpus": 1}, *gpus, "--executes", show)
    second = tony.submit({"tony.worker.instances": 1, "tony.worker.gpus": 2}, *gpus, "--executes", show)
    held = devices(first, ("worker:0", "worker:1")) + devices(second, ("worker:0",))
    assert sum(len(part) for part in held) == 4
    assert len(set.union(*held)) == 4, held
    third = tony.submit({"tony.worker.instances": 1, "tony.worker.gpus": 1}, *gpus, "--executes", "true")
    assert "GPU" in wait_until(lambda: third.status().get("waiting"), "the third job to wait")
    tony.run("kill", second.id)
    assert third.wait() == 0
    tony.run("kill", first.id)


def test_more_gpus_than_there_are(tony, gpus):
    answer, job = tony.job({"tony.worker.instances": 5, "tony.worker.gpus": 1}, *gpus,
                           "--executes", "true")
    assert answer.returncode != 0 and job is None
    assert "5 GPUs" in answer.stderr and "4" in answer.stderr


def test_a_task_that_asks_for_more_cores_than_there_are(tony):
    cores = len(os.sched_getaffinity(0))
    for verb in ("check", "submit"):
        answer = tony.run(verb, "--vcores", "100000", "--", "true")
        assert answer.returncode != 0
        assert f"needs 100000 vcores; this machine has {cores} core" in answer.stderr
    answer, _ = tony.job({"tony.worker.instances": cores + 1, "tony.worker.vcores": cores}, "--executes", "true")
    assert answer.returncode == 0, "tasks take turns"


def test_the_memory_of_the_machine_is_one_number(tony):
    node, = told(tony, "nodes")
    queue, = told(tony, "queues")
    total = node["total"]["memory_mib"]
    assert queue["parts"][0]["maximum"]["memory_mib"] == queue["largest_container"]["memory_mib"] == total
    assert tony.run("check", "--memory", f"{total}m", "--", "true").returncode == 0
    for verb in ("check", "submit"):
        answer = tony.run(verb, "--memory", f"{total + 1}m", "--", "true")
        assert answer.returncode != 0 and f"{total + 1} MiB; this machine has {total} MiB" in answer.stdout + answer.stderr
        answer = tony.run(verb, "--memory", f"{2 * total}m", "--", "true")
        words = re.search(r"this machine has (\S+ \S+) ", answer.stdout + answer.stderr)[1]
        assert f"of {words} " in tony.run("nodes").stdout and f" {words}," in tony.run("queues").stdout, words
    holder = tony.submit({"tony.worker.instances": 1, "tony.worker.memory": "1g"}, "--executes", "sleep 1000")
    holder.wait_task("worker:0")
    waiter = tony.submit({"tony.worker.instances": 1, "tony.worker.memory": f"{total}m"}, "--executes", "true")
    waiting = wait_until(lambda: waiter.status().get("waiting"), "the second job to wait")
    free = re.search(r": (\S+ \S+) free", waiting)[1]
    assert re.search(rf"ready +{re.escape(free)} of ", tony.run("nodes").stdout), waiting
    tony.run("kill", waiter.id, holder.id)


def test_a_task_without_gpus_sees_none(tony, gpus):
    answer, job = tony.job({"tony.worker.instances": 1}, *gpus, "--executes",
                           'test -z "$CUDA_VISIBLE_DEVICES" && test "${CUDA_VISIBLE_DEVICES+set}"')
    assert answer.returncode == 0, job and job.logs("worker:0", "stderr")


def test_gpu_metrics(tony, gpus):
    job = tony.submit({"tony.worker.instances": 1, "tony.worker.gpus": 1,
                       "tony.task.metrics-interval-ms": 100}, *gpus, "--executes", "sleep 1000")
    job.wait_task("worker:0")

    def measured():
        _, body = job.rest("GET", "/v1/metrics")
        return json.loads(body)["tasks"].get("worker:0", {}).get("gpus")
    found = wait_until(measured, "GPU metrics")
    assert len(found) == 1, "only the device that the task owns"
    assert found[0]["utilization_percent"] == 37 and found[0]["memory_total_mib"] == 81920


def test_task_metrics(tony):
    job = tony.submit({"tony.worker.instances": 1, "tony.task.metrics-interval-ms": 100},
                      "--executes", "sleep 1000")

    def measured():
        if job.status()["state"] != "running":
            return None
        _, body = job.rest("GET", "/v1/metrics")
        metrics = json.loads(body)["tasks"].get("worker:0", {})
        return metrics if metrics.get("processes") else None
    metrics = wait_until(measured, "metrics")
    assert metrics["rss_bytes"] > 0 and metrics["threads"] >= 1


def told(tony, verb, *arguments):
    answer = tony.run(verb, "--json", *arguments)
    assert answer.returncode == 0, answer.stderr
    return schemas.check(verb, json.loads(answer.stdout))


def test_the_machine_and_its_queue_tell_what_is_free_and_who_waits(tony):
    """The jobs and the verbs read the same keys of the site."""
    write_xml(tony.directory / "conf/tony-site.xml",
              {"tony.local.memory": "200m", "tony.local.vcores": 4, "tony.local.gpus": 3,
               "tony.local.max-gpus-per-user": 2})
    [node], [queue] = told(tony, "nodes"), told(tony, "queues")
    assert node["free"] == node["total"] == {"memory_mib": 200, "vcores": 4, "gpus": 3} and node["state"] == "ready"
    assert queue["name"] == "default" and queue["default"] and queue["may_submit"] and queue["running_count"] == 0
    assert queue["parts"][0]["left"] == {"memory_mib": 200, "vcores": 4, "gpus": 2}
    first = tony.submit({"tony.worker.instances": 2, "tony.worker.gpus": 1}, "--executes", "sleep 1000")
    first.wait_task("worker:1")
    second = tony.submit({"tony.worker.instances": 2, "tony.worker.gpus": 1}, "--executes", "true")
    wait_until(lambda: second.status().get("waiting"), "the second job to wait")
    [node], [queue] = told(tony, "nodes"), told(tony, "queues")
    assert node["free"] == {"memory_mib": 72, "vcores": 2, "gpus": 1} and node["container_count"] == 2
    assert node["allocated"] == {"memory_mib": 128, "vcores": 2, "gpus": 2}
    part = queue["parts"][0]
    assert (queue["running_count"], queue["waiting_count"]) == (1, 1) and part["user_limit"] == {"gpus": 2}
    assert part["left"] == {"memory_mib": 72, "vcores": 2, "gpus": 0}, "its user may hold two GPUs"
    assert [(row["id"], row["holds"]["gpus"], row.get("wants", {}).get("memory_mib")) for row in queue["job_shares"]] == [
        (first.id, 2, None), (second.id, 0, 128)]
    assert "72 MiB of 200 MiB" in tony.run("nodes").stdout and second.id in tony.run("queues").stdout
    assert not re.search("GPUs? (is|are) held", tony.run("nodes").stdout), "by no other user"
    other = told_elsewhere(tony)
    assert other["allocated"]["gpus"] == 2 and first.id in other["note"], "a job of another state directory"


def told_elsewhere(tony):
    answer = tony.run("nodes", "--json", env={"TONY_STATE_DIR": str(tony.directory / "elsewhere")})
    return json.loads(answer.stdout)[0]


def test_nodes_and_queues_that_are_not_there(tony):
    for verb in ("nodes", "queues"):
        answer = tony.run(verb, "nosuch")
        assert answer.returncode == 4 and "nosuch" in answer.stderr and answer.stdout == ""
    answer = tony.run("queues", "--scheduler", "nosuch")
    assert answer.returncode == 2 and "write one of local, yarn" in answer.stderr
    assert tony.run("queues", "--output", "name").stdout == "default\n"
