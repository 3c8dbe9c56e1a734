"""TonY's own end-to-end suite (TestTonyE2E), row by row and by the same names: the same functions for
each scheduler, whose suite gives them its own `tony`.

With those of a cluster only, because there is nothing of it on one machine:
  27 TonyFinalConfWithNonExistentHDFSClasspath   HDFS (test/yarn/test_tony_rows.py)
  29 AMStartupTimeoutShouldFail                  an AM that waits in the resource manager's queue
                                                 (test/yarn/test_labelled_node.py)

Where TonY's test used a hook inside its own code (skip pings, delay a callback, throw in the AM),
this suite does the thing from outside, with signals: the programs have no test hooks.
"""

import json
import os
import signal
import zipfile

import pytest
from patience import PATIENCE_S, assert_never, wait_until
from program import FINAL, PYTHON

NO_RETRIES = {"tony.am.infrastructure-retry-count": 0}


def python(program, *arguments):
    return " ".join([PYTHON, program, *arguments])


@pytest.mark.promise("T1")
def test_SingleNodeTrainingShouldPass(tony):
    answer, job = tony.job({}, "--executes", "check_env.py ENV_CHECK=ENV_CHECK",
                           "--python_binary_path", PYTHON, "--shell_env", "ENV_CHECK=ENV_CHECK")
    assert answer.returncode == 0, answer.stderr
    assert job.status()["outcome"] == "succeeded"


@pytest.mark.promise("T2")
def test_SingleNodeTrainingShouldFail(tony):
    answer, job = tony.job({}, "--executes", "exit 1")
    assert answer.returncode == 1
    assert job.status()["cause"]["exit_code"] == 1


@pytest.mark.promise("T3")
def test_PSWorkerTrainingShouldPass(tony):
    """The virtual environment appears in ./venv, and the interpreter in it is used."""
    venv = tony.directory / "test.zip"
    with zipfile.ZipFile(venv, "w") as archive:
        archive.writestr("123.xml", "<x/>")
        member = zipfile.ZipInfo("bin/python")
        member.external_attr = 0o755 << 16
        archive.writestr(member, f'#!/bin/sh\nexec {PYTHON} "$@"\n')
    answer, _ = tony.job({"tony.worker.instances": 1},
                         "--executes", "check_env.py ./venv/123.xml ENV_CHECK=ENV_CHECK",
                         "--python_venv", venv, "--python_binary_path", "bin/python",
                         "--shell_env", "ENV_CHECK=ENV_CHECK")
    assert answer.returncode == 0, answer.stderr


@pytest.mark.promise("T4")
def test_PSWorkerTrainingShouldFail(tony):
    answer, _ = tony.job({"tony.ps.instances": 1, "tony.worker.instances": 1}, "--executes", "exit 1")
    assert answer.returncode == 1


def wait_running(job, *names):
    """The status of each task once these run; None if the job has ended, for example by a late heartbeat."""
    def there():
        tasks = {task["task"]: task for task in job.status()["tasks"]}
        return tasks if all(tasks[name]["state"] == "running" and tasks[name].get("pids") for name in names) else None
    wait_until(lambda: there() or job.status()["state"] in FINAL, f"{job.id}: {names} to run, or its end")
    return there()


def submit_with_short_heartbeats(tony, keys, *names):
    """A job and the status of its tasks, which run. Silence counts as loss after 5 s; where the machine is so busy that
    the job ends by this before it runs, after a minute."""
    for missed in (50, 600):
        job = tony.submit({"tony.task.heartbeat-interval-ms": 100, "tony.task.max-missed-heartbeats": missed,
                           **keys, **NO_RETRIES}, "--executes", "sleep 1000")
        if running := wait_running(job, *names):
            return job, running
    pytest.fail(f"{job.id} ended before it ran")


@pytest.mark.promise("T5", "R8")
def test_PSWorkerTrainingShouldFailMissedHeartbeat(tony):
    job, running = submit_with_short_heartbeats(tony, {"tony.ps.instances": 1, "tony.worker.instances": 1,
                                                       "tony.worker.stop-grace": "100ms"}, "ps:0", "worker:0")
    os.kill(running["worker:0"]["executor_pid"], signal.SIGSTOP)
    assert job.wait() != 0
    assert job.status()["cause"]["kind"] == "executor-lost"


