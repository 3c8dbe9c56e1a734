"""The examples of docs/python.md run as they stand, and so do those of examples/python."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import tony
from conftest import ROOT
from patience import PATIENCE_S

REFERENCE = (ROOT / "docs/python-reference.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs/python.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_reference_lists_every_name():
    listed = set(re.findall(r"^::: tony\.(\w+)$", REFERENCE, re.MULTILINE))
    errors = {name for name in tony.__all__ if isinstance(getattr(tony, name), type) and issubclass(getattr(tony, name), Exception)}
    assert listed | errors | {"__version__"} == set(tony.__all__) | {"_errors"}
    assert all(getattr(tony, name).__doc__ for name in tony.__all__ if name != "__version__")


def test_the_page_runs_from_its_beginning_to_its_end(home, capsys):
    assert len(BLOCKS) >= 8
    Path("train.py").write_text("print('loss 0.5')\n")
    names = {"__name__": "__main__"}
    for block in BLOCKS:
        exec(compile(block, "docs/python.md", "exec"), names)
    told = capsys.readouterr().out
    for words in ("worker:1 loss 0.5", "succeeded ", "running -> succeeded", "{'rank': 0, 'weight': 0.99", "hello\n",
                  "sh failed: driver:0 on 127.0.0.1 exited with code 3: ValueError: no data; ", "exit\n"):
        assert words in told, told


@pytest.mark.parametrize(("program", "words"), [
    (["sweep.py", "--steps", "20"], ("rate 0.1: loss 0.", "rate 2.0: ", "best: 0.")),
    (["submit.py"], ("worker:0: running -> succeeded", "pi is about 3.14159")),
])
def test_examples(home, program, words):
    done = subprocess.run([sys.executable, *program], cwd=ROOT / "examples/python", capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    assert all(word in done.stdout for word in words), done.stdout
