"""An AM that cannot start: its job is kept, has failed to start, and says why wherever it is looked at."""

import json
import resource
import shutil
import subprocess

import pytest
from conftest import BUILD
from patience import PATIENCE_S
from program import hear_signals

FAILED = "failed to start: the application master exited with code"


def submit(tony, program=BUILD / "tony", *arguments, **options):
    return subprocess.run([program, "submit", "--name", "unlucky", *arguments, "--", "true"], env=tony.env, cwd=tony.directory,
                          capture_output=True, text=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL, **options)


def check_told(tony, answer, *words):
    """In each place by the same words."""
    assert answer.returncode == 1, answer
    job, = tony.ids()
    for text in (answer.stdout, tony.run("status", job).stdout, tony.run("list", "--all").stdout,
                 tony.run("history").stdout, tony.run("events", job).stdout):
        for word in (job, *words):
            assert word in text or word == job and "end: failed" in text, f"{word!r} is not in {text}"
    listed, = json.loads(tony.run("list", "--all", "--json").stdout)
    assert listed["state"] == "failed" and all(word in listed["message"] for word in words), listed
    assert f"see: tony logs {job} --am" in answer.stdout
    assert f"see: tony logs {job} --am" in tony.run("logs", job).stderr
    log = tony.run("logs", job, "--am")
    assert log.returncode == 0 and words[-1] in log.stdout, log


@pytest.fixture
def installed(tony):
    """tony alone, in a folder of its own."""
    folder = tony.directory / "bin"
    folder.mkdir()
    tony.env["PATH"] = "/usr/bin:/bin"
    return shutil.copy(BUILD / "tony", folder)


def test_an_am_that_exits_is_told_with_its_last_lines(tony, installed):
    agent = tony.directory / "bin" / "tony-agent"
    agent.write_text("#!/bin/sh\necho 'looking for a moon' >&2\necho 'no such moon' >&2\nexit 3\n")
    agent.chmod(0o755)
    answer = submit(tony, installed)
    assert "looking for a moon" in answer.stdout
    check_told(tony, answer, f"{FAILED} 3", "no such moon")
    detached = submit(tony, installed, "--detach")
    assert (detached.returncode, f"{FAILED} 3" in detached.stdout) == (1, True), detached
    as_json = submit(tony, installed, "--json")
    assert (as_json.returncode, json.loads(as_json.stdout)["cause"]["headline"]) == (1, "no such moon"), as_json


def test_an_am_without_files_to_open_is_told(tony):
    few = (11, 11)
    answer = submit(tony, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, few))
    check_told(tony, answer, f"{FAILED} 1", "Too many open files; raise the limit (ulimit -n)")


@pytest.mark.parametrize("mode, code, words", [(None, 4, "install it beside tony"), (0o644, 6, "chmod a+rx")])
def test_an_agent_that_cannot_be_executed_is_told_before_there_is_a_job(tony, installed, mode, code, words):
    if mode is not None:
        agent = tony.directory / "bin" / "tony-agent"
        shutil.copy(BUILD / "tony-agent", agent)
        agent.chmod(mode)
    answer = submit(tony, installed)
    assert answer.returncode == code and words in answer.stderr, answer
    assert tony.ids() == []
    checked = subprocess.run([installed, "check", "--", "true"], env=tony.env, cwd=tony.directory, text=True,
                             capture_output=True, timeout=PATIENCE_S)
    assert checked.returncode != 0 and words in checked.stdout + checked.stderr


def put_agent(tony, script):
    agent = tony.directory / "bin" / "tony-agent"
    agent.write_text(f"#!/bin/sh\n{script}\n")
    agent.chmod(0o755)


@pytest.mark.parametrize("option", [[], ["--detach"], ["--json"]], ids=["watched", "detached", "json"])
def test_ctrl_c_while_the_am_does_not_come_up(tony, installed, option):
    put_agent(tony, "kill -INT $PPID; exec sleep 1000")
    answer = submit(tony, installed, *option, preexec_fn=hear_signals)
    assert (answer.returncode, answer.stdout) == (130, ""), answer
    job, = tony.ids()
    assert f"tony: {job} failed to start: the submission was interrupted" in answer.stderr, answer
    assert tony.processes() == []


def test_ctrl_c_does_not_end_the_am_of_a_detached_job_that_has_begun(tony, installed):
    """The AM's begin is on the disk, and its address is not yet, when the signal arrives."""
    begun = f"grep -qs '\"ev\":\"am\"' journal.jsonl"
    put_agent(tony, f"{BUILD}/tony-agent \"$@\" & until {begun}; do sleep 0.01; done; kill -INT $PPID; wait")
    submitted = submit(tony, installed, "--detach", preexec_fn=hear_signals)
    assert submitted.returncode == 0 and submitted.stdout.split() == tony.ids(), submitted
    assert tony.run("wait", *tony.ids()).returncode == 0


def test_an_interrupted_submission_says_what_became_of_the_job(tony, installed):
    """The signal comes while the AM begins: either the job goes on, and its id is printed, or it is ended."""
    put_agent(tony, f"kill -INT $PPID; exec {BUILD}/tony-agent \"$@\"")
    submitted = submit(tony, installed, "--detach", preexec_fn=hear_signals)
    job, = tony.ids()
    if submitted.returncode == 0:
        assert submitted.stdout.split() == [job], submitted
        assert tony.run("wait", job).returncode == 0
    else:
        assert (submitted.returncode, submitted.stdout) == (130, ""), submitted
        assert f"tony: {job} failed to start: the submission was interrupted" in submitted.stderr, submitted


def test_checkpoints_in_hdfs_need_the_clusters_configuration(tony):
    answer = tony.run("check", "--conf", "tony.application.checkpoint-dir=hdfs:///user/ada/ck", "--", "true")
    assert answer.returncode == 3 and "tony.application.checkpoint-dir: " in answer.stderr, answer
    assert "set HADOOP_CONF_DIR to the directory of the cluster's configuration" in answer.stderr


def test_logs_of_tonys_own_programs_are_merged_by_time(tony):
    """While they run, and after; with --since, from then on."""
    job = tony.submit({"tony.worker.instances": 2}, "--executes", "exec sleep 1000")
    for task in ("worker:0", "worker:1"):
        job.wait_log(task, "started process", "executor.log")
    for state in ("running", "killed"):
        lines = tony.run("logs", "--am", "--executor", "worker", job.id).stdout.splitlines()
        for task in ("worker:0", "worker:1"):
            assert any(line.startswith(f"{task} executor| ") and "started process" in line for line in lines), lines
        times = [line.split("| ", 1)[1].split()[0] for line in lines]
        assert times == sorted(times), lines
        if state == "running":
            assert tony.run("kill", job.id).returncode == 0
            job.wait_state("killed")
    assert any(line.startswith("am| ") and "the job killed" in line for line in lines), lines
    (job.directory / "am.log").unlink()
    missing = tony.run("logs", "--am", job.id)
    assert missing.returncode == 4 and "am.log" in missing.stderr, missing
    one = tony.run("logs", "--executor", "worker:1", job.id).stdout
    assert one and "worker:0" not in one and "| " not in one
    later = tony.run("logs", "--executor", "worker", "--since", "2099-01-01", job.id)
    assert (later.returncode, later.stdout) == (0, "")
    for wrong in (["--am", "--task", "worker:0"], ["--executor", "worker", "--stream", "stderr"]):
        assert tony.run("logs", *wrong, job.id).returncode == 2