@pytest.mark.promise("T6")
def test_PSSkewedWorkerTrainingShouldPass(tony):
    """worker:0's end is reported late; that is no missed heartbeat and no failure."""
    go = tony.directory / "go"
    job = tony.submit({"tony.ps.instances": 1, "tony.worker.instances": 2, "tony.task.max-missed-heartbeats": 1000,
                       "tony.ps.command": "sleep 1000",
                       "tony.worker.command": f"./exit_after.sh {go} 0"})
    job.wait_task("worker:1")
    executor = job.wait_task("worker:0")["executor_pid"]
    os.kill(executor, signal.SIGSTOP)
    go.touch()
    job.wait_task("worker:1", "succeeded")
    assert_never(lambda: job.task("worker:0")["state"] != "running", "worker:0 to be taken for ended or lost", 2)
    os.kill(executor, signal.SIGCONT)
    assert job.wait() == 0


@pytest.mark.promise("T7")
def test_WorkerTrainingPyTorchShouldPass(tony):
    answer, _ = tony.job({"tony.application.framework": "pytorch", "tony.ps.instances": 0,
                          "tony.worker.instances": 2},
                         "--executes", python("check_env.py", "RANK", "WORLD=2", "INIT_METHOD"))
    assert answer.returncode == 0, answer.stderr


def expect_end_with_am(tony, number):
    job = tony.submit({"tony.worker.instances": 1, **tony.one_am}, "--executes", "sleep 1000")
    job.wait_task("worker:0")
    client = tony.start("wait", job.id)
    job.wear_out_am(number)
    assert client.wait(PATIENCE_S) != 0
    wait_until(lambda: not job.processes(), "the job to end with its AM")


@pytest.mark.promise("T8", "R44")
def test_AMCrashTonyShouldFail(tony):
    expect_end_with_am(tony, signal.SIGKILL)


@pytest.mark.promise("T9")
def test_AMThrowExceptionCrashShouldFail(tony):
    expect_end_with_am(tony, signal.SIGABRT)


@pytest.mark.promise("T10")
def test_TonyAMSchedulerShouldPass(tony):
    answer, job = tony.job({f"tony.{name}.instances": 1 for name in ("worker", "ps", "db", "dbloader")}
                           | {"tony.application.prepare-stage": "dbloader,db",
                              "tony.application.training-stage": "ps,worker"},
                           "--executes", "exit 0")
    assert answer.returncode == 0, answer.stderr
    tasks = {task["task"]: task for task in job.status()["tasks"]}
    prepared = max(tasks[name]["ended_ms"] for name in ("db:0", "dbloader:0"))
    # ps is untracked: the worker's end may come before its program is up.
    assert prepared <= min(tasks[name].get("started_ms", prepared) for name in ("ps:0", "worker:0"))
    assert tasks["worker:0"]["started_ms"]


@pytest.mark.promise("T11")
def test_AMStopsJobAfterWorker0Killed(tony):
    job = tony.submit({"tony.worker.instances": 1, **NO_RETRIES}, "--executes", "sleep 1000")
    os.kill(job.wait_task("worker:0")["executor_pid"], signal.SIGKILL)
    assert job.wait() != 0


@pytest.mark.promise("T12")
def test_NullAMRpcClient(tony):
    """The client copes with an AM that is not there any more."""
    answer, job = tony.job({}, "--executes", "exit 0")
    assert answer.returncode == 0
    wait_until(lambda: not job.processes(), "the AM to leave")
    assert job.wait() == 0
    assert job.status()["state"] == "succeeded"
    assert tony.run("logs", job.id).returncode == 0
    assert tony.run("kill", job.id).returncode != 0


@pytest.mark.promise("T13")
def test_NonChiefWorkerFail(tony):
    """The chief would go on for long."""
    answer, job = tony.job({"tony.chief.instances": 1, "tony.chief.command": "sleep 1000",
                            "tony.worker.instances": 1, "tony.worker.command": "exit 1"})
    assert answer.returncode == 1
    assert job.status()["cause"]["exit_code"] == 1


