"""A program's share of its files, in the form that it wants."""

from __future__ import annotations

import hashlib
import os
import random
import re
import sys
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, Generator, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from tony import task
from tony._errors import BadSubmission, DataError, TonyError
from tony.data import _batches
from tony.data._ahead import Piece, Ticket, pieces, size_of
from tony.data._avro import Avro
from tony.data._columns import Orc, Parquet
from tony.data._formats import Chunk, Format, JsonLines, Query, Text, TfRecord, find_format
from tony.data._meter import Meter
from tony.data._needs import need
from tony.data._paths import File, Paths, find_files
from tony.data._shares import UNIT_BYTES, Unit, cut, order
from tony.data._sources import SETTLE_S, Queue, Share, Source
from tony.data._where import Where

if TYPE_CHECKING:
    from tony.data._torch import TorchDataset

FORMATS: Sequence[Format] = (Avro(), Parquet(), Orc(), JsonLines(), Text(), TfRecord())
_UNITS_OF_A_QUEUE = 1024  # by its bytes alone: a checkpoint's state is good for any number of ranks
_UNIT_BYTES_MIN = 1 << 20
_NAME = "[A-Za-z0-9._-]{1,64}"  # as the application master takes it
_SEARCH_BYTES = 64 << 20  # for a column, where records need not have all: of all files
_SEARCH_BYTES_MIN = 64 << 10  # of each
Marks = Dict[Tuple[int, int], Tuple[Ticket, int, bool]]


class Options(NamedTuple):
    paths: List[str]
    name: Optional[str]
    format: Optional[str]
    mode: str
    columns: Optional[List[str]]
    where: Optional[Where]
    batch_size: int
    passes: int
    shuffle: bool
    seed: int
    prefetch: int
    memory: int
    rank: int
    size: int
    epoch: int


def _worker() -> Tuple[int, int]:
    """Which worker of a DataLoader this process is, of how many; (-1, 1): it is none."""
    torch = sys.modules.get("torch.utils.data")
    info = torch.get_worker_info() if torch else None
    return (info.id, info.num_workers) if info else (-1, 1)


