"""`tony notebook` on a cluster: the same rows as on one machine."""

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