@pytest.mark.promise("T14")
def test_TonyResourcesFlag(tony):
    for name in ("test.zip", "test2.zip", "common.zip"):
        with zipfile.ZipFile(tony.directory / name, "w") as archive:
            archive.writestr("123.xml", name)
    tree = tony.directory / "tree" / "below"
    tree.mkdir(parents=True)
    (tree / "file").write_text("x")
    at = tony.directory
    answer, _ = tony.job({
        "tony.worker.instances": 1,
        "tony.worker.resources": f"{at}/test.zip::test20.zip, ,{at}/test2.zip#archive,,{at}/common.zip,"
                                 f" {at}/tree",
        "tony.worker.command": "test -f common.zip && test -f test20.zip && test -f test2.zip/123.xml"
                               " && test -f tree/below/file"})
    assert answer.returncode == 0, answer.stderr


@pytest.mark.promise("T15")
def test_TensorBoardPortSetOnlyOnChiefWorker(tony):
    check = {"chief": "TB_PORT", "ps": "!TB_PORT", "worker": "!TB_PORT"}
    answer, _ = tony.job({f"tony.{name}.instances": 1 for name in check}
                         | {f"tony.{name}.command": python("check_env.py", f"'{what}'")
                            for name, what in check.items()}
                         | {"tony.application.untracked.jobtypes": "ps",
                            "tony.application.stop-after-chief": "false"})
    assert answer.returncode == 0, answer.stderr


@pytest.mark.promise("T16")
def test_StandaloneRuntimeModeShouldPass(tony):
    answer, _ = tony.job({"tony.application.framework": "standalone", "tony.worker.instances": 1},
                         "--executes", "exit 0")
    assert answer.returncode == 0, answer.stderr


@pytest.mark.promise("T17")
def test_StandaloneRuntimeWithMultiInstancesShouldFail(tony):
    answer, job = tony.job({"tony.application.framework": "standalone", "tony.worker.instances": 1,
                            "tony.slave.instances": 1}, "--executes", "exit 0")
    assert answer.returncode == 3, answer.stderr
    assert "standalone" in answer.stderr
    assert job is None


@pytest.mark.promise("T18")
def test_TaskCompletionNotificationDelayed(tony):
    """Between the program's end and the container's nobody beats; that is no missed heartbeat."""
    answer, _ = tony.job({"tony.worker.instances": 1, "tony.task.heartbeat-interval-ms": 100,
                          "tony.task.max-missed-heartbeats": 20, "tony.worker.stop-grace": 4000,
                          "tony.worker.command": python("escape.py", "--exit")})
    assert answer.returncode == 0, answer.stderr


@pytest.mark.promise("T19")
def test_TonyClientCallbackHandler(tony):
    """The id is told at once, then each task's state; at the end ps was stopped by us."""
    client = tony.start(*tony.arguments({
        "tony.ps.instances": 1, "tony.worker.instances": 1, "tony.ps.command": "sleep 1000",
        "tony.worker.command": "exit 0", "tony.application.untracked.jobtypes": "ps"}))
    output, _ = client.communicate(timeout=PATIENCE_S)
    assert client.returncode == 0, output
    job = tony.found_job(output)
    assert job, output
    tasks = job.status()["tasks"]
    assert {task["task"]: task["state"] for task in tasks} == {"ps:0": "stopped",
                                                             "worker:0": "succeeded"}
    assert "1 succeeded, 1 stopped" in output


@pytest.mark.promise("T20")
def test_TonyPSCrashShouldFailAndStopAM(tony):
    answer, job = tony.job({"tony.ps.instances": 1, "tony.worker.instances": 1,
                            "tony.ps.command": "exit 1", "tony.worker.command": "sleep 1000",
                            "tony.application.untracked.jobtypes": "ps"})
    assert answer.returncode != 0
    states = {task["task"]: task["state"] for task in job.status()["tasks"]}
    assert states == {"ps:0": "failed", "worker:0": "stopped"}


