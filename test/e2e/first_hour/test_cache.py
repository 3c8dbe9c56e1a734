"""Scripts that keep what they fetch say so when they cannot, and what to set."""

import os
import subprocess

import pytest
from patience import PATIENCE_S
from program import ROOT

ROWS = [
    (["test/frameworks/venv", "jax"], "tony-test", "TONY_TEST_CACHE"),
    (["test/web/packages"], "tony-build", "XDG_CACHE_HOME"),
]


@pytest.mark.parametrize("command, folder, variable", ROWS, ids=["venv", "packages"])
def test_a_cache_that_nobody_can_write_is_told_in_a_sentence(tmp_path, command, folder, variable):
    cache = tmp_path / "file"
    cache.touch()
    env = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    env.pop("TONY_TEST_CACHE", None)
    answer = subprocess.run([ROOT / command[0], *command[1:]], env=env, text=True, capture_output=True, timeout=PATIENCE_S)
    assert answer.returncode == 1 and answer.stdout == ""
    assert answer.stderr == (f"{command[0]}: cannot write to {cache}/{folder}; "
                             f"set {variable} to a directory where you may\n")
