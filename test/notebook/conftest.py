"""JupyterLab of PyPI, in Chromium, and the proof that nothing is left."""

import pytest

import browser
from outcome import pytest_runtest_makereport  # noqa: F401
from program import lend_tony, venv_bin


@pytest.fixture(scope="session")
def programs():
    """Those of JupyterLab's environment."""
    return venv_bin("notebook")


@pytest.fixture(scope="session")
def chromium():
    yield from browser.lend()


@pytest.fixture
def tony(programs, tmp_path, request):
    yield from lend_tony(tmp_path, request.node)
