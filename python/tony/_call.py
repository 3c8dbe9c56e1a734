"""Runs the program `tony`, and reads its answers. Nothing else in this package starts a process, and nothing here a thread."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import json
import logging
import os
import re
import select
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from typing import IO, Any, AsyncGenerator, Callable, Dict, FrozenSet, Generic, Iterator, List, Mapping, NamedTuple, Optional, TypeVar

from tony._errors import NotFound, NotInstalled, TonyError, WaitTimeout, of_exit_code
from tony._program import find_program

T = TypeVar("T")
LINE_CAP = 1 << 20  # bytes: of a log's line, with all of its characters escaped, and then some
_log = logging.getLogger("tony")


@dataclass(frozen=True)
class Call(Generic[T]):
    """A command of `tony` whose answer is made of its standard output."""

    arguments: List[str]
    parse: Callable[[str], T]
    answers: FrozenSet[int] = frozenset({0})  # exit codes with which an answer comes
    env: Mapping[str, str] = field(default_factory=dict)  # beside this process's own
    undo: Optional[Callable[[T], Call[Any]]] = None  # when the answer came, and nobody waits for it any more

    def finish(self, code: int, out: IO[bytes], err: IO[bytes]) -> T:
        text, words = _read(out), _read(err)
        if code not in self.answers or (code != 0 and not text.strip()):
            raise _failure(self.arguments, code, words)
        _tell(words)
        return self.parse(text)

    def give_up(self, out: IO[bytes]) -> Optional[Call[Any]]:
        """The call that undoes an answer which nobody waits for any more, however the program ended behind it."""
        text = _read(out)
        if not self.undo or not text.strip():
            return None
        return self.undo(self.parse(text))


@dataclass(frozen=True)
class Lines(Generic[T]):
    """A command of `tony` that prints a JSON object for each item, maybe for as long as the job runs."""

    arguments: List[str]
    parse: Callable[[Dict[str, Any]], Optional[T]]
    answers: FrozenSet[int] = frozenset({0})

    def items(self, line: bytes) -> List[T]:
        """None, where the line tells a part of one and more follows, or one."""
        item = self.parse(json.loads(line.decode("utf-8", "replace")))
        return [] if item is None else [item]

    def finish(self, code: int, err: IO[bytes]) -> None:
        words = _read(err)
        if code not in self.answers:
            raise _failure(self.arguments, code, words)
        _tell(words)


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def _words(err: str) -> List[str]:
    return [line[6:] if line.startswith("tony: ") else line for line in err.splitlines() if line.strip()]


def _failure(arguments: List[str], code: int, err: str) -> TonyError:
    words = re.sub(r"; to use it anyway: --of (\S+)$", r'; to use it anyway: tony.Job(..., of="\1")', "\n".join(_words(err)))
    return of_exit_code(code, words or f"tony {arguments[0]} ended with {code} and said nothing")


def _tell(err: str) -> None:
    """The logger "tony" gets what the program said beside its answer."""
    for line in _words(err):
        if line.startswith("warning: "):
            _log.warning("%s", line[9:])
        else:
            _log.info("%s", line)


# ---- the program


class _Surroundings(NamedTuple):
    variables: Mapping[str, str]
    cwd: Optional[str]


_PLAIN = _Surroundings({}, None)
_surroundings: contextvars.ContextVar[_Surroundings] = contextvars.ContextVar("tony", default=_PLAIN)


@contextlib.contextmanager
def environment(variables: Mapping[str, str], cwd: Optional[str] = None) -> Iterator[None]:
    """A block in which the program `tony` has these variables beside the process's own, and runs in the directory `cwd`.

    For a process that serves several clusters: TONY_PROGRAM, HADOOP_CONF_DIR, TONY_CONF_DIR ... are the block's alone, of its thread
    or its task of asyncio. Relative paths of a submission begin at `cwd`.
    """
    before = _surroundings.get()
    token = _surroundings.set(_Surroundings({**before.variables, **variables}, cwd or before.cwd))
    try:
        yield
    finally:
        _surroundings.reset(token)


def _process(env: Mapping[str, str]) -> Dict[str, Any]:
    around = _surroundings.get()
    return {"stdin": subprocess.DEVNULL, "env": {**os.environ, **around.variables, **env}, "cwd": around.cwd}


def program() -> str:
    """The program `tony`: that of the variable TONY_PROGRAM, or the one that find_program() finds."""
    chosen = _surroundings.get().variables.get("TONY_PROGRAM") or os.environ.get("TONY_PROGRAM")
    if chosen:
        return chosen
    try:
        return find_program()
    except FileNotFoundError as error:
        raise NotInstalled(str(error)) from None


def _not_started(path: str, error: OSError) -> NotInstalled:
    remedy = "the wheel of tony brings the program (docs/install.md), and TONY_PROGRAM names another one"
    return NotInstalled(f"{path}: {error.strerror}; {remedy}")


def _start(arguments: List[str], out: Any, err: Any, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    path = program()
    try:
        return subprocess.Popen([path, *arguments], stdout=out, stderr=err, **_process(env))
    except OSError as error:
        raise _not_started(path, error) from None


async def _start_async(arguments: List[str], out: Any, err: Any, env: Mapping[str, str]) -> asyncio.subprocess.Process:
    path = program()
    try:
        return await asyncio.create_subprocess_exec(path, *arguments, stdout=out, stderr=err, limit=LINE_CAP, **_process(env))
    except OSError as error:
        raise _not_started(path, error) from None


def _end(process: subprocess.Popen[bytes]) -> int:
    """After an interrupt, and of an iterator that nobody reads on."""
    if process.poll() is None:
        process.terminate()
    return process.wait()


async def _end_async(process: asyncio.subprocess.Process) -> int:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
    return await process.wait()


@contextlib.contextmanager
def second_to_it() -> Iterator[None]:
    """For what is undone on the way out: the job may have ended by itself, and what is raised already says why we leave."""
    try:
        yield
    except NotFound:
        pass
    except (TonyError, ValueError) as error:
        logging.getLogger("tony").warning("%s", error)


# ---- in this thread


@contextlib.contextmanager
def _later() -> Iterator[None]:
    """An interruption comes behind the block, and no sooner: by then a process that was started is known."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    heard: List[Any] = []
    signal.signal(signal.SIGINT, lambda *what: heard.append(what))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if heard:
        before(*heard[0])


