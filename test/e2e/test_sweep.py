"""Sweeps: many jobs that differ by parameters, submitted, watched and compared by a job."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
import schemas
from conftest import PYTHON, ROOT, find_marked, venv_bin, wait_until, write_xml

USAGE, CONFIG = 2, 3
OFTEN = {"tony.task.metrics-interval-ms": "100", "tony.worker.memory": "32m"}

# Writes down that it ran, and reports its loss at each of its steps.
TRAIN = """
import json, os, pathlib, time
runs = pathlib.Path(os.environ["RUNS"])
x = float(os.environ["TONY_SWEEP_x"])
(runs / f'{os.environ["TONY_TRIAL"]}.{os.environ["TONY_JOB_ID"]}.{os.getpid()}').touch(exist_ok=False)
for step in range(1, int(os.environ["STEPS"]) + 1):
    with open(os.environ["TONY_METRICS_FILE"], "a") as file:
        print(json.dumps({"step": step, "loss": (x - 17) ** 2 + 1 / step}), file=file)
    while (runs / f"wait-{x:g}").exists() or ((runs / "wait").exists() and step > 1):
        time.sleep(0.05)
    time.sleep(float(os.environ["PAUSE"]))
"""


@pytest.fixture
def runs(tony):
    directory = tony.directory / "runs"
    directory.mkdir()
    return directory


def sweep(tony, runs, keys, *options, program=TRAIN, steps=3, pause=0, env=None):
    """A sweep of jobs of one task each, as it was submitted."""
    source = tony.directory / "source"
    source.mkdir(exist_ok=True)
    (source / "train.py").write_text(program)
    file = tony.directory / "sweep.xml"
    keys = {"tony.sweep.metric": "loss", **OFTEN, **keys}
    write_xml(file, {"tony.worker.instances": 1, "tony.application.framework": "generic",
                     "tony.application.name": "tuned", "tony.application.src-dir": str(source),
                     "tony.worker.command": f"{PYTHON} train.py",
                     **{name: value for name, value in keys.items() if value is not None}})
    chosen = {"RUNS": runs, "STEPS": steps, "PAUSE": pause}
    answer = tony.run("sweep", "--detach", *(f"--env={name}={value}" for name, value in chosen.items()), *options, file,
                      env=env)
    assert answer.returncode == 0, answer.stderr
    tony.jobs.append(tony.found_job(answer.stdout))
    return tony.jobs[-1]


def table(job):
    return job.status().get("trials") or {"trials": []}


def of_state(job, *states):
    return [trial for trial in table(job)["trials"] if trial["state"] in states]


def runs_of(runs):
    """{trial: how often its program began}"""
    counts = {}
    for file in runs.iterdir():
        number, dot, _ = file.name.partition(".")
        if dot and number.isdigit():
            counts[int(number)] = counts.get(int(number), 0) + 1
    return counts


def read_command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def kill_controller(job):
    """SIGKILL to the sweep's own process, and the next one is up."""
    task = job.wait_task("sweep:0")
    before = wait_until(lambda: job.task("sweep:0").get("pids"), "the sweep's process")
    os.kill(before[0], signal.SIGKILL)
    wait_until(lambda: job.task("sweep:0").get("pids") not in ([], before) and
               job.task("sweep:0")["restart"] > task["restart"], "the sweep's process to begin again")


def test_a_grid_runs_every_combination_and_tells_the_best(tony, runs):
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=15,16,17 y=a,b", "tony.sweep.parallel": 3,
                             "tony.worker.command": f"{PYTHON} train.py {{y}} >out-{{y}} && test -n \"$TONY_SWEEP_y\""})
    assert job.wait() == 0, tony.run("logs", job.id).stdout
    found = table(job)
    assert [trial["parameters"] for trial in found["trials"]] == [
        {"x": x, "y": y} for x in ("15", "16", "17") for y in "ab"]
    assert {trial["state"] for trial in found["trials"]} == {"completed"}
    assert found["trials"][found["best"]]["parameters"]["x"] == "17"
    assert runs_of(runs) == dict.fromkeys(range(6), 1)
    said = tony.run("status", job.id).stdout
    assert "best so far: trial 4 with x=17 y=a: loss 0.333333" in said and "PARAMETERS" in said, said
    schemas.check("sweep", json.loads(tony.run("status", "--json", job.id).stdout))
    trial = schemas.check("status", json.loads(tony.run("status", "--json", found["trials"][1]["job"]).stdout))
    assert (trial["sweep"], trial["trial"], trial["name"]) == (job.id, 1, "tuned_1")
    listed = tony.run("list", "--all", "--tag", f"sweep={job.id}", "--json").stdout
    assert len(json.loads(listed)) == 6


# A trial's application master is held up as long as there is a file.
HOLDING_AGENT = """#!/bin/sh
if [ "$1" = am ] && env | grep -q ^TONY_CHILD_OF_; then
    touch '{runs}/held'
    while [ -e '{runs}/hold' ]; do sleep 0.05; done
fi
exec '{agent}' "$@"
"""


