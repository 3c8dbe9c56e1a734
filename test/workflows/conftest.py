"""The `tony` fixture: the real programs with a state directory of their own, and afterwards the proof that nothing is left. Each
workflow engine's own code starts the jobs."""

import pytest

from outcome import pytest_runtest_makereport  # noqa: F401
from program import lend_tony


@pytest.fixture
def tony(tmp_path, request):
    yield from lend_tony(tmp_path, request.node)
