"""record_wire.py FILE: appends each packet of the loopback device to FILE, behind its length (4 bytes, the highest
first). Says "ready", and ends with its standard input: then says how many packets the kernel dropped. harness/wire.py
reads the file."""

import select
import socket
import struct
import sys

ALL = 0x0003  # ETH_P_ALL
SOL_PACKET = 263
FORCED_RECEIVE_BUFFER = 33  # SO_RCVBUFFORCE: beyond net.core.rmem_max
PACKET_STATISTICS = 6
BUFFER_BYTES = 128 << 20

packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
try:
    packets.setsockopt(socket.SOL_SOCKET, FORCED_RECEIVE_BUFFER, BUFFER_BYTES)
except PermissionError:  # in a user's own network
    packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
packets.bind(("lo", 0))
print("ready", flush=True)
with open(sys.argv[1], "ab", buffering=0) as file:
    while True:
        readable, _, _ = select.select([packets, sys.stdin], [], [])
        if packets not in readable:
            break
        frame, (_, _, kind, *_) = packets.recvfrom(1 << 18)
        if kind == 0:  # PACKET_HOST: loopback shows each packet twice
            file.write(struct.pack("!I", len(frame)) + frame)
print(struct.unpack("II", packets.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))[1], flush=True)