@pytest.mark.promise("R83")
def test_a_trial_whose_sweep_is_killed_while_it_submits_runs_once(tony, runs):
    programs = tony.directory / "programs"
    programs.mkdir()
    shutil.copy(tony.build / "tony", programs)
    (programs / "tony-agent").write_text(HOLDING_AGENT.format(runs=runs, agent=tony.build / "tony-agent"))
    (programs / "tony-agent").chmod(0o755)
    tony.build = programs
    (runs / "hold").touch()
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1,2", "tony.sweep.parallel": 1})
    wait_until(lambda: (runs / "held").exists(), "the first trial to be submitted")
    journal = [json.loads(line) for line in (tony.state / "jobs" / job.id / "checkpoint/sweep.jsonl").read_text().splitlines()]
    assert [line["event"] for line in journal] == ["begin", "ask", "submit"]
    kill_controller(job)
    (runs / "hold").unlink()
    assert job.wait() == 0, tony.run("logs", job.id).stdout
    found = table(job)["trials"]
    assert [trial["state"] for trial in found] == ["completed"] * 2 and found[0]["job"] == journal[-1]["job"]
    assert runs_of(runs) == {0: 1, 1: 1}


@pytest.mark.promise("R84")
def test_a_sweep_that_is_killed_again_and_again_finds_the_winner(tony, runs):
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1..60", "tony.sweep.parallel": 6,
                             "tony.sweep.early-stop": "asha", "tony.sweep.reduction": 3}, steps=9, pause=0.05)
    for least in (5, 20, 40):
        wait_until(lambda least=least: len(table(job)["trials"]) >= least, f"{least} trials to begin")
        kill_controller(job)
    assert job.wait(patience_s=600) == 0, tony.run("logs", job.id).stdout
    found = table(job)
    assert found["trials"][found["best"]]["parameters"] == {"x": "17"}
    assert found["trials"][found["best"]]["state"] == "completed"
    assert runs_of(runs) == dict.fromkeys(range(60), 1)
    states = [trial["state"] for trial in found["trials"]]
    assert set(states) <= {"completed", "stopped"} and states.count("stopped") >= 20, states
    assert job.task("sweep:0")["restart"] >= 3


def test_a_loser_says_which_sweep_has_ended_it_and_why(tony, runs):
    (runs / "wait-1").touch()
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=17,1", "tony.sweep.parallel": 1, "tony.sweep.early-stop": "asha"})
    assert job.wait() == 0, tony.run("logs", job.id).stdout
    _, loser = table(job)["trials"]
    assert loser["text"] == "rung 0, rank 2 of 2: its loss of 257 at step 1 is not among the best 1/3"
    said = json.loads(tony.run("status", "--json", loser["job"]).stdout)
    assert said["cause"]["text"] == f"killed by sweep {job.id}: {loser['text']}"
    for verb in (["events"], ["status"]):
        assert f"killed by sweep {job.id}: rung 0, rank 2 of 2" in tony.run(*verb, loser["job"]).stdout


@pytest.mark.parametrize("tls", ["false", "true"])
@pytest.mark.promise("R84")
def test_a_sweep_goes_on_with_the_next_application_master(tony, runs, tls):
    (runs / "wait").touch()
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1..4", "tony.sweep.parallel": 2, "tony.application.tls": tls})
    wait_until(lambda: len(runs_of(runs)) == 2, "two trials to run")
    job.kill_am()
    wait_until(lambda: job.status()["am_attempt"] == 2, "the next application master")
    (runs / "wait").unlink()
    assert job.wait() == 0, tony.run("logs", job.id).stdout
    assert runs_of(runs) == dict.fromkeys(range(4), 1)
    assert {trial["state"] for trial in table(job)["trials"]} == {"completed"}


def test_trials_that_were_lost_with_the_container_of_their_sweep_run_again(tony, runs):
    (runs / "wait").touch()
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1,2,3", "tony.sweep.parallel": 2})
    wait_until(lambda: len(runs_of(runs)) == 2, "two trials to run")
    for pid in find_marked("TONY_CONTAINER=" + job.id + "/sweep-0-1"):
        if b"exec" in read_command(pid):
            os.kill(pid, signal.SIGKILL)
    job.wait_task("sweep:0", attempt=2)
    (runs / "wait").unlink()
    assert job.wait() == 0, tony.run("logs", job.id).stdout
    assert {trial["state"] for trial in table(job)["trials"]} == {"completed"}
    assert set(runs_of(runs)) == {0, 1, 2}


@pytest.mark.promise("R85")
def test_trials_end_with_their_sweep(tony, runs):
    (runs / "wait").touch()
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1..9", "tony.sweep.parallel": 2})
    wait_until(lambda: len(runs_of(runs)) == 2, "two trials to run")
    jobs = [trial["job"] for trial in table(job)["trials"] if "job" in trial]
    answer = tony.run("kill", job.id)
    assert answer.returncode == 0, answer.stderr
    for trial in jobs:
        said = json.loads(tony.run("status", "--json", trial).stdout)
        assert said["state"] == "killed" and said["trial"] < 2, said
        assert not find_marked(f"TONY_JOB_ID={trial}")
    assert [trial["state"] for trial in table(job)["trials"]] == ["killed", "killed"]
    assert job.status()["state"] == "killed"


