"""The `tony` fixture: the real programs with one scheduler more, and afterwards the proof that nothing was left behind."""

import os
import shutil
import signal

import pytest

pytest.register_assert_rewrite("tony_rows", "dashboard_rows", "page")

from null_tony import NullTony  # noqa: E402
from outcome import pytest_runtest_makereport  # noqa: E402,F401
from program import describe, find_marked  # noqa: E402


@pytest.fixture
def tony(tmp_path, request):
    tony = NullTony(tmp_path)
    yield tony
    if getattr(request.node, "failed", False):
        tony.tell()
    running = [job for job in tony.ids() if find_marked(f"TONY_JOB_ID={job}")]
    assert tony.engine.poll() is None, "the engine has ended"
    try:
        tony.finish()
    except pytest.fail.Exception:
        tony.engine.kill()
        left = [describe(pid) for pid in tony.processes()]
        for pid in tony.processes():
            os.kill(pid, signal.SIGKILL)
        pytest.fail(f"left behind: {left}, running at the end: {running}")
    assert tony.sanitizer_findings() == ""
    shutil.rmtree(tmp_path, ignore_errors=True)