@pytest.mark.promise("T21")
def test_TonySidecarExecutorCrashShouldPass(tony):
    go = tony.directory / "go"
    job = tony.submit({"tony.sidecarexecutor.instances": 1, "tony.worker.instances": 1,
                       "tony.sidecarexecutor.command": "exit 1",
                       "tony.worker.command": f"./exit_after.sh {go} 0",
                       "tony.application.sidecar.jobtypes": "sidecarexecutor"})
    job.wait_task("sidecarexecutor:0", "failed")
    go.touch()
    assert job.wait() == 0
    states = {task["task"]: task["state"] for task in job.status()["tasks"]}
    assert states == {"sidecarexecutor:0": "failed", "worker:0": "succeeded"}


HOROVOD = ["HOROVOD_CONTROLLER=gloo", "HOROVOD_CPU_OPERATIONS=gloo", "HOROVOD_GLOO_TIMEOUT_SECONDS",
           "HOROVOD_GLOO_RENDEZVOUS_PORT", "HOROVOD_HOSTNAME", "HOROVOD_RANK", "HOROVOD_SIZE=2",
           "HOROVOD_LOCAL_RANK", "JOB_NAME=worker"]
ONE_HOST = ["HOROVOD_GLOO_RENDEZVOUS_ADDR=127.0.0.1", "HOROVOD_LOCAL_SIZE=2", "HOROVOD_CROSS_RANK=0",
            "HOROVOD_CROSS_SIZE=1"]
SEVERAL_HOSTS = ["HOROVOD_GLOO_RENDEZVOUS_ADDR", "HOROVOD_LOCAL_SIZE", "HOROVOD_CROSS_RANK",
                 "HOROVOD_CROSS_SIZE"]


def horovod(tony):
    return [*HOROVOD, *(ONE_HOST if tony.one_host else SEVERAL_HOSTS)]


HOROVOD_DRIVER = {"tony.application.framework": "horovod", "tony.horovod.driver.mode.debug": "true",
                  "tony.driver.instances": 1, "tony.driver.vcores": 1,
                  "tony.application.untracked.jobtypes": "driver"}


@pytest.mark.promise("T22")
def test_TonyHorovodDriverCrashShouldFailAndStopAM(tony):
    """TonY's own driver crashes by a hook of its tests; here it is the user's."""
    answer, job = tony.job({**HOROVOD_DRIVER, "tony.worker.instances": 1,
                            "tony.worker.command": "sleep 1000",
                            "tony.driver.command": python("horovod_driver.py", "9999", "--exit 1")})
    assert answer.returncode != 0
    states = {task["task"]: task["state"] for task in job.status()["tasks"]}
    assert states == {"driver:0": "failed", "worker:0": "stopped"}


@pytest.mark.promise("T23")
def test_TonyHorovodShouldPass(tony):
    answer, _ = tony.job({"tony.application.framework": "horovod", "tony.horovod.mode.test": "true",
                          "tony.worker.instances": 2},
                         "--executes", python("check_env.py", *horovod(tony)))
    assert answer.returncode == 0, answer.stderr


@pytest.mark.promise("T24")
def test_TonyHorovodWithDebugModeShouldPass(tony):
    answer, job = tony.job({**HOROVOD_DRIVER, "tony.horovod.mode.test": "true",
                            "tony.worker.instances": 2,
                            "tony.driver.command": python("horovod_driver.py", "9999")},
                           "--executes", python("check_env.py", "HOROVOD_GLOO_RENDEZVOUS_PORT=9999",
                                                *horovod(tony)))
    assert answer.returncode == 0, answer.stderr
    states = {task["task"]: task["state"] for task in job.status()["tasks"]}
    assert states == {"driver:0": "stopped", "worker:0": "succeeded", "worker:1": "succeeded"}


@pytest.mark.promise("T25")
def test_AttachedTensorboardShouldPass(tony):
    logs, there = tony.directory / "tb", tony.directory / "there"
    logs.mkdir()
    board = python("check_env.py", "TB_PORT", f"TB_LOG_DIR={logs}") + f" && echo board && touch {there} && sleep 1000"
    answer, job = tony.job({
        "tony.chief.instances": 1, "tony.ps.instances": 1, "tony.worker.instances": 2,
        "tony.tensorboard.command": board, "tony.tensorboard.memory": "64m"},
        "--sidecar_tensorboard_log_dir", logs,
        "--executes", python("check_env.py", "'!TB_PORT'") + f" && ./exit_after.sh {there} 0")
    assert answer.returncode == 0, answer.stderr
    assert job.task("tensorboard:0")["state"] in ("stopped", "running")
    assert job.logs("tensorboard:0") == "board\n"


