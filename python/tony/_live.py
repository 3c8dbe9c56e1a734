"""A job that is watched in a notebook or a terminal, to its end: `tony.attach()`, and cells of `%%tony`."""

from __future__ import annotations

import collections
import re
import time
from dataclasses import dataclass, field
from typing import Any, Deque, Optional, Union

from tony import _show, _verbs
from tony._call import Stream, run
from tony._errors import Unreachable
from tony._job import Job
from tony._model import LogLine, Metrics, Status

_TICK_S = 0.5  # between pictures, at least
_LOG_END_S = 30.0  # for the rest of the log, once the job has ended
_METRICS_S = 2.0  # between questions for curves
_LINES = 500  # that are kept for the picture
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|"
                      r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


@dataclass
class _Watched:
    """The job as it is known so far."""

    job: Job
    status: Optional[Status] = None
    trouble: Optional[str] = None
    lines: Deque[LogLine] = field(default_factory=lambda: collections.deque(maxlen=_LINES))
    metrics: Metrics = field(default_factory=lambda: Metrics([]))
    seen: int = 0  # lines of the log
    metrics_due: float = 0.0

    def picture(self) -> Optional[_show.Picture]:
        return _show.Picture(self.status, tuple(self.lines), self.seen, self.metrics, self.trouble) if self.status else None


def _clean(line: LogLine) -> LogLine:
    return LogLine(line.task, line.log, line.time, _ESCAPES.sub("", line.text.rpartition("\r")[2]))


class Live:
    """Shows a job as it goes, for as long as somebody looks."""

    def __init__(self, job: Job, tail: Optional[int] = None) -> None:
        self.job, self.view = job, _show.find_view()
        self._watched = _Watched(job)
        self._log = Stream(_verbs.logs(job.id, None, None, True, tail, None))

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: Any) -> None:
        self._log.close()

    def follow(self, until_running: bool = False) -> Status:
        """To the end of the job, or until all of its programs run."""
        while True:
            began = time.monotonic()
            status = self._look()
            pause = max(_TICK_S, 4 * (time.monotonic() - began))  # a cluster or a long history answers slowly, and is asked less
            if status and status.ended:
                self._read_log(_LOG_END_S)
            self.view.show(self._watched.picture())
            if status and (status.ended or (until_running and all(task.started for task in status.tasks))):
                return status
            if self._log.ended:
                time.sleep(pause)
            self._read_log(pause)

    def listen_again(self) -> None:
        """To what comes from now on. An interruption reaches all processes of a kernel, the one that read the log among them."""
        self._log.close()
        self._log = Stream(_verbs.logs(self.job.id, None, None, True, 0, None))

    def _look(self) -> Optional[Status]:
        """An application master that does not answer may be followed by another one."""
        watched = self._watched
        try:
            watched.status = run(_verbs.status(self.job.id))
            if watched.status.ended and not watched.status.message:  # which is told with the job's last line, a moment later
                watched.status = run(_verbs.wait(self.job.id, None))
            if watched.status.ended or time.monotonic() >= watched.metrics_due:
                watched.metrics = self.job.metrics()
                watched.metrics_due = time.monotonic() + _METRICS_S
            watched.trouble = None
        except Unreachable as error:
            watched.trouble = str(error)
        return watched.status

    def _read_log(self, seconds: float) -> None:
        """For so many seconds at most. Where its source breaks off, it is asked again for the lines that come then."""
        deadline = time.monotonic() + seconds
        while not self._log.ended and time.monotonic() < deadline:
            try:
                lines = self._log.take(deadline - time.monotonic())
            except Unreachable as error:
                self._watched.trouble = str(error)
                self.listen_again()
                return
            self._watched.lines.extend(map(_clean, lines))
            self._watched.seen += len(lines)


def attach(job: Union[Job, str, _verbs.Unnamed] = _verbs.NEWEST, *, tail: int = 10, check: bool = True) -> Status:
    """Shows a job to its end: its tasks, the last lines of their output and the curves of their numbers, live.

    In a notebook that is a picture below the cell, elsewhere lines. `job` is a handle, an id or a name; without it the newest job.
    An interruption leaves the job alone. JobFailed, JobKilled: how it ended; with check=False its status is returned all the same.
    """
    with Live(job if isinstance(job, Job) else Job(job), tail) as live:
        try:
            status = live.follow()
        except KeyboardInterrupt:
            name = repr(live.job.id)
            live.view.say(f"{live.job.id} goes on; tony.attach({name}) shows it again, tony.Job({name}).kill() ends it")
            raise
    return _verbs.check(status) if check else status
