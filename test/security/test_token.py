"""A token is shown to nobody but its owner's programs, whoever listens where these are expected."""

import json
import os
import re
import signal

import pytest

from patience import wait_until

SQUATTED = 19999  # free in a network namespace of one's own


@pytest.mark.parametrize("address", ["127.0.0.1", "10.9.9.9"])
@pytest.mark.parametrize("device", [(), ("SO_REUSEADDR", "lo")], ids=["plain", "bound-to-lo"])
@pytest.mark.promise("S34")
def test_the_ams_port_in_another_users_hands_gets_no_token(machine, address, device):
    machine.run("ip", "address", "add", "10.9.9.9/32", "dev", "lo")
    job = machine.owner.submit({"tony.worker.instances": 1, "tony.worker.memory": "64m", "tony.worker.command": "sleep 600"})
    machine.owner.wait_task(job, "worker:0")
    thief, first = machine.stranger.attack("steal", SQUATTED, address, *device)
    assert first == "stolen"
    place = machine.owner.state / "jobs" / job / "am.json"
    there = machine.owner.read(place)
    machine.owner.write(place, json.dumps({**json.loads(there), "address": f"{address}:{SQUATTED}"}))
    answer = machine.owner.tony("open", job)
    machine.owner.write(place, there)
    assert answer.returncode != 0
    assert f"{address}:{SQUATTED}: is listened on by uid {machine.stranger.uid}, not by uid {machine.owner.uid}" in answer.stderr
    assert thief.stdout.readline() == "b''\n"


@pytest.mark.promise("S32")
def test_the_port_of_an_mpi_worker_in_another_users_hands_gets_nothing(machine):
    """rsh says who listens there, and goes on when the host does. The worker's executor, which would restart its task for
    that, is stopped meanwhile."""
    go = machine.owner.home / "go"
    job = machine.owner.submit({
        "tony.application.framework": "mpi", "tony.worker.instances": 1, "tony.worker.memory": "64m", "tony.worker.hold-port": "false",
        "tony.worker.command": f'echo "port $TONY_PORT"; until test -e {go}; do sleep 0.1; done; exec "$TONY_AGENT" host',
        "tony.launcher.command": '"$TONY_AGENT" rsh tony-worker-0 "echo it runs"'})
    port = wait_until(lambda: re.search(r"port (\d+)\n", machine.owner.logs(job, "worker:0")), "the worker's port")[1]
    executor = machine.stop("tony-agent exec", f"{machine.owner.state}/jobs/{job}/containers/worker-0-1/")
    assert len(executor) == 2, executor
    thief, first = machine.stranger.attack("steal", port)
    assert first == "stolen"
    told = f"127.0.0.1:{port}: is listened on by uid {machine.stranger.uid}, not by uid {machine.owner.uid} or root"
    wait_until(lambda: told in machine.owner.logs(job, "launcher:0", "stderr"), "rsh to say who listens")
    thief.kill()
    assert set(thief.communicate()[0].splitlines()) <= {"b''"}
    for pid in executor:
        os.kill(pid, signal.SIGCONT)
    machine.owner.write("go", "")
    assert machine.owner.wait_end(job)["state"] == "succeeded"
    assert "it runs" in machine.owner.logs(job, "worker:0")


@pytest.mark.promise("S35", "S162")
def test_the_portals_port_in_another_users_hands_is_not_asked_for_a_link(machine):
    port = 19886
    portal = machine.owner.start(machine.bin / "tony", "portal")
    assert portal.stdout.readline() == f"The portal is at http://127.0.0.1:{port}/\n"
    link = machine.owner.tony("portal", "--link")
    assert re.fullmatch(rf"http://127\.0\.0\.1:{port}/login\?code=[0-9a-f]{{64}}\n", link.stdout), link.stderr
    assert machine.stranger.tony("portal", "--link", env={"TONY_STATE_DIR": machine.owner.state}).returncode != 0
    portal.kill()
    portal.wait()
    thief, first = machine.stranger.attack("steal", port)
    assert first == "stolen"
    refused = machine.owner.tony("portal", "--link")
    assert refused.returncode != 0 and refused.stdout == ""
    assert f"your portal at 127.0.0.1:{port} of this machine: a program of uid-{machine.stranger.uid} (uid {machine.stranger.uid}) listens" in refused.stderr
    thief.kill()
    assert thief.communicate()[0] == ""
