"""Dask trains on the digits table and loses, one after the other, a worker to SIGKILL, a worker that
freezes, the scheduler and the driver."""

import os
import signal

import pytest
from conftest import venv_bin
from driver_job import COMMAND, ELASTIC, expect_success, strike, wait_note, wait_progress, wait_resumed
from endless import end_after


def test_a_lost_worker_comes_back_and_a_lost_scheduler_or_driver_forms_the_cluster_anew(tony):
    job = tony.example("dask", "--conf", COMMAND, "--conf", "tony.worker.frozen-timeout=2s",
                       python=venv_bin("dask"))
    wait_progress(job)
    driver = job.wait_task("driver:0")["pids"]

    strike(job, "worker:1")
    wait_note(job, r"worker:1 killed by signal 9 \(SIGKILL\); restart 1 of 10 in place")
    wait_progress(job)

    strike(job, "worker:0", signal.SIGSTOP)
    wait_note(job, r"worker:0 ended, frozen: process \d+ \(.*\) was stopped \(SIGSTOP\) and stood still for .*; "
                   r"restart 1 of 10 in place")
    reached = wait_progress(job)
    assert (job.wait_task("driver:0")["pids"], job.status()["epoch"]) == (driver, 1)

    strike(job, "scheduler:0")
    wait_note(job, r"scheduler:0: killed by signal 9 \(SIGKILL\).*; the job re-forms \(retry 1 of 2\)")
    wait_resumed(job, 1, reached)
    reached = wait_progress(job)

    end_after(job, reached + 100)
    strike(job, "driver:0")
    wait_note(job, r"driver:0: killed by signal 9 \(SIGKILL\).*; the job re-forms \(retry 2 of 2\)")
    wait_resumed(job, 2, reached)
    expect_success(job)


@pytest.mark.slow
def test_workers_come_and_go_while_the_driver_goes_on(tony):
    job = tony.example("dask", "--conf", COMMAND, *ELASTIC, python=venv_bin("dask"))
    wait_progress(job)
    driver = job.wait_task("driver:0")["pids"]

    assert tony.run("scale", job.id, "worker=3").returncode == 0
    job.wait_log("worker:2", "Registered to", "stderr")
    os.kill(job.wait_task("worker:0")["executor_pid"], signal.SIGKILL)
    job.wait_task("worker:0", attempt=2)
    assert tony.run("scale", job.id, "worker=1").returncode == 0
    for task in ("worker:1", "worker:2"):
        job.wait_task(task, "stopped")
    wait_progress(job)
    assert (job.wait_task("driver:0")["pids"], job.status()["epoch"]) == (driver, 1)
    assert tony.run("kill", job.id).returncode == 0
