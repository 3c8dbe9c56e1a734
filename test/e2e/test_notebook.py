"""`tony notebook` on one machine: the rows of each scheduler, and what needs no other."""

import os
import signal

import pytest
from conftest import PYTHON, wait_until
from notebook_rows import *  # noqa: F401,F403
from notebook_rows import LAB, Notebook, open_notebook, options
from patience import PATIENCE_S


def test_another_application_master_leads_there_too(tony):
    notebook = open_notebook(tony, "--conf", "tony.application.tls=true")
    pid = notebook.ask()["pid"]
    os.kill(notebook.job.am_pid(), signal.SIGKILL)
    wait_until(lambda: (notebook.answers() or {}).get("pid") == pid, "the same program by the next AM")
    assert notebook.finish()[0] == 8


def test_detached_then_opened_at_a_port_of_choice(tony):
    started = tony.run("notebook", "--detach", *options(tony), env=LAB)
    assert started.returncode == 0, started.stderr
    job = tony.found_job(started.stdout)
    tony.jobs.append(job)
    notebook = Notebook(tony, job.id)
    port = int(notebook.link.split("/?")[0].rpartition(":")[2])
    assert notebook.finish()[0] == 0
    assert f"127.0.0.1:{port}/" in Notebook(tony, "--port", port, job.id).link


def test_a_program_that_is_no_server_is_waited_for_until_ctrl_c(tony):
    child = tony.start("notebook", "--memory", "64m", "--executes", "exec sleep 1000")
    said = child.stderr.readline()
    while "waiting for its notebook server" not in said:
        said = child.stderr.readline()
    tony.jobs.append(tony.found_job(tony.run("status", "--json").stdout))
    child.send_signal(signal.SIGINT)
    out, said = child.communicate(timeout=PATIENCE_S)
    assert (child.returncode, out) == (8, "") and "killed by the user: Ctrl-C" in said


def test_the_command_of_tonys_users_is_taken(tony):
    """NotebookSubmitter's options."""
    notebook = open_notebook(tony, "--executes", "-m jupyterlab --no-browser", "--task_params=--port=$TB_PORT")
    assert notebook.ask()["arguments"][:1] == ["--no-browser"] and "--port=$" not in str(notebook.ask()["arguments"])


@pytest.mark.parametrize(("words", "told"), [
    (["--workers", "2"], "a notebook is one task, and the configuration asks for 2"),
    (["--idle", "soon"], 'idle: "soon" is not a time'),
    (["--executes", "x", "--", "y"], "words after -- are for JupyterLab"),
    (["--array", "1-2"], "a notebook is one job"),
    (["one", "two"], "usage: tony notebook"),
    (["nosuch"], "nosuch"),
])
def test_bad_input_is_told_and_starts_nothing(tony, words, told):
    done = tony.run("notebook", *words)
    assert done.returncode in (2, 3, 4) and told in done.stderr and tony.ids() == []


def test_a_refused_way_is_told(tony):
    done = tony.run("notebook", *options(tony), "--conf", "tony.am.allow-exec=false", env=LAB)
    assert done.returncode == 6 and "tony.am.allow-exec is false here" in done.stderr and tony.ids() == []


def test_a_job_of_several_tasks_is_no_notebook(tony):
    job = tony.submit({"tony.worker.instances": 2}, "--executes", f"exec {PYTHON} -c 'import time; time.sleep(1000)'")
    done = tony.run("notebook", job.id)
    assert done.returncode == 2 and "has several tasks, and is no notebook" in done.stderr
