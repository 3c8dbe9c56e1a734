"""Seeded schedules of faults against real jobs on this machine: local_world.py runs one.

TONY_FAULT_SEEDS says how many (200; of the other kinds a tenth), TONY_FAULT_FIRST_SEED where they begin (1).
"""

import os

import fault
import pytest

FIRST = int(os.environ.get("TONY_FAULT_FIRST_SEED", 1))
COUNT = int(os.environ.get("TONY_FAULT_SEEDS", 200))

PROMISES = {"any": ("R48", "R49", "R50"), "clocks": ("R55",), "elastic": ("R49",), "orphans": ("R50",)}
SEEDS = [pytest.param(kind, seed, marks=pytest.mark.promise(*ids)) for kind, ids in PROMISES.items()
         for seed in range(FIRST, FIRST + (COUNT if kind == "any" else COUNT // 10))]


@pytest.mark.parametrize("kind, seed", SEEDS)
def test_seed(kind, seed, tmp_path):
    ran = fault.run(kind, seed, tmp_path)
    assert ran.returncode == 0, f"{fault.again(kind, seed)}\n{ran.stdout}"