@pytest.mark.promise("R85")
def test_trials_of_a_sweep_that_is_killed_by_force_end_too(tony, runs):
    (runs / "wait").touch()
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1..9", "tony.sweep.parallel": 2})
    wait_until(lambda: len(runs_of(runs)) == 2, "two trials to run")
    assert tony.run("kill", "--force", job.id).returncode == 0
    wait_until(lambda: not find_marked("TONY_SWEEP=" + job.id), "all of its trials' processes to end")
    assert json.loads(tony.run("list", "--json").stdout) == []


@pytest.mark.promise("R85")
def test_trials_end_with_a_sweep_that_can_write_nothing_down(tony, runs):
    """A rung, at which its disk is full."""
    (runs / "wait").touch()
    (runs / "wait-1").touch()
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1", "tony.sweep.early-stop": "asha", "tony.sweep.first-rung": 2})
    wait_until(lambda: of_state(job, "running") and runs_of(runs), "the trial to run")
    size = (tony.state / "jobs" / job.id / "checkpoint/sweep.jsonl").stat().st_size
    resource.prlimit(job.task("sweep:0")["pids"][0], resource.RLIMIT_FSIZE, (size, size))
    (runs / "wait-1").unlink()
    job.wait_state("failed")
    assert "sweep.jsonl: write: File too large" in job.status()["message"]
    said = json.loads(tony.run("status", "--json", table(job)["trials"][0]["job"]).stdout)
    assert said["cause"]["text"] == f"killed by sweep {job.id}: its sweep has failed"


def test_a_trial_that_fails_does_not_end_the_sweep(tony, runs):
    program = TRAIN + "\nif x == 2:\n    raise SystemExit('no such x')\n"
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1,2,3", "tony.am.retry-count": 1}, program=program)
    assert job.wait() == 0
    states = [trial["state"] for trial in table(job)["trials"]]
    assert states == ["completed", "failed", "completed"]
    assert "no such x" in table(job)["trials"][1]["text"]
    assert table(job)["best"] == 2


def freeze(job_id, tony):
    """Its AM neither answers nor dies. Returns the process."""
    process = wait_until(lambda: json.loads(tony.run("status", "--json", job_id).stdout).get("am_pid"), "its AM")
    os.kill(process, signal.SIGSTOP)
    return process


def test_a_trial_whose_am_is_frozen_holds_up_no_other(tony, runs):
    """Each of the others would take as long as the sweep waits for the frozen one's answer."""
    (runs / "wait-0").touch()
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=0..40", "tony.sweep.parallel": 2})
    first = wait_until(lambda: of_state(job, "running") and table(job)["trials"][0], "the first trial")
    wait_until(lambda: 0 in runs_of(runs), "its program")
    process = freeze(first["job"], tony)
    try:
        wait_until(lambda: len(of_state(job, "completed")) == 40, "all others")
        assert table(job)["trials"][0]["state"] == "running"
    finally:
        os.kill(process, signal.SIGCONT)
    (runs / "wait-0").unlink()
    assert job.wait() == 0


def test_a_sweep_with_a_frozen_trial_is_killed(tony, runs):
    (runs / "wait").touch()
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=0..2", "tony.sweep.parallel": 3})
    wait_until(lambda: len(runs_of(runs)) == 3, "all programs")
    trials = table(job)["trials"]
    process = freeze(trials[0]["job"], tony)
    killing = tony.start("kill", job.id)
    try:
        wait_until(lambda: len(of_state(job, "killed")) == 2, "the others to end")
    finally:
        os.kill(process, signal.SIGCONT)
    assert killing.wait() == 0
    assert len(of_state(job, "killed")) == 3


def test_too_many_failures_end_the_sweep(tony, runs):
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1..50", "tony.sweep.parallel": 1, "tony.sweep.max-failures": 2},
                program="raise SystemExit('wrong in itself')")
    assert job.wait() != 0
    assert len(table(job)["trials"]) == 2
    assert "max-failures" in table(job)["enough"]


def test_a_trial_that_reports_nothing_has_failed(tony, runs):
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1"}, program="pass")
    assert job.wait() != 0
    assert "reported no loss" in table(job)["trials"][0]["text"]


def last_word(tony, job):
    said = tony.run("logs", job.id, "--task", "sweep:0", "--stream", "stderr")
    return said.stdout.splitlines()[-1] if said.stdout else said.stderr


DIVERGE = """
import json, os
x = float(os.environ["TONY_SWEEP_x"])
with open(os.environ["TONY_METRICS_FILE"], "a") as file:
    for step in range(1, 2001):
        loss = float("nan") if step > 1500 and x < float(os.environ["STEPS"]) else x / step + (x == 2 and step == 1000) * -9
        print(json.dumps({"step": step, "loss": loss}), file=file)
"""


def test_a_trial_whose_loss_becomes_nan_is_not_the_best(tony, runs):
    """Of 2000 reports there are 512 points."""
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1,2"}, program=DIVERGE, steps=2)
    assert job.wait() == 0
    first, second = table(job)["trials"]
    assert table(job)["best"] == 1 and second["value"] == 2 / 2000 and second["step"] == 2000
    assert first["state"] == "completed" and first["nan"] and "value" not in first
    assert first["text"] == "its loss is NaN at its last step, 2000"
    assert re.search(r"completed .* x=1 +NaN +2000 ", tony.run("status", job.id).stdout)


