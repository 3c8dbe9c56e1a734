"""Ray trains on the digits table and loses, one after the other, a worker's node to SIGKILL, a node that
freezes, the head's table and the driver."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import PROGRAMS, venv_bin, wait_until
from driver_job import (COMMAND, ELASTIC, PATIENCE_S, expect_success, strike, wait_note, wait_progress,
                        wait_resumed)
from endless import end_after

COMMAND = COMMAND.replace("=", f"=python3 {PROGRAMS}/ray_head.py && ", 1)

ASK_HEAD = """
import os
from ray._raylet import GcsClient
print(GcsClient(address=os.environ["RAY_ADDRESS"]).internal_kv_get(b"session_name", b"session"))
"""


@pytest.fixture
def alone(tony):
    """The tony fixture in a network namespace without any device but lo: Ray replaces 127.0.0.1 by the
    machine's outward address where it finds one, and then listens to everybody."""
    as_root = os.geteuid() == 0
    holder = subprocess.Popen(
        ["unshare", "--net", *([] if as_root else ["--user", "--map-root-user"]),
         "sh", "-c", "ip link set lo up && echo up && exec sleep infinity"], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "up\n"
    tony.enter = ["nsenter", f"--target={holder.pid}", "--net",
                  *([] if as_root else ["--user", "--preserve-credentials"])]
    yield tony
    tony.finish()
    holder.kill()
    holder.communicate()


ALIVE = """
import os
from ray._raylet import GcsClient
from ray.core.generated.gcs_pb2 import GcsNodeInfo
nodes = GcsClient(address=os.environ["RAY_ADDRESS"]).get_all_node_info(timeout=120).values()
print(sum(node.state == GcsNodeInfo.ALIVE for node in nodes))
"""


def ask_head(alone, job, script=ASK_HEAD, **token):
    """Somebody with a token of theirs asks the head for something."""
    head = job.task("head:0")
    env = {**alone.env, "RAY_ADDRESS": f"{head['host']}:{head['port']}", "RAY_AUTH_MODE": "token", **token}
    return subprocess.run([*alone.enter, venv_bin("ray") / "python3", "-c", script], env=env, timeout=PATIENCE_S,
                          capture_output=True, text=True)


def secret_of(job):
    return job.directory / "containers" / "head-0-1" / "secret"


def wait_nodes(alone, job, count):
    """Until so many belong to the Ray cluster, the head's among them."""
    wait_until(lambda: ask_head(alone, job, ALIVE, RAY_AUTH_TOKEN_PATH=str(secret_of(job))).stdout == f"{count}\n",
               f"{count} nodes", PATIENCE_S)


def expect_closed(alone, job):
    """Whoever has not the cluster's secret gets no answer."""
    secret = secret_of(job)
    assert secret.stat().st_mode & 0o777 == 0o600
    assert "session_" in ask_head(alone, job, RAY_AUTH_TOKEN_PATH=str(secret)).stdout
    for token in ({"RAY_AUTH_MODE": "disabled"}, {"RAY_AUTH_TOKEN": job.token()}):
        refused = ask_head(alone, job, **token)
        assert refused.returncode != 0 and "AuthenticationError" in refused.stderr, refused


def test_a_lost_worker_comes_back_and_a_lost_head_or_driver_forms_the_cluster_anew(alone):
    job = alone.example("ray", "--conf", COMMAND, "--conf", "tony.worker.frozen-timeout=2s",
                        python=venv_bin("ray"))
    wait_progress(job)
    driver = job.wait_task("driver:0")["pids"]
    expect_closed(alone, job)

    # On a busy machine Ray may have ended some itself: nodes give up that are not known after 30 s.
    strike(job, "worker:1")
    wait_note(job, r"worker:1 killed by signal 9 \(SIGKILL\).*; restart \d+ of 10 in place")
    wait_progress(job)

    strike(job, "worker:0", signal.SIGSTOP, child="raylet")
    wait_note(job, r"worker:0 ended, frozen: process \d+ \(raylet\) was stopped \(SIGSTOP\) and stood still for .*; "
                   r"restart \d+ of 10 in place")
    reached = wait_progress(job)
    assert (job.wait_task("driver:0")["pids"], job.status()["epoch"]) == (driver, 1)

    strike(job, "head:0", child="gcs_server")
    wait_note(job, r"head:0: exited with code 1; the job re-forms \(retry 1 of 2\)")
    wait_resumed(job, 1, reached)
    reached = wait_progress(job)

    end_after(job, reached + 100)
    strike(job, "driver:0")
    wait_note(job, r"driver:0: killed by signal 9 \(SIGKILL\).*; the job re-forms \(retry 2 of 2\)")
    wait_resumed(job, 2, reached)
    expect_success(job)


def parent_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])


@pytest.mark.slow
def test_a_nodes_files_are_there_until_its_last_process_has_gone(alone):
    job = alone.example("ray", "--conf", COMMAND, python=venv_bin("ray"))
    wait_progress(job)
    task = job.wait_task("worker:0")
    command = Path(f"/proc/{task['pids'][0]}/cmdline").read_text(encoding="utf-8").split("\0")
    files = Path(command[command.index("--temp-dir") + 1])
    assert any(files.iterdir())
    # A guardian that stands still does not yet end the rest of a node whose executor was killed.
    guardian = parent_of(task["executor_pid"])
    os.kill(guardian, signal.SIGSTOP)
    os.kill(task["executor_pid"], signal.SIGKILL)
    wait_until(lambda: Path(f"/proc/{task['executor_pid']}/stat").read_text().rpartition(")")[2].split()[0] == "Z",
               "the executor to be dead")
    assert any(files.iterdir())
    os.kill(guardian, signal.SIGCONT)
    job.wait_task("worker:0", attempt=2)
    assert alone.run("kill", job.id).returncode == 0


@pytest.mark.slow
def test_workers_come_and_go_while_the_driver_goes_on(alone):
    job = alone.example("ray", "--conf", COMMAND, *ELASTIC, python=venv_bin("ray"))
    wait_progress(job)
    driver = job.wait_task("driver:0")["pids"]
    wait_nodes(alone, job, 3)

    assert alone.run("scale", job.id, "worker=3").returncode == 0
    wait_nodes(alone, job, 4)
    os.kill(job.wait_task("worker:0")["executor_pid"], signal.SIGKILL)
    job.wait_task("worker:0", attempt=2)
    wait_nodes(alone, job, 4)
    assert alone.run("scale", job.id, "worker=1").returncode == 0
    wait_nodes(alone, job, 2)
    wait_progress(job)
    assert (job.wait_task("driver:0")["pids"], job.status()["epoch"]) == (driver, 1)
    assert alone.run("kill", job.id).returncode == 0


@pytest.mark.slow
@pytest.mark.newest
def test_ray_train_trains(alone):
    path = f"{venv_bin('ray-train')}:{os.environ['PATH']}"
    answer, job = alone.job({"tony.application.framework": "ray", "tony.worker.instances": 2, "tony.head.memory": "2g",
                             "tony.worker.memory": "2g", "tony.driver.memory": "1g"},
                            "--", "python3", PROGRAMS / "ray_train.py", src_dir=None, env={"PATH": path})
    assert answer.returncode == 0, answer.stdout
    errors = job.logs("driver:0", "stderr")
    assert "worker 0 of 2 did 3 epochs" in errors + job.logs("driver:0"), errors
    assert "Failed to query Ray Train Controller actor state" not in errors
