"""PyTorch DDP over gloo (Debian's package) trains on the digits table, loses both ranks to SIGKILL and
one that freezes, and finishes from its checkpoint; programs for torchrun run as they are."""

import json
import os
import re
import signal
import subprocess

from conftest import PROGRAMS, wait_until
from endless import EPOCHS, end_after
from patience import PATIENCE_S


def resumptions(job):
    return [int(number) for number in re.findall(r"resuming at epoch (\d+)", job.logs("worker:0"))]


def hit(job, task, signal_number, epoch):
    """Ends the formation `epoch`, after some training, by a signal to this task."""
    first = resumptions(job)[-1] if epoch > 1 else 0
    wait_until(lambda: f"epoch {first + 5:3} of" in job.logs("worker:0"),
               f"five epochs: {job.logs('worker:0', 'stderr')}")
    os.kill(job.wait_task(task, epoch=epoch)["pids"][0], signal_number)
    wait_until(lambda: len(resumptions(job)) == epoch, f"formation {epoch + 1}: {job.events()}")
    assert resumptions(job)[-1] >= first + 5


def test_both_ranks_are_lost_and_one_freezes(tony):
    job = tony.example("pytorch", "--conf", f"tony.worker.command=python3 train.py {EPOCHS}",
                       "--conf", "tony.worker.frozen-timeout=2s",
                       "--conf", "tony.am.retry-count=3", "--conf", "tony.am.retry-delay=10ms")
    hit(job, "worker:1", signal.SIGKILL, epoch=1)
    hit(job, "worker:0", signal.SIGKILL, epoch=2)
    end_after(job, 60)
    hit(job, "worker:1", signal.SIGSTOP, epoch=3)
    assert job.wait() == 0, job.logs("worker:0", "stderr")
    assert any("worker:1: ended, frozen: process" in event.get("text", "") for event in job.events())
    reached = re.search(r"done: accuracy (\S+)", job.logs("worker:0"))
    assert reached and float(reached.group(1)) >= 0.90
    assert job.status()["epoch"] == 4


def test_a_program_for_torchrun_finds_the_same(tony):
    # What is about output is for Debian's PyTorch 1.13, which starts no ranks without.
    alone = subprocess.Popen(["torchrun", "--nproc_per_node=2", "--rdzv_backend=c10d", "--rdzv_endpoint=localhost:0",
                              "--tee=2", "--redirects=2", "--log_dir=logs", PROGRAMS / "torch_ranks.py"],
                             env=tony.env, cwd=tony.directory, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    tony.children.append(alone)
    _, job = tony.job({"tony.application.framework": "pytorch", "tony.worker.instances": 1, "tony.worker.processes": 2,
                       "tony.worker.memory": "2g", "tony.worker.command": "python3 torch_ranks.py"})
    said, errors = alone.communicate(timeout=PATIENCE_S)
    assert alone.returncode == 0, errors
    by_tony = [json.loads(job.logs("worker:0", file)) for file in ("stdout", "stdout-1")]
    by_torchrun = sorted(map(json.loads, said.splitlines()), key=lambda found: found["RANK"])
    assert by_tony == by_torchrun
    assert by_tony[1]["total"] == 1 and len(by_tony[1]["present"]) == 3


def test_a_peer_that_freezes_is_told_in_the_words_of_who_waits(tony):
    job = tony.submit({"tony.application.framework": "pytorch", "tony.worker.instances": 2, "tony.worker.memory": "1g",
                       "tony.worker.command": "python3 torch_ranks.py 5"})
    for task in ("worker:0", "worker:1"):
        wait_until(lambda: "together" in job.logs(task), f"{task} to begin")
    os.kill(job.wait_task("worker:1")["pids"][0], signal.SIGSTOP)
    assert job.wait() == 1
    assert re.fullmatch(r"worker:0 on \S+ exited with code 1: RuntimeError: .*Timed out waiting 5000ms for .*",
                        job.status()["message"])
