"""Limits of tony's own processes, and that the programs they start are free of them."""

import re
from pathlib import Path

import pytest
from conftest import BUILD


def load_address(pid, name):
    """Where the program's first page lies."""
    maps = Path(f"/proc/{pid}/maps").read_text()
    return re.search(rf"^(\w+)-\S+ \S+ 0+ .*{re.escape(str(BUILD / name))}$", maps, re.MULTILINE)[1]


@pytest.mark.promise("S30")
def test_programs_lie_at_another_address_each_time(tony):
    job = tony.submit({"tony.worker.instances": 2}, "--executes", "exec sleep 1000")
    agents = [job.am_pid(), *(job.wait_task(f"worker:{i}")["executor_pid"] for i in (0, 1))]
    assert len({load_address(pid, "tony-agent") for pid in agents}) == 3
    clients = [tony.start("wait", job.id).pid for _ in range(2)]
    assert len({load_address(pid, "tony") for pid in clients}) == 2
