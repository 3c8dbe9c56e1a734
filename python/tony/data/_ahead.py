"""Reading ahead in threads: chunks come in one order for all numbers of threads, and no more bytes wait than are allowed."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from typing import Any, Callable, Deque, Generator, Iterator, List, NamedTuple, Optional, Tuple

from tony.data._formats import Chunk
from tony.data._shares import Unit


class Ticket(NamedTuple):
    """A unit on its way to the program."""

    key: Tuple[int, int]  # pass and number, by which its source knows it
    unit: Unit


Piece = Optional[Tuple[Ticket, Optional[Chunk]]]
"""A chunk of a unit; a unit's end has none. None: no more comes for now, so a batch that is not full had better go."""
Read = Callable[[Unit, int], Iterator[Chunk]]


_LEAVE_S = 2


class _Lane:
    """A unit's chunks that wait to be taken."""

    def __init__(self, ticket: Optional[Ticket]) -> None:
        self.ticket = ticket
        self.chunks: Deque[Chunk] = deque()
        self.is_done = ticket is None
        self.error: Optional[BaseException] = None


class Ahead:
    def __init__(self, tickets: Iterator[Optional[Ticket]], read: Read, threads: int, limit: int) -> None:
        self._tickets, self._read, self._limit = tickets, read, limit
        self._turn = threading.Lock()  # of the thread that takes the next ticket
        self._changed = threading.Condition()
        self._lanes: Deque[_Lane] = deque()
        self._weight = 0
        self._is_over = self._is_closed = False
        self._is_asking = False  # for a ticket, which may take long: the list of a queue is another task's work
        self._lanes_max = 2 * threads  # a unit that waits here is one that no other task can read
        self._threads: List[threading.Thread] = [threading.Thread(target=self._work, daemon=True, name="tony.data") for _ in range(threads)]

    # ---- the threads

    def _take(self) -> Optional[_Lane]:
        """The next lane; None: there is no more to do."""
        with self._turn:
            with self._changed:
                self._changed.wait_for(lambda: self._is_closed or self._is_over or len(self._lanes) < self._lanes_max)
                if self._is_closed or self._is_over:
                    return None
                self._is_asking = True
            lane = _Lane(None)
            is_over = False
            try:
                lane = _Lane(next(self._tickets))
            except StopIteration:
                is_over = True
            except BaseException as error:  # it is the reader's
                lane.error, is_over = error, True
            with self._changed:
                self._is_over, self._is_asking = is_over, False
                if not is_over or lane.error:
                    self._lanes.append(lane)
                self._changed.notify_all()
            return None if is_over else lane

    def _put(self, lane: _Lane, chunk: Chunk) -> bool:
        """The lane that is being taken from always has room for one, or all would wait for it."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or self._weight + chunk.weight <= self._limit
                                   or (lane is self._lanes[0] and not lane.chunks))
            if self._is_closed:
                return False
            lane.chunks.append(chunk)
            self._weight += chunk.weight
            self._changed.notify_all()
            return True

    def _fill(self, lane: _Lane) -> None:
        if lane.ticket is None:
            return
        error = None
        try:
            for chunk in self._read(lane.ticket.unit, lane.ticket.key[0]):
                if not self._put(lane, chunk):
                    return
        except BaseException as failure:  # it is the reader's
            error = failure
        with self._changed:
            lane.error, lane.is_done = error, True
            self._changed.notify_all()

    def _work(self) -> None:
        while True:
            lane = self._take()
            if lane is None:
                return
            self._fill(lane)

    # ---- the reader

    def _next(self) -> Tuple[Optional[_Lane], Optional[Chunk]]:
        with self._changed:
            self._changed.wait_for(lambda: self._lanes[0].chunks or self._lanes[0].is_done or self._lanes[0].error if self._lanes
                                   else self._is_over)
            if not self._lanes:
                return None, None
            lane = self._lanes[0]
            chunk = lane.chunks.popleft() if lane.chunks else None
            if chunk is None:
                if lane.error:
                    raise lane.error
                self._lanes.popleft()
            else:
                self._weight -= chunk.weight
            self._changed.notify_all()
            return lane, chunk

    def __iter__(self) -> Iterator[Piece]:
        own = os.getpid()
        for thread in self._threads:
            thread.start()
        try:
            while True:
                lane, chunk = self._next()
                if lane is None:
                    return
                yield None if lane.ticket is None else (lane.ticket, chunk)
        finally:
            if os.getpid() == own and not sys.is_finalizing():  # else threads run no more, and may hold the lock
                self._close()

    def _close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._is_asking, _LEAVE_S)
            is_asking = self._is_asking
        for thread in () if is_asking else self._threads:  # else they end by themselves, once they are answered
            thread.join()


def pieces(tickets: Iterator[Optional[Ticket]], read: Read, threads: int, limit: int) -> Generator[Piece, None, None]:
    if threads > 0:
        yield from Ahead(tickets, read, threads, limit)
        return
    for ticket in tickets:
        if ticket is None:
            yield None
            continue
        for chunk in read(ticket.unit, ticket.key[0]):
            yield ticket, chunk
        yield ticket, None


def size_of(text: Any) -> int:
    """Bytes of "256m", "1g" or a number; -1: it is none."""
    if isinstance(text, int):
        return text
    factor = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}.get(str(text)[-1:].lower(), 0)
    number = str(text)[:-1] if factor else str(text)
    return int(number) * (factor or 1) if number.isdigit() else -1
