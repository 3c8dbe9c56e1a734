"""What comes back after a failure, and what it costs: restarts in place, a cluster formed anew,
containers kept, budgets, checkpoints."""

import os
import re
import signal

import pytest
from conftest import PYTHON, wait_until

FAST = {"tony.am.retry-delay": "10ms"}


def training(go, steps=5):
    return f"{PYTHON} train_steps.py {steps} {go}"


@pytest.mark.promise("R1")
def test_forms_anew_and_goes_on_from_the_checkpoint(tony):
    """The survivors keep their containers, the program its checkpoint, and the epoch counts on."""
    go = tony.directory / "go"
    job = tony.submit({"tony.application.framework": "pytorch", "tony.worker.instances": 3,
                       "tony.am.retry-count": 1, **FAST, "tony.worker.command": training(go)})
    before = {name: job.wait_task(name) for name in ("worker:0", "worker:1", "worker:2")}
    job.wait_log("worker:0", "from step 0")
    wait_until((job.directory / "checkpoint" / "step").exists, "the first checkpoint")
    os.kill(before["worker:1"]["pids"][0], signal.SIGKILL)
    for name, old in before.items():
        new = job.wait_task(name, epoch=2)
        assert new["container"] == old["container"] and new["attempt"] == 1
    job.wait_log("worker:0", "epoch 2 from step 1")
    go.touch()
    assert job.wait() == 0
    status = job.status()
    assert status["epoch"] == 2 and status["outcome"] == "succeeded"


def test_only_the_lost_container_is_asked_for_again(tony):
    go = tony.directory / "go"
    job = tony.submit({"tony.application.framework": "pytorch", "tony.worker.instances": 3, **FAST,
                       "tony.worker.command": training(go)})
    before = {name: job.wait_task(name) for name in ("worker:0", "worker:1", "worker:2")}
    os.kill(before["worker:2"]["executor_pid"], signal.SIGKILL)
    replaced = job.wait_task("worker:2", attempt=2)
    assert replaced["container"] != before["worker:2"]["container"]
    for name in ("worker:0", "worker:1"):
        assert job.wait_task(name, epoch=2)["container"] == before[name]["container"]
    go.touch()
    assert job.wait() == 0


def test_user_failures_are_counted_and_the_first_cause_is_told(tony):
    answer, job = tony.job({"tony.application.framework": "pytorch", "tony.worker.instances": 2,
                            "tony.am.retry-count": 2, **FAST,
                            "tony.worker.command": '[ "$TASK_INDEX" = 0 ] && sleep 1000; '
                                                   'echo "ValueError: no data" >&2; exit 7'})
    assert answer.returncode == 1
    status = job.status()
    assert status["epoch"] == 3
    assert status["cause_task"] == "worker:1" and status["cause"]["exit_code"] == 7
    assert "ValueError: no data" in answer.stdout + answer.stderr


@pytest.mark.promise("R1")
def test_restart_in_place_keeps_container_and_port_and_disturbs_nobody(tony):
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 2, "tony.worker.max-restarts": 3, **FAST},
                      "--executes", f"./exit_after.sh {go} 0")
    first, other = job.wait_task("worker:0"), job.wait_task("worker:1")
    os.kill(first["pids"][0], signal.SIGKILL)
    second = job.wait_task("worker:0", restart=1)
    for key in ("container", "port", "attempt", "epoch", "executor_pid"):
        assert second[key] == first[key], key
    assert job.wait_task("worker:1")["pids"] == other["pids"]
    go.touch()
    assert job.wait() == 0
    assert job.status()["epoch"] == 1


def test_restarts_in_place_run_out(tony):
    answer, job = tony.job({"tony.worker.instances": 1, "tony.worker.max-restarts": 2, **FAST},
                           "--executes", "echo run; exit 3")
    assert answer.returncode == 1
    assert job.logs("worker:0").count("run") == 3


