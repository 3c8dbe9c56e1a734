"""Whose bytes are whose: files become units of work, and these shares. All of it is arithmetic; no file is opened.

A record belongs to the unit in which its first byte is (of an Avro file the first byte of its block, of a Parquet file of its row
group). So any cut of the bytes shares out all records, each of them once."""

from __future__ import annotations

import random
from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Tuple

from tony.data._paths import File, Value

UNIT_BYTES = 64 << 20


class Unit(NamedTuple):
    path: str
    start: int
    end: int
    skip: int  # so many of its records were delivered before
    is_whole: bool  # it cannot be cut: its file cannot, or what was delivered could not be told any more
    values: Tuple[Tuple[str, Value], ...]
    numbers: Tuple[str, ...] = ()  # as File has them

    @property
    def weight(self) -> int:
        return self.end - self.start


class At(NamedTuple):
    """How far a rank is: of its share of a pass so many units, and so many records of the next one."""

    of_pass: int
    unit: int
    offset: int


def to_item(unit: Unit) -> Dict[str, Any]:
    """For the queue of the application master."""
    item: Dict[str, Any] = {"path": unit.path, "start": unit.start, "length": unit.weight}
    return {**item, "values": dict(unit.values), "numbers": unit.numbers} if unit.values else item


def of_item(item: Dict[str, Any], skip: int) -> Unit:
    return Unit(item["path"], item["start"], item["start"] + item["length"], skip, True, tuple(item.get("values", {}).items()),
                tuple(item.get("numbers", ())))


def cut(files: Sequence[File], splits: Callable[[str], bool], unit_bytes: int = UNIT_BYTES) -> List[Unit]:
    """Units of at most `unit_bytes`; a file that cannot be split is one."""
    units = []
    for file in files:
        can_split = splits(file.path) and not file.is_stream
        count = -(-file.length // unit_bytes) if can_split else 1
        edges = [file.length * i // count for i in range(count + 1)]
        units += [Unit(file.path, start, end, 0, not can_split, file.values, file.numbers) for start, end in zip(edges, edges[1:])]
    return units


def order(units: List[Unit], seed: int, of_pass: int) -> List[Unit]:
    """Another one for each pass, the same for every rank."""
    mixed = list(units)
    random.Random(f"{seed}/{of_pass}").shuffle(mixed)
    return mixed


def share(units: Sequence[Unit], rank: int, size: int) -> List[Unit]:
    """The part of `rank`: between two bytes of all units behind one another. A unit that cannot be cut is where its first byte is."""
    total = sum(unit.weight for unit in units)
    low, high = total * rank // size, total * (rank + 1) // size
    mine, at = [], 0
    for unit in units:
        start, end = max(low, at), min(high, at + unit.weight)
        if unit.is_whole:
            if low <= at < high:
                mine.append(unit)
        elif start < end:
            mine.append(unit._replace(start=unit.start + start - at, end=unit.start + end - at))
        at += unit.weight
    return mine


def after(units: List[Unit], at: At) -> List[Unit]:
    """The rest of a share."""
    if at.unit >= len(units):
        return []
    first = units[at.unit]
    return [first._replace(skip=first.skip + at.offset, is_whole=first.is_whole or at.offset > 0), *units[at.unit + 1:]]


def left(units: List[Unit], of_pass: int, layers: Sequence[Sequence[At]]) -> List[Unit]:
    """The rest of a pass: each layer has how far all ranks of one formation of the cluster were when the next one followed."""
    for layer in layers:
        if all(at.of_pass < of_pass for at in layer):
            continue  # nobody had begun with it
        rest = []
        for rank, at in enumerate(layer):
            mine = share(units, rank, len(layer))
            if at.of_pass == of_pass:
                mine = after(mine, at)
            if at.of_pass <= of_pass:
                rest += mine
        units = rest
    return units
