"""tony.task: a program knows which task it is, tells how far it is, and meets the others."""

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import tony
from conftest import PACKAGE, SMALL, wait_until
from patience import PATIENCE_S
from tony import task

OFTEN = {"tony.task.metrics-interval-ms": "100"}


def write(program):
    Path("program.py").write_text(f"from tony import task\n{program}")


def printed(job):
    job.wait()
    return [str(line) for line in job.logs(stream="stdout")]


def test_a_program_knows_which_task_it_is(home):
    write("import json; print(json.dumps([task.active, task.name, task.type, task.index, task.count, task.process, task.rank,"
          "task.world_size, task.epoch, task.attempt, task.restart, task.address in task.peers['worker'], len(task.peers['worker']),"
          "task.preempted, task.job_id, task.checkpoint_dir.is_dir(), task.output_dir.name]))")
    job = tony.submit("program.py", workers=2, processes=2, **SMALL)
    told = sorted(json.loads(line) for line in printed(job))
    assert told == [[True, f"worker:{index}", "worker", index, 2, process, 2 * index + process, 4, 1, 1, 0, True, 2, None, job.id, True,
                     f"worker-{index}"] for index in range(2) for process in range(2)]
    conf = {"tony.application.stop-after-chief": "false"}
    job = tony.submit("program.py", workers=1, types={"chief": 1}, framework="pytorch", conf=conf, **SMALL)
    assert {tuple(json.loads(line)[1:8:5]) for line in printed(job)} == {("chief:0", 0), ("worker:0", 1)}, "ranks are the framework's"


def test_numbers_become_curves(home):
    write("for step in range(1, 6): task.report(step, steps=5, loss=1 / step, gap=float('inf'), run='a')\n"
          "task.report(accuracy=0.5)")
    job = tony.submit("program.py", conf=OFTEN, **SMALL)
    job.wait()
    loss = job.metrics("loss")
    assert [point.step for point in loss] == [1, 2, 3, 4, 5] and [point.run for point in loss] == ["a"] * 5
    assert [round(point.value, 3) for point in loss] == [1, 0.5, 0.333, 0.25, 0.2] and job.metrics().last("accuracy") == 0.5
    assert all(math.isnan(point.value) for point in job.metrics("gap")) and math.isnan(job.metrics().last("gap"))
    assert (loss.least("loss").step, loss.most("loss").step, job.metrics().least("gap")) == (5, 1, None)
    frame = loss.to_pandas()
    assert list(frame["step"]) == [1, 2, 3, 4, 5] and str(frame["time"].dtype) == "datetime64[ns, UTC]"


def test_progress_is_shown(home):
    go = home.directory / "go"
    write(f"import os, time\ntask.report(3, steps=4)\nwhile not os.path.exists('{go}'): time.sleep(0.01)")
    job = tony.submit("program.py", conf=OFTEN, **SMALL)
    wait_until(lambda: job.status().task("driver:0").step == 3, "its step")
    wait_until(lambda: job.status().done == 0.75, "the share that is done")
    go.touch()
    job.wait()


MEET = """
import pathlib, sys, time
trace = pathlib.Path(sys.argv[1])
for turn in range(5):
    (trace / f"{turn}-{task.index}-{task.process}").touch()
    task.barrier()
    assert len(list(trace.glob(f"{turn}-*"))) == task.count * 2, turn
task.store.put(f"value/{task.index}", b"x" * task.index)
task.barrier("end", types=["worker"], timeout=60)
assert [len(task.store.get(f"value/{index}")) for index in range(task.count)] == list(range(task.count))
assert task.store.get("none") is None and task.store.get("none", timeout=0.1) is None
"""


@pytest.mark.promise("P7")
def test_tasks_meet_at_a_barrier(home):
    write(MEET)
    Path("trace").mkdir()
    tony.submit("program.py", str(home.directory / "trace"), workers=3, processes=2, **SMALL).wait()


RESTARTED = """
import os, pathlib, time
directory = pathlib.Path(os.environ["TRACE"])
task.barrier()
if task.index == 1 and task.restart == 0:
    raise SystemExit(1)
task.barrier()
(directory / f"there-{task.index}").touch()
while task.index == 0 and not (directory / "go").exists():
    time.sleep(0.01)
task.barrier()
"""


