"""The examples of docs/data.md run as they stand, up to where a job's HDFS is needed (test/yarn/test_files.py)."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import PACKAGE, ROOT, venv_bin
from data_files import libraries


@pytest.mark.slow
def test_the_page_runs(home):
    page = (ROOT / "docs/data.md").read_text(encoding="utf-8").partition("## HDFS without Java")[0]
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 5 and libraries()
    Path("page.py").write_text("\n".join(blocks))
    done = subprocess.run([venv_bin("data") / "python3", "page.py"], env={**os.environ, "PYTHONPATH": str(PACKAGE)}, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["y = 3.00 x + 1.00", "2000 records", "2000 2000"], done.stdout + done.stderr