def test_the_best_report_counts_however_many_there_are(tony, runs):
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1,2", "tony.sweep.compare": "best"}, program=DIVERGE, steps=0)
    assert job.wait() == 0
    assert table(job)["best"] == 1 and table(job)["trials"][1]["value"] == 2 / 1000 - 9


def test_a_sweep_whose_trials_all_become_nan_says_so(tony, runs):
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1,2"}, program=DIVERGE, steps=9)
    assert job.wait() == 1
    assert "no trial has a number for loss: NaN is none" in job.status()["message"]


def test_a_sweep_whose_trials_fail_tells_why_in_its_last_line(tony, runs):
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1..3"}, program="raise SystemExit(7)")
    assert job.wait() != 0
    last = last_word(tony, job)
    trial = table(job)["trials"][0]
    assert "no trial has completed: 3 of 3 trials failed" in last and "exited with code 7" in last, last
    assert f"tony logs {trial['job']}" in last
    cause = job.status()["cause"]
    assert cause["exit_code"] == 7 and "70" not in cause["text"], cause
    assert "--resume" not in tony.run("status", job.id).stdout, "they would fail again"


def test_a_sweep_by_a_number_that_no_trial_reports_names_those_that_they_do(tony, runs):
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1,2", "tony.sweep.metric": "losss"})
    assert job.wait() != 0
    last = last_word(tony, job)
    assert "2 of 2 trials have no result, 2 of them so: it reported no losss, but loss" in last, last
    assert job.status()["cause"]["exit_code"] == 1


def test_a_sweep_without_a_metric_says_what_to_add(tony, runs):
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1,2", "tony.sweep.metric": None})
    assert job.wait() == 0
    last = tony.run("logs", job.id).stdout.splitlines()[-1]
    assert "no best" in last and "(loss)" in last and "--conf tony.sweep.metric=NAME" in last, last


def test_the_budget_ends_the_sweep_and_keeps_the_best(tony, runs):
    (runs / "wait-2").touch()
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1,2,3,4,5", "tony.sweep.parallel": 1, "tony.sweep.core-time": "1s"})
    assert job.wait() == 0
    found = table(job)
    assert [trial["state"] for trial in found["trials"]][:2] == ["completed", "stopped"] or found["trials"][0]["state"] == "stopped"
    assert "core-time" in found["enough"] and len(found["trials"]) < 5


def test_parameters_may_be_keys(tony, runs):
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1 tony.worker.memory=40m,48m"})
    assert job.wait() == 0
    memories = [tony.run("config", "show", "--job", trial["job"], "tony.worker.memory") for trial in table(job)["trials"]]
    assert len(memories) == 2


@pytest.mark.parametrize("options, words", [
    (["--sweep", "lr"], '--sweep: "lr" is no parameter'),
    (["--sweep", "lr=uniform(0,1)"], "a grid needs a list or range"),
    (["--sweep", "lr=1,2", "--conf", "tony.sweep.early-stop=asha"], "tony.sweep.metric: is not set"),
    (["--sweep", "lr=1,2", "--conf", "tony.sweep.strategy=program"], "tony.sweep.metric: is not set"),
    (["--sweep", "lr=1,2", "--array", "1-3"], "--array and a sweep contradict"),
    (["--sweep", "lr=1,2", "--stdin"], "--sweep and --stdin contradict"),
    (["--sweep", "tony.worker.memroy=1g,2g"], "tony.worker.memroy is not a known key; did you mean tony.worker.memory?"),
    (["--sweep", "tony.sweep.metric=a,b"], "tony.sweep.metric is the sweep's own, and the same for all trials"),
    (["--sweep", "tony.worker.memory=1q"], 'tony.worker.memory: "1q"'),
    (["--sweep", "lr=1,2", "--executes", "echo --lr {lrr}"], "{lrr} in a command is no parameter; did you mean {lr}?"),
    (["--sweep", "lr=1,2", "--executes", "echo --lr ${lr}"], "${lr} is a variable of the shell; write {lr}"),
])
def test_what_no_sweep_can_be_is_told_before_it_starts(tony, options, words):
    answer = tony.run("submit", *options, *([] if "--executes" in options else ["--", "true"]))
    assert answer.returncode in (USAGE, CONFIG) and words in answer.stderr, answer.stderr
    assert tony.ids() == []


def test_a_sweep_needs_parameters(tony):
    answer = tony.run("sweep", "--", "true")
    assert answer.returncode == USAGE and "nothing says what is to vary" in answer.stderr


# ---- a program chooses ---------------------------------------------------------------------------------

STUDY = """
import json, optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(direction="minimize", sampler=optuna.samplers.TPESampler(seed=7))
def objective(trial):
    x = trial.suggest_float("x", 1, 40, log=True)
    kind = trial.suggest_categorical("kind", ["a", "b"])
    layers = trial.suggest_int("layers", 1, 4)
    return (x - 17) ** 2 + 1 / 3
study.optimize(objective, n_trials=14)
print(json.dumps([trial.params for trial in study.trials] + [study.best_trial.number]))
"""

CHOSEN = {"tony.sweep.parameters": "x=loguniform(1,40) kind=a,b layers=int(1,4)", "tony.sweep.strategy": "program",
          "tony.sweep.trials": 14, "tony.sweep.seed": 7, "tony.sweep.parallel": 1}


