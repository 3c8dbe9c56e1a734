"""Where units come from: the share of a rank, or the queue of the application master."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple
from urllib.parse import quote

from tony import task
from tony._errors import BadSubmission, TaskError
from tony._store import Store, ask
from tony.data._ahead import Ticket
from tony.data._shares import At, Unit, after, left, of_item, share, to_item

STATE_VERSION = 1
_WHOLE = {"static": {"fingerprint", "rank", "size", "at", "layers"}, "dynamic": {"fingerprint", "queue"}}
SETTLE_S = 5.0
_ITEMS = 1000  # of one message
_WAIT_S = 600
_HOLD_MS = 30000
_LIST_S = 3600  # for the list that another task makes
_PAUSE_S = 0.2  # an application master at its end holds no question


def _old(state: Dict[str, Any], mode: str, fingerprint: str) -> None:
    if state.get("version") != STATE_VERSION or "mode" not in state:
        raise BadSubmission("resume: this is no state of a tony.data.Dataset of this version")
    if state["mode"] != mode:
        raise BadSubmission(f"resume: the state is of mode=\"{state['mode']}\", and this data set has mode=\"{mode}\"")
    if not _WHOLE[mode] <= state.keys():
        raise BadSubmission(f"resume: the state is damaged: it lacks {', '.join(sorted(_WHOLE[mode] - state.keys()))}")
    if state["fingerprint"] != fingerprint:
        raise BadSubmission("resume: the state is of other files, or of other options of shard(): paths, format, columns, where, shuffle, "
                            "seed and epoch must be those of then")


class Source:
    """Hands out tickets to the threads that read, and is told by the program's thread how far it has come."""

    def tickets(self) -> Iterator[Optional[Ticket]]:
        raise NotImplementedError

    def settle(self, ticket: Ticket, offset: int, is_whole: bool) -> None:
        """So many records of the unit are dealt with, or all."""
        raise NotImplementedError

    def leave(self) -> None:
        """The program reads no further here: another iterator may go on."""

    def is_lost(self, ticket: Ticket) -> bool:
        """Other tasks have it now: what was not delivered of it is theirs."""
        raise NotImplementedError

    def state(self) -> Dict[str, Any]:
        raise NotImplementedError


class Share(Source):
    """The same for the same rank, size and files, without a word to anybody."""

    def __init__(self, plan: Callable[[int], List[Unit]], passes: range, rank: int, size: int, fingerprint: str) -> None:
        self._plan, self._passes, self._fingerprint = plan, passes, fingerprint
        self._rank, self._size = rank, size
        self._layers: List[List[At]] = []
        self._at = At(passes.start, 0, 0)
        self._skips: Dict[Tuple[int, int], int] = {}

    def _share(self, of_pass: int) -> List[Unit]:
        return share(left(self._plan(of_pass), of_pass, self._layers), self._rank, self._size)

    def tickets(self) -> Iterator[Optional[Ticket]]:
        begin = self._at
        for of_pass in range(begin.of_pass, self._passes.stop):
            mine = self._share(of_pass)
            first = begin.unit if of_pass == begin.of_pass else 0
            rest = after(mine, begin) if of_pass == begin.of_pass else mine
            for number, unit in enumerate(rest, first):
                self._skips[of_pass, number] = mine[number].skip
                yield Ticket((of_pass, number), unit)
            yield None

    def settle(self, ticket: Ticket, offset: int, is_whole: bool) -> None:
        of_pass, number = ticket.key
        self._at = At(of_pass, number + 1, 0) if is_whole else At(of_pass, number, offset - self._skips[ticket.key])

    def is_lost(self, ticket: Ticket) -> bool:  # noqa: ARG002
        return False

    def state(self) -> Dict[str, Any]:
        return {"version": STATE_VERSION, "mode": "static", "fingerprint": self._fingerprint, "rank": self._rank, "size": self._size,
                "at": list(self._at), "layers": [[list(at) for at in layer] for layer in self._layers]}

    def resume(self, states: Sequence[Dict[str, Any]]) -> None:
        for state in states:
            _old(state, "static", self._fingerprint)
        first = states[0]
        try:
            self._layers = [[At(*at) for at in layer] for layer in first["layers"]]
            places = [At(*state["at"]) for state in states]
        except TypeError:
            raise BadSubmission("resume: the state is damaged: a place in it is none") from None
        if not all(isinstance(number, int) for at in sum(self._layers, places) for number in at):
            raise BadSubmission("resume: the state is damaged: a place in it is no number")
        own = next((state for state in states if (state["rank"], state["size"]) == (self._rank, self._size)), None)
        if own:
            self._at = At(*own["at"])
            return
        by_rank = {state["rank"]: At(*state["at"]) for state in states}
        if len(by_rank) != first["size"] or any((state["size"], state["layers"]) != (first["size"], first["layers"]) for state in states):
            raise BadSubmission(f"resume: there are {self._size} ranks now and there were {first['size']}: give the states of all of "
                                f"these, of one moment, as a list (there is one of rank {', '.join(map(str, sorted(by_rank)))}); or use "
                                "mode=\"dynamic\"")
        layer = [by_rank[rank] for rank in range(first["size"])]
        self._layers.append(layer)
        self._at = At(min(at.of_pass for at in layer), 0, 0)