@pytest.mark.promise("R3")
def test_lost_containers_do_not_use_up_the_users_retries(tony):
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 1, "tony.am.retry-count": 0, **FAST},
                      "--executes", f"./exit_after.sh {go} 0")
    for attempt in (1, 2, 3):
        os.kill(job.wait_task("worker:0", attempt=attempt)["executor_pid"], signal.SIGKILL)
    job.wait_task("worker:0", attempt=4)
    go.touch()
    assert job.wait() == 0


def test_restart_verb(tony):
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 2}, "--executes", f"./exit_after.sh {go} 0")
    first, other = job.wait_task("worker:0"), job.wait_task("worker:1")
    answer = tony.run("restart", job.id, "worker:0")
    assert answer.returncode == 0, answer.stderr
    wait_until(lambda: (task := job.task("worker:0"))["state"] == "running" and task.get("pids")
               and task["pids"] != first["pids"], "worker:0 to run anew")
    assert job.wait_task("worker:1")["pids"] == other["pids"]
    go.touch()
    assert job.wait() == 0


def test_a_frozen_program_is_ended_by_its_timeout(tony):
    answer, job = tony.job({"tony.worker.instances": 1, "tony.worker.stop-grace": "100ms",
                            "tony.task.executor.execution-timeout-ms": 500}, "--executes", "sleep 1000")
    assert answer.returncode != 0
    assert job.status()["cause"]["kind"] == "execution-timeout"


def test_application_timeout(tony):
    answer, job = tony.job({"tony.worker.instances": 1, "tony.application.timeout": 500},
                           "--executes", "sleep 1000")
    assert answer.returncode != 0
    assert job.status()["cause"]["kind"] == "application-timeout"


def test_one_survivor_does_not_make_a_failed_job_a_success(tony):
    answer, _ = tony.job({"tony.worker.instances": 2, "tony.application.framework": "generic",
                          "tony.worker.command": 'exit "$TASK_INDEX"'})
    assert answer.returncode == 1


def test_failed_prepare_stage_never_releases_training(tony):
    answer, job = tony.job({"tony.db.instances": 1, "tony.worker.instances": 1,
                            "tony.application.prepare-stage": "db",
                            "tony.db.command": "exit 1", "tony.worker.command": "echo started"})
    assert answer.returncode == 1
    assert job.logs("worker:0") == ""


def test_depends_on_start_and_finish(tony):
    go = tony.directory / "go"
    job = tony.submit({"tony.db.instances": 1, "tony.cache.instances": 1, "tony.worker.instances": 1,
                       "tony.cache.depends-on": "db:start", "tony.worker.depends-on": "db:finish",
                       "tony.db.command": f"./exit_after.sh {go} 0",
                       "tony.cache.command": f"./exit_after.sh {go} 0", "tony.worker.command": "true"})
    job.wait_task("cache:0")
    assert job.task("worker:0")["state"] == "waiting"
    go.touch()
    assert job.wait() == 0


@pytest.mark.promise("R6")
def test_memory_limit_ends_the_task_not_the_machine(tony):
    eat = "x = bytearray(400 << 20); import time; time.sleep(1000)"
    answer, job = tony.job({"tony.worker.instances": 1, "tony.worker.memory": "100m",
                            "tony.worker.command": f"{PYTHON} -c '{eat}'"})
    assert answer.returncode != 0
    cause = job.status()["cause"]
    assert cause["kind"] == "out-of-memory", cause
    assert "tony.worker.memory" in answer.stdout + answer.stderr


@pytest.mark.promise("R1")
@pytest.mark.parametrize("tell", ["open(os.environ['TONY_PROGRESS_FILE'], 'w').write(str(n))",
                                  "import json; open(os.environ['TONY_METRICS_FILE'], 'a').write("
                                  "json.dumps(dict(step=n, loss=1)) + chr(10))"], ids=["progress", "metrics"])
