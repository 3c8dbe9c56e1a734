"""tony stacks: where the processes of all tasks stand, equal ones once."""

import json
import os
import signal

import pytest
import schemas
from conftest import PYTHON, wait_until
from program import venv_bin

KINDS = {"plain": {}, "tls": {"tony.application.tls": "true"}, "namespace": {"tony.worker.isolation": "pid-namespace"}}

# As py-spy prints; worker:1 stands elsewhere, and no two processes have the same numbers.
PY_SPY = """#!/bin/sh
echo "$@" >>"{told}"
index=$(tr '\\0' '\\n' <"/proc/$3/environ" | sed -n s/^TASK_INDEX=//p)
echo "Process $3: python3 train.py"
echo "Python v3.11.2 (/usr/bin/python3.11)"
echo
if [ "$index" != 1 ]; then echo "Thread $3$index (idle): \\"MainThread\\""; echo "    all_reduce (distributed.py:12)"
else echo "Thread 7 (active): \\"MainThread\\""; echo "    load (data.py:3)"; fi
echo "    <module> (train.py:40)"
"""
SLEEP = f"exec {PYTHON} -c 'import time; time.sleep(1000)'"


def submit(tony, tasks, command, keys=None):
    job = tony.submit({"tony.worker.instances": tasks, "tony.worker.memory": "64m", **(keys or {})}, "--executes", command)
    for index in range(tasks):
        job.wait_task(f"worker:{index}")
    return job


@pytest.fixture
def py_spy(tony):
    """Puts a program of that name into the PATH of tasks."""
    folder = tony.directory / "tools"
    folder.mkdir()

    def write(script=PY_SPY):
        (folder / "py-spy").write_text(script.replace("{told}", str(folder / "told")))
        (folder / "py-spy").chmod(0o755)
        return {"tony.worker.envs": f"PATH={folder}:{os.environ['PATH']}"}

    return write


def stacks(tony, *words):
    return schemas.check("stacks", json.loads(tony.run("stacks", "--json", *words).stdout))


@pytest.mark.parametrize("keys", KINDS.values(), ids=KINDS)
def test_equal_stacks_are_shown_once(tony, py_spy, keys):
    job = submit(tony, 4, SLEEP, {**keys, **py_spy()})
    answer = tony.run("stacks", job.id)
    assert answer.returncode == 0, answer.stderr
    head, *groups = answer.stdout.split("\n\n")
    assert head.strip() == f"{job.id}: 4 of 4 tasks answered"
    first, second = (group.splitlines() for group in groups)
    assert first[0].startswith("worker:0, worker:2-3: 3 processes python3") and "time.sleep(1000)" in first[0]
    assert first[1:4] == ['  Thread (idle): "MainThread"', "      all_reduce (distributed.py:12)", "      <module> (train.py:40)"]
    assert first[4].startswith("  1 thread python3") and "S (sleeping), in the kernel at " in first[4]
    assert second[0].startswith("worker:1: 1 process python3") and second[2] == "      load (data.py:3)"
    for line in (tony.directory / "tools/told").read_text().splitlines():
        assert line.startswith("dump --pid ") and line.endswith(" --nonblocking")


def test_processes_without_python_stand_in_the_kernel(tony):
    job = submit(tony, 3, "sleep 1000 & exec cat /proc/self/fd/1 </dev/null >/dev/null & wait")
    told = stacks(tony, job.id)
    assert [task["task"] for task in told["tasks"]] == ["worker:0", "worker:1", "worker:2"]
    sleeping = next(group for group in told["groups"] if group["command"] == "sleep 1000")
    assert sleeping["tasks"] == ["worker:0", "worker:1", "worker:2"] and sleeping["processes"] == 3
    assert len(sleeping["lines"]) == 1 and sleeping["lines"][0].startswith("1 thread sleep: S (sleeping), in the kernel at ")


def test_python_without_py_spy_says_so(tony):
    job = submit(tony, 1, SLEEP)
    answer = tony.run("stacks", job.id, "worker:0")
    assert answer.returncode == 0
    assert "no py-spy is in the task's PATH or beside its interpreter" in answer.stdout and "S (sleeping)" in answer.stdout


def test_py_spy_of_the_interpreters_environment_is_found(tony, py_spy):
    """As `pip install py-spy` puts it there; the task's PATH has none."""
    py_spy()
    (tony.directory / "tools/python3").symlink_to(os.path.realpath(PYTHON))
    job = submit(tony, 1, f"exec {tony.directory}/tools/python3 -c 'import time; time.sleep(1000)'")
    assert "all_reduce (distributed.py:12)" in tony.run("stacks", job.id).stdout


