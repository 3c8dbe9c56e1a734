"""LightGBM, distributed: trains on the digits table while its workers are killed and frozen, one after
the other; and its command line."""

import gzip
import os
import re
import signal

import pytest
from conftest import ROOT, venv_bin, wait_until

# Trains until told otherwise: each formation looks when it starts.
COMMAND = 'tony.worker.command=python3 train.py --rounds "$(cat "$TONY_CHECKPOINT_DIR/rounds" || echo 1000000)"'


def resumptions(job):
    return [int(number) for number in re.findall(r"resuming at round (\d+)", job.logs("worker:0"))]


def rounds_of(job):
    return [int(number) for number in re.findall(r"round +(\d+) ", job.logs("worker:0"))]


def wait_rounds(job, more):
    """Until the latest formation has done so many rounds; the last one that was seen."""
    first = resumptions(job)[-1] if resumptions(job) else 0
    return wait_until(lambda: (done := rounds_of(job)) and done[-1] >= first + more and done[-1],
                      f"{more} rounds: {job.logs('worker:0', 'stderr')}")


def hit(job, task, signal_number, epoch):
    """Ends the formation `epoch`, after some training, by a signal to this task."""
    before = wait_rounds(job, 5)
    os.kill(job.wait_task(task, epoch=epoch)["pids"][0], signal_number)
    wait_until(lambda: len(resumptions(job)) == epoch, f"formation {epoch + 1}: {job.events()}")
    assert resumptions(job)[-1] >= before


def test_every_worker_is_lost_once_and_one_freezes(tony):
    job = tony.example("lightgbm", "--conf", COMMAND, "--conf", "tony.worker.frozen-timeout=2s",
                       "--conf", "tony.am.retry-count=3", "--conf", "tony.am.retry-delay=10ms",
                       python=venv_bin("lightgbm"))
    hit(job, "worker:1", signal.SIGKILL, epoch=1)
    hit(job, "worker:0", signal.SIGKILL, epoch=2)
    (job.directory / "checkpoint/rounds").write_text("200")  # for the last formation
    hit(job, "worker:1", signal.SIGSTOP, epoch=3)
    assert job.wait() == 0, job.logs("worker:0", "stderr")
    assert any("worker:1: ended, frozen: process" in event.get("text", "") for event in job.events())
    reached = re.search(r"done: accuracy (\S+)", job.logs("worker:0"))
    assert reached and float(reached.group(1)) >= 0.95
    assert job.status()["epoch"] == 4


def write_rows(folder):
    """The digits table as LightGBM's command line reads it, the label first: a part for each of two workers."""
    lines = gzip.decompress((ROOT / "examples/data/digits.csv.gz").read_bytes()).decode().splitlines()
    rows = [line.rpartition(",") for line in lines]
    folder.mkdir()
    for rank in range(2):
        part = "".join(f"{label},{pixels}\n" for pixels, _, label in rows[rank::2])
        (folder / f"rows-{rank}.csv").write_text(part)


@pytest.mark.slow
def test_the_command_line_trains(tony):
    write_rows(tony.directory / "source")
    command = ('lightgbm task=train objective=multiclass num_class=10 num_iterations=20 tree_learner=data '
               'pre_partition=true data=rows-$TONY_TASK_INDEX.csv output_model="$TONY_CHECKPOINT_DIR/$TONY_TASK_INDEX" '
               'metric=multi_error is_training_metric=true '
               'machines=$LIGHTGBM_MACHINES num_machines=$LIGHTGBM_NUM_MACHINES '
               'local_listen_port=$LIGHTGBM_LOCAL_LISTEN_PORT')
    answer, job = tony.job({"tony.application.framework": "lightgbm", "tony.worker.instances": 2,
                            "tony.worker.envs": f"PATH={venv_bin('lightgbm')}:{os.environ['PATH']}",
                            "tony.worker.command": command}, src_dir=tony.directory / "source")
    assert answer.returncode == 0, answer.stdout + job.logs("worker:0")
    for task in ("worker:0", "worker:1"):
        assert "Local rank: " + task[-1] in job.logs(task) and "total number of machines: 2" in job.logs(task)
        assert float(re.findall(r"training multi_error : (\S+)", job.logs(task))[-1]) <= 0.05
    models = [(job.directory / "checkpoint" / rank).read_text().partition("\nparameters:")[0] for rank in "01"]
    assert models[0] == models[1] and "num_class=10" in models[0]
