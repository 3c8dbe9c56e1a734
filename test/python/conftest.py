"""The `home` fixture: the package in this process, with the real programs and a state directory of their own, and afterwards the
proof that it left no process, thread or file behind."""

import functools
import os
import shutil
import signal
import sys
import threading

import pytest
from tony import Job

from outcome import pytest_runtest_makereport  # noqa: F401
from patience import PATIENCE_S
from program import BUILD, PYTHON, ROOT, Tony, built, children_of, describe, venv_bin, wait_until

PACKAGE = ROOT / "python"
SMALL = {"memory": "64m"}


@functools.lru_cache(maxsize=None)
def extras():
    """Where cloudpickle and pandas are."""
    return str(next((venv_bin("python").parent / "lib").glob("python3.*")) / "site-packages")


def environment(tony):
    """Of a Python in which `import tony` is this package, and which finds its program."""
    return {**tony.env, "TONY_PROGRAM": str(BUILD / "tony"), "PYTHONPATH": os.pathsep.join([str(PACKAGE), extras()]),
            "TMPDIR": str(tony.directory / "tmp")}


@pytest.fixture
def home(tmp_path, request, monkeypatch):
    if extras() not in sys.path:
        sys.path.append(extras())
    built("tony-agent")
    tony = Tony(tmp_path)
    (tmp_path / "tmp").mkdir()
    for name in [name for name in os.environ if name.startswith(("TONY_", "HADOOP_", "YARN_"))]:
        monkeypatch.delenv(name)
    for name, value in environment(tony).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", PYTHON)
    wait = Job.wait
    monkeypatch.setattr(Job, "wait", lambda job, timeout=PATIENCE_S, **others: wait(job, timeout, **others))
    yield tony
    if getattr(request.node, "failed", False):
        tony.tell()
    children = children_of(os.getpid())
    tony.finish()
    try:
        wait_until(lambda: not tony.processes(), "every process of the test to end")
    except pytest.fail.Exception:
        left = [describe(pid) for pid in tony.processes()]
        for pid in tony.processes():
            os.kill(pid, signal.SIGKILL)
        pytest.fail(f"left behind: {left}")
    assert not children, "the package waits for its processes"
    assert threading.enumerate() == [threading.main_thread()], "the package starts no thread"
    assert not list((tmp_path / "tmp").iterdir()), "the package removes its files"
    assert tony.sanitizer_findings() == ""
    shutil.rmtree(tmp_path, ignore_errors=True)
