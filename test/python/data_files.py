"""Where the libraries are that tony.data reads with, and files as pyarrow, fastavro and Spark write them. Record N has the id N."""

import functools
import gzip
import json
import random
import struct
import sys

from program import venv_bin


@functools.lru_cache(maxsize=None)
def libraries():
    """Where they are; from then on this Python has them."""
    found = str(next((venv_bin("data").parent / "lib").glob("python3.*")) / "site-packages")
    if found not in sys.path:
        sys.path.append(found)
    return found


def record(number):
    return {"id": number, "label": number % 3, "name": f"name {number}", "weights": [number / 2, 1.0]}


def records(numbers):
    return [record(number) for number in numbers]


AVRO = {"type": "record", "name": "Row", "fields": [
    {"name": "id", "type": "long"}, {"name": "label", "type": "int"}, {"name": "name", "type": ["null", "string"]},
    {"name": "weights", "type": {"type": "array", "items": "double"}}]}


def write_avro(path, rows, codec="deflate", interval=500):
    import fastavro

    with open(path, "wb") as file:
        fastavro.writer(file, AVRO, rows, codec=codec, sync_interval=interval)


def write_parquet(path, rows, rows_of_group=50):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=rows_of_group, compression="snappy")


def write_orc(path, rows):
    """With stripes of 64 KiB, the smallest."""
    import pyarrow as pa
    from pyarrow import orc

    with orc.ORCWriter(str(path), stripe_size=1 << 16, batch_size=100) as writer:
        for first in range(0, len(rows), 100):
            writer.write(pa.Table.from_pylist([{**row, "noise": random.Random(row["id"]).randbytes(600)} for row in rows[first:first + 100]]))


def write_jsonl(path, rows):
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def write_text(path, rows):
    path.write_text("\n".join(str(row["id"]) for row in rows) + ("\n" if len(rows) % 2 else ""))


def plain_crc(data):
    """By the book, a bit at a time."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = plain_crc(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def write_tfrecord(path, rows):
    with open(path, "wb") as file:
        for row in rows:
            head, data = struct.pack("<Q", len(str(row["id"]))), str(row["id"]).encode()
            file.write(head + masked(head) + data + masked(data))


def write_spark(folder, numbers, ending="snappy.parquet", write=write_parquet):
    """A table as Spark leaves it: parts in directories by label, a mark of success, checksums, leftovers of an attempt."""
    for label in range(3):
        inner = folder / f"label={label}"
        inner.mkdir(parents=True)
        mine = [{key: value for key, value in record(number).items() if key != "label"} for number in numbers if number % 3 == label]
        for part in range(2):
            name = f"part-{part:05}-1f3a09c4-c000.{ending}"
            write(inner / name, mine[part::2])
            (inner / f".{name}.crc").write_bytes(b"crc\0")
    (folder / "_SUCCESS").touch()
    (folder / "_temporary/0").mkdir(parents=True)
    (folder / f"_temporary/0/part-00000.{ending}").write_bytes(b"half")
