"""Programs that hang are found out by what they do, or by the steps that they tell, and started again."""

import subprocess

import pytest
from conftest import PYTHON, wait_until

KEYS = {"tony.worker.instances": 1, "tony.worker.stop-grace": "100ms", "tony.worker.max-restarts": 1,
        "tony.am.retry-delay": "10ms"}


def causes(job):
    return [event["cause"] for event in job.events() if event["ev"] == "task" and "cause" in event]


@pytest.mark.promise("R19")
def test_who_tells_no_further_step_is_ended_and_started_again(tony):
    answer, job = tony.job({**KEYS, "tony.worker.hang-timeout": "5s"}, "--executes", f"{PYTHON} hang_once.py")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert job.task("worker:0")["restarts_used"] == 1
    cause = causes(job)[0]
    assert cause["kind"] == "hung" and "it told no further step for" in cause["text"]
    assert "went on" in job.logs("worker:0")


@pytest.mark.promise("R18", "R20")
def test_who_does_nothing_is_ended_and_where_it_stood_is_told(tony):
    answer, job = tony.job({**KEYS, "tony.worker.max-restarts": 0, "tony.worker.hang-timeout": "300ms"},
                           "--executes", f"exec {PYTHON} -c 'import threading; threading.Event().wait()'")
    assert answer.returncode == 1
    cause = job.status()["cause"]
    assert cause["kind"] == "hung" and "nothing was written, read or computed" in cause["text"]
    assert any(line.startswith("hang-stacks.txt: process ") for line in cause["tail"])
    assert "threading.Event().wait()" in job.logs("worker:0", "hang-stacks.txt")
    assert "raise tony.worker.hang-timeout" in answer.stdout + answer.stderr


def test_progress_is_shown(tony):
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 1, "tony.task.metrics-interval-ms": 100},
                      "--executes", f'echo 30/120 >"$TONY_PROGRESS_FILE"; ./exit_after.sh {go} 0')
    told = wait_until(lambda: (metrics := job.task("worker:0").get("metrics", {})).get("step") is not None and metrics,
                      "the step to be told")
    assert (told["step"], told["steps"]) == (30, 120)
    go.touch()
    assert job.wait() == 0


OTHERS = {"a busy shell": "echo busy; while :; do :; done",
          "many short commands": "echo busy; while :; do head -c 100000 /dev/zero | wc -c >/dev/null; done"}


@pytest.mark.parametrize("isolation", ["none", "pid-namespace"])
@pytest.mark.parametrize("command", OTHERS.values(), ids=OTHERS)
def test_a_shell_in_a_task_is_no_sign_of_its_life(tony, command, isolation):
    job = tony.submit({**KEYS, "tony.worker.max-restarts": 0, "tony.worker.hang-timeout": "2s", "tony.worker.isolation": isolation},
                      "--executes", "exec sleep 1000")
    job.wait_task("worker:0")
    shell = tony.start("exec", job.id, "--", "sh", "-c", command, stdout=subprocess.PIPE)
    assert shell.stdout.readline() == "busy\n"
    assert job.wait() == 1
    assert job.status()["cause"]["kind"] == "hung"
    assert shell.wait() != 0


def test_asking_the_gpus_is_no_sign_of_life(tony, tmp_path):
    """The executor asks while it measures, and what it starts for that reads."""
    smi = tmp_path / "nvidia-smi"
    smi.write_text('#!/bin/sh\nhead -c $(($$ % 100 * 9000 + 9000)) /dev/zero >/dev/null\nsleep 1\necho "0, GPU-0, 0, 0, 8192, 40"\n')
    smi.chmod(0o755)
    answer, job = tony.job({**KEYS, "tony.worker.max-restarts": 0, "tony.worker.hang-timeout": "3s", "tony.worker.gpus": 1,
                            "tony.local.gpus": 1, "tony.task.gpu-command": smi, "tony.task.metrics-interval-ms": 100},
                           "--executes", "exec sleep 1000")
    assert answer.returncode == 1
    assert job.status()["cause"]["kind"] == "hung"
