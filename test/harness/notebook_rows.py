"""`tony notebook`, with a stand-in for JupyterLab: the same functions for each scheduler, whose suite gives them its own `tony`."""

import http.client
import json
import os
import re
import signal
import socket
import urllib.error
import urllib.request

import pytest

from patience import PATIENCE_S
from program import PROGRAMS, PYTHON, wait_until

LAB = {"PYTHONPATH": str(PROGRAMS / "lab")}


def options(tony):
    return ["--python_binary_path", PYTHON, "--env", "PYTHONPATH", "--memory", "64m", "--vcores", "1",
            *(word for key, value in tony.no_proxy.items() for word in ("--conf", f"{key}={value}"))]


class Notebook:
    """`tony notebook`, once it leads to its program."""

    def __init__(self, tony, *words, env=LAB):
        self.child = tony.start("notebook", *words, env=env)
        self.link = self.child.stdout.readline().strip()
        assert self.link, self.child.stderr.read()
        self.said = ""
        while not self.said.endswith("\n") or " leads to " not in self.said.splitlines()[-1]:
            self.said += self.child.stderr.readline()
        self.job = tony.found_job(re.findall(r"tony: .* leads to \S+ of (\S+)", self.said)[-1])

    def ask(self, path="/", token=None):
        link, own = self.link.split("/?token=")
        with urllib.request.urlopen(f"{link}{path}?token={own if token is None else token}", timeout=PATIENCE_S) as answer:
            return json.loads(answer.read())

    def answers(self):
        """Its facts; None: the connection broke."""
        try:
            return self.ask()
        except (OSError, http.client.HTTPException):
            return None

    def finish(self, number=signal.SIGINT):
        """Its exit code, and the rest of its words."""
        self.child.send_signal(number)
        _, said = self.child.communicate(timeout=PATIENCE_S)
        return self.child.returncode, said


def open_notebook(tony, *words):
    notebook = Notebook(tony, *options(tony), *words)
    tony.jobs.append(notebook.job)
    return notebook


def test_a_notebook_runs_as_a_job_and_ends_with_its_command(tony):
    notebook = open_notebook(tony, "--idle", "90s", "--", "--ServerApp.root_dir=/", "a b")
    facts = notebook.ask()
    assert facts["arguments"][-2:] == ["--ServerApp.root_dir=/", "a b"]
    assert "--ServerApp.shutdown_no_activity_timeout=90" in facts["arguments"]
    with pytest.raises(urllib.error.HTTPError, match="403"):
        notebook.ask(token="0" * 64)
    token = notebook.link.split("token=")[1]
    assert token not in notebook.job.logs("driver:0") and len(token) == 64
    assert notebook.job.status()["name"] == "notebook"
    code, said = notebook.finish()
    assert code == 8 and "killed by the user: Ctrl-C" in said
    assert notebook.job.status()["state"] == "killed"


def test_a_notebook_lives_on_without_a_terminal_and_is_found_again(tony):
    first = open_notebook(tony)
    pid = first.ask()["pid"]
    assert first.finish(signal.SIGHUP)[0] == -signal.SIGHUP
    again = Notebook(tony, first.job.id)
    assert again.ask()["pid"] == pid
    assert again.link.split("token=")[1] == first.link.split("token=")[1]
    assert again.finish() == (0, "")
    assert first.job.status()["state"] == "running"


def test_the_link_leads_to_the_program_that_follows(tony):
    notebook = open_notebook(tony)
    before = notebook.ask()["pid"]
    assert tony.run("restart", notebook.job.id, "driver:0").returncode == 0
    wait_until(lambda: (notebook.answers() or {"pid": before})["pid"] != before, "the next program at the same link")


def test_a_notebook_that_ends_by_itself_ends_the_command(tony):
    notebook = open_notebook(tony)
    notebook.ask("/end")
    _, said = notebook.child.communicate(timeout=PATIENCE_S)
    assert notebook.child.returncode == 0 and " succeeded after " in said


def test_a_python_without_jupyterlab_is_told_with_a_remedy(tony):
    done = tony.run("notebook", *options(tony), env={"PYTHONPATH": str(tony.directory)})
    assert done.returncode == 1 and done.stdout == ""
    assert f"No module named jupyterlab for {PYTHON} on {os.uname().nodename}: pip install jupyterlab there" in done.stderr
    tony.jobs.append(tony.found_job(done.stderr))


def test_a_port_that_is_taken_starts_nothing(tony):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = tony.run("notebook", *options(tony), "--port", taken.getsockname()[1], env=LAB)
    assert done.returncode != 0 and "--port: choose another one, or none" in done.stderr
    assert tony.ids() == []
