"""Seeded schedules of faults against real jobs on a YARN and HDFS of their own: yarn_world.py runs them, one after the
other. TONY_FAULT_YARN_SEEDS says how many (7)."""

import os

import fault
import pytest

COUNT = int(os.environ.get("TONY_FAULT_YARN_SEEDS", 7))


@pytest.mark.slow
def test_seeds():
    assert fault.run_on_clusters(iter(range(1, COUNT + 1))) == 0
