"""JupyterLab of PyPI, in Chromium, and the proof that nothing is left."""

import shutil

import pytest

import browser
from outcome import pytest_runtest_makereport  # noqa: F401
from program import Tony, built, venv_bin, wait_until


@pytest.fixture(scope="session")
def programs():
    """Those of JupyterLab's environment."""
    return venv_bin("notebook")


@pytest.fixture(scope="session")
def chromium():
    yield from browser.lend()


@pytest.fixture
def tony(programs, tmp_path, request):
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
