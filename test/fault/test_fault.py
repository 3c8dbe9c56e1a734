"""Seeded schedules of faults against real jobs on this machine: local_world.py runs one.

TONY_FAULT_SEEDS says how many (200; of the other kinds a tenth), TONY_FAULT_FIRST_SEED where they begin (1).
"""

import os

import fault
import pytest

FIRST = int(os.environ.get("TONY_FAULT_FIRST_SEED", 1))
COUNT = int(os.environ.get("TONY_FAULT_SEEDS", 200))


SEEDS = [("any", seed) for seed in range(FIRST, FIRST + COUNT)] + \
    [(kind, seed) for kind in ("clocks", "elastic", "orphans") for seed in range(FIRST, FIRST + COUNT // 10)]


@pytest.mark.parametrize("kind, seed", SEEDS)
def test_seed(kind, seed, tmp_path):
    ran = fault.run(kind, seed, tmp_path)
    assert ran.returncode == 0, f"{fault.again(kind, seed)}\n{ran.stdout}"
