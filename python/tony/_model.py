"""The answers of `tony`, as Python's objects. `raw` has all that the answer had (docs/json.md); it may have more in a later version."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

FINAL = ("succeeded", "failed", "killed")


@dataclass(frozen=True)
class Cause:
    """Why something failed."""

    kind: str
    """A word, as tony-exit(7) lists them: "exit", "signal", "out-of-memory", "node-lost" ..."""
    text: str
    """The same in words, with the numbers."""
    exit_code: Optional[int] = None
    """The program's exit code."""
    signal: Optional[int] = None
    """The signal that ended the program."""
    headline: Optional[str] = None
    """The line of its standard error that says most."""
    tail: Tuple[str, ...] = ()
    """The last lines of its standard error."""
    task: Optional[str] = None
    """The task whose failure it was."""

    @classmethod
    def read(cls, raw: Optional[Mapping[str, Any]]) -> Optional[Cause]:
        if not raw:
            return None
        return cls(raw["kind"], raw.get("text", raw["kind"]), raw.get("exit_code"), raw.get("signal"), raw.get("headline"),
                   tuple(raw.get("tail", ())), raw.get("task"))


@dataclass(frozen=True)
class Task:
    """A task of a job, as it was when it was asked for."""

    name: str
    """Its name, "worker:0"."""
    state: str
    """"waiting", "running", "succeeded", "failed" ..."""
    attempt: int
    """Which container of the task it has, from 1; 0: none yet."""
    epoch: int
    """Which formation of the cluster it takes part in."""
    restart: int
    """Which process of its container runs, from 0."""
    host: Optional[str]
    """Its machine."""
    pids: Tuple[int, ...]
    """Its processes there."""
    ui_url: Optional[str]
    """The address of the web interface that it serves."""
    step: Optional[int]
    """How far its program says that it is."""
    cause: Optional[Cause]
    """Its last failure, also one that it recovered from."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @property
    def type(self) -> str:
        return self.name.partition(":")[0]

    @property
    def started(self) -> bool:
        """Its program runs, or has run."""
        return self.state not in ("waiting", "requested", "allocated", "launching", "registered")

    @property
    def index(self) -> int:
        return int(self.name.partition(":")[2])

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Task:
        return cls(raw["task"], raw["state"], raw["attempt"], raw["epoch"], raw["restart"], raw.get("host"), tuple(raw["pids"]),
                   raw.get("ui_url"), raw.get("metrics", {}).get("step"), Cause.read(raw.get("cause")), raw)


@dataclass(frozen=True)
class Status:
    """A job, as it was when it was asked for."""

    id: str
    name: str
    state: str
    """"submitted", "forming", "running", "reforming", "finishing", "succeeded", "failed" or "killed"."""
    exit_code: Optional[int]
    """The code that `tony wait` ends with; None while the job runs."""
    tasks: Tuple[Task, ...]
    cause: Optional[Cause]
    """The first failure, which decided how the job ended."""
    message: Optional[str]
    """The last word about it."""
    waiting: Optional[str]
    """For what it waits, in words."""
    done: Optional[float]
    """The share of its work that its programs say is done, from 0 to 1."""
    output: Optional[str]
    """Where its results are: a directory or a URL."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @property
    def ended(self) -> bool:
        return self.state in FINAL

    @property
    def succeeded(self) -> bool:
        return self.state == "succeeded"

    def task(self, name: str) -> Task:
        """The task of this name. KeyError: there is none."""
        for task in self.tasks:
            if task.name == name:
                return task
        raise KeyError(f"{self.id} has no task {name}; it has {', '.join(task.name for task in self.tasks)}")

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Status:
        return cls(raw["id"], raw["name"], raw["state"], raw["exit_code"], tuple(map(Task.read, raw["tasks"])),
                   Cause.read(raw.get("cause")), raw.get("message"), raw.get("waiting"), raw.get("work", {}).get("done"),
                   raw.get("output"), raw)


@dataclass(frozen=True)
class Event:
    """A line of a job's journal."""

    seq: int
    time: float
    """Seconds since 1970."""
    kind: str
    """"am", "job", "task", "note", "waiting", "final" ..."""
    task: Optional[str]
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Event:
        return cls(raw["seq"], raw["t"] / 1000, raw["ev"], raw.get("task"), raw)


@dataclass(frozen=True)
class TaskChange:
    """A task has another state."""

    task: str
    before: str
    after: str
    attempt: int
    epoch: int
    restart: int
    host: Optional[str]
    cause: Optional[Cause]
    time: float

    @classmethod
    def of(cls, event: Event) -> Optional[TaskChange]:
        raw = event.raw
        if event.kind != "task" or raw["from"] == raw["to"]:
            return None
        return cls(raw["task"], raw["from"], raw["to"], raw["attempt"], raw["epoch"], raw["restart"], raw.get("host"),
                   Cause.read(raw.get("cause")), event.time)