@pytest.mark.promise("T26")
def test_TonyFinalConf(tony):
    for name in ("common.zip", "test.zip"):
        with zipfile.ZipFile(tony.directory / name, "w") as archive:
            archive.writestr("x", "x")
    at = tony.directory
    answer, job = tony.job({"tony.worker.instances": 1, "tony.worker.command": "cat",
                            "tony.containers.resources": f"{at}/common.zip"},
                           "--executes", "ls", "--container_env", "A=1", "--shell_env", "B=2",
                           "--conf", f"tony.containers.resources={at}/test.zip")
    assert answer.returncode == 0, answer.stderr
    config = job.description()["config"]
    value = {key: row["value"] for key, row in config.items()}
    assert value["tony.containers.command"] == "ls"
    assert value["tony.worker.command"] == "cat"
    assert value["tony.containers.envs"] == "A=***", "values may be secrets"
    assert value["tony.execution.envs"] == "B=***"
    for name in ("common.zip", "test.zip"):
        assert f"{at}/{name}" in value["tony.containers.resources"]


@pytest.mark.promise("T28")
def test_AllocationTimeoutShouldFail(tony):
    """What can never fit is refused at once, with the numbers; TonY waits for its timeout."""
    answer, job = tony.job({"tony.application.framework": "generic",
                            "tony.worker.instances": 10000, "tony.worker.memory": "2g",
                            "tony.container.allocation.timeout": 1000}, "--executes", "exit 0")
    assert answer.returncode != 0
    assert "10000" in answer.stderr and "GiB" in answer.stderr
    assert job is None


def group(timeout_s, **keys):
    return {"tony.application.group.A": "chief", "tony.chief.instances": 1, "tony.worker.instances": 2,
            "tony.application.dependency.worker.timeout.after.A": timeout_s,
            "tony.chief.command": "exit 0", "tony.worker.command": "sleep 1000",
            "tony.application.stop-after-chief": "false", **keys}


@pytest.mark.promise("T30")
def test_GroupDependencyTimeout(tony):
    answer, job = tony.job(group(1))
    assert answer.returncode != 0
    assert job.status()["cause"]["kind"] == "group-timeout"


IGNORED = {"tony.application.dependency.worker.timeout.after.A.ignored": "true"}


@pytest.mark.promise("T31")
def test_DependencyTimeoutButIgnored(tony):
    answer, _ = tony.job(group(1, **IGNORED))
    assert answer.returncode == 0, answer.stderr


@pytest.mark.promise("T32")
def test_DependencyTimeoutButIgnoredAndWithPS(tony):
    answer, _ = tony.job(group(1, **IGNORED, **{
        "tony.ps.instances": 1, "tony.ps.command": "sleep 1000",
        "tony.application.untracked.jobtypes": "ps"}))
    assert answer.returncode == 0, answer.stderr


@pytest.mark.promise("T33")
def test_DependencyTimeoutButIgnoredButFailed(tony):
    go = tony.directory / "go"
    job = tony.submit(group(1, **IGNORED, **{
        "tony.worker.command": f"./exit_after.sh {go} 1", "tony.evaluator.instances": 1,
        "tony.evaluator.command": "sleep 1000",
        "tony.application.stop-on-failure-jobtypes": "worker"}))
    wait_until(lambda: any("not waited for" in json.dumps(event) for event in job.events()),
               "the timeout to be noted")
    go.touch()
    assert job.wait() != 0
    assert job.status()["cause"]["exit_code"] == 1


@pytest.mark.promise("T34")
def test_LostConnectionWithAM(tony):
    """An executor that does not hear its AM ends its program: no second writer stays behind."""
    job, running = submit_with_short_heartbeats(tony, {"tony.worker.instances": 1}, "worker:0")
    (program,) = running["worker:0"]["pids"]
    am = job.status()["am_pid"]
    os.kill(am, signal.SIGSTOP)
    wait_until(lambda: not os.path.exists(f"/proc/{program}"), "the program to be ended")
    os.kill(am, signal.SIGCONT)
    assert job.wait() != 0
    assert job.status()["cause"]["kind"] == "executor-lost"
