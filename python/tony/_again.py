"""A job for somebody who may die and come again, as a worker of a workflow engine does: it is found by a tag, and not started twice."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

from tony._errors import NotFound
from tony._job import Job, jobs, submit
from tony._model import Status
from tony._submit import Program

_log = logging.getLogger("tony")


@dataclass(frozen=True)
class Errand:
    """The purpose of a job. All tries of one round want the same job; a new round wants a new one."""

    engine: str
    """"airflow", which is a tag of all of its jobs."""
    identity: Sequence[Any]
    """Tells it from all other errands of this user."""
    round: int
    is_retry: bool
    """An earlier try of this round has had a worker."""

    @property
    def mark(self) -> str:
        return f"{self.engine}-{hashlib.sha256(json.dumps(list(self.identity)).encode()).hexdigest()[:16]}"

    @property
    def tags(self) -> List[str]:
        return [self.engine, self.mark, f"{self.mark}-{self.round}"]


def take_or_submit(errand: Errand, program: Program, args: Sequence[Any], options: Mapping[str, Any], resume: bool) -> Job:
    """The job of an earlier try of this round that still runs, or has succeeded while no worker lived to see it; else a new job. With
    `resume` that goes on from the checkpoints of the one before. A job of an earlier round is killed."""
    found = list(_found(errand.mark))
    of_round = [status for status in found if errand.tags[-1] in status.raw["tags"]]
    for status in found:
        if not status.ended and status not in of_round:
            _log.warning("%s is of the time before the task was cleared: killing it", status.id)
            Job._of(status.id).kill("its task was cleared")
    last = of_round[0] if of_round else None
    if last and (not last.ended or (last.succeeded and errand.is_retry)):
        _log.info("%s is %s; an earlier worker has started it", last.id, last.state)
        return Job._of(last.id)
    wanted = {**options, "tags": [*_list(options.get("tags")), *errand.tags]}
    job = (last and resume and errand.is_retry and _resume(last, program, args, wanted)) or submit(program, *args, **wanted)
    _log.info("%s submitted", job.id)
    return job


def _found(mark: str) -> Iterator[Status]:
    for job in jobs(all=True, tag=mark):
        with contextlib.suppress(NotFound):  # its submission was killed half way
            yield job.status()


def _list(tags: Any) -> List[str]:
    return [tags] if isinstance(tags, str) else list(tags or ())


def _resume(last: Status, program: Program, args: Sequence[Any], options: Dict[str, Any]) -> Optional[Job]:
    """None: it has left no checkpoints."""
    again: Dict[str, Any] = {name: value for name, value in options.items() if name not in ("conf_file", "tags")}  # which it has
    with contextlib.suppress(NotFound):
        _log.info("going on from the checkpoints of %s", last.id)
        return Job._of(last.id).rerun(program, *args, resume=True, **again)
    return None