def sweep_by_optuna(tony, runs, options):
    python = venv_bin("optuna") / "python3"
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    program = f"{python} -m tony.optuna {options}"
    return sweep(tony, runs, {**CHOSEN, "tony.sweep.program": program}, env=env)


def values_of(job):
    return [{"x": float(trial["parameters"]["x"]), "kind": trial["parameters"]["kind"],
             "layers": int(trial["parameters"]["layers"])} for trial in table(job)["trials"]]


@pytest.mark.slow
def test_a_sweep_by_optuna_is_the_study_that_optuna_runs_itself(tony, runs):
    *wanted, best = json.loads(subprocess.run([venv_bin("optuna") / "python3", "-c", STUDY], capture_output=True, text=True,
                                              check=True, timeout=300).stdout)
    job = sweep_by_optuna(tony, runs, "--sampler tpe")
    wait_until(lambda: len(of_state(job, "completed")) >= 11, "Optuna to know more than its first, random trials")
    kill_controller(job)
    assert job.wait(patience_s=600) == 0, tony.run("logs", job.id).stdout
    assert values_of(job) == wanted
    assert table(job)["best"] == best
    assert runs_of(runs) == dict.fromkeys(range(14), 1)


@pytest.mark.slow
def test_a_study_in_a_storage_of_the_users_has_each_trial_once(tony, runs):
    storage = f"sqlite:///{tony.directory}/study.db"
    job = sweep_by_optuna(tony, runs, f"--sampler random --storage {storage} --study mine")
    wait_until(lambda: len(of_state(job, "completed")) >= 3, "some trials to end")
    kill_controller(job)
    assert job.wait(patience_s=600) == 0, tony.run("logs", job.id).stdout
    look = ("import json, optuna; study = optuna.load_study(study_name='mine', storage='" + storage + "'); "
            "print(json.dumps([[trial.state.name, trial.user_attrs['tony_trial']] for trial in study.trials]))")
    found = json.loads(subprocess.run([venv_bin("optuna") / "python3", "-c", look], capture_output=True, text=True,
                                      check=True, timeout=300).stdout)
    assert found == [["COMPLETE", number] for number in range(14)]


@pytest.mark.slow
def test_a_study_in_a_storage_learns_how_a_trial_went_that_ran_anew(tony, runs):
    storage = f"sqlite:///{tony.directory}/study.db"
    python = venv_bin("optuna") / "python3"
    program = TRAIN + "\nif not (runs / 'mended').exists():\n    raise SystemExit('not yet')\n"
    job = sweep(tony, runs, {**CHOSEN, "tony.sweep.trials": 2, "tony.sweep.max-failures": 1,
                             "tony.sweep.program": f"{python} -m tony.optuna --storage {storage} --study mine"},
                program=program, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    assert job.wait() != 0
    (runs / "mended").touch()
    answer = tony.run("rerun", "--detach", "--resume", job.id, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    assert answer.returncode == 0, answer.stderr
    tony.jobs.append(tony.found_job(answer.stdout))
    assert tony.jobs[-1].wait() == 0, tony.run("logs", tony.jobs[-1].id).stdout
    look = ("import json, optuna; study = optuna.load_study(study_name='mine', storage='" + storage + "'); "
            "print(json.dumps([[trial.state.name, trial.user_attrs['tony_trial'], trial.params['x'], "
            "sorted(trial.intermediate_values)] for trial in study.trials]))")
    (*failed, steps), (*again, new_steps), (*other, _) = json.loads(
        subprocess.run([python, "-c", look], capture_output=True, text=True, check=True, timeout=300).stdout)
    assert (failed[:2], again[:2], other[:2]) == (["FAIL", 0], ["COMPLETE", 0], ["COMPLETE", 1])
    assert again[2] == failed[2] and steps == new_steps


def test_a_program_of_the_users_own_chooses_and_stops(tony, runs):
    chooser = tony.directory / "choose.py"
    chooser.write_text("""
import json, sys
for line in sys.stdin:
    question = json.loads(line)
    answer = {}
    if question["question"] == "ask":
        answer = {"values": [str(10 + question["trial"])]} if question["trial"] < 3 else {"end": "that was all"}
    elif question["question"] == "report" and question["trial"] == 1:
        answer = {"stop": "I know better"}
    print(json.dumps(answer), flush=True)
""")
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=uniform(0,99)", "tony.sweep.strategy": "program",
                             "tony.sweep.program": f"{PYTHON} {chooser}"}, steps=9, pause=0.3)
    assert job.wait() == 0, tony.run("logs", job.id).stdout
    trials = table(job)["trials"]
    assert [trial["parameters"]["x"] for trial in trials] == ["10", "11", "12"]
    assert [trial["state"] for trial in trials] == ["completed", "stopped", "completed"]
    assert (trials[1]["text"], table(job)["enough"]) == ("I know better", "that was all")


def test_a_program_that_ends_ends_the_sweep_in_words(tony, runs):
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=uniform(0,99)", "tony.sweep.strategy": "program",
                             "tony.sweep.program": "echo gone >&2; exit 3"})
    assert job.wait() != 0
    assert "has ended without an answer" in job.status()["message"]