@dataclass(frozen=True)
class LogLine:
    """A line that a program wrote. str() of it is its text."""

    task: Optional[str]
    """None: it is of the application master."""
    log: str
    """"stdout" or "stderr", "stderr-1" of a task's second process, "executor" or "am"."""
    time: Optional[float]
    """Seconds since 1970, to about a tenth of a second."""
    text: str

    def __str__(self) -> str:
        return self.text

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> LogLine:
        return cls(raw.get("task"), raw["log"], raw["t"] / 1000 if "t" in raw else None, raw["text"])


@dataclass(frozen=True)
class Point:
    """A value of a series."""

    task: str
    name: str
    """"loss" of a program, or what tony measures: "cpu_percent", "rss_bytes" ... (docs/metrics.md)."""
    run: str
    """Which run of the program it is of; "": it does not say."""
    gpu: Optional[int]
    time: float
    """Seconds since 1970."""
    step: Optional[int]
    value: Optional[float]
    """Of a long series the mean of several samples; NaN: its program told that; None: it is not known."""
    told: bool = False
    """Its program told it; else tony measured it."""
    least: Optional[float] = None
    """Of the samples that `value` stands for; None: `value` is the sample."""
    most: Optional[float] = None


_Extremes = Dict[str, Point]  # "last", "least" and "most" of a series: samples, not means of several


def _number(point: Point) -> float:
    return point.value or 0.0


def _extremes(points: List[Point]) -> _Extremes:
    """Of points that are samples."""
    found: _Extremes = {}
    for point in points:
        if point.value is None:
            continue
        found["last"] = point
        if math.isnan(point.value):
            continue
        if "least" not in found or point.value < _number(found["least"]):
            found["least"] = point
        if "most" not in found or point.value > _number(found["most"]):
            found["most"] = point
    return found


class Metrics(Sequence[Point]):
    """The points of all series of a job, task by task."""

    def __init__(self, points: List[Point], extremes: Optional[List[_Extremes]] = None) -> None:
        self._points = points
        if extremes is None:
            series: Dict[Any, List[Point]] = {}
            for point in points:
                series.setdefault((point.task, point.name, point.run, point.gpu), []).append(point)
            extremes = [_extremes(of) for of in series.values()]
        self._series = extremes

    def __len__(self) -> int:
        return len(self._points)

    def __getitem__(self, key: Any) -> Any:
        return self._points[key]

    def __repr__(self) -> str:
        names = sorted({point.name for point in self._points})
        return f"<Metrics: {len(self._points)} points of {', '.join(names) or 'nothing'}>"

    def _find(self, which: str, name: str, task: Optional[str]) -> List[Point]:
        found = [one[which] for one in self._series if which in one]
        return [point for point in found if point.name == name and task in (None, point.task)]

    def last(self, name: str, task: Optional[str] = None) -> Optional[float]:
        """The newest value of this name that is known, of any task or of one; NaN where the program told that."""
        found = max(self._find("last", name, task), key=lambda point: point.time, default=None)
        return found.value if found else None

    def least(self, name: str, task: Optional[str] = None) -> Optional[Point]:
        """The least of all samples of this name, with its step, however few points are left of them."""
        found = sorted(self._find("least", name, task), key=_number)
        return found[0] if found else None

    def most(self, name: str, task: Optional[str] = None) -> Optional[Point]:
        """The greatest of all samples of this name."""
        found = sorted(self._find("most", name, task), key=_number)
        return found[-1] if found else None

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with the columns task, name, run, gpu, time (datetime64, UTC), step and value."""
        try:
            import pandas
        except ImportError:
            raise ImportError("Metrics.to_pandas() needs pandas; pip install pandas, or read the points themselves") from None
        columns = ["task", "name", "run", "gpu", "time", "step", "value"]
        rows = [[getattr(point, column) for column in columns] for point in self._points]
        frame = pandas.DataFrame(rows, columns=columns)
        frame["time"] = pandas.to_datetime(frame["time"], unit="s", utc=True)
        return frame

    @classmethod
    def read(cls, tasks: List[Dict[str, Any]]) -> Metrics:
        points, extremes = [], []
        for task in tasks:
            for told, series in [(True, one) for one in task["user"]] + [(False, one) for one in task["series"]]:
                of = _read_series(task["task"], series, told)
                points += of
                extremes.append(_read_exact(of[-1], series["exact"]) if of and "exact" in series else _extremes(of))
        return cls(points, extremes)


def _read_series(task: str, series: Dict[str, Any], told: bool) -> List[Point]:
    nothing = [None] * len(series["t"])
    values = [math.nan if value is None and is_nan else value for value, is_nan in zip(series["v"], series.get("nan", nothing))]
    return [Point(task, series["name"], series.get("run", ""), series.get("gpu"), time / 1000, step, value, told, least, most)
            for time, step, value, least, most in zip(series["t"], series.get("step") or nothing, values, series.get("least", nothing),
                                                      series.get("most", nothing))]


def _read_exact(like: Point, exact: Dict[str, Any]) -> _Extremes:
    return {which: replace(like, time=mark["t"] / 1000, step=mark.get("step"), value=math.nan if mark["v"] is None else mark["v"],
                           least=None, most=None)
            for which, mark in exact.items() if which in ("last", "least", "most")}
