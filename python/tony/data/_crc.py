"""CRC-32C as TFRecord has it. Each byte's part of the sum depends on nothing but where it stands, so that NumPy adds up many at once."""

from __future__ import annotations

import functools
from typing import Any

from tony.data._needs import need

_BLOCK = 1024
_POLYNOMIAL = 0x82F63B78


@functools.lru_cache(maxsize=1)
def _tables() -> Any:
    """[how many bytes follow][byte]"""
    np = need("tfrecord", "numpy")
    first = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        first = np.where(first & 1, (first >> 1) ^ _POLYNOMIAL, first >> 1).astype(np.uint32)
    tables = [first]
    for _ in range(_BLOCK - 1):
        tables.append(first[tables[-1] & 0xFF] ^ (tables[-1] >> 8))
    return np.stack(tables)


def crc32c(data: bytes) -> int:
    np = need("tfrecord", "numpy")
    tables = _tables()
    crc = 0xFFFFFFFF
    for at in range(0, len(data), _BLOCK):
        block = np.frombuffer(data, np.uint8, min(_BLOCK, len(data) - at), at).astype(np.intp)
        head = np.frombuffer(crc.to_bytes(4, "little"), np.uint8)[:len(block)]
        block[:len(head)] ^= head
        found = np.bitwise_xor.reduce(tables[np.arange(len(block) - 1, -1, -1), block])
        crc = int(found) ^ (crc >> (8 * len(block)) if len(block) < 4 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> int:
    """So that a sum over what has sums in it is none of them."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