STEADY = """
import json, os, sys
with open("asked-by", "a") as file: print(os.getpid(), file=file)
for line in sys.stdin:
    question = json.loads(line)
    if question["question"] == "report":
        with open("told", "a") as file: print(question["trial"], question["step"], file=file)
    if "ended" in question:
        with open("asked", "a") as file: print(question["trial"], question["ended"], file=file)
    if question["question"] == "tell":
        with open("ended", "a") as file: print(question["trial"], question["state"], file=file)
    answer = {"values": ["1" if question["trial"] else sys.argv[1]]} if question["question"] == "ask" else {}
    print(json.dumps(answer), flush=True)
"""


def steered(tony, runs, first="1", **how):
    (tony.directory / "steady.py").write_text(STEADY)
    return sweep(tony, runs, {"tony.sweep.parameters": "x=uniform(0,99)", "tony.sweep.strategy": "program", "tony.sweep.trials": 2,
                              "tony.sweep.program": f"cd {tony.directory} && exec {PYTHON} steady.py '{first}'"}, **how)


def test_trials_end_with_a_sweep_that_a_program_steers(tony, runs):
    """Killed as its page does it: all processes of its task are told to end at once."""
    (runs / "wait").touch()
    job = steered(tony, runs)
    wait_until(lambda: len(runs_of(runs)) == 2, "two trials to run")
    jobs = [trial["job"] for trial in table(job)["trials"]]
    assert job.rest("POST", "/v1/job/kill", {})[0] == 200
    assert [trial.wait_state("killed")["state"] for trial in (tony.job_class(tony, id_) for id_ in jobs)] == ["killed", "killed"]
    job.wait_state("killed")


def test_trials_end_when_the_program_that_steers_dies(tony, runs):
    (runs / "wait").touch()
    job = steered(tony, runs)
    wait_until(lambda: len(runs_of(runs)) == 2, "two trials to run")
    jobs = [tony.job_class(tony, trial["job"]) for trial in table(job)["trials"]]
    os.kill(int((tony.directory / "asked-by").read_text()), signal.SIGKILL)
    (runs / "wait").unlink()  # a report, which the program is told of
    job.wait_state("failed")
    assert all(trial.status()["state"] in ("killed", "succeeded") for trial in jobs)
    assert not find_marked("TONY_SWEEP=" + job.id)


def test_a_report_is_told_once(tony, runs):
    job = steered(tony, runs, steps=30, pause=0.2)
    told = tony.directory / "told"
    wait_until(lambda: told.exists() and len(told.read_text().splitlines()) > 8, "some reports")
    kill_controller(job)
    assert job.wait() == 0, tony.run("logs", job.id).stdout
    last = {}
    with open(tony.state / "jobs" / job.id / "checkpoint/sweep.jsonl") as file:
        for line in map(json.loads, file):
            if line["event"] == "report":
                assert line["step"] > last.get(line["trial"], 0), "a report of an earlier process again"
                last[line["trial"]] = line["step"]
    assert last


MUTE = """
import json, sys, time
for line in sys.stdin:
    question = json.loads(line)
    while question.get("trial", 0) == 1:
        time.sleep(1)
    print(json.dumps({"values": ["1"]}), flush=True)
"""


def muted(tony, runs, timeout):
    """A sweep whose program gives one trial, and then no answer."""
    (tony.directory / "mute.py").write_text(MUTE)
    (runs / "wait").touch()
    return sweep(tony, runs, {"tony.sweep.parameters": "x=uniform(0,99)", "tony.sweep.strategy": "program",
                              "tony.sweep.program": f"exec {PYTHON} {tony.directory}/mute.py",
                              "tony.sweep.program-timeout": timeout})


def test_a_program_that_does_not_answer_ends_the_sweep_in_words(tony, runs):
    job = muted(tony, runs, "1s")
    assert job.wait() != 0
    assert "has not answered a question within 1.0 s (tony.sweep.program-timeout)" in job.status()["message"]
    assert not find_marked("TONY_SWEEP=" + job.id)


def test_a_sweep_whose_program_does_not_answer_can_be_killed(tony, runs):
    job = muted(tony, runs, "0")
    wait_until(lambda: len(runs_of(runs)) == 1, "a trial to run")
    trial = table(job)["trials"][0]["job"]
    assert tony.run("kill", job.id).returncode == 0
    job.wait_state("killed")
    said = json.loads(tony.run("status", "--json", trial).stdout)
    assert said["cause"]["text"] == f"killed by sweep {job.id}: its sweep was killed"


def test_a_program_is_told_of_a_trial_that_could_not_be_submitted(tony, runs):
    (tony.directory / "steady.py").write_text(STEADY.replace("sys.argv[1]]", "sys.argv[1], '99999g']"))
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=uniform(0,99) tony.worker.memory=64m,99999g", "tony.sweep.strategy": "program",
                             "tony.sweep.trials": 1, "tony.sweep.program": f"cd {tony.directory} && exec {PYTHON} steady.py 1"})
    assert job.wait() != 0
    assert (tony.directory / "ended").read_text() == "0 failed\n"


def test_values_of_a_program_are_plain_words(tony, runs):
    job = steered(tony, runs, first="1; touch beside")
    assert job.wait() != 0
    assert "is no plain word" in job.status()["message"]


# ---- once more -----------------------------------------------------------------------------------------

