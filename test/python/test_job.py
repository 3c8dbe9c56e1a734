"""tony.Job: jobs are submitted, looked at and ordered about, and what goes wrong is an exception in words."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import tony
from conftest import BUILD, SMALL, environment, wait_until
from patience import PATIENCE_S

ENDLESS = ["sleep", "1000"]


def wait_task(job, name, state="running"):
    wait_until(lambda: job.status().task(name).state == state, f"{name} {state}")


@pytest.mark.promise("P1")
def test_a_job_is_submitted_watched_and_read(home):
    Path("train.py").write_text("import sys; print('in', sys.argv[1:]); print('bad', file=sys.stderr)\n")
    job = tony.submit("train.py", "--epochs", 3, workers=2, name="digits", tags={"sweep"}, **SMALL)
    changes = []
    status = job.wait(on_change=changes.append)
    assert status.succeeded and status.ended and status.exit_code == 0 and status.name == "digits"
    assert [task.name for task in status.tasks] == ["worker:0", "worker:1"]
    task = status.task("worker:1")
    assert (task.type, task.index, task.state, task.attempt) == ("worker", 1, "succeeded", 1)
    with pytest.raises(KeyError, match="worker:0, worker:1"):
        status.task("ps:0")
    first = [change for change in changes if change.task == "worker:0"]
    assert [change.before for change in first[1:]] == [change.after for change in first[:-1]]
    assert (first[0].before, first[-1].after) == ("waiting", "succeeded")
    lines = list(job.logs())
    assert {(line.task, line.log, str(line)) for line in lines if line.log == "stdout"} == {
        ("worker:0", "stdout", "in ['--epochs', '3']"), ("worker:1", "stdout", "in ['--epochs', '3']")}
    assert all(line.time > 1.7e9 for line in lines)
    assert [str(line) for line in job.logs("worker:1", stream="stderr")] == ["bad"]
    assert len(list(job.logs(grep="in .*epochs"))) == 2 and not list(job.logs(grep="nowhere"))
    events = list(job.events())
    assert [event.seq for event in events] == list(range(1, len(events) + 1)) and events[-1].kind == "final"
    assert next(job.events(since=3)).seq == 3
    assert tony.Job("digits") == tony.Job() == job and tony.jobs() == [] and tony.jobs(all=True, tag="sweep") == [job]
    job.remove()
    assert not tony.jobs(all=True)
    with pytest.raises(tony.NotFound):
        job.status()


@pytest.mark.promise("P2")
def test_a_failure_is_raised_with_its_first_cause(home):
    job = tony.submit(["sh", "-c", "echo ValueError: no data >&2; exit 3"], workers=2, **SMALL)
    with pytest.raises(tony.JobFailed, match=r"worker:. .*exited with code 3: ValueError: no data; tony logs --task worker") as caught:
        job.wait()
    cause = caught.value.cause
    assert (cause.kind, cause.exit_code, cause.headline) == ("exit", 3, "ValueError: no data") and cause.task.startswith("worker:")
    assert caught.value.exit_code == 1 and not job.wait(check=False).succeeded


def test_logs_and_events_come_while_the_job_runs(home):
    go = home.directory / "go"
    job = tony.submit(["sh", "-c", f"echo first; until [ -e {go} ]; do sleep 0.01; done; printf back; sleep 1; echo wards"], **SMALL)
    lines = job.logs(follow=True)
    assert str(next(lines)) == "first" and not go.exists()
    left = job.logs(follow=True)
    next(left)
    left.close()
    running = next(change for change in job.changes(follow=True) if change.after == "running")
    assert running.task == "driver:0"
    go.touch()
    assert [str(line) for line in lines] == ["backwards"]


def test_jobs_wait_for_each_other_and_to_be_released(home):
    first = tony.submit(["true"], hold=True, priority=3, **SMALL)
    second = tony.submit(["false"], after=[first], **SMALL)
    third = tony.submit(["true"], after=f"{second.id}:any", begin="now+1s", **SMALL)
    wait_until(lambda: first.status().waiting and second.status().waiting, "both to say for what they wait")
    assert first.status().state == second.status().state == "submitted" and "release" in first.status().waiting
    assert first.id in second.status().waiting
    first.release()
    assert third.wait().succeeded
    raw = [job.status().raw for job in (first, second, third)]
    assert [job["state"] for job in raw] == ["succeeded", "failed", "succeeded"], "any end is enough for the third"
    assert raw[0]["ended_ms"] <= raw[1]["running_ms"] and raw[1]["ended_ms"] <= raw[2]["running_ms"]
    assert raw[2]["running_ms"] - raw[2]["submitted_ms"] >= 1000


def test_an_array_is_a_list_of_jobs(home):
    array = tony.submit(["sh", "-c", "echo $TONY_ARRAY_TASK_ID; test $TONY_ARRAY_TASK_ID != 4"], array="2-4", name="sweep", **SMALL)
    assert isinstance(array, tony.Array) and len(array) == 3 and array.id in repr(array)
    statuses = array.wait(check=False)
    assert [status.state for status in statuses] == ["succeeded", "succeeded", "failed"]
    assert [[str(line) for line in job.logs(stream="stdout")] for job in array] == [["2"], ["3"], ["4"]]
    with pytest.raises(tony.JobFailed, match="sweep_4 failed"):
        array.wait()
    array.remove()
    assert tony.jobs(all=True) == []
    with pytest.raises(tony.BadSubmission, match="array"):
        tony.submit(["true"], array="4-2", **SMALL)


def test_an_array_of_a_function_is_released_and_killed_together(home):
    def number():
        from tony import task
        return task.array_index

    array = tony.submit(number, array=[1, 7], hold=True, memory="256m")
    assert [job.status().state for job in array] == ["submitted"] * 2
    with pytest.raises(tony.WaitTimeout):
        array.wait(0.1)  # patience: they wait for ever
    array.release()
    assert [job.value() for job in array] == [1, 7]
    array = tony.submit(ENDLESS, array=range(2), **SMALL)
    wait_task(array[1], "driver:0")
    array.kill("enough")
    assert {status.state for status in array.wait(check=False)} == {"killed"}


def test_a_job_is_scaled_restarted_and_killed(home):
    job = tony.submit(ENDLESS, workers=1, conf={"tony.worker.min-instances": 1, "tony.worker.max-instances": 2}, **SMALL)
    wait_task(job, "worker:0")
    job.scale(worker=2)
    wait_task(job, "worker:1")
    wait_task(job, "worker:0")
    before = job.status().task("worker:0")
    job.restart("worker:0")
    wait_until(lambda: job.status().task("worker:0").restart > before.restart, "another process")
    assert (job.status().task("worker:0").attempt, job.status().task("worker:1").restart) == (before.attempt, 0)
    with pytest.raises(tony.BadSubmission, match="1 to 2 tasks"):
        job.scale(worker=3)
    with pytest.raises(tony.WaitTimeout, match="still runs"):
        job.wait(0.1)  # patience: it runs for ever
    with pytest.raises(TimeoutError, match="still runs"):
        job.wait(0.1, on_change=lambda change: None)  # patience: likewise
    job.kill("enough")
    with pytest.raises(tony.JobKilled, match="enough"):
        job.wait()
    with pytest.raises(tony.NotFound):
        job.kill()


def test_a_block_that_is_left_by_an_exception_ends_its_job(home):
    with pytest.raises(ZeroDivisionError), tony.submit(ENDLESS, **SMALL) as job:
        wait_task(job, "driver:0")
        raise ZeroDivisionError
    assert job.status().state == "killed"
    with tony.submit(["true"], **SMALL) as job:
        pass
    assert job.status().succeeded


def test_what_a_callback_raises_ends_the_wait_and_no_more(home):
    def stop(change):
        raise ZeroDivisionError

    job = tony.submit(ENDLESS, **SMALL)
    with pytest.raises(ZeroDivisionError):
        job.wait(on_change=stop)
    wait_task(job, "driver:0")


def test_results_come_home(home):
    job = tony.submit(["sh", "-c", 'echo 0.93 > "$TONY_OUTPUT_DIR/accuracy"'], workers=2, **SMALL)
    job.wait()
    assert Path(job.results(), "worker-1", "accuracy").read_text() == "0.93\n"
    there = job.results("models")
    assert there == str(home.directory / "models" / job.id) and Path(there, "worker-0", "accuracy").exists()
    assert job.advice() == json.loads(home.run("advise", "--json", job.id).stdout)["advice"]


def test_variables_are_not_in_argument_lists(home):
    secret = home.directory / "secret"
    secret.write_text("hidden\n")
    job = tony.submit(["sh", "-c", "echo $A-$B-$HIDDEN-${HOME:-none}; cat /proc/$PPID/cmdline"], env={"A": "first value", "B": "", "HOME": None},
                      secrets={"HIDDEN": secret}, **SMALL)
    job.wait()
    assert [str(line) for line in job.logs()][0] == "first value--hidden-none"
    arguments, own = tony._submit.words({"env": {"A": "first value", "PATH": "/bin"}})
    assert arguments == ["--env", "A", "--env", "PATH=/bin"] and own == {"A": "first value"}


def test_a_job_file_and_keys_are_taken(home):
    Path("job.yaml").write_text("tony: {application: {name: filed}, worker: {instances: 2, memory: 64m, command: 'echo $TASK_INDEX'}}")
    job = tony.submit(conf_file="job.yaml", conf={"tony.application.tags": "x"})
    assert job.wait().name == "filed" and sorted(map(str, job.logs())) == ["0", "1"]
    with pytest.raises(tony.BadSubmission, match="no program for arguments"):
        tony.submit(None, "3", conf_file="job.yaml")


@pytest.mark.parametrize(("program", "options", "words"), [
    (["true"], {"workers": 0}, "asks for no task"),
    (["true"], {"memory": "2q"}, "2q"),
    (["true"], {"conf": {"tony.nonsense": 1}}, "tony.nonsense"),
    (["true"], {"conf_file": "missing.xml"}, "missing.xml"),
    ("python3 train.py", {}, r"write a list, \['python3', 'train.py'\]"),
    (["true"], {"env": {"A=B": "1"}}, "no name of a variable"),
    (["a\0b"], {}, "NUL"),
    (5, {}, "program: takes a script, a list of words, a function or None; it is 5"),
    (b"true", {}, "program: takes"),
    (["true"], {"conf": ["a=b"]}, "conf: takes a dictionary, such as {.*}; it is of the type list"),
    (["true"], {"env": "A=1"}, "env: takes a dictionary"),
    (["true"], {"secrets": "A=1"}, "secrets: takes a dictionary"),
    (["true"], {"types": ["chief"]}, "types: takes a dictionary"),
    (print, {"kwargs": ["end"]}, "kwargs: takes a dictionary"),
    (["true"], {"timeout": [1]}, r"timeout.*\[1\]"),
    (["true"], {"array": 5}, "array: takes .* list of numbers; it is 5"),
])
@pytest.mark.promise("P2")
def test_bad_input_is_told_and_starts_nothing(home, program, options, words):
    with pytest.raises(tony.BadSubmission, match=words):
        tony.submit(program, **options)
    assert home.ids() == []


def test_an_option_that_is_none_is_told(home):
    with pytest.raises(TypeError, match="gpu; help"):
        tony.submit(["true"], gpu=1)
    assert "workers: 'int'" in str(__import__("inspect").signature(tony.submit))


def test_a_machine_without_tony_is_told_what_to_do(home, monkeypatch):
    monkeypatch.setenv("TONY_PROGRAM", "/nowhere/tony")
    with pytest.raises(tony.NotInstalled, match=r"/nowhere/tony: No such file.*the wheel of tony brings the program"):
        tony.submit(["true"])
    monkeypatch.delenv("TONY_PROGRAM")
    monkeypatch.setattr("tony._program._folders", lambda: iter([home.directory]))
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(tony.NotInstalled, match="nor in PATH; the wheel of tony brings it"):
        tony.jobs()


def test_a_job_that_is_not_there_is_told(home):
    with pytest.raises(tony.NotFound, match='no job "nosuch"'):
        tony.Job("nosuch")
    with pytest.raises(tony.NotFound):
        tony.Job("--all")


@pytest.mark.parametrize("of", [tony.Job, tony.attach, tony.aio.Job, lambda name: asyncio.run(tony.aio.find(name)),
                                lambda name: tony.submit(["true"], after=[name], **SMALL)])
@pytest.mark.promise("P2")
def test_a_variable_that_is_not_set_names_no_job(home, monkeypatch, of):
    """Not the newest one, which kill() and remove() would end."""
    monkeypatch.setenv("TONY_PROGRAM", "/bin/true")
    for name in ("", " ", None, 5):
        with pytest.raises(tony.BadSubmission, match=f"the job is {name!r}: is a variable not set?"):
            of(name)


@pytest.mark.promise("P2")
def test_an_application_master_that_is_gone_is_told(home):
    job = tony.submit(ENDLESS, **SMALL)
    wait_task(job, "driver:0")
    home.job_class(home, job.id).lose_am()
    with pytest.raises(tony.JobFailed, match="every process of its application master was killed"):
        job.wait()
    with pytest.raises(tony.NotFound):
        job.restart("driver:0")


# ---- Ctrl-C


def start_python(home, code):
    child = subprocess.Popen([sys.executable, "-c", code], env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             start_new_session=True)
    home.children.append(child)
    return child


@pytest.mark.promise("P3")
def test_ctrl_c_in_a_wait_leaves_the_job_alone(home):
    job = tony.submit(ENDLESS, name="stays", **SMALL)
    child = start_python(home, "import tony; print('waits', flush=True); tony.Job('stays').wait(on_change=lambda c: print(c, flush=True))")
    assert child.stdout.readline() == "waits\n" and "TaskChange" in child.stdout.readline()
    os.killpg(child.pid, signal.SIGINT)
    _, err = child.communicate(timeout=PATIENCE_S)
    assert child.returncode != 0 and "KeyboardInterrupt" in err
    assert not job.status().ended


# A submission that goes on after the terminal's Ctrl-C, as one does that was heard of too late.
STUBBORN = """#!/bin/sh
trap heard=1 INT
case $1 in submit) touch {begun}; until [ "$heard" ]; do sleep 0.01; done ;; esac
exec {tony} "$@"
"""


@pytest.mark.promise("P3")
def test_ctrl_c_in_a_submission_leaves_no_job(home):
    """It ends the submission, or what that has started."""
    begun, program = home.directory / "begun", home.directory / "stubborn"
    program.write_text(STUBBORN.format(begun=begun, tony=BUILD / "tony"))
    program.chmod(0o700)
    child = start_python(home, f"import os; os.environ['TONY_PROGRAM'] = '{program}'\nimport tony; tony.submit(['sleep', '1000'])")
    wait_until(begun.exists, "the submission")
    os.killpg(child.pid, signal.SIGINT)
    _, err = child.communicate(timeout=PATIENCE_S)
    assert "KeyboardInterrupt" in err
    assert tony.jobs() == [] and {job.status().state for job in tony.jobs(all=True)} <= {"killed"}


EARLY = """
import os, signal, subprocess
start, first = subprocess.Popen, [True]
def start_and_interrupt(*arguments, **options):
    process = start(*arguments, **options)
    if first: first.clear(); signal.raise_signal(signal.SIGINT)
    return process