class Dataset:
    """The share of this task of some files, made by tony.data.shard(). It reads them anew each time that it is asked for an iterator;
    one at a time."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._files: Optional[List[File]] = None
        self._states: List[Dict[str, Any]] = []
        self._source: Optional[Source] = None
        self._pending: Marks = {}
        self._is_fresh = self._has_columns = False
        self._made_in = self._resumed_in = 0
        self._is_queue = options.mode == "dynamic" and task.active
        if not self._is_queue:
            self._list()

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_source": None, "_pending": {}}

    # ---- what there is to read

    def _query(self, unit_values: Tuple[Tuple[str, Any], ...]) -> Optional[Query]:
        """None: no record of such a file fits."""
        where = self._options.where
        rest = where.given(dict(unit_values)) if where else None
        return None if rest and not rest.clauses else Query(self._options.columns, rest)

    def _list(self) -> List[File]:
        if self._files is None:
            found = find_files(self._options.paths)
            find_format([file.path for file in found], self._options.format, FORMATS)
            self._files = [file for file in found if self._query(file.values)]
        return self._files

    def _format_of(self, path: str) -> Format:
        return find_format([path], self._options.format, FORMATS)

    def _units(self, of_pass: int, unit_bytes: int = UNIT_BYTES) -> List[Unit]:
        units = cut(self._list(), lambda path: self._format_of(path).splits(path), unit_bytes)
        return order(units, self._options.seed, of_pass) if self._options.shuffle else units

    def _queue_units(self) -> List[Unit]:
        """In the order of files: the application master mixes them."""
        total = sum(file.length for file in self._list())
        unit_bytes = min(UNIT_BYTES, max(_UNIT_BYTES_MIN, total // _UNITS_OF_A_QUEUE))
        return cut(self._list(), lambda path: self._format_of(path).splits(path), unit_bytes)

    def _fingerprint(self) -> str:
        """Of all that decides which records there are, in which order."""
        own = self._options
        clauses = own.where.clauses if own.where else None
        code = hashlib.sha256(repr([own.paths, own.format, own.columns, clauses, own.shuffle, own.seed, own.epoch]).encode())
        if not self._is_queue:
            for file in self._list():
                code.update(f"\n{file.path} {file.length}".encode())
        return code.hexdigest()[:32]

    # ---- where it comes from

    def _make_share(self) -> Share:
        own, (worker, workers) = self._options, _worker()
        return Share(self._units, range(own.epoch, own.epoch + own.passes), own.rank * workers + max(0, worker), own.size * workers,
                     self._fingerprint())

    def _make_queue(self) -> Queue:
        own = self._options
        code = self._fingerprint()
        base = own.name or re.sub("[^A-Za-z0-9._-]+", "-", own.paths[0].rstrip("/").rpartition("/")[2]).strip("-")[:40] + "-" + code[:6]
        name = f"{base}-{own.epoch}" if own.epoch else base
        return Queue(name, self._queue_units, own.passes, own.seed if own.shuffle else None, code, _worker()[0])

    def _present(self) -> Source:
        """That of the present iteration, or of the one that follows."""
        if self._source is None or self._made_in != os.getpid():
            source: Union[Share, Queue] = self._make_queue() if self._is_queue else self._make_share()
            if self._states and isinstance(source, Queue):
                source.resume(self._states[0], self._options.rank)
            elif self._states and isinstance(source, Share):
                source.resume(self._states)
            self._source, self._made_in, self._is_fresh = source, os.getpid(), True
        return self._source

    def _begin(self) -> Source:
        if _worker()[0] >= 0 and self._states and self._resumed_in != os.getpid() and not self._is_queue:
            raise BadSubmission("resume: workers of a DataLoader do not know how far each of them was: use num_workers=0 (prefetch= reads "
                                "ahead in threads), or torchdata's StatefulDataLoader")
        if not self._is_fresh:
            self._leave()
            self._source, self._states = None, []
        source = self._present()
        self._is_fresh, self._pending = False, {}
        return source

    def _settle(self) -> None:
        pending, self._pending = self._pending, {}
        if pending and self._made_in != os.getpid():
            raise DataError("this iterator was begun in another process, whose threads read for it: begin one here")
        for ticket, offset, is_whole in pending.values():
            self._present().settle(ticket, offset, is_whole)

    def _leave(self) -> None:
        """The application master gets to know what the program was given, also where it leaves its loop before the end."""
        if self._source and self._made_in == os.getpid():
            self._settle()
            self._source.leave()

    def state(self) -> Dict[str, Any]:
        """Where this rank is: behind the batch or the record that it was given last. For a checkpoint; it can be written as JSON."""
        self._settle()
        return self._present().state()

    def resume(self, state: Union[Dict[str, Any], Sequence[Dict[str, Any]]]) -> Dataset:
        """The next iterator goes on where state() was called. With mode="static" a list of the states of all ranks may be given, and must
        be where another number of ranks reads now. With mode="dynamic" all ranks call it, with the state of one of them."""
        states: Any = [state] if isinstance(state, dict) else state
        if not isinstance(states, Sequence) or not all(isinstance(each, dict) for each in states):
            raise BadSubmission(f"resume: {state!r:.60} is no state, and no list of states: give what state() returned")
        if not states:
            raise BadSubmission("resume: there is no state in the list")
        self._states = list(states)
        self._source, self._pending, self._resumed_in = None, {}, os.getpid()
        self._present()
        return self

    # ---- reading

    def _beginnings(self, first: str) -> Iterator[Tuple[str, int]]:
        """Files, and so many bytes of each, in which columns are looked for: of this one first, which mostly has them."""
        yield first, _SEARCH_BYTES_MIN
        files = self._list()
        for file in files:
            yield file.path, max(_SEARCH_BYTES_MIN, _SEARCH_BYTES // len(files))

    def _find_columns(self, unit: Unit) -> None:
        """DataError: a column that is asked for is misspelt. A record need not have it, but one at the beginning of a file has, whoever
        reads that."""
        own = self._options
        asked = dict.fromkeys([*(own.columns or ()), *(own.where.columns if own.where else ())])
        missing = [name for name in asked if name not in dict(unit.values)]
        found: Dict[str, None] = {}
        for path, limit in self._beginnings(unit.path) if missing else ():
            looked = 0
            for names, size in self._format_of(path).names(path) or ():
                found.update(dict.fromkeys(names))
                looked += size
                if looked >= limit:
                    break
            missing = [name for name in missing if name not in found]
            if not missing:
                break
        if missing and found:
            raise DataError(f"there is no column {missing[0]}, as far as the beginning of each file tells; there are "
                            f"{', '.join([*found, *dict(unit.values)])}. If few records have it, leave it out of columns= and where=")
        self._has_columns = True

    def _read(self, unit: Unit, of_pass: int, convert: Optional[Callable[[Chunk], Chunk]]) -> Iterator[Chunk]:
        query = self._query(unit.values)
        if query is None:
            return
        mix = random.Random(f"{self._options.seed}/{of_pass}/{unit.path}/{unit.start}") if self._options.shuffle else None
        skip = unit.skip
        try:
            if not self._has_columns:
                self._find_columns(unit)
            for chunk in self._format_of(unit.path).read(unit, query):
                rows = _batches.shuffled(chunk.rows, mix) if mix else chunk.rows
                count = _batches.count(rows)
                if skip < count:
                    found = chunk._replace(rows=_batches.part(rows, skip, count) if skip else rows)
                    yield convert(found) if convert else found
                skip = max(0, skip - count)
        except TonyError as error:
            raise type(error)(f"{unit.path}: {error}") from error.__cause__
        except Exception as error:
            raise DataError(f"{unit.path}, bytes {unit.start} to {unit.end}: {type(error).__name__}: {error}") from error

    def _watched(self, source: Source, convert: Optional[Callable[[Chunk], Chunk]], meter: Optional[Meter]) -> Generator[Piece, None, None]:
        own = self._options
        stream = pieces(source.tickets(), lambda unit, of_pass: self._read(unit, of_pass, convert), own.prefetch, own.memory)
        try:
            while True:
                began = time.monotonic()
                try:
                    piece = next(stream)
                except StopIteration:
                    return
                if meter:
                    meter.waited(time.monotonic() - began)
                yield piece
        finally:
            stream.close()

    def batches(self, convert: Optional[Callable[[Chunk], Chunk]] = None, size: Optional[int] = None) -> Iterator[Any]:
        """Batches in the form in which the format has them, pyarrow.Table or lists of dictionaries: what the other iterators are made
        of. With size=0 they are as large as they come."""
        size = self._options.batch_size if size is None else size
        source = self._begin()
        meter = Meter() if task.active and _worker()[0] < 0 else None
        stream = self._watched(source, convert, meter)
        try:
            yield from self._fill(stream, source, size, meter)
        finally:
            stream.close()
            if meter:
                meter.tell()

    def _fill(self, stream: Iterator[Piece], source: Source, size: int, meter: Optional[Meter]) -> Iterator[Any]:
        parts: List[Any] = []
        marks: Marks = {}
        have = offset = 0
        last = None

        def batch() -> Any:
            nonlocal parts, marks, have
            rows = _batches.joined(parts) if len(parts) > 1 else parts[0]
            self._pending = marks
            if meter:
                meter.passed(have)
            parts, marks, have = [], {}, 0
            return rows

        for piece in stream:
            if piece is None:
                if parts:
                    yield batch()
                self._settle()
                continue
            ticket, chunk = piece
            if source.is_lost(ticket):
                continue
            if ticket is not last:
                last, offset = ticket, ticket.unit.skip
            if chunk is None:
                marks[ticket.key] = ticket, offset, True
                if not parts:  # all of it was in batches that the program has had
                    self._pending, marks = marks, {}
                    self._settle()
                continue
            at, count = 0, _batches.count(chunk.rows)
            while at < count:
                step = min(count - at, size - have) if size else count
                parts.append(_batches.part(chunk.rows, at, at + step))
                at, have, offset = at + step, have + step, offset + step
                marks[ticket.key] = ticket, offset, False
                if have >= size:
                    yield batch()
                    self._settle()
        if parts:
            yield batch()
        self._settle()

    # ---- forms

    def arrow(self) -> Iterator[Any]:
        """Batches as pyarrow.Table."""
        return self.batches(_batches.to_arrow)

    def numpy(self) -> Iterator[Dict[str, Any]]:
        """Batches as {column: array}."""
        for rows in self.batches():
            yield _batches.to_numpy(rows)

    def records(self) -> Iterator[Dict[str, Any]]:
        """One record after the other, as dictionaries."""
        for rows in self.batches(_batches.to_records, 0):
            (ticket, end, _), = self._pending.values()
            settled_at = time.monotonic()
            for left, record in zip(range(len(rows) - 1, -1, -1), rows):
                self._pending = {ticket.key: (ticket, end - left, False)}
                yield record
                if time.monotonic() - settled_at > SETTLE_S:  # a chunk may take longer than a lease
                    self._settle()
                    settled_at = time.monotonic()

    def torch(self, *, records: bool = False) -> TorchDataset:
        """An IterableDataset of batches, {column: tensor}, for DataLoader(..., batch_size=None); with `records` of single records, which a
        DataLoader makes batches of. Columns that cannot be tensors are lists."""
        need("torch()", "torch")
        from tony.data._torch import TorchDataset

        return TorchDataset(self, records)

    def tf(self) -> Any:
        """A tf.data.Dataset of batches, {column: tensor}."""
        tf = need("tf()", "tensorflow")
        signature = _batches.to_signature(self._sample())

        def generate() -> Iterator[Dict[str, Any]]:
            for rows in self.batches():
                yield _batches.to_tf(rows, signature)

        return tf.data.Dataset.from_generator(generate, output_signature=signature)

    def _sample(self) -> Dict[str, Any]:
        """The first records of all, whoever reads them."""
        for unit in self._units(0):
            for chunk in self._read(unit, 0, None):
                return _batches.to_numpy(_batches.part(chunk.rows, 0, min(_batches.count(chunk.rows), self._options.batch_size)))
        raise DataError(f"{self._options.paths[0]}: there is no record from which columns could be seen")


def _check_counts(counts: Dict[str, Tuple[int, int]]) -> None:
    """{name: (value, least)}"""
    for label, (value, least) in counts.items():
        if not hasattr(value, "__index__"):
            raise BadSubmission(f"{label}={value!r:.60}: it is a whole number")
        if value < least:
            raise BadSubmission(f"{label}={value}: it is {least} at least")


def make_options(paths: Paths, name: Optional[str], format_name: Optional[str], mode: str, columns: Optional[Sequence[str]], where: Any,
                 batch_size: int, passes: int, shuffle: bool, seed: int, prefetch: int, memory: Union[int, str], rank: Optional[int],
                 size: Optional[int], epoch: Optional[int]) -> Options:
    if not isinstance(paths, (str, os.PathLike, Sequence)):
        raise BadSubmission(f"shard({paths!r:.60}): give a path, or a list of paths")
    several = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if mode not in ("static", "dynamic"):
        raise BadSubmission(f'mode="{mode}": it is "static" or "dynamic"')
    if isinstance(columns, str):
        raise BadSubmission(f'columns="{columns}": write columns=["{columns}"]')
    if columns is not None and not columns:
        raise BadSubmission("columns=[]: name one at least, or leave it out for all")
    if name is not None and not re.fullmatch(_NAME, f"{name}-{epoch}" if name and epoch else name):
        raise BadSubmission(f"name={name!r:.100}: up to 64 of A-Z a-z 0-9 . _ - are a name, with the number of the epoch behind it")
    if rank is not None and mode == "dynamic" and task.active:
        raise BadSubmission('rank and size: with mode="dynamic" a queue hands out the files, whatever the rank; leave them out')
    if (rank is None) != (size is None):
        raise BadSubmission("rank and size: give both, or neither")
    counts = {"batch_size": (batch_size, 1), "passes": (passes, 1), "prefetch": (prefetch, 0), "epoch": (0 if epoch is None else epoch, 0),
              "rank": (0 if rank is None else rank, 0), "size": (1 if size is None else size, 1)}
    _check_counts(counts)
    if rank is None or size is None:
        rank, size = (task.rank, task.world_size) if task.active else (0, 1)
    if not 0 <= rank < size:
        raise BadSubmission(f"rank={rank}: with size={size} it is 0 to {size - 1}")
    limit = size_of(memory)
    if limit < 1:
        raise BadSubmission(f'memory="{memory}": it is no size; write "256m" or "1g"')
    return Options([os.fspath(path) for path in several], name, format_name, mode, list(columns) if columns else None, Where.of(where),
                   batch_size, passes, shuffle, seed, prefetch, limit, rank, size, epoch or 0)
