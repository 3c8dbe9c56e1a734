"""Both programs are replaced by new files while a job runs, as packages do it: the job goes on with those that it has."""

import os
import shutil
import signal

import pytest
from conftest import BUILD, wait_until

NAMES = ("tony", "tony-agent")
# At each of its starts a task says which agent it is told of, if that can be run.
TELLS = 'test -x "$TONY_AGENT" && echo "agent is $TONY_AGENT"; until [ -e {go} ]; do sleep 0.05; done'


@pytest.fixture(name="upgrade")
def programs_that_can_be_replaced(tony):
    """Puts the programs where they can be replaced: upgrade() does so. A package renames each new file over the old one."""
    tony.build = tony.directory / "bin"
    tony.build.mkdir()

    def upgrade():
        for name in NAMES:
            shutil.copy(BUILD / name, tony.build / f"{name}.new")
            os.rename(tony.build / f"{name}.new", tony.build / name)

    upgrade()
    return upgrade


@pytest.mark.promise("R68")
def test_a_job_outlives_an_upgrade(tony, upgrade):
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 2}, "--executes", TELLS.format(go=go))
    before = {name: job.wait_task(name) for name in ("worker:0", "worker:1")}
    upgrade()
    for name, task in before.items():
        job.wait_task(name, **{key: task[key] for key in ("pids", "port", "executor_pid", "attempt")})
    assert tony.run("restart", job.id, "worker:0").returncode == 0
    said = f"agent is {tony.build / 'tony-agent'}"
    wait_until(lambda: job.logs("worker:0").count(said) == 2, "worker:0 to start again, with an agent that can be run")
    # The next AM and the executor of the next container are started from a file that has no name any more.
    os.kill(job.am()[False], signal.SIGKILL)
    wait_until(lambda: job.status()["am_attempt"] == 2, "the next AM")
    os.kill(before["worker:1"]["executor_pid"], signal.SIGKILL)
    wait_until(lambda: job.logs("worker:1").count(said) == 2, "worker:1 in another container")
    go.touch()
    assert job.wait() == 0


def test_a_job_outlives_a_removal(tony, upgrade):
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 1}, "--executes", f"./exit_after.sh {go} 0")
    job.wait_task("worker:0")
    for name in NAMES:
        (tony.build / name).unlink()
    go.touch()
    tony.build = BUILD
    assert job.wait() == 0