subprocess.Popen = start_and_interrupt
import tony
tony.submit(["sleep", "1000"])
"""


@pytest.mark.promise("P3")
def test_ctrl_c_while_a_submission_starts_leaves_no_job(home):
    _, err = start_python(home, EARLY).communicate(timeout=PATIENCE_S)
    assert "KeyboardInterrupt" in err
    assert tony.jobs() == [] and {job.status().state for job in tony.jobs(all=True)} <= {"killed"}


def test_a_job_is_repeated_from_its_checkpoints(home):
    Path("train.py").write_text("import os, pathlib; step = pathlib.Path(os.environ['TONY_CHECKPOINT_DIR'], 'step')\n"
                                "begin = int(step.read_text()) if step.exists() else 0\n"
                                "step.write_text(str(begin + 5)); print('from', begin, os.environ.get('LR'))\n")
    with pytest.raises(tony.NotFound, match="has left no checkpoints"):
        empty = tony.submit(["true"], **SMALL)
        empty.wait()
        empty.rerun(resume=True)
    first = tony.submit("train.py", env={"LR": "1"}, **SMALL)
    first.wait()
    second = first.rerun(resume=True, env={"LR": "2"})
    assert second.wait().raw["rerun_of"] == first.id
    third = second.rerun(["sh", "-c", "ls $TONY_CHECKPOINT_DIR | wc -l"])
    third.wait()
    assert [str(line) for job in (first, second, third) for line in job.logs(stream="stdout")] == ["from 0 1", "from 5 2", "0"]


def test_a_block_has_an_environment_of_its_own(home, monkeypatch):
    monkeypatch.delenv("TONY_PROGRAM")
    state = home.directory / "other"
    with tony.environment({"TONY_PROGRAM": str(BUILD / "tony"), "TONY_STATE_DIR": str(state)}):
        with tony.environment({}, cwd=str(home.directory / "tmp")):
            job = tony.submit(["pwd"], **SMALL)
        assert job.wait().succeeded and [str(line) for line in job.logs()] == [str(home.directory / "tmp")]
        job.remove()
        assert not tony.jobs(all=True)
    assert "TONY_STATE_DIR" in os.environ and Path(os.environ["TONY_STATE_DIR"]) != state
