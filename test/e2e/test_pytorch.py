"""A real framework: PyTorch DDP over gloo trains on the digits table, loses a process to SIGKILL and
finishes from its checkpoint."""

import os
import re
import signal

from conftest import PYTHON, ROOT, wait_until

EXAMPLE = ROOT / "examples/pytorch-ddp"


def test_ddp_loses_a_process_and_finishes_from_its_checkpoint(tony):
    answer = tony.run("submit", "--detach", "--conf_file", EXAMPLE / "tony.xml", "--src_dir", EXAMPLE,
                      "--conf", f"tony.worker.command={PYTHON} train.py --epochs 40")
    assert answer.returncode == 0, answer.stderr
    job = tony.found_job(answer.stdout)
    tony.jobs.append(job)
    wait_until(lambda: re.search(r"epoch +5 of", job.logs("worker:0")), "five epochs", 120)
    os.kill(job.wait_task("worker:1")["pids"][0], signal.SIGKILL)
    assert job.wait(120) == 0, job.logs("worker:0", "stderr")
    log = job.logs("worker:0")
    resumed = re.search(r"resuming at epoch (\d+)", log)
    assert resumed and int(resumed.group(1)) >= 5, log
    reached = re.search(r"done: accuracy (\S+)", log)
    assert reached and float(reached.group(1)) >= 0.90
    assert job.status()["epoch"] == 2
