"""The outcome of a test: `from outcome import pytest_runtest_makereport` in a conftest.py makes it so."""

import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A skipped test is a failure, and a fixture finds in `request.node.failed` that its test failed."""
    report = (yield).get_result()
    if report.skipped:
        report.outcome = "failed"
    if report.when == "call" and report.failed:
        item.failed = True
