"""The dashboard in a real browser, of jobs of a third engine."""

import pytest
from dashboard_rows import *  # noqa: F401,F403


@pytest.fixture
def link_to(tony):
    def find(job):
        answer = tony.run("open", job.id)
        assert answer.returncode == 0, answer.stderr
        return answer.stdout.strip()
    return find
