"""The verbs of `tony` that look at a job or order it about, as calls."""

from __future__ import annotations

import enum
import json
import pwd
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from tony import _function
from tony._call import Call, Lines
from tony._errors import BadSubmission, Denied, JobFailed, JobKilled, NotFound
from tony._model import Event, LogLine, Metrics, Status, Task

Names = Union[str, Sequence[str], None]


class Unnamed(enum.Enum):
    """Where nobody names a job. None and "" are what a variable has that is not set: they are no way to say so."""

    NEWEST = "the newest job"

    def __repr__(self) -> str:
        return self.value


NEWEST = Unnamed.NEWEST


def name_of(job: object) -> str:
    """The id or name of a job. BadSubmission: it is empty, or no text."""
    if isinstance(job, str) and job.strip():
        return job
    raise BadSubmission(f"the job is {job!r}: is a variable not set? Give an id or a name")


def user_name(of: Optional[str]) -> Optional[str]:
    """The user whose record is taken, as tony calls him: by a uid, too. BadSubmission: it is empty, or no text."""
    if of is None:
        return None
    if not isinstance(of, str) or not of.strip():
        raise BadSubmission(f"of is {of!r}: is a variable not set? Give a user's name")
    if not re.fullmatch("[0-9]+", of):
        return of
    try:
        return pwd.getpwuid(int(of)).pw_name
    except (KeyError, OverflowError):
        return f"uid-{of}"


def check_user(status: Status, of: Optional[str]) -> Status:
    """NotFound: it is another user's than `of`; None: it may be anybody's."""
    if of is None or status.raw.get("user") == of:
        return status
    raise NotFound(f"{status.id} is {status.raw.get('user')}'s, and not {of}'s", 4)


def check_own(job: str, of: Optional[str]) -> None:
    """Denied: what a function of another user's has left is not unpickled, whoever's job was asked for."""
    if of is not None:
        raise Denied(f"{job} is {of}'s: to unpickle its value would run what {of} wrote as you; results() brings the files", 6)


def _each(option: str, values: Names) -> List[str]:
    """Repeated for each of several values."""
    return [word for value in ([values] if isinstance(values, str) else values or []) for word in (option, value)]


def _read_status(text: str) -> Status:
    return Status.read(json.loads(text))


def status(job: Union[str, Unnamed]) -> Call[Status]:
    return Call(["status", "--json", *([] if job is NEWEST else ["--", name_of(job)])], _read_status)


def wait(job: str, timeout: Optional[float], of: Optional[str] = None) -> Call[Status]:
    limit = [] if timeout is None else ["--timeout", f"{max(0, round(timeout * 1000))}ms"]
    return Call(["wait", "--json", *_each("--of", of), *limit, "--", job], _read_status, frozenset({0, 1, 8}))


def check(status: Status) -> Status:
    """JobFailed unless the job has succeeded."""
    if status.succeeded:
        return status
    kind = JobKilled if status.state == "killed" else JobFailed
    task = status.cause.task if status.cause else None
    hint = f"; tony logs --task {task} {status.id} has the rest" if task else ""
    raise kind(f"{status.name} {status.state}: {status.message or status.state}{hint}", status)


class _WholeLines:
    """Joins the parts of which tony tells long lines, and those that are not finished yet."""

    def __init__(self) -> None:
        self._parts: Dict[Tuple[Optional[str], str], List[LogLine]] = {}

    def read(self, raw: Dict[str, Any]) -> Optional[LogLine]:
        part = LogLine.read(raw)
        parts = self._parts.setdefault((part.task, part.log), [])
        parts.append(part)
        if raw.get("goes_on"):
            return None
        del self._parts[(part.task, part.log)]
        if len(parts) == 1:
            return part
        # As tony tells a line that a progress bar wrote over itself.
        text = "".join(part.text for part in parts).rstrip("\r").rsplit("\r", 1)[-1]
        return replace(parts[0], text=text)


def logs(job: str, task: Names, stream: Optional[str], follow: bool, tail: Optional[int], grep: Names) -> Lines[LogLine]:
    options = [*_each("--task", task), *_each("--stream", stream), *_each("--grep", grep), *["--follow"] * follow]
    last = [] if tail is None else ["--tail", str(tail)]
    # With --grep 1 says that no line matches.
    return Lines(["logs", "--json", *options, *last, "--", job], _WholeLines().read, frozenset({0, 1} if grep else {0}))


def events(job: str, follow: bool, since: int) -> Lines[Event]:
    return Lines(["events", "--json", "--since", str(since), *["--follow"] * follow, "--", job], Event.read)


def _read_metrics(text: str) -> Metrics:
    return Metrics.read([json.loads(line) for line in text.splitlines()])


def metrics(job: str, name: Names, task: Names) -> Call[Metrics]:
    return Call(["metrics", "--json", *_each("--name", name), *_each("--task", task), "--", job], _read_metrics)


def results(job: str, to: Optional[str], of: Optional[str] = None) -> Call[str]:
    return Call(["results", *_each("--of", of), *_each("--output", to), "--", job], lambda text: text.rstrip("\n"))


def scale(job: str, counts: Mapping[str, int]) -> Call[None]:
    return Call(["scale", "--", job, *(f"{name}={count}" for name, count in counts.items())], lambda text: None)


def release(job: str) -> Call[None]:
    return Call(["release", "--", job], lambda text: None)


def restart(job: str, task: str) -> Call[None]:
    return Call(["restart", "--", job, task], lambda text: None)


def kill(job: str, reason: Optional[str], force: bool) -> Call[None]:
    return Call(["kill", *_each("--reason", reason), *["--force"] * force, "--", job], lambda text: None)


def remove(job: str) -> Call[None]:
    return Call(["rm", "--", job], lambda text: None)


def advice(job: str, of: Optional[str] = None) -> Call[List[Dict[str, Any]]]:
    return Call(["advise", "--json", *_each("--of", of), "--", job], lambda text: list(json.loads(text)["advice"]))


def listing(every: bool, state: Names, tag: Names) -> Call[List[Dict[str, Any]]]:
    """Those of this user: a history that users share has others' jobs, whose tags they choose."""
    options = [*["--all"] * every, *_each("--state", state), *_each("--tag", tag)]
    return Call(["list", "--json", *options], lambda text: [job for job in json.loads(text) if job["own"]])


# ---- what functions have left in the results


def place_here(status: Status) -> Optional[Path]:
    """Where the results are; None: not on this machine."""
    return Path(status.output) if status.output and "://" not in status.output else None


def first_task(status: Status) -> str:
    """The one whose value is the job's: the chief, else the first of all."""
    chiefs = [task.name for task in status.tasks if task.type == "chief"]
    return (chiefs or [task.name for task in status.tasks])[0]


def tasks_with_value(status: Status) -> List[str]:
    return [task.name for task in status.tasks if task.state == "succeeded"]


def _ran(task: Task) -> Tuple[int, int, int]:
    """The process that its state is about. Others, of earlier containers and epochs, may have left something, too."""
    return task.attempt, task.epoch, task.restart


def read_values(place: Path, status: Status, tasks: Sequence[str]) -> Dict[str, Any]:
    return {task: _function.read_value(place, task, _ran(status.task(task))) for task in tasks}


def read_error(failure: JobFailed, place: Path) -> Optional[BaseException]:
    """The exception of the function that was the first cause; None: it is not known."""
    if not failure.cause or not failure.cause.task:
        return None
    task = failure.status.task(failure.cause.task)
    return _function.read_error(place, task.name, _ran(task), failure)