def resume(tony, job, *options):
    answer = tony.run("rerun", "--detach", "--resume", *options, job.id)
    assert answer.returncode == 0, answer.stderr
    tony.jobs.append(tony.found_job(answer.stdout))
    return tony.jobs[-1]


@pytest.mark.promise("R84")
def test_a_sweep_that_is_resumed_takes_over_what_was_done(tony, runs):
    (runs / "wait-3").touch()
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1..5", "tony.sweep.parallel": 1})
    wait_until(lambda: len(runs_of(runs)) == 3, "the third trial to run")
    before = table(job)["trials"]
    assert tony.run("kill", job.id).returncode == 0
    answer = tony.run("rerun", "--resume", "--conf", "tony.sweep.parameters=x=1..9", job.id)
    assert answer.returncode == USAGE and f"tony.sweep.parameters is not that of {job.id}" in answer.stderr, answer.stderr
    (runs / "wait-3").unlink()
    after = resume(tony, job)
    assert after.wait() == 0, tony.run("logs", after.id).stdout
    found = table(after)
    assert [trial["state"] for trial in found["trials"]] == ["completed"] * 5 and "enough" not in found
    assert [trial["job"] for trial in found["trials"][:2]] == [trial["job"] for trial in before[:2]]
    assert runs_of(runs) == {0: 1, 1: 1, 2: 2, 3: 1, 4: 1}


def test_a_sweep_that_failed_says_how_it_goes_on(tony, runs):
    program = TRAIN + "\nif x == 2 and not (runs / 'mended').exists():\n    raise SystemExit('no such x')\n"
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1..3", "tony.sweep.parallel": 1, "tony.sweep.max-failures": 1},
                program=program)
    assert job.wait() != 0
    assert f"tony rerun {job.id} --resume" in tony.run("status", job.id).stdout
    (runs / "mended").touch()
    after = resume(tony, job)
    assert after.wait() == 0, tony.run("logs", after.id).stdout
    assert runs_of(runs) == {0: 1, 1: 2, 2: 1}


def test_a_resumed_sweep_has_all_of_its_core_time(tony, runs):
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1,2", "tony.sweep.trials": 1, "tony.sweep.core-time": "1h"})
    assert job.wait() == 0
    journal = tony.state / "jobs" / job.id / "checkpoint/sweep.jsonl"
    *lines, end = map(json.loads, journal.read_text().splitlines())
    journal.write_text("".join(json.dumps(line) + "\n" for line in [*lines, {**end, "cores_ms": 3600 * 1000}]))
    after = resume(tony, job, "--conf", "tony.sweep.trials=2")
    assert after.wait() == 0, tony.run("logs", after.id).stdout
    assert [trial["state"] for trial in table(after)["trials"]] == ["completed"] * 2


def test_a_hypercube_is_not_cut_anew(tony, runs):
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=uniform(0,9)", "tony.sweep.strategy": "latin-hypercube", "tony.sweep.trials": 1})
    assert job.wait() == 0
    answer = tony.run("rerun", "--resume", "--conf", "tony.sweep.trials=2", job.id)
    assert answer.returncode == USAGE and f"tony.sweep.trials is not that of {job.id}" in answer.stderr, answer.stderr


def test_a_program_that_steers_a_resumed_sweep_is_told_the_past(tony, runs):
    (runs / "wait").touch()
    job = steered(tony, runs)
    wait_until(lambda: len(runs_of(runs)) == 2 and (tony.directory / "told").exists(), "two trials to run, and a report")
    assert tony.run("kill", job.id).returncode == 0
    (runs / "wait").unlink()
    for name in ("ended", "told"):
        (tony.directory / name).unlink(missing_ok=True)
    after = resume(tony, job)
    assert after.wait() == 0, tony.run("logs", after.id).stdout
    assert sorted((tony.directory / "ended").read_text().splitlines()) == ["0 completed", "1 completed"]
    assert (tony.directory / "asked").read_text() == "0 False\n1 False\n"
    told = (tony.directory / "told").read_text().splitlines()
    assert len(told) == len(set(told)), "a report of the run that was given up"


def test_a_sweep_is_resumed_once_at_a_time_and_with_all_trials_that_it_began(tony, runs):
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1..4", "tony.sweep.trials": 2})
    assert job.wait() == 0
    answer = tony.run("rerun", "--resume", "--conf", "tony.sweep.trials=1", job.id)
    assert answer.returncode == USAGE and f"{job.id} has begun 2 trials, and tony.sweep.trials is 1" in answer.stderr, answer.stderr
    (runs / "wait").touch()
    after = resume(tony, job, "--conf", "tony.sweep.trials=3")
    answer = tony.run("rerun", "--resume", job.id)
    assert answer.returncode == USAGE and f"{after.id} goes on with {job.id} already" in answer.stderr, answer.stderr
    (runs / "wait").unlink()
    assert after.wait() == 0


def test_trials_that_end_after_their_sweep_was_lost_are_told(tony, runs):
    (runs / "wait").touch()
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1,2"})
    wait_until(lambda: len(of_state(job, "running")) == 2 and len(runs_of(runs)) == 2, "two trials to run")
    job.lose_am()
    wait_until(lambda: job.status()["state"] == "failed", "the sweep to have failed")
    trials = [trial["job"] for trial in table(job)["trials"]]
    tony.run("kill", trials[0])
    (runs / "wait").unlink()
    wait_until(lambda: not of_state(job, "running"), "its trials to have ended")
    for trial in table(job)["trials"]:
        state = json.loads(tony.run("status", "--json", trial["job"]).stdout)["state"]
        assert trial["state"] == {"succeeded": "completed"}.get(state, state)


