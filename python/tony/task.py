"""For a program that runs in a task: which task it is, and what it can tell tony.

    from tony import task
    print(task.name, "of", task.count)                   # worker:0 of 4
    for step in range(1000):
        ...
        task.report(step, steps=1000, loss=0.3)

Outside of a task all but `active` raises TaskError; report() does nothing there, so that a program can be tried by itself.
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, SupportsFloat

from tony._barrier import barrier as _barrier
from tony._errors import TaskError
from tony._store import Store

active: bool
"""Whether this program runs in a task."""
job_id: str
name: str
"""The task's name, "worker:1"; it stays the same."""
type: str
"""Its type, "worker"."""
index: int
"""Where it stands among the tasks of its type that take part, from 0."""
count: int
"""How many of its type take part."""
process: int
"""Which process of the task this is, from 0."""
rank: int
"""Where this process stands among all, as its framework counts them; without such a framework, among those of its type."""
world_size: int
"""How many processes there are, counted likewise."""
epoch: int
"""Which formation of the cluster this is, from 1."""
attempt: int
"""Which container of this task, from 1."""
restart: int
"""Which start of the program within this container and epoch, from 0."""
array_index: Optional[int]
"""The job's number in its array; None: it is of none."""
peers: Dict[str, List[str]]
"""The addresses of all tasks that take part, HOST:PORT, by type. Read anew each time."""
address: str
"""That of this task, at which the others expect it. Nobody else gets the port."""
checkpoint_dir: Path
"""A directory that is the same for every task, epoch and retry of the job."""
output_dir: Path
"""A directory of this task alone, for what is to be kept: Job.results() brings it home."""
preempted: Optional[str]
"""Why this container is taken back; None: it is not."""

store = Store()
"""Values that all tasks of the job can read and write."""

# By the framework that sets them.
_RANKS = ("RANK", "HOROVOD_RANK", "JAX_PROCESS_ID", "OMPI_COMM_WORLD_RANK", "DMLC_TASK_ID")
_SIZES = ("WORLD_SIZE", "HOROVOD_SIZE", "JAX_NUM_PROCESSES", "OMPI_COMM_WORLD_SIZE")


def _read(variable: str) -> str:
    try:
        return os.environ[variable]
    except KeyError:
        raise TaskError(f"this program runs in no task of tony: {variable} is not set; start it with tony submit, or ask "
                        "tony.task.active first") from None


def _number(variable: str) -> int:
    return int(_read(variable))


def _first(variables: Sequence[str]) -> Optional[int]:
    found = [os.environ[name] for name in variables if os.environ.get(name, "").isdigit()]
    return int(found[0]) if found else None


def _rank() -> int:
    found = _first(_RANKS)
    own = _number("TONY_TASK_INDEX") * _number("TONY_PROCESS_COUNT") + _number("TONY_PROCESS")
    return own if found is None else found


def _world_size() -> int:
    found = _first(_SIZES)
    own = _number("TONY_TASK_COUNT") * _number("TONY_PROCESS_COUNT")
    return own if found is None else found


def _peers() -> Dict[str, List[str]]:
    with open(_read("TONY_CLUSTER_FILE"), encoding="utf-8") as file:
        types = json.load(file)["types"]
    return {name: [address for address in addresses if address] for name, addresses in types.items()}


def _preempted() -> Optional[str]:
    path = Path(_read("TONY_PREEMPTED"))
    return path.read_text(errors="replace").strip() if path.exists() else None


