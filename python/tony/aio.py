"""The same for asyncio: what waits is a coroutine, what comes one by one an asynchronous iterator.

    from tony import aio
    job = await aio.submit("train.py", workers=4)
    async for line in job.logs(follow=True):
        print(line)
    await job.wait()

A task that is cancelled leaves no process of its own behind, and the job alone; one that is cancelled while it submits leaves no
job. A function is pickled in the event loop's thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, AsyncGenerator, AsyncIterator, Callable, Dict, List, Optional, Type, Union, overload

from tony import _job, _submit, _verbs
from tony._array import ArrayOf
from tony._call import iterate_async, run_async, second_to_it
from tony._errors import JobFailed, NotFound, WaitTimeout
from tony._model import Event, LogLine, Metrics, Status, TaskChange
from tony._submit import Options, Program

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Unpack


class Job:
    """As tony.Job. `await aio.find(NAME)` finds one; tony.Job's handle and this one are made of each other by their id."""

    def __init__(self, id: str, *, of: Optional[str] = None) -> None:
        """Of a whole id, which is not looked for. BadSubmission: it is "" or None, as of a variable that is not set."""
        self.id, self.of = _verbs.name_of(id), _verbs.user_name(of)

    def __repr__(self) -> str:
        return f"<tony.aio.Job {self.id}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Job) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    async def status(self) -> Status:
        return await run_async(_verbs.status(self.id))

    async def wait(self, timeout: Optional[float] = None, *, check: bool = True,
                   on_change: Optional[Callable[[TaskChange], None]] = None) -> Status:
        """As tony.Job.wait(). `on_change` is called in the event loop."""
        if on_change:
            began = time.monotonic()
            try:
                await asyncio.wait_for(self._tell_changes(on_change), timeout)
            except asyncio.TimeoutError:
                raise WaitTimeout(f"{self.id} still runs", 9) from None
            timeout = None if timeout is None else max(0.0, timeout - (time.monotonic() - began))
        status = await run_async(_verbs.wait(self.id, timeout, self.of))
        return _verbs.check(status) if check else status

    async def _tell_changes(self, on_change: Callable[[TaskChange], None]) -> None:
        changes = self.changes(follow=True)
        try:
            async for change in changes:
                on_change(change)
        finally:
            await changes.aclose()

    def logs(self, task: _verbs.Names = None, *, stream: Optional[str] = None, follow: bool = False, tail: Optional[int] = None,
             grep: _verbs.Names = None) -> AsyncIterator[LogLine]:
        return iterate_async(_verbs.logs(self.id, task, stream, follow, tail, grep))

    def events(self, *, follow: bool = False, since: int = 1) -> AsyncGenerator[Event, None]:
        return iterate_async(_verbs.events(self.id, follow, since))

    async def changes(self, *, follow: bool = False) -> AsyncGenerator[TaskChange, None]:
        events = self.events(follow=follow)
        try:
            async for event in events:
                change = TaskChange.of(event)
                if change:
                    yield change
        finally:
            await events.aclose()

    async def metrics(self, name: _verbs.Names = None, task: _verbs.Names = None) -> Metrics:
        return await run_async(_verbs.metrics(self.id, name, task))

    async def advice(self) -> List[Dict[str, Any]]:
        return await run_async(_verbs.advice(self.id, self.of))

    async def results(self, to: Optional[_submit.Path] = None) -> str:
        return await run_async(_verbs.results(self.id, None if to is None else str(Path(to).expanduser().absolute()), self.of))

    async def value(self, task: Optional[str] = None, timeout: Optional[float] = None) -> Any:
        status = await self._wait_for_function(timeout)
        name = task or _verbs.first_task(status)
        return (await self._read(status, [name]))[name]

    async def values(self, timeout: Optional[float] = None) -> Dict[str, Any]:
        status = await self._wait_for_function(timeout)
        return await self._read(status, _verbs.tasks_with_value(status))

    async def _wait_for_function(self, timeout: Optional[float]) -> Status:
        _verbs.check_own(self.id, self.of)
        try:
            return await self.wait(timeout)
        except JobFailed as failure:
            with tempfile.TemporaryDirectory(prefix="tony-") as folder:
                place = await self._results_here(failure.status, folder)
                error = _verbs.read_error(failure, place)
            if error:
                raise error from error.__cause__
            raise

    async def _read(self, status: Status, tasks: List[str]) -> Dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="tony-") as folder:
            return _verbs.read_values(await self._results_here(status, folder), status, tasks)

    async def _results_here(self, status: Status, folder: str) -> Path:
        place = _verbs.place_here(status)
        if place:
            return place
        with contextlib.suppress(NotFound):  # no program has left any
            await self.results(folder)
        return Path(folder, self.id)

    async def scale(self, **counts: int) -> None:
        await run_async(_verbs.scale(self.id, counts))

    async def release(self) -> None:
        await run_async(_verbs.release(self.id))

    async def restart(self, task: str) -> None:
        await run_async(_verbs.restart(self.id, task))

    @_submit.has_options
    async def rerun(self, program: Program = None, *args: Any, resume: bool = False, **options: Unpack[Options]) -> Job:
        with tempfile.TemporaryDirectory(prefix="tony-") as folder:
            repeat = _submit.Repeat(self.id, resume, self.of)
            return Job((await run_async(_job.prepare(program, args, dict(options), Path(folder), repeat)))["id"])

    async def kill(self, reason: Optional[str] = None, *, force: bool = False) -> None:
        await run_async(_verbs.kill(self.id, reason, force))

    async def remove(self) -> None:
        await run_async(_verbs.remove(self.id))

    async def __aenter__(self) -> Job:
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        if error is None:
            await self.wait()
        else:
            with second_to_it():
                if not (await self.status()).ended:
                    await self.kill(f"{kind.__name__} in Python" if kind else None)


