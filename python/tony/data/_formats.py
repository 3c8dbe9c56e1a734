"""The base of all formats, and those that need no library: lines and TFRecord."""

from __future__ import annotations

import io
import json
import struct
import sys
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from tony._errors import BadSubmission, DataError
from tony.data import _crc
from tony.data._needs import need
from tony.data._paths import file_system
from tony.data._shares import Unit
from tony.data._where import Where

CHUNK_BYTES = 4 << 20  # of a file; a chunk is what threads read ahead in
CHUNK_ROWS = 16384
_BLOCK_BYTES = 4 << 20  # of a file that is far
_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd"}


class Query(NamedTuple):
    columns: Optional[List[str]]
    where: Optional[Where]  # of the columns that files have


class Chunk(NamedTuple):
    rows: Any  # a list of dictionaries, or a pyarrow.Table
    weight: int  # bytes, roughly
    schema: Any = None  # that of a list, for pyarrow, where the file tells it


class Format:
    """Reads the records of one unit, in the order of the file, as chunks."""

    name = ""
    endings: Sequence[str] = ()
    can_split = True

    def splits(self, path: str) -> bool:
        """Whether parts of this file can be read by several."""
        return self.can_split and bool(path)

    def names(self, path: str) -> Optional[Iterator[Tuple[List[str], int]]]:  # noqa: ARG002
        """The columns of each record of a file, and its bytes. None: read() refuses a column that its file lacks."""
        return None

    def read(self, unit: Unit, query: Query) -> Iterator[Chunk]:
        raise NotImplementedError


def compression_of(path: str) -> Optional[str]:
    return next((name for ending, name in _COMPRESSIONS.items() if path.endswith(ending)), None)


def open_file(path: str) -> Any:
    """A binary file with seek(); without fsspec's caches where it is near."""
    fs, inner = file_system(path)
    if "file" in ([fs.protocol] if isinstance(fs.protocol, str) else fs.protocol):
        return open(inner, "rb")
    return fs.open(inner, "rb", block_size=_BLOCK_BYTES)


def _open_plain(path: str) -> Any:
    """The content of a file that may be compressed."""
    raw = open_file(path)
    name = compression_of(path)
    if name is None:
        return raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw, _BLOCK_BYTES)
    if name == "zstd":  # fsspec ends with the first frame
        return need(".zst", "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd").ZstdFile(raw)
    return io.BufferedReader(need(name, "fsspec.compression").compr[name](raw, mode="rb"))


def choose(record: Mapping[str, Any], columns: Optional[List[str]]) -> Dict[str, Any]:
    return dict(record) if columns is None else {column: record.get(column) for column in columns}


def pick(records: List[Dict[str, Any]], unit: Unit, query: Query) -> List[Dict[str, Any]]:
    """Those that fit, with the columns that are wanted."""
    if query.where:
        records = [record for record in records if query.where.fits(record)]
    if unit.values:
        records = [{**record, **dict(unit.values)} for record in records]
    return records if query.columns is None else [choose(record, query.columns) for record in records]


class _Compressible(Format):
    def splits(self, path: str) -> bool:
        return self.can_split and compression_of(path) is None


class Text(_Compressible):
    """A record is a line, without its end."""

    name = "text"
    endings: Sequence[str] = (".txt", ".csv", ".tsv", ".log", ".text")

    def record(self, line: bytes) -> Optional[Dict[str, Any]]:
        return {"text": line.decode().rstrip("\r\n")}

    def _blocks(self, unit: Unit) -> Iterator[List[bytes]]:
        """Lines that begin in the unit."""
        with _open_plain(unit.path) as file:
            if not self.splits(unit.path) or getattr(file.raw, "size", 0) is None:  # to its end, wherever that is
                end = 1 << 62
                at = 0
            else:
                end = unit.end
                at = file.seek(unit.start - 1) + len(file.readline()) if unit.start else 0
            while at < end:
                lines = file.readlines(min(CHUNK_BYTES, end - at))
                if not lines:
                    return
                last = at + sum(map(len, lines))
                while lines and last - len(lines[-1]) >= end:
                    last -= len(lines.pop())
                yield lines
                at = last if lines else end

    def names(self, path: str) -> Iterator[Tuple[List[str], int]]:
        for lines in self._blocks(Unit(path, 0, 1 << 62, 0, True, ())):
            for line in lines:
                yield list(self.record(line) or ()), len(line)

    def read(self, unit: Unit, query: Query) -> Iterator[Chunk]:
        for lines in self._blocks(unit):
            for first in range(0, len(lines), CHUNK_ROWS):
                some = lines[first:first + CHUNK_ROWS]
                found = [self.record(line) for line in some]
                yield Chunk(pick([record for record in found if record is not None], unit, query), 2 * sum(map(len, some)))


