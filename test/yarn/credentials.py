"""Secrets in the files of Hadoop and of MIT Kerberos, for tests that look for them elsewhere."""

import io
import struct


def unpack(file, form):
    values = struct.unpack(f">{form}", file.read(struct.calcsize(f">{form}")))
    return values[0] if len(values) == 1 else values


def counted(file, form):
    """Bytes behind their number."""
    return file.read(unpack(file, form))


def read_vint(file):
    """org.apache.hadoop.io.WritableUtils"""
    first = unpack(file, "b")
    if first >= -112:
        return first
    size = -120 - first if first < -120 else -112 - first
    value = int.from_bytes(file.read(size), "big")
    return ~value if first < -120 else value


def tokens_of(data):
    """{kind: password} of a container's credentials (org.apache.hadoop.security.Credentials, version 0)."""
    file = io.BytesIO(data)
    assert file.read(5) == b"HDTS\0", data[:5]
    found = {}
    for _ in range(read_vint(file)):
        _alias, _identifier, password, kind, _service = (file.read(read_vint(file)) for _ in range(5))
        found[kind.decode()] = password
    return found


def keys_of_keytab(data):
    """MIT's keytab, version 2: each entry's key."""
    file = io.BytesIO(data)
    assert file.read(2) == b"\5\2"
    while size := file.read(4):
        size, = struct.unpack(">i", size)
        entry = io.BytesIO(file.read(abs(size)))
        if size > 0:
            for _ in range(unpack(entry, "H") + 1):   # the realm, and the parts of the name
                counted(entry, "H")
            entry.read(4 + 4 + 1 + 2)   # kind of name, time, version, kind of key
            yield counted(entry, "H")


def skip_principal(file):
    _kind, parts = unpack(file, "II")
    for _ in range(parts + 1):
        counted(file, "I")


def keys_of_tickets(data):
    """MIT's cache of tickets, version 4: the session key of each."""
    file = io.BytesIO(data)
    assert file.read(2) == b"\5\4"
    counted(file, "H")
    skip_principal(file)
    while file.tell() < len(data):
        skip_principal(file)
        skip_principal(file)
        file.read(2)   # kind of key
        if key := counted(file, "I"):   # none, where the entry is the cache's own note
            yield key
        file.read(4 * 4 + 1 + 4)   # times, whether it is of a user's, flags
        for _ in range(2):   # addresses, and data of authorisation
            for _ in range(unpack(file, "I")):
                file.read(2)
                counted(file, "I")
        counted(file, "I")
        counted(file, "I")
