"""tony.aio: the same for asyncio. A task that is cancelled leaves no process behind."""

import asyncio
import os

import pytest
import tony
from conftest import BUILD, SMALL, children_of, wait_until
from patience import PATIENCE_S
from tony import aio

ENDLESS = ["sleep", "1000"]


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, PATIENCE_S))


async def until(condition):
    while not condition():
        await asyncio.sleep(0.01)  # patience: the event loop's wait_until()


def test_a_job_is_submitted_watched_and_read(home):
    async def main():
        job = await aio.submit(["sh", "-c", "echo in $TASK_INDEX; echo 1 > $TONY_OUTPUT_DIR/a"], workers=2, name="digits", **SMALL)
        seen = []
        lines = [str(line) async for line in job.logs(follow=True)]
        status = await job.wait(on_change=seen.append)
        assert status.succeeded and sorted(lines) == ["in 0", "in 1"] and seen[-1].after == "succeeded"
        assert await aio.find("digits") == job and await aio.jobs() == [] and await aio.jobs(all=True) == [job]
        assert [event.seq async for event in job.events()][0] == 1
        assert not await job.metrics("loss") and os.path.exists(await job.results("home"))
        with tony.environment({}, cwd=str(home.directory / "tmp")):
            again = await job.rerun(["pwd"])
        assert (await again.wait()).raw["rerun_of"] == job.id
        await job.remove()
        with pytest.raises(tony.NotFound):
            await job.status()

    run(main())


def test_a_function_is_run_and_its_exception_is_raised(home):
    def train(x):
        if x < 0:
            raise ValueError("negative")
        return x + 1

    async def main():
        jobs = [await aio.submit(train, x, **SMALL) for x in (1, 2, -1)]
        values = await asyncio.gather(*(job.value() for job in jobs), return_exceptions=True)
        assert values[:2] == [2, 3] and isinstance(values[2], ValueError)
        assert await jobs[0].values() == {"driver:0": 2}

    run(main())


@pytest.mark.promise("P6")
def test_what_is_cancelled_leaves_no_process_and_the_job_alone(home):
    async def main():
        job = await aio.submit(ENDLESS, **SMALL)
        seen = []
        waiting = [asyncio.create_task(job.wait()), asyncio.create_task(job.wait(on_change=lambda change: seen.append(change.after)))]
        await until(lambda: "running" in seen and len(children_of(os.getpid())) == 2)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert all(task.cancelled() for task in waiting) and not children_of(os.getpid())
        for changes in (None, seen.append):
            with pytest.raises(tony.WaitTimeout):
                await job.wait(0.1, on_change=changes)  # patience: it runs for ever
        assert (await job.status()).state == "running"
        await job.kill("enough")
        with pytest.raises(tony.JobKilled, match="enough"):
            await job.wait()

    run(main())


# A submission that goes on when it is told to end: the job is started, and nobody waits for it any more.
STUBBORN = """#!/bin/sh
trap heard=1 TERM
case $1 in submit) touch {begun}; until [ "$heard" ]; do sleep 0.01; done ;; esac
exec {tony} "$@"
"""


@pytest.mark.promise("P6")
def test_a_submission_that_is_cancelled_leaves_no_job(home, monkeypatch):
    begun, program = home.directory / "begun", home.directory / "stubborn"
    program.write_text(STUBBORN.format(begun=begun, tony=BUILD / "tony"))
    program.chmod(0o700)
    monkeypatch.setenv("TONY_PROGRAM", str(program))

    async def main():
        task = asyncio.create_task(aio.submit(ENDLESS, **SMALL))
        await until(begun.exists)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [(await job.status()).state for job in await aio.jobs(all=True)] == ["killed"]

    run(main())


def test_a_block_that_is_left_by_an_exception_ends_its_job(home):
    async def main():
        with pytest.raises(ZeroDivisionError):
            async with await aio.submit(ENDLESS, **SMALL) as job:
                raise ZeroDivisionError
        assert (await job.status()).state == "killed"
        async with await aio.submit(["true"], **SMALL) as job:
            pass
        assert (await job.status()).succeeded

    run(main())
    wait_until(lambda: not children_of(os.getpid()), "no process")


def test_an_array_is_a_list_of_jobs(home):
    async def main():
        array = await aio.submit(["true"], array="1-2", name="sweep", **SMALL)
        assert [status.succeeded for status in await array.wait()] == [True, True] and isinstance(array[0], aio.Job)
        await array.remove()
        held = await aio.submit(["true"], array=[5], hold=True, **SMALL)
        await held.release()
        await held.wait()
        other = await aio.submit(["sleep", "1000"], array=[5], **SMALL)
        await other.kill("enough")
        assert (await other.wait(check=False))[0].state == "killed"

    run(main())
