"""Tasks of a job share a data set through the application master: each record is read once where nothing fails but the
application master, and at least once where a task is lost."""

import collections
import os
import signal

import pytest
from conftest import PYTHON, wait_until

ITEMS, PASSES, RECORDS = 12, 2, 3
SPLITS = {(number, item) for number in range(1, PASSES + 1) for item in range(ITEMS)}


def submit(tony, pause, **settings):
    env = {"ITEMS": ITEMS, "PASSES": PASSES, "RECORDS": RECORDS, "PAUSE": pause, "READ": tony.directory / "read"}
    return tony.submit({"tony.worker.instances": 3, "tony.am.retry-delay": "10ms", **settings}, "--executes", f"exec {PYTHON} read_splits.py",
                       *(word for name, value in env.items() for word in ("--shell_env", f"{name}={value}")))


def records(job):
    lines = (job.tony.directory / "read").read_text().splitlines()
    return collections.Counter(tuple(map(int, line.split())) for line in lines)


def every_record():
    return {(number, item, record) for number, item in SPLITS for record in range(RECORDS)}


def done(job):
    sets = job.status().get("work", {}).get("splits", [])
    return sets[0]["done"] if sets else 0


@pytest.mark.parametrize("tls", ["false", "true"])
@pytest.mark.promise("R80")
def test_killed_ams_cost_no_record(tony, tls):
    job = submit(tony, 0.05, **{"tony.application.tls": tls})
    for times in (1, 2):
        wait_until(lambda: done(job) >= 4 * times, "some splits to be done")
        os.kill(job.am()[0], signal.SIGKILL)
        wait_until(lambda: job.status()["am_attempt"] == times + 1, "the next AM")
    assert job.wait() == 0
    assert records(job) == collections.Counter(dict.fromkeys(every_record(), 1))
    wait_until(lambda: not list(job.directory.glob("splits.*")), "the queue's files to be removed")


@pytest.mark.parametrize("keys", [{"tony.am.retry-count": 2}, {"tony.worker.min-instances": 1}], ids=["retried", "elastic"])
@pytest.mark.promise("R81")
def test_splits_of_a_lost_task_go_to_others(tony, keys):
    job = submit(tony, 0.05, **keys)
    wait_until(lambda: done(job) >= 4, "some splits to be done")
    os.kill(job.task("worker:1")["executor_pid"], signal.SIGKILL)
    wait_until(lambda: done(job) >= 10, "more splits to be done")
    os.kill(job.am()[0], signal.SIGKILL)
    assert job.wait() == 0
    read = records(job)
    assert set(read) == every_record()
    assert sum(read.values()) - len(read) <= 6, "records behind the last offset, no more"


def test_status_tells_how_far_it_is(tony):
    job = submit(tony, 0.2)
    wait_until(lambda: done(job) >= 1, "a split to be done")
    line = next(line for line in tony.run("status", job.id).stdout.splitlines() if line.startswith("data numbers: "))
    assert f" of {ITEMS * PASSES} splits, pass " in line and line.endswith(" leased"), line
    assert job.rest("GET", "/v1/splits/numbers")[0] == 200
    assert tony.run("kill", job.id).returncode == 0