def test_the_same_memory_limit_is_not_met_in_vain(tony, tell):
    """Each start gets a step further, but the third."""
    eat = "import os; p = os.environ['TONY_CHECKPOINT_DIR'] + '/step'; " \
          "n = min(int(open(p).read()) + 1, 2) if os.path.exists(p) else 1; open(p, 'w').write(str(n)); " \
          f"{tell}; x = bytearray(400 << 20); " \
          "import time; time.sleep(1000)"
    answer, job = tony.job({"tony.worker.instances": 1, "tony.worker.memory": "100m", "tony.am.retry-count": 9,
                            "tony.am.retry-delay": "10ms", "tony.worker.command": f'{PYTHON} -c "{eat}"'})
    assert answer.returncode == 1
    assert job.status()["cause"]["kind"] == "out-of-memory" and job.status()["cause"]["step"] == 2
    assert job.status()["epoch"] == 3, job.events()
    assert any("it met the same memory limit before, and has got no further since" in event.get("text", "")
               for event in job.events())


def test_what_is_started_again_inside_of_a_task_is_told(tony):
    """As torchrun says it."""
    failed = "E1121 11:50:35.388000 14130 api.py:1002] failed (exitcode: -9) local_rank: 1 (pid: 7) of binary: python3"
    answer, job = tony.job({"tony.worker.instances": 1}, "--executes",
                           f"for i in 1 2 3; do echo '{failed}' >&2; echo 'rank 1 begins' >&2; done")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    told = [event["text"] for event in job.events() if "inside of it" in event.get("text", "")]
    assert told, job.events()
    assert re.fullmatch(r"worker:0 goes on after \d failures? inside of it, the last: "
                        r"torchrun: rank 1 here was killed by signal 9 \(SIGKILL\)", told[0]), told


def test_a_breakpoint_has_a_remedy(tony):
    answer, job = tony.job({"tony.worker.instances": 1}, "--executes", f"{PYTHON} -c 'breakpoint()'")
    assert answer.returncode == 1
    assert "take breakpoint() out" in answer.stdout + answer.stderr, answer.stdout + answer.stderr


def test_the_cause_in_words(tony):
    job = tony.submit({"tony.worker.instances": 1}, "--executes", "sleep 1000")
    os.kill(job.wait_task("worker:0")["pids"][0], signal.SIGSEGV)
    waited = tony.run("wait", job.id)
    assert waited.returncode != 0
    assert "SIGSEGV" in job.status()["cause"]["text"]


def test_traceback_becomes_the_headline(tony):
    answer, job = tony.job({"tony.worker.instances": 1,
                            "tony.worker.command": f"{PYTHON} -c 'raise ValueError(\"no such column\")'"})
    assert answer.returncode == 1
    assert job.status()["cause"]["headline"] == "ValueError: no such column"
    assert "ValueError: no such column" in answer.stdout + answer.stderr


def test_executors_outlive_a_busy_am(tony):
    """An AM that does not answer for less than the give-up time costs nothing."""
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 2}, "--executes", f"./exit_after.sh {go} 0")
    before = job.wait_task("worker:0")
    am = job.status()["am_pid"]
    os.kill(am, signal.SIGSTOP)
    answer = tony.run("status", job.id)  # it asks the AM for 10 s
    assert answer.returncode == 0 and f"the application master of {job.id} does not answer" in answer.stderr, answer
    os.kill(am, signal.SIGCONT)
    assert job.wait_task("worker:0")["pids"] == before["pids"]
    go.touch()
    assert job.wait() == 0


@pytest.mark.promise("R22")
def test_a_task_that_somebody_stopped_is_found(tony):
    """Its executor beats on, and nothing else would ever tell."""
    job = tony.submit({"tony.worker.instances": 2, "tony.worker.frozen-timeout": "300ms",
                       "tony.am.retry-count": 1, **FAST},
                      "--executes", "if [ $TONY_EPOCH = 1 ]; then sleep 1000; fi")
    job.wait_task("worker:0")
    os.kill(job.wait_task("worker:1")["pids"][0], signal.SIGSTOP)
    assert job.wait() == 0
    assert any("worker:1: ended, frozen: process" in event.get("text", "") for event in job.events())
