"""What `./dev demo` shows holds: a worker is killed on the way and the training recovers."""

import os
import subprocess

from conftest import BUILD, PYTHON, ROOT
from patience import PATIENCE_S


def test_demo(tony):
    answer = subprocess.run([PYTHON, ROOT / "examples/demo.py"], capture_output=True,
                            text=True, timeout=600, env={**tony.env, "TONY_BUILD": str(BUILD)})
    print(answer.stdout, answer.stderr)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    for words in ("kill -9", "resuming at step", "reached an accuracy of", "Where to look next"):
        assert words in answer.stdout


def test_demo_fails_when_something_is_not_there(tony):
    answer = subprocess.run([PYTHON, ROOT / "examples/demo.py"], capture_output=True,
                            text=True, timeout=PATIENCE_S,
                            env={**tony.env, "TONY_BUILD": str(BUILD), "PATH": os.devnull})
    assert answer.returncode != 0
