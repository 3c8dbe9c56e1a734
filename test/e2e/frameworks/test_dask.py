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
    wait_note(job, r"worker:1 killed by signal 9 \(SIGKILL\).*; restart 1 of 10 in place")
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


def run(tony, program):
    (tony.directory / "source").mkdir(exist_ok=True)
    (tony.directory / "source" / "program.py").write_text(f"from distributed import Client, LocalCluster\n{program}\n")
    path = f"{venv_bin('dask')}:{os.environ['PATH']}"
    return tony.job({"tony.application.framework": "dask", "tony.worker.instances": 2, "tony.worker.memory": "512m"},
                    "--", "python3", "program.py", src_dir=tony.directory / "source", env={"PATH": path})


@pytest.mark.slow
def test_a_job_that_succeeds_prints_no_traceback(tony):
    answer, job = run(tony, "client = Client()\nclient.wait_for_workers(2)\n"
                            "print(sum(client.gather(client.map(abs, range(100)))))")
    assert answer.returncode == 0, answer.stdout
    assert job.logs("driver:0") == "4950\n"
    for task in ("scheduler:0", "worker:0", "worker:1"):
        assert "Traceback" not in job.logs(task, "stderr"), job.logs(task, "stderr")
    assert "dask_teardown" not in job.logs("scheduler:0", "stderr")
    assert job.logs("scheduler:0", "stderr").index("Lost all workers") < \
        job.logs("scheduler:0", "stderr").index("Scheduler closing all comms")


@pytest.mark.slow
def test_a_program_with_a_cluster_of_its_own_is_told_what_to_write(tony):
    answer, _ = run(tony, "Client(n_workers=4)")
    assert answer.returncode == 1
    assert "\ntry: write Client() without arguments: " in answer.stdout + answer.stderr
    answer, job = run(tony, "if __name__ == '__main__':\n"
                            "  with LocalCluster(n_workers=1) as own, Client(own) as client:\n"
                            "    print(client.submit(abs, -1).result())")
    assert (answer.returncode, job.logs("driver:0")) == (0, "1\n")
    assert job.logs("driver:0", "stderr").count("tony: warning: LocalCluster starts workers of its own") == 1


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
