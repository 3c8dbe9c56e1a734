"""Chunks become batches, and batches what a framework takes."""

from __future__ import annotations

from typing import Any, Dict, List

from tony._errors import DataError
from tony.data._formats import Chunk
from tony.data._needs import need


def count(rows: Any) -> int:
    return len(rows) if isinstance(rows, list) else int(rows.num_rows)


def part(rows: Any, first: int, last: int) -> Any:
    return rows[first:last] if isinstance(rows, list) else rows.slice(first, last - first)


def shuffled(rows: Any, random: Any) -> Any:
    places = list(range(count(rows)))
    random.shuffle(places)
    if isinstance(rows, list):
        return [rows[place] for place in places]
    pa = need("tony.data", "pyarrow")
    return rows.take(pa.array(places, pa.int64()))  # an empty list has no type of its own


def joined(parts: List[Any]) -> Any:
    if isinstance(parts[0], list):
        return [record for some in parts for record in some]
    pa = need("tony.data", "pyarrow")
    try:
        return pa.concat_tables(parts, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(f"files have a column of several types that do not go together: {error}") from None


# ---- Arrow


def to_arrow(chunk: Chunk) -> Chunk:
    pa = need("arrow()", "pyarrow")
    if not isinstance(chunk.rows, list):
        return chunk
    names = list(dict.fromkeys(name for record in chunk.rows for name in record))
    columns = []
    for name in names:
        values = [record.get(name) for record in chunk.rows]
        kind = (chunk.schema or {}).get(name)
        try:
            columns.append(pa.array(values, kind))
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise DataError(f"column {name} cannot be a column of Arrow: {error}; use records(), or columns= without it") from None
    table = pa.Table.from_arrays(columns, names=names)
    return Chunk(table, max(chunk.weight, table.nbytes))


def to_records(chunk: Chunk) -> Chunk:
    return chunk if isinstance(chunk.rows, list) else Chunk(chunk.rows.to_pylist(), 3 * chunk.weight)


# ---- NumPy


def _objects(values: List[Any], np: Any) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _of_values(values: List[Any], np: Any) -> Any:
    """Numbers, and lists of them that have one length, become numbers; all else stays what it is."""
    some = next((value for value in values if value is not None), None)
    if some is None or isinstance(some, (str, bytes, dict)):
        return _objects(values, np)
    if isinstance(some, (int, float)) and not isinstance(some, bool) and None in values:
        values = [np.nan if value is None else value for value in values]
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError):
        return _objects(values, np)
    return array if array.dtype.kind in "biufcMm" else _objects(values, np)


def _of_column(column: Any, np: Any, pa: Any) -> Any:
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type) or pa.types.is_fixed_size_list(column.type):
        flat = column.combine_chunks()
        flat = flat.combine_chunks() if isinstance(flat, pa.ChunkedArray) else flat
        lengths = flat.value_lengths().unique() if len(flat) and flat.null_count == 0 else []
        inner = flat.flatten() if len(lengths) == 1 else None
        if inner is not None and inner.null_count == 0 and not pa.types.is_nested(inner.type):
            return _of_column(pa.chunked_array([inner]), np, pa).reshape(len(flat), -1)
        return _objects([None if value is None else np.asarray(value) for value in column.to_pylist()], np)
    return column.to_numpy()


def to_numpy(rows: Any) -> Dict[str, Any]:
    np = need("numpy()", "numpy")
    if isinstance(rows, list):
        names = list(dict.fromkeys(name for record in rows for name in record))
        return {name: _of_values([record.get(name) for record in rows], np) for name in names}
    pa = need("numpy()", "pyarrow")
    return {name: _of_column(rows.column(name), np, pa) for name in rows.column_names}


# ---- PyTorch


def _to_tensor(array: Any, torch: Any) -> Any:
    kind = array.dtype.kind
    if kind not in "biuf":
        return array.tolist()
    if kind == "u" and array.dtype.itemsize > 1:
        array = array.astype("int64")
    return torch.from_numpy(array if array.flags.writeable else array.copy())


def to_torch(rows: Any) -> Dict[str, Any]:
    """Tensors, and lists of what cannot be one: texts, times, lists of several lengths."""
    torch = need("torch()", "torch")
    return {name: _to_tensor(array, torch) for name, array in to_numpy(rows).items()}


# ---- TensorFlow


def _is_text(array: Any) -> bool:
    return all(isinstance(value, (str, bytes)) for value in array)


def to_signature(arrays: Dict[str, Any]) -> Dict[str, Any]:
    tf = need("tf()", "tensorflow")
    found = {}
    for name, array in arrays.items():
        if array.dtype.kind in "biuf":
            found[name] = tf.TensorSpec((None, *array.shape[1:]), tf.as_dtype(array.dtype))
        elif _is_text(array):
            found[name] = tf.TensorSpec((None,), tf.string)
        else:
            raise DataError(f"column {name} cannot be a tensor: it has {array.dtype} values, such as {array[0]!r:.60}; leave it out by "
                            "columns=")
    return found


def to_tf(rows: Any, signature: Dict[str, Any]) -> Dict[str, Any]:
    """As the signature has it: a batch may lack a column, or have it in another type."""
    arrays = to_numpy(rows)
    found = {}
    for name, spec in signature.items():
        array = arrays.get(name)
        if array is None:
            raise DataError(f"column {name} is missing in some records: leave it out by columns=")
        if spec.dtype.name == "string":
            if not _is_text(array):
                raise DataError(f"column {name} is text in the first records, and {array.dtype} in later ones")
            found[name] = array
            continue
        try:
            found[name] = array.astype(spec.dtype.as_numpy_dtype, casting="same_kind", copy=False)
        except TypeError:
            raise DataError(f"column {name} is {spec.dtype.name} in the first records, and {array.dtype} in later ones") from None
    return found
