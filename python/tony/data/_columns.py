"""Parquet and ORC, by pyarrow: of a file only the columns that are wanted are read, and of Parquet only row groups that may have a
record that fits."""

from __future__ import annotations

from typing import Any, Iterator, List

from tony._errors import DataError
from tony.data._formats import CHUNK_BYTES, CHUNK_ROWS, Chunk, Format, Query, open_file
from tony.data._needs import need
from tony.data._shares import Unit


def _wanted(names: List[str], unit: Unit, query: Query) -> List[str]:
    """The columns to read of a file that has these."""
    known = dict(unit.values)
    asked = names if query.columns is None else query.columns
    wanted = dict.fromkeys([*asked, *(query.where.columns if query.where else ())])
    for name in wanted:
        if name not in names and name not in known:
            raise DataError(f"there is no column {name}; there are {', '.join([*names, *known])}")
    return [name for name in wanted if name not in known] or names[:1]  # how many records there are must be read, too


def _finish(table: Any, unit: Unit, query: Query) -> Any:
    pa = need("tony.data", "pyarrow")
    if query.where:
        table = table.filter(query.where.expression())
    for name, value in unit.values:
        column = pa.array([value] * table.num_rows, pa.int64() if name in unit.numbers else pa.string())
        if name in table.column_names:
            table = table.drop([name])
        table = table.append_column(name, column)
    return table if query.columns is None else table.select(query.columns)


def _chunks(table: Any, unit: Unit, query: Query) -> Iterator[Chunk]:
    """Of one size for one file, however it is read."""
    rows = min(CHUNK_ROWS, max(1, CHUNK_BYTES * table.num_rows // max(1, table.nbytes)))
    for first in range(0, table.num_rows, rows):
        part = _finish(table.slice(first, rows), unit, query)
        yield Chunk(part, part.nbytes)


class Parquet(Format):
    name = "parquet"
    endings = (".parquet", ".parq")

    @staticmethod
    def _first_byte(group: Any) -> int:
        column = group.column(0)
        first: int = min(at for at in (column.dictionary_page_offset, column.data_page_offset) if at)
        return first

    def read(self, unit: Unit, query: Query) -> Iterator[Chunk]:
        pa = need("parquet", "pyarrow")
        pq, dataset = need("parquet", "pyarrow.parquet"), need("parquet", "pyarrow.dataset")
        with open_file(unit.path) as raw:
            file = pq.ParquetFile(raw, buffer_size=1 << 20)
            wanted = _wanted(file.schema_arrow.names, unit, query)
            groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
            mine = {i for i, group in enumerate(groups) if group.num_rows and unit.start <= self._first_byte(group) < unit.end}
            floats = [field.name for field in file.schema_arrow if pa.types.is_floating(field.type)]
            where = query.where.for_statistics(floats) if query.where else None
            if where and mine:
                fragment = dataset.ParquetFileFormat().make_fragment(raw, row_groups=sorted(mine))
                mine = {row_group.id for row_group in fragment.subset(where.expression()).row_groups}
            for i in sorted(mine):
                rows = min(CHUNK_ROWS, max(1, CHUNK_BYTES * groups[i].num_rows // max(1, groups[i].total_byte_size)))
                for batch in file.iter_batches(batch_size=rows, row_groups=[i], columns=wanted, use_threads=False):
                    table = _finish(pa.Table.from_batches([batch]), unit, query)
                    yield Chunk(table, table.nbytes)


class Orc(Format):
    """Where its stripes begin pyarrow does not tell, so they count as if all had one length."""

    name = "orc"
    endings = (".orc",)

    def read(self, unit: Unit, query: Query) -> Iterator[Chunk]:
        pa, orc = need("orc", "pyarrow"), need("orc", "pyarrow.orc")
        with open_file(unit.path) as raw:
            length = raw.seek(0, 2) or raw.tell()
            raw.seek(0)
            file = orc.ORCFile(raw)
            wanted = _wanted(file.schema.names, unit, query)
            for i in range(file.nstripes):
                if unit.start <= length * i // file.nstripes < unit.end:
                    yield from _chunks(pa.Table.from_batches([file.read_stripe(i, columns=wanted)]), unit, query)