class JsonLines(Text):
    """A record is a line that is an object of JSON. Empty lines are none."""

    name = "jsonl"
    endings = (".jsonl", ".json", ".ndjson")

    def record(self, line: bytes) -> Optional[Dict[str, Any]]:
        if not line.strip():
            return None
        try:
            found = json.loads(line)
        except ValueError as error:
            raise DataError(f"{line[:60]!r} is no line of JSON: {error}") from None
        if not isinstance(found, dict):
            raise DataError(f"{line[:60]!r} is no object of JSON, such as {{\"id\": 1}}")
        return found


class TfRecord(_Compressible):
    """A record is its bytes, a tf.train.Example in most files."""

    name = "tfrecord"
    endings = (".tfrecord", ".tfrecords", ".tfrec")
    can_split = False

    @staticmethod
    def _records(file: Any) -> Iterator[bytes]:
        while True:
            head = file.read(12)
            if not head:
                return
            if len(head) < 12:
                raise DataError("the file ends within a record's length")
            length, check = struct.unpack("<QI", head)
            if _crc.masked(head[:8]) != check:
                raise DataError("the checksum of a record's length is wrong: the file is damaged, or not of TFRecord")
            data = file.read(length)
            tail = file.read(4)
            if len(data) < length or len(tail) < 4:
                raise DataError("the file ends within a record")
            if _crc.masked(data) != struct.unpack("<I", tail)[0]:
                raise DataError("the checksum of a record is wrong: the file is damaged")
            yield data

    def names(self, path: str) -> Iterator[Tuple[List[str], int]]:  # noqa: ARG002
        yield ["record"], 0

    def read(self, unit: Unit, query: Query) -> Iterator[Chunk]:
        with _open_plain(unit.path) as file:
            records: List[Dict[str, Any]] = []
            weight = 0
            for data in self._records(file):
                records.append({"record": data})
                weight += len(data)
                if weight >= CHUNK_BYTES or len(records) >= CHUNK_ROWS:
                    yield Chunk(pick(records, unit, query), weight)
                    records, weight = [], 0
            if records:
                yield Chunk(pick(records, unit, query), weight)


def find_ending(path: str, formats: Sequence[Format]) -> Optional[Format]:
    name = path.rpartition("/")[2].lower()
    compression = compression_of(name)
    if compression:
        name = name.rpartition(".")[0]
    return next((each for each in formats if name.endswith(tuple(each.endings))), None)


def find_format(paths: Sequence[str], name: Optional[str], formats: Sequence[Format]) -> Format:
    """By name, or by the endings of files, which must agree."""
    names = ", ".join(each.name for each in formats)
    if name is not None:
        found = next((each for each in formats if each.name == name), None)
        if found is None:
            raise BadSubmission(f'format="{name}": there is none of that name; it is one of {names}')
        return found
    first: Optional[Format] = None
    for path in paths:
        found = find_ending(path, formats)
        if found is None:
            raise BadSubmission(f"{path}: its name does not tell its format; say format=, one of {names}")
        if first is not None and found is not first:
            raise BadSubmission(f"{paths[0]} is of format {first.name}, {path} of {found.name}: read them one after the other, or say "
                                "format=")
        first = found
    if first is None:
        raise BadSubmission(f"there is no file with a byte in it; say format=, one of {names}")
    return first