class Array(ArrayOf[Job]):
    """As tony.Array."""

    async def wait(self, timeout: Optional[float] = None, *, check: bool = True) -> List[Status]:
        deadline = None if timeout is None else time.monotonic() + timeout
        ended = [await job.wait(None if deadline is None else max(0.0, deadline - time.monotonic()), check=False) for job in self]
        return [_verbs.check(status) for status in ended] if check else ended

    async def release(self) -> None:
        await run_async(_verbs.release(self.id))

    async def kill(self, reason: Optional[str] = None, *, force: bool = False) -> None:
        await run_async(_verbs.kill(self.id, reason, force))

    async def remove(self) -> None:
        await run_async(_verbs.remove(self.id))


@overload
async def submit(program: Program = None, *args: Any, array: None = None, **options: Unpack[Options]) -> Job: ...


@overload
async def submit(program: Program = None, *args: Any, array: _submit.Numbers, **options: Unpack[Options]) -> Array: ...


@_submit.has_options
async def submit(program: Program = None, *args: Any, array: Optional[_submit.Numbers] = None,
                 **options: Unpack[Options]) -> Union[Job, Array]:
    """As tony.submit()."""
    with tempfile.TemporaryDirectory(prefix="tony-") as folder:
        answer = await run_async(_job.prepare(program, args, dict(options), Path(folder), array=array))
    return Job(answer["id"]) if array is None else Array(answer, Job)


async def find(job: Union[str, _verbs.Unnamed] = _verbs.NEWEST, *, of: Optional[str] = None) -> Job:
    """As tony.Job(job): by its id, the beginning of one, or its name; without any the newest. NotFound: there is none."""
    user = _verbs.user_name(of)
    return Job(_verbs.check_user(await run_async(_verbs.status(job)), user).id, of=user)


async def jobs(*, all: bool = False, state: _verbs.Names = None, tag: _verbs.Names = None) -> List[Job]:
    """As tony.jobs()."""
    return [Job(job["id"]) for job in await run_async(_verbs.listing(all, state, tag))]
