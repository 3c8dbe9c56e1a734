"""All that crosses a loopback device: programs/record_wire.py records it, and a test looks for bytes in it.

Nobody else speaks in a network of one's own. private_network() gives one to tony, as every user may. own_network() takes the
test itself there, with the cluster that it starts: only root may, so another user's test is skipped, which fails it, with
that reason.
"""

import contextlib
import ctypes
import os
import socket
import struct
import subprocess
from dataclasses import dataclass, field

import pytest
from patience import PATIENCE_S
from program import PROGRAMS, PYTHON
from site_files import AS_ROOT

IPV4, IPV6, ETHERNET_HEADER = 0x0800, 0x86DD, 14
SYN = 0x02
NEW_NETWORK = 0x40000000  # CLONE_NEWNET


@dataclass
class Stream:
    """The bytes of one end of a connection, or of a datagram."""
    from_port: int
    to_port: int
    first: int = None   # sequence number of the first byte
    pieces: dict = field(default_factory=dict)

    def add(self, sequence, payload):
        if self.first is None:
            self.first = sequence
        offset = (sequence - self.first) % (1 << 32)
        if len(payload) > len(self.pieces.get(offset, b"")):
            self.pieces[offset] = payload

    def text(self):
        """In the order in which it was said; what was sent again counts once."""
        text = bytearray()
        for offset, piece in sorted(self.pieces.items()):
            text += piece[max(len(text) - offset, 0):]
        return bytes(text)


def parse_ip(frame):
    """(addresses, protocol, what it carries) of a packet; None: it is none of IP."""
    kind, = struct.unpack_from("!H", frame, 12)
    packet = frame[ETHERNET_HEADER:]
    if kind == IPV4:
        length, = struct.unpack_from("!H", packet, 2)
        return packet[12:20], packet[9], packet[(packet[0] & 15) * 4:length or None]
    if kind == IPV6:
        length, = struct.unpack_from("!H", packet, 4)
        return packet[8:40], packet[6], packet[40:40 + length if length else None]
    return None


class Wire:
    """Records until stop(), and knows afterwards or meanwhile what was said."""

    def __init__(self, path, enter=()):
        self.path = path
        self.recorder = subprocess.Popen([*enter, PYTHON, PROGRAMS / "record_wire.py", path],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.recorder.stdout.readline() == "ready\n"

    def stop(self):
        dropped, _ = self.recorder.communicate(timeout=PATIENCE_S)
        assert self.recorder.returncode == 0 and int(dropped) == 0, f"{dropped} packets were not heard"

    def frames(self):
        data, at = self.path.read_bytes(), 0
        while at + 4 <= len(data):
            length, = struct.unpack_from("!I", data, at)
            yield data[at + 4:at + 4 + length]
            at += 4 + length

    def streams(self):
        """Each connection's two, and of datagrams and all else as they came."""
        found, at = [], {}
        for frame in self.frames():
            addresses, protocol, segment = parse_ip(frame) or (b"", 0, frame)
            if protocol not in (socket.IPPROTO_TCP, socket.IPPROTO_UDP) or len(segment) < 8:
                found.append(Stream(0, 0))
                found[-1].add(0, segment)
                continue
            ports = struct.unpack_from("!HH", segment)
            if protocol == socket.IPPROTO_UDP:
                found.append(Stream(*ports))
                found[-1].add(0, segment[8:])
                continue
            sequence, = struct.unpack_from("!I", segment, 4)
            key, begins, payload = (addresses, ports), segment[13] & SYN, segment[(segment[12] >> 4) * 4:]
            if begins or key not in at:
                at[key] = Stream(*ports, (sequence + 1) % (1 << 32) if begins else sequence)
                found.append(at[key])
            if payload:
                at[key].add(sequence, payload)
        return found

    def of_port(self, port):
        return b"".join(stream.text() for stream in self.streams() if port in (stream.from_port, stream.to_port))


def call(function, *arguments):
    """Of the C library: Python 3.12 has these itself."""
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, function)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), f"{function}: {os.strerror(ctypes.get_errno())}")


@contextlib.contextmanager
def own_network():
    """This thread is in a network of its own, and so are all processes that it starts."""
    if os.geteuid() != 0:
        pytest.skip("only root can take a process with threads into another network: run this test as root")
    with open("/proc/thread-self/ns/net") as before:
        call("unshare", NEW_NETWORK)
        try:
            subprocess.run(["ip", "link", "set", "lo", "up"], check=True, timeout=PATIENCE_S)
            yield
        finally:
            call("setns", before.fileno(), NEW_NETWORK)


@contextlib.contextmanager
def recorded(path, enter=()):
    """The device of this network, or of that which the command `enter` leads into."""
    wire = Wire(path, enter)
    try:
        yield wire
    finally:
        wire.stop()


@contextlib.contextmanager
def private_network(tony):
    """tony runs in a network of its own, and so does what begins with tony.enter."""
    holder = subprocess.Popen(["unshare", *AS_ROOT, "--net", "sh", "-c", "ip link set lo up && echo up && exec cat"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "up\n"
    tony.enter = ["nsenter", "--target", str(holder.pid), "--net", *(["--user", "--preserve-credentials"] * bool(AS_ROOT))]
    try:
        with recorded(tony.directory / "wire", tony.enter) as wire:
            yield wire
    finally:
        holder.communicate(timeout=PATIENCE_S)
        tony.enter = []
