"""Another user of the machine who reaches a job's port, without its token."""

import json
from pathlib import Path

import pytest

MIB = 1 << 20
LIMIT = 10 * MIB  # 4 MiB of requests, 1,028 connections, and what an allocator makes of them


def start_job(machine):
    job = machine.owner.submit({"tony.worker.instances": 1, "tony.worker.memory": "64m", "tony.worker.command": "sleep 600"})
    machine.owner.wait_task(job, "worker:0")
    return job, json.loads(machine.owner.read(machine.owner.state / "jobs" / job / "am.json"))


def resident(pid):
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


@pytest.mark.promise("S5", "S47")
@pytest.mark.parametrize("count, start, size", [
    (300, r"GET /v1/server HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048576\r\n\r\n", MIB - 1),
    (300, r"POST /v1/job/kill HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048576\r\n\r\n", MIB - 1),
    (1500, r"GET / HTTP/1.1\r\nHost: localhost\r\nA: ", 15000),
    (1500, "", 0),
], ids=["bodies", "refused bodies", "heads", "silence"])
def test_a_crowd_of_strangers_takes_little_memory_and_keeps_nobody_out(machine, count, start, size):
    job, am = start_job(machine)
    before = resident(am["pid"])
    crowd, said = machine.stranger.attack("crowd", am["address"], count, start, size)
    assert said == "there", crowd.communicate()
    assert resident(am["pid"]) < before + LIMIT
    assert machine.owner.task(job, "worker:0")["attempt"] == 1
    assert machine.owner.tony("kill", job).returncode == 0


@pytest.mark.promise("S49")
def test_a_stranger_learns_the_kind_of_server_only(machine):
    _, am = start_job(machine)
    answer = machine.stranger.run("curl", "-s", f"http://{am['address']}/v1/server")
    assert json.loads(answer.stdout) == {"kind": "am"}
