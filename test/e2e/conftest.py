"""The `tony` fixture: the real programs with a state directory of their own, and afterwards the
proof that nothing was left behind."""

import os
import shutil
import signal

import pytest

pytest.register_assert_rewrite("tony_rows", "dashboard_rows", "open_rows", "page")

# What a test imports "from conftest" is the suite's own form of it.
from outcome import pytest_runtest_makereport  # noqa: E402,F401
from program import (BUILD, PROGRAMS, PYTHON, ROOT, Tony, built, children_of, describe, find_marked,  # noqa: E402,F401
                     is_locked, opens, parent_of, read_environ, venv_bin, wait_until, write_xml)


@pytest.fixture
def tony(tmp_path, request):
    built("tony-agent")
    tony = Tony(tmp_path)
    yield tony
    if getattr(request.node, "failed", False):
        tony.tell()
    left_running = [job for job in tony.ids() if find_marked(f"TONY_JOB_ID={job}")]
    tony.finish()
    try:
        wait_until(lambda: not tony.processes(), "every process of the test to end")
        wait_until(lambda: not tony.held(), "the ledger to be empty")
    except pytest.fail.Exception:
        left = [describe(pid) for pid in tony.processes()]
        for pid in tony.processes():
            os.kill(pid, signal.SIGKILL)
        pytest.fail(f"left behind: {left}, ledger: {tony.held()}, running at the end: {left_running}")
    assert tony.sanitizer_findings() == ""
    shutil.rmtree(tmp_path, ignore_errors=True)
