"""A job that brings its own driver of Horovod (TonY's driver debug mode), and what follows when that
driver is late, silent, wrong or dead. No Horovod is needed: programs only look at their variables."""

import json
import os
import signal

from conftest import PYTHON, wait_until

SHOW = f"{PYTHON} -c 'import json, os; print(json.dumps(dict(os.environ)), flush=True)'"


def keys(driver="9999", **more):
    return {"tony.application.framework": "horovod", "tony.horovod.driver.mode.debug": "true",
            "tony.driver.instances": 1, "tony.worker.instances": 2,
            "tony.driver.command": f"{PYTHON} horovod_driver.py {driver}",
            "tony.worker.command": f"{SHOW} && sleep 1000", **more}


def environment(job, task):
    """Of the task's last process."""
    log = wait_until(lambda: (text := job.logs(task)).endswith("\n") and text, f"{task} to start")
    return json.loads(log.splitlines()[-1])


def headline(job):
    """The line that people are told of the failure."""
    return job.status()["cause"].get("headline", "")


def test_the_plan_of_the_driver_holds(tony):
    """Workers start when it is whole, with its ranks and not with those that tony would give."""
    told = tony.directory / "told"
    job = tony.submit(keys(f"4711 --when {told}", **{"tony.worker.command": SHOW,
                                                     "tony.worker.processes": 2}))
    for index in (0, 1):
        job.wait_log(f"worker:{index}", "waiting for driver:0", "stderr")
        assert job.logs(f"worker:{index}") == ""
    told.touch()
    assert job.wait() == 0
    ranks = []
    for index in (0, 1):
        for file in ("stdout", "stdout-1"):
            variables = json.loads(job.logs(f"worker:{index}", file))
            assert variables["HOROVOD_GLOO_RENDEZVOUS_PORT"] == "4711"
            assert variables["HOROVOD_SIZE"] == variables["HOROVOD_LOCAL_SIZE"] == "4"
            spec = json.loads(variables["CLUSTER_SPEC"])
            assert spec["port"] == "4711" and spec["amHost"] == "127.0.0.1"
            assert spec["sameHostTaskIndexList"] == [0, 1] and len(spec["slotInfos"]) == 4
            ranks.append(variables["HOROVOD_RANK"])
    assert ranks == ["3", "2", "1", "0"]
    assert "told to end" in job.logs("driver:0")


def test_each_epoch_has_a_driver_of_its_own(tony):
    """What one driver told is not taken for what the next one tells."""
    job = tony.submit(keys("$((4000 + TONY_EPOCH))", **{"tony.am.retry-count": 2}))
    assert environment(job, "worker:0")["HOROVOD_GLOO_RENDEZVOUS_PORT"] == "4001"
    os.kill(job.wait_task("worker:1")["pids"][0], signal.SIGKILL)
    job.wait_task("worker:0", epoch=2)
    wait_until(lambda: len(job.logs("worker:0").splitlines()) == 2, "worker:0 to start again")
    assert environment(job, "worker:0")["HOROVOD_GLOO_RENDEZVOUS_PORT"] == "4002"
    os.kill(job.wait_task("driver:0")["pids"][0], signal.SIGKILL)
    wait_until(lambda: len(job.logs("worker:0").splitlines()) == 3, "worker:0 to start again")
    assert environment(job, "worker:0")["HOROVOD_GLOO_RENDEZVOUS_PORT"] == "4003"


def test_a_driver_that_ends_early(tony):
    answer, job = tony.job(keys("9999 --exit 0"))
    assert answer.returncode == 1
    assert "the driver ended and has not told where its rendezvous is" in headline(job)
    assert {task["task"]: task["state"] for task in job.status()["tasks"]} == {
        "driver:0": "failed", "worker:0": "stopped", "worker:1": "stopped"}


def test_a_driver_that_never_tells(tony):
    words = "has not told where its rendezvous is within tony.container.registration.timeout"
    for limit in ("5s", "1m"):  # on a busy machine an executor may miss the first, which is about registering as well
        answer, job = tony.job(keys("9999 --silent", **{"tony.container.registration.timeout": limit}))
        if words in headline(job):
            break
    assert answer.returncode == 1
    assert words in headline(job)
    assert "PORT____HOROVOD_RENDEZVOUS_SERVER____" in headline(job)


def test_a_driver_with_too_few_slots(tony):
    answer, job = tony.job(keys("9999 --slots 1"))
    assert answer.returncode == 1
    assert "no slot for process 1 of host 127.0.0.1" in headline(job)


def test_a_driver_needs_its_mode(tony):
    answer, job = tony.job({**keys(), "tony.horovod.driver.mode.debug": "false"})
    assert answer.returncode == 3
    assert "tony.horovod.driver.mode.debug=true" in answer.stderr
    assert job is None