class Queue(Source):
    """A faster task reads more: the application master hands out each unit once in a pass, and again what a lost task had."""

    def __init__(self, name: str, plan: Callable[[], List[Unit]], passes: int, seed: Optional[int], fingerprint: str, worker: int) -> None:
        self._name, self._plan, self._passes, self._seed, self._fingerprint = name, plan, passes, seed, fingerprint
        processes = int(os.environ.get("TONY_PROCESS_COUNT", "1"))
        self._who = {"holder": task.name, "attempt": task.attempt, "epoch": task.epoch, "restart": task.restart,
                     "process": task.process + processes * (worker + 1)}
        self._lock = threading.Lock()
        self._claiming = threading.Lock()  # the application master takes a process for one lister
        self._held: Dict[Tuple[int, int], int] = {}  # how many records of each are dealt with
        self._lost: Set[Tuple[int, int]] = set()
        self._renewed_at = time.monotonic()

    def _ask(self, verb: str, message: Dict[str, Any], method: str = "POST", fine: Tuple[int, ...] = (200, 201),
             patience: Optional[float] = None) -> Dict[str, Any]:
        path = f"/v1/splits/{quote(self._name)}{verb}"
        answer = ask(method, path, json.dumps({**self._who, **message}, ensure_ascii=False).encode(), fine=fine,
                     patience=patience)[1]
        found: Dict[str, Any] = json.loads(answer or b"{}")
        return found

    def _list(self) -> None:
        """Until the list is complete, or the application master says that another process makes it (410)."""
        items = [to_item(unit) for unit in self._plan()]
        head: Dict[str, Any] = {"fingerprint": self._fingerprint, "passes": self._passes}
        if self._seed is not None:
            head["seed"] = self._seed
        answer: Dict[str, Any] = {"items": 0, "complete": False}
        while "items" in answer and not answer["complete"]:
            first = answer["items"]  # it may have begun anew
            answer = self._ask("", {**head, "first": first, "items": items[first:first + _ITEMS], "complete": first + _ITEMS >= len(items)},
                               "PUT", (200, 201, 410))

    def _list_or_give_up(self) -> None:
        """A program may catch what went wrong here, and live on: no other task is to wait for its list."""
        try:
            self._list()
        except Exception:
            with contextlib.suppress(TaskError):
                self._ask("/claim", {"fingerprint": self._fingerprint, "gives_up": True, "wait_ms": 0}, patience=0)
            raise

    def claim(self) -> None:
        """Until the list is complete. One of all tasks makes it."""
        with self._claiming:
            until = time.monotonic() + _LIST_S
            while True:
                answer = self._ask("/claim", {"fingerprint": self._fingerprint, "wait_ms": _HOLD_MS})
                if answer["complete"]:
                    return
                if answer["you_list"]:
                    self._list_or_give_up()
                    continue
                if time.monotonic() > until:
                    raise TaskError(f"the data set {self._name} has no complete list after {_LIST_S // 60} minutes: "
                                    f"{answer.get('lister', 'another task')} lists its files; see where it is with tony stacks")
                time.sleep(_PAUSE_S)

    def tickets(self) -> Iterator[Optional[Ticket]]:
        """Until all units of all passes are handed out. To wait for those of others, which may come back, would be to wait for tasks
        that wait for this one in a collective operation."""
        self.claim()
        leases: List[Any] = [None]
        while leases:
            with self._lock:
                held = [list(key) for key in self._held]
            leases = self._ask("/lease", {"count": 1, "held": held, "wait_ms": 0})["leases"]
            for lease in leases:
                key = lease["pass"], lease["split"]
                with self._lock:
                    self._held[key] = lease["from"]
                    self._lost.discard(key)
                yield Ticket(key, of_item(lease["item"], lease["from"]))

    def is_lost(self, ticket: Ticket) -> bool:
        return ticket.key in self._lost

    def _note(self, lost: List[List[int]]) -> None:
        with self._lock:
            for of_pass, split in lost:
                self._held.pop((of_pass, split), None)
                self._lost.add((of_pass, split))

    def leave(self) -> None:
        self._renew()

    def _renew(self) -> None:
        self._renewed_at = time.monotonic()
        with self._lock:
            leases = [{"pass": key[0], "split": key[1], "offset": offset} for key, offset in self._held.items()]
        if leases:
            self._note(self._ask("/renew", {"leases": leases})["lost"])

    def settle(self, ticket: Ticket, offset: int, is_whole: bool) -> None:
        if is_whole and ticket.key not in self._lost:
            self._ask("/done", {"leases": [{"pass": ticket.key[0], "split": ticket.key[1]}]})
        with self._lock:  # only now, or the next question for a lease would be answered with it once more
            if is_whole:
                self._held.pop(ticket.key, None)
            elif ticket.key in self._held:
                self._held[ticket.key] = offset
        if time.monotonic() - self._renewed_at > SETTLE_S:
            self._renew()

    def _queue(self) -> Dict[str, Any]:
        queue: Dict[str, Any] = json.loads(ask("GET", f"/v1/splits/{quote(self._name)}/state")[1])
        return queue

    def state(self) -> Dict[str, Any]:
        self.claim()
        self._renew()
        return {"version": STATE_VERSION, "mode": "dynamic", "fingerprint": self._fingerprint, "queue": self._queue()}

    def resume(self, state: Dict[str, Any], rank: int) -> None:
        """Once in a formation of the cluster, by rank 0; the others wait for it."""
        _old(state, "dynamic", self._fingerprint)
        store, key = Store(), f"tony/data/{self._name}/{task.epoch}"
        self.claim()
        now, then = self._queue(), state["queue"]
        if not isinstance(then, dict) or "items" not in then:
            raise BadSubmission("resume: the state is damaged: its queue is none")
        if now["items"] != then["items"] or now["list"] != then.get("list", now["list"]):
            raise BadSubmission("resume: the state is of other files: some have come, gone or changed in length since")
        if rank == 0 and store.get(key) is None:
            self._ask("/restore", then)
            store.put(key, b"restored")
        elif store.get(key, timeout=_WAIT_S) is None:
            raise TaskError(f"resume: rank 0 has not resumed the data set {self._name} within {_WAIT_S} s; call resume() in all ranks")
