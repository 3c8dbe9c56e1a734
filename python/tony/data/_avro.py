"""Avro, by fastavro. A file is a header and blocks, each of which ends with the file's marker of 16 bytes."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional

from tony._errors import DataError, NotInstalled
from tony.data._formats import CHUNK_ROWS, Chunk, Format, Query, open_file, pick
from tony.data._needs import need
from tony.data._shares import Unit

_MAGIC = b"Obj\x01"
_MARKER = 16
_SCAN_BYTES = 1 << 20


class _Stream:
    """The header, and then the file from where it stands."""

    def __init__(self, header: bytes, file: Any) -> None:
        self._header, self._file = header, file

    def read(self, count: int) -> bytes:
        if self._header:
            found, self._header = self._header[:count], self._header[count:]
            return found
        data: bytes = self._file.read(count)
        return data

    def tell(self) -> int:
        at: int = self._file.tell()
        return at


def _find_block(file: Any, marker: bytes, start: int, end: int) -> Optional[int]:
    """Where the first block begins that begins in [start, end)."""
    at = start - _MARKER
    file.seek(at)
    held = b""
    while at + len(held) < end:
        data = file.read(_SCAN_BYTES)
        if not data:
            return None
        held += data
        found = held.find(marker)
        if found >= 0:
            first = at + found + _MARKER
            return first if first < end else None
        at += max(0, len(held) - _MARKER + 1)
        held = held[-_MARKER + 1:]
    return None


def _subset(schema: Any, columns: List[str]) -> Any:
    """The schema of these fields alone, by which fastavro passes over the others; None: one of them needs a type that another field
    defines."""
    fastavro = need("avro", "fastavro")
    if not isinstance(schema, dict) or schema.get("type") != "record":
        return None
    own = {key: value for key, value in schema.items() if not key.startswith("__")}
    own["fields"] = [field for field in schema["fields"] if field["name"] in columns]
    try:
        return fastavro.parse_schema(own) if own["fields"] else None
    except (fastavro.schema.SchemaParseException, fastavro.schema.UnknownType):
        return None


_TYPES = {"int": "int32", "long": "int64", "float": "float32", "double": "float64", "boolean": "bool_", "string": "string",
          "bytes": "binary", "enum": "string"}


def _arrow_type(schema: Any, pa: Any) -> Any:
    """None: pyarrow sees from values which."""
    if isinstance(schema, list):
        others = [each for each in schema if each != "null"]
        return _arrow_type(others[0], pa) if len(others) == 1 else None
    kind = schema["type"] if isinstance(schema, dict) else schema
    if isinstance(schema, dict) and "logicalType" in schema:
        return None
    if kind == "array":
        items = _arrow_type(schema["items"], pa)
        return None if items is None else pa.list_(items)
    return getattr(pa, _TYPES[kind])() if kind in _TYPES else None


def _arrow_schema(schema: Any) -> Any:
    """{field: type} of those that are known, for tables."""
    try:
        pa = need("arrow()", "pyarrow")
    except NotInstalled:
        return None
    found = {field["name"]: _arrow_type(field["type"], pa) for field in schema.get("fields", ())}
    return {name: kind for name, kind in found.items() if kind is not None}


class Avro(Format):
    name = "avro"
    endings = (".avro",)

    def _blocks(self, unit: Unit, file: Any, wanted: List[str], are_all: bool) -> Iterator[Any]:
        fastavro = need("avro", "fastavro")
        if file.read(len(_MAGIC)) != _MAGIC:
            raise DataError("this is no file of Avro")
        file.seek(0)
        head = fastavro.block_reader(file)
        schema, begin = head.writer_schema, file.tell()
        fields = [field["name"] for field in schema.get("fields", ())] if isinstance(schema, dict) else ["value"]
        for column in wanted:
            if column not in fields:
                raise DataError(f"there is no column {column}; there are {', '.join(fields)}")
        yield schema
        file.seek(0)
        header = file.read(begin)
        first = begin if unit.start <= begin < unit.end else None
        if unit.start > begin:
            first = _find_block(file, header[-_MARKER:], unit.start, unit.end)
        if first is None:
            return
        file.seek(first)
        for block in fastavro.block_reader(_Stream(header, file), reader_schema=_subset(schema, wanted) if are_all else None):
            if block.offset >= unit.end:
                return
            yield block

    def read(self, unit: Unit, query: Query) -> Iterator[Chunk]:
        known = dict(unit.values)
        names = dict.fromkeys([*(query.columns or ()), *(query.where.columns if query.where else ())])
        wanted = [name for name in names if name not in known]
        with open_file(unit.path) as file:
            blocks = self._blocks(unit, file, wanted, query.columns is not None)
            types = _arrow_schema(next(blocks))
            records: List[Dict[str, Any]] = []
            weight = 0
            for block in blocks:
                records += [record if isinstance(record, dict) else {"value": record} for record in block]
                weight += 3 * block.size
                if len(records) >= CHUNK_ROWS or weight >= 1 << 22:
                    yield Chunk(pick(records, unit, query), weight, types)
                    records, weight = [], 0
            if records:
                yield Chunk(pick(records, unit, query), weight, types)
