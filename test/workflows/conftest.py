"""The `tony` fixture: the real programs with a state directory of their own, and afterwards the proof that nothing is left. Each
workflow engine's own code starts the jobs."""

import shutil

import pytest

from outcome import pytest_runtest_makereport  # noqa: F401
from program import Tony, built, wait_until


@pytest.fixture
def tony(tmp_path, request):
    built("tony-agent")
    tony = Tony(tmp_path)
    yield tony
    if getattr(request.node, "failed", False):
        tony.tell()
    tony.finish()
    wait_until(lambda: not tony.processes(), "every process of the test to end")
    assert tony.sanitizer_findings() == ""
    if not getattr(request.node, "failed", False):
        shutil.rmtree(tmp_path, ignore_errors=True)
