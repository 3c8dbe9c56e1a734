"""`tony notebook` on a cluster: the same rows as on one machine."""

import json

import pytest
from notebook_rows import *  # noqa: F401,F403
from notebook_rows import open_notebook

pytestmark = pytest.mark.slow   # the fast lane has them on one machine


def test_what_is_saved_in_output_comes_home(tony):
    notebook = open_notebook(tony)
    saved = tony.run("exec", notebook.job.id, "--", "sh", "-c", "echo digits >output/model")
    assert saved.returncode == 0, saved.stderr
    notebook.ask("/end")
    notebook.child.communicate()
    brought = tony.run("results", "--output", tony.directory / "home", notebook.job.id)
    assert brought.returncode == 0, brought.stderr
    assert (tony.directory / "home" / notebook.job.id / "driver-0/model").read_text() == "digits\n"


def test_a_notebook_starts_jobs_of_its_own(tony):
    """As its kernels do: from its container, which knows the cluster."""
    notebook = open_notebook(tony)
    submitted = tony.run("exec", notebook.job.id, "--", tony.build / "tony", "submit", "--memory", "64m", "--name", "inner", "--json", "--",
                         "sh", "-c", "echo in $CONTAINER_ID")
    inner = json.loads(submitted.stdout)
    assert (inner["state"], inner["scheduler"]) == ("succeeded", "yarn") and inner["id"] != notebook.job.id
    assert notebook.finish()[0] == 8