def run(call: Call[T]) -> T:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = None
        try:
            with _later():
                process = _start(call.arguments, out, err, call.env)
            code = process.wait()
        except BaseException:
            if not process:
                raise
            _end(process)
            undo = call.give_up(out)
            if undo:
                with second_to_it():
                    run(undo)
            raise
        return call.finish(code, out, err)


class Stream(Generic[T]):
    """The items of a command as they come, for a caller that has other things to do meanwhile."""

    def __init__(self, lines: Lines[T]) -> None:
        self._lines, self._rest, self.ended = lines, b"", False
        self._files = contextlib.ExitStack()
        self._err = self._files.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  close() ends it
        try:
            self._process = _start(lines.arguments, subprocess.PIPE, self._err, {})
        except BaseException:
            self._files.close()
            raise
        assert self._process.stdout
        self._out = self._files.enter_context(self._process.stdout)

    def take(self, seconds: Optional[float] = None) -> List[T]:
        """Those that are there, after `seconds` at most (None: no limit); `ended` tells whether there will be more."""
        if self.ended or not select.select([self._out], [], [], seconds)[0]:
            return []
        piece = os.read(self._out.fileno(), 1 << 16)
        *whole, self._rest = (self._rest + piece).split(b"\n")
        if not piece:
            self.ended = True
            self._lines.finish(self._process.wait(), self._err)
        return [item for line in whole for item in self._lines.items(line)]

    def close(self) -> None:
        _end(self._process)
        self._files.close()


def iterate(lines: Lines[T], deadline: Optional[float] = None) -> Iterator[T]:
    """WaitTimeout when time.monotonic() has come to the deadline."""
    with contextlib.closing(Stream(lines)) as stream:
        while not stream.ended:
            items = stream.take(None if deadline is None else max(0.0, deadline - time.monotonic()))
            if not items and deadline is not None and not stream.ended and time.monotonic() >= deadline:
                raise WaitTimeout("the time to wait is over", 9)
            yield from items


# ---- with asyncio


async def run_async(call: Call[T]) -> T:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = await _start_async(call.arguments, out, err, call.env)
        try:
            code = await process.wait()
        except BaseException:
            await _end_async(process)
            undo = call.give_up(out)
            if undo:
                with second_to_it():
                    await run_async(undo)
            raise
        return call.finish(code, out, err)


async def iterate_async(lines: Lines[T]) -> AsyncGenerator[T, None]:
    with tempfile.TemporaryFile() as err:
        process = await _start_async(lines.arguments, subprocess.PIPE, err, {})
        assert process.stdout
        try:
            async for line in process.stdout:
                for item in lines.items(line):
                    yield item
            code = await process.wait()
        finally:
            await _end_async(process)
        lines.finish(code, err)