@pytest.mark.parametrize("script, text", [
    ("echo 'Error: Permission Denied: Try running again with elevated permissions' >&2; exit 1", "py-spy may not look at it (Error: Perm"),
    ("echo 'Error: Failed to find python version' >&2; exit 1", "py-spy failed: Error: Failed to find python version"),
    ("exec sleep 1000", "py-spy gave no answer within 5 s")])
def test_the_reason_is_told_why_there_are_no_python_stacks(tony, py_spy, script, text):
    job = submit(tony, 1, SLEEP, py_spy(f"#!/bin/sh\n{script}\n"))

    def asleep():
        told = stacks(tony, job.id)
        process, = told["tasks"][0]["processes"]
        return process["threads"][0]["state"] == "S (sleeping)" and (told, process)

    told, process = wait_until(asleep, "the program to sleep")
    assert process["problem"].startswith(text)
    assert ("CAP_SYS_PTRACE" in process["problem"]) == ("may not" in text)
    assert process["problem"] in told["groups"][0]["lines"]


def test_a_task_that_does_not_answer_is_named(tony):
    job = submit(tony, 3, "exec sleep 1000", {"tony.late.instances": 2, "tony.late.command": "true", "tony.late.memory": "64m",
                                              "tony.late.depends-on": "worker"})
    executor = job.task("worker:1")["executor_pid"]
    os.kill(executor, signal.SIGSTOP)
    try:
        answer = tony.run("stacks", "--timeout", "2s", job.id)
    finally:
        os.kill(executor, signal.SIGCONT)
    assert answer.returncode == 5
    lines = answer.stdout.splitlines()
    assert lines[0] == f"{job.id}: 2 of 5 tasks answered"
    assert "worker:1: it did not answer within 2.0 s" in lines and "late:0-1: it runs no program" in lines, lines
    assert any(line.startswith("worker:0, worker:2: 2 processes sleep") for line in lines)


def test_commands_of_people_are_none_of_the_tasks(tony):
    job = submit(tony, 1, "exec sleep 1000")
    shell = tony.start("exec", job.id, "--", "sh", "-c", "sleep 777 & wait")
    wait_until(lambda: "sleep 777" in tony.run("exec", job.id, "--", "ps", "-e", "-o", "args").stdout, "the command")
    assert [group["command"] for group in stacks(tony, job.id)["groups"]] == ["sleep 1000"]
    shell.terminate()
    assert shell.wait() != 0


def test_asking_is_no_sign_of_life(tony):
    job = submit(tony, 1, "exec sleep 1000", {"tony.worker.hang-timeout": "3s"})
    wait_until(lambda: tony.run("stacks", job.id).returncode != 0, "the task to be ended, whoever asks")
    assert job.wait() == 1 and job.status()["cause"]["kind"] == "hung"


def test_what_is_refused(tony):
    job = submit(tony, 1, "exec sleep 1000", {"tony.am.allow-exec": "false"})
    for words, code, text in [((job.id, "worker:9"), 4, "has no task"), ((job.id, "ps"), 4, "has no task"),
                              (("no-such-job",), 4, "no-such-job"), ((job.id, "worker", "more"), 2, "too many arguments"),
                              (("--timeout", "soon", job.id), 2, "is no time"), (("--timeout", "0", job.id), 2, "is no time")]:
        answer = tony.run("stacks", *words)
        assert (answer.returncode, text in answer.stderr) == (code, True), (words, answer.stderr)
    answer = tony.run("stacks", job.id)
    assert answer.returncode == 5 and "tony.am.allow-exec is false" in answer.stdout
    assert tony.run("kill", job.id).returncode == 0
    ended = tony.run("stacks", job.id)
    assert ended.returncode == 4 and "has already ended" in ended.stderr


TRAIN = """
import os, threading, time
def all_reduce(): threading.Event().wait()
def load(): time.sleep(1000)
load() if os.environ["TASK_INDEX"] == "1" else all_reduce()
"""


@pytest.mark.slow
@pytest.mark.parametrize("keys", KINDS.values(), ids=KINDS)
def test_the_real_py_spy_tells_pythons_stacks(tony, keys):
    """That of the interpreter's virtual environment; in a namespace of processes, too."""
    (tony.directory / "train.py").write_text(TRAIN)
    job = submit(tony, 3, f"exec {venv_bin('py-spy')}/python {tony.directory}/train.py", keys)

    def first_lines():
        return {tuple(group["tasks"]): group["lines"][:5] for group in stacks(tony, job.id)["groups"]}

    told = wait_until(lambda: len(lines := first_lines()) == 2 and "all_reduce" in str(lines) and lines, "all to stand")
    waiting, loading = told["worker:0", "worker:2"], told["worker:1",]
    assert all(lines[0].endswith('): "MainThread"') for lines in (waiting, loading))
    assert "    all_reduce (train.py:3)" in waiting and "    load (train.py:4)" in loading