@pytest.mark.promise("P7")
def test_a_barrier_outlives_a_program_and_an_application_master(home):
    write(RESTARTED)
    job = tony.submit("program.py", workers=2, max_restarts=1, env={"TRACE": str(home.directory)}, **SMALL)
    wait_until((home.directory / "there-1").exists, "the program that was started anew")
    home.job_class(home, job.id).kill_am()
    (home.directory / "go").touch()
    assert job.wait().task("worker:1").restart == 1


def test_who_has_not_come_is_named(home):
    write("""
if task.index == 0:
    try: task.barrier("meet", timeout=0.2)
    except Exception as error: print(error)
    task.store.put("told", b"")
else:
    task.store.get("told", timeout=600)
""")
    lines = printed(tony.submit("program.py", workers=3, **SMALL))
    assert lines == ['barrier "meet/worker": waited 0.2 s in vain for worker:1, worker:2']


def test_a_barrier_that_a_task_never_comes_to_is_left(home):
    write("from tony import _barrier\n_barrier._LOOK_S = 0.1\nif task.index == 1: raise SystemExit(3)\ntry: task.barrier()\nexcept Exception as error: print(error)")
    job = tony.submit("program.py", workers=2, **SMALL)
    job.wait(check=False)
    assert [str(line) for line in job.logs("worker:0")] == ['barrier "barrier/worker": worker:1 has ended (failed) and never comes']


def test_bad_calls_are_told(home):
    write("""
def told(call):
    try: call()
    except (Exception) as error: print(f"{type(error).__name__}: {error}")
told(lambda: task.barrier(types=["ps"]))
told(lambda: task.barrier(types=[]))
told(lambda: task.store.put("big", bytes(2 << 20)))
told(lambda: task.store.get("k" * 513))
told(lambda: task.report(loss="much"))
told(lambda: task.nothing)
""")
    assert printed(tony.submit("program.py", **SMALL)) == [
        "TaskError: barrier: the job has no task type ps; it has driver",
        "TaskError: barrier: driver:0/0 is none of those that it waits for; name its type, too",
        "TaskError: big: 2097152 bytes are over 1 MiB; leave them in tony.task.checkpoint_dir, and put the path",
        f'TaskError: the key "{"k" * 40}" has not 1 to 512 bytes',
        "TypeError: report: loss='much' is no number",
        "AttributeError: module 'tony.task' has no attribute 'nothing'",
    ]


def test_outside_of_a_task_all_but_reports_is_refused(home):
    assert not task.active
    task.report(1, steps=2, loss=0.5)
    for call in (lambda: task.name, lambda: task.rank, lambda: task.peers, lambda: task.on_preempt(print), task.barrier,
                 lambda: task.store.get("a")):
        with pytest.raises(tony.TaskError, match="runs in no task of tony"):
            call()


def test_an_application_master_that_is_gone_is_told(home, monkeypatch):
    monkeypatch.setattr("tony._store.PATIENCE_S", 0.1)
    monkeypatch.setenv("TONY_AM_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("TONY_TOKEN_FILE", "/dev/null")
    with pytest.raises(tony.TaskError, match="at http://127.0.0.1:1 does not answer: .*refused"):
        task.store.get("a")


PREEMPTED = """
import sys, time
task.on_preempt(lambda reason: print("saves:", reason, flush=True))
try:
    print("ready", flush=True)
    while True: time.sleep(0.01)
finally:
    print("ends", flush=True)
"""


@pytest.mark.parametrize(("reason", "printed", "code"), [("the queue is over its share", "saves: the queue is over its share\nends\n", 143),
                                                         (None, "", -signal.SIGTERM)])
def test_a_program_hears_of_a_preemption(home, reason, printed, code):
    write(PREEMPTED)
    env = {**os.environ, "TONY_PREEMPTED": str(home.directory / "preempted"), "PYTHONPATH": str(PACKAGE)}
    child = subprocess.Popen([sys.executable, "program.py"], env=env, stdout=subprocess.PIPE, text=True)
    home.children.append(child)
    assert child.stdout.readline() == "ready\n"
    if reason:
        (home.directory / "preempted").write_text(reason + "\n")
    child.terminate()
    assert (child.communicate(timeout=PATIENCE_S)[0], child.returncode) == (printed, code)
