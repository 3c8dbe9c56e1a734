"""A barrier of the processes of a job, made of its store: each tells how often it has come, and the first of them tells how often
all have. Levels, not edges: a process that was started anew passes what the others have passed, and nothing is lost with an answer."""

from __future__ import annotations

import functools
import json
import os
import time
from typing import Dict, Optional, Sequence

from tony._errors import TaskError
from tony._store import Store, ask

_store = Store()
_times: Dict[str, int] = {}  # how often this process has come to each
_SHOWN = 5
_LOOK_S = 10  # at tasks that have ended, and will never come


@functools.lru_cache(maxsize=None)
def _processes() -> Dict[str, int]:
    """Of each task of a type."""
    return {row["name"]: row["processes"] for row in json.loads(ask("GET", "/v1/job")[1])["types"]}


def _members(types: Sequence[str]) -> Dict[str, str]:
    """All processes of these types, in one order for all, and the tasks that they are of."""
    with open(os.environ["TONY_CLUSTER_FILE"], encoding="utf-8") as file:
        cluster = json.load(file)
    processes = _processes()
    members = {}
    for name in sorted(types):
        if name not in processes:
            raise TaskError(f"barrier: the job has no task type {name}; it has {', '.join(processes)}")
        addresses = [address for address in cluster["types"].get(name, []) if address]
        slots = cluster.get("slots", {}).get(name, range(len(addresses)))
        for index, slot in enumerate(slots):
            members.update({f"{name}:{index}/{process}": f"{name}:{slot}" for process in range(processes[name])})
    return members


class _Barrier:
    def __init__(self, name: str, members: Dict[str, str], times: int, timeout: Optional[float]) -> None:
        self.name, self.members, self.times = name, members, times
        self.prefix = f"tony/barrier/{os.environ['TONY_EPOCH']}/{name}"
        self.timeout = timeout
        self.until = None if timeout is None else time.monotonic() + timeout
        self.own = f"{os.environ['TONY_TASK_TYPE']}:{os.environ['TONY_TASK_INDEX']}/{os.environ['TONY_PROCESS']}"

    def _left(self) -> float:
        return _LOOK_S if self.until is None else max(0.0, min(_LOOK_S, self.until - time.monotonic()))

    def _put(self, key: str, times: int) -> None:
        _store.put(f"{self.prefix}/{key}", b"%d" % times)

    def _await(self, key: str, member: str) -> None:
        """Until the number under the key, of which the member is the author, is that of this time, or higher."""
        known = None
        while True:
            value, known = _store._wait(f"{self.prefix}/{key}", known, self._left())
            if value is not None and int(value) >= self.times:
                return
            if self.until is not None and time.monotonic() >= self.until:
                raise TaskError(f'barrier "{self.name}": waited {self.timeout:g} s in vain for {self._missing()}')
            self._check(member)
            self._put(self.own, self.times)  # for an application master that follows another one

    def _check(self, member: str) -> None:
        task = self.members[member]
        state = json.loads(ask("GET", f"/v1/tasks/{task}")[1])["state"]
        if state in ("succeeded", "failed"):
            raise TaskError(f'barrier "{self.name}": {task} has ended ({state}) and never comes')

    def _missing(self) -> str:
        missing = []
        for member in self.members:
            value = _store.get(f"{self.prefix}/{member}")
            if value is None or int(value) < self.times:
                missing.append(member[:-2] if member.endswith("/0") else member)
        more = len(missing) - _SHOWN
        return ", ".join(missing[:_SHOWN]) + (f" and {more} more" if more > 0 else "") or "the first of its tasks"

    def wait(self) -> None:
        if self.own not in self.members:
            raise TaskError(f"barrier: {self.own} is none of those that it waits for; name its type, too")
        first, *others = self.members
        is_first = self.own == first
        if is_first and self.times > 1:
            self._put("open", self.times - 1)
        self._put(self.own, self.times)
        if not is_first:
            self._await("open", first)
            return
        for member in others:
            self._await(member, member)
        self._put("open", self.times)


def barrier(name: str, types: Sequence[str], timeout: Optional[float]) -> None:
    key = "/".join([name, *sorted(types)])
    times = _times.get(key, 0) + 1
    _Barrier(key, _members(types), times, timeout).wait()
    _times[key] = times  # who waited in vain comes again, and not once more