_ATTRIBUTES: Dict[str, Callable[[], Any]] = {
    "active": lambda: "TONY_TASK" in os.environ,
    "job_id": lambda: _read("TONY_JOB_ID"),
    "name": lambda: _read("TONY_TASK"),
    "type": lambda: _read("TONY_TASK_TYPE"),
    "index": lambda: _number("TONY_TASK_INDEX"),
    "count": lambda: _number("TONY_TASK_COUNT"),
    "process": lambda: _number("TONY_PROCESS"),
    "rank": _rank,
    "world_size": _world_size,
    "epoch": lambda: _number("TONY_EPOCH"),
    "attempt": lambda: _number("TONY_TASK_ATTEMPT"),
    "restart": lambda: _number("TONY_RESTART"),
    "array_index": lambda: _first(["TONY_ARRAY_TASK_ID"]),
    "peers": _peers,
    "address": lambda: f"{_read('TONY_HOST')}:{_read('TONY_PORT')}",
    "checkpoint_dir": lambda: Path(_read("TONY_CHECKPOINT_DIR")),
    "output_dir": lambda: Path(_read("TONY_OUTPUT_DIR")),
    "preempted": _preempted,
}


def __getattr__(attribute: str) -> Any:
    if attribute not in _ATTRIBUTES:
        raise AttributeError(f"module 'tony.task' has no attribute '{attribute}'")
    return _ATTRIBUTES[attribute]()


def __dir__() -> List[str]:
    return sorted([*globals(), *_ATTRIBUTES])


# ---- telling


def _value(name: str, value: SupportsFloat) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"report: {name}={value!r} is no number") from None
    return number if math.isfinite(number) else math.nan


def _tell_progress(step: int, steps: Optional[int]) -> None:
    """As a whole: it may be read at any time."""
    path = os.environ["TONY_PROGRESS_FILE"]
    part = f"{path}.{os.getpid()}.{threading.get_ident()}"
    with open(part, "w", encoding="ascii") as file:
        file.write(f"{step}/{steps}\n" if steps else f"{step}\n")
    os.replace(part, path)


def report(step: Optional[int] = None, *, steps: Optional[int] = None, run: Optional[str] = None, **numbers: SupportsFloat) -> None:
    """Tells how far the program is, of how many steps, and numbers that become curves: report(120, steps=1000, loss=0.3).

    `run` tells apart several runs of one program. A number that is infinite or not a number is shown as NaN. A task has 64 names at
    most. Outside of a task nothing is done.
    """
    row: Dict[str, Any] = {key: _value(key, value) for key, value in numbers.items()}
    if "TONY_METRICS_FILE" not in os.environ:
        return
    if step is not None:
        row["step"] = int(step)
        _tell_progress(int(step), steps)
    if run is not None:
        row["run"] = run
    if numbers:
        row["t"] = round(time.time() * 1000)
        line = (json.dumps(row) + "\n").encode()
        file = os.open(os.environ["TONY_METRICS_FILE"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, line)
        finally:
            os.close(file)


# ---- being told


def on_preempt(callback: Callable[[str], None]) -> None:
    """Calls `callback` with the reason when the scheduler takes this container back: time to write a checkpoint, within
    tony.<type>.stop-grace. It is called in the main thread, between two of its instructions, and the program then exits with
    SystemExit, so that `finally` blocks run; or goes on to a handler of SIGTERM that was there before. Of other ends nothing is
    told. Call this in the main thread.
    """
    _read("TONY_PREEMPTED")
    if threading.current_thread() is not threading.main_thread():
        raise TaskError("on_preempt: signals come to the main thread only; call it there")
    before = signal.getsignal(signal.SIGTERM)

    def on_sigterm(number: int, frame: Any) -> None:
        reason = _preempted()
        if reason is not None:
            callback(reason)
        if callable(before):
            before(number, frame)
        elif before is signal.SIG_IGN:
            return
        elif reason is not None:
            sys.exit(128 + number)
        else:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    signal.signal(signal.SIGTERM, on_sigterm)


def barrier(name: str = "barrier", *, types: Optional[Sequence[str]] = None, timeout: Optional[float] = None) -> None:
    """Waits until every process of this task's type has come here as often as this one, or of all `types`: barrier(types=["chief",
    "worker"]).

    A program that was started anew in its place passes what the others have passed. TaskError: some have not come within
    `timeout` seconds, which names them, or the application master does not answer. Members of an elastic job of Horovod's change
    without a new epoch: use its own barriers there.
    """
    own = _read("TONY_TASK_TYPE")
    _barrier(name, [own] if types is None else list(types), timeout)