@pytest.mark.slow
def test_a_journal_of_any_length_is_read(tony, runs):
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1,2"})
    assert job.wait() == 0
    with open(tony.state / "jobs" / job.id / "checkpoint/sweep.jsonl", "a") as file:
        for _ in range(270):
            file.write(json.dumps({"event": "of a later version", "text": "x" * (1 << 20)}) + "\n")
    after = resume(tony, job)
    assert after.wait() == 0, tony.run("logs", after.id).stdout
    assert runs_of(runs) == {0: 1, 1: 1}


# ---- around it -----------------------------------------------------------------------------------------

def test_a_sweep_tells_how_its_trials_go_without_a_terminal(tony, runs):
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=15,17,16", "tony.sweep.parallel": 1})
    assert job.wait() == 0
    answer = tony.run("sweep", tony.directory / "sweep.xml", *(f"--env={name}" for name in (f"RUNS={runs}", "STEPS=1", "PAUSE=0")))
    assert answer.returncode == 0, answer.stderr
    lines = [re.sub(r"tony-\d{8}-\d{6}-[0-9a-f]+", "ID", line) for line in answer.stdout.splitlines()]
    assert [line for line in lines if line.startswith(("trial", "best"))] == [
        "trial 0 begins: x=15 (ID)", "trial 0 completed: loss 5", "best so far: trial 0 with x=15: loss 5",
        "trial 1 begins: x=17 (ID)", "trial 1 completed: loss 1", "best so far: trial 1 with x=17: loss 1",
        "trial 2 begins: x=16 (ID)", "trial 2 completed: loss 2", "best: trial 1 (ID), loss 1"]


def test_a_sweep_is_removed_with_its_trials(tony, runs):
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1,2"})
    assert job.wait() == 0
    assert len(json.loads(tony.run("list", "--all", "--json").stdout)) == 3
    answer = tony.run("rm", table(job)["trials"][1]["job"])
    assert answer.returncode == USAGE and f"it is trial 1 of {job.id}, with which it goes: tony rm {job.id}" in answer.stderr, answer.stderr
    dry = tony.run("rm", "--dry-run", job.id)
    assert dry.returncode == 0 and all(trial["job"] in dry.stdout for trial in table(job)["trials"]), dry.stdout
    answer = tony.run("rm", job.id, table(job)["trials"][0]["job"])
    assert answer.returncode == 0, answer.stderr
    assert json.loads(tony.run("list", "--all", "--json").stdout) == []
    assert list((tony.state / "jobs").iterdir()) == []


def test_a_damaged_sweep_is_removed_after_its_trials(tony, runs):
    job = sweep(tony, runs, {"tony.sweep.parameters": "x=1,2"})
    assert job.wait() == 0
    trials = [trial["job"] for trial in table(job)["trials"]]
    wait_until(lambda: not job.processes(), "the AM to be gone")
    journal = job.directory / "journal.jsonl"
    journal.write_text("damaged\n" + journal.read_text())
    answer = tony.run("rm", job.id)
    assert answer.returncode == 70 and f"{job.id} stays until its trials are removed: tony rm " in answer.stderr, answer
    remedy = answer.stderr.rpartition("tony rm ")[2].split()
    assert sorted(remedy) == sorted(trials)
    for words in (remedy, [job.id]):
        assert tony.run("rm", *words).returncode == 0
    assert tony.ids() == []


@pytest.mark.parametrize("ended", [True, False])
def test_a_sweep_whose_trials_another_took_over_stays_whole(tony, runs, ended):
    """Also the one in the middle, in whose directory nothing of the last one is."""
    (runs / "wait-3").touch()
    jobs = [sweep(tony, runs, {"tony.sweep.parameters": "x=1,2,3", "tony.sweep.parallel": 1, "tony.sweep.trials": 1})]
    assert jobs[0].wait() == 0
    jobs.append(resume(tony, jobs[0], "--conf", "tony.sweep.trials=2"))
    assert jobs[1].wait() == 0
    jobs.append(resume(tony, jobs[1], "--conf", "tony.sweep.trials=3"))
    if ended:
        (runs / "wait-3").unlink()
        assert jobs[2].wait() == 0
    wait_until(lambda: len(runs_of(runs)) == 3, "the last trial to run")
    for job, later in ((jobs[0], jobs[1:]), (jobs[1], jobs[2:])):
        answer = tony.run("rm", job.id)
        assert answer.returncode == USAGE and f"{job.id} stays: " in answer.stderr, answer.stderr
        assert any(other.id in answer.stderr for other in later), answer.stderr
        assert answer.stdout == ""
    kept = {trial["job"] for trial in table(jobs[2])["trials"]}
    assert len(kept) == 3 and kept <= set(tony.ids()), (kept, tony.ids())
    if ended:
        answer = tony.run("rm", *(job.id for job in reversed(jobs)))
        assert answer.returncode == 0, answer.stderr
        assert tony.ids() == []
