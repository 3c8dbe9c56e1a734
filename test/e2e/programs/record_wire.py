"""record_wire.py DIR: keeps what TCP carries over the loopback device, each connection's bytes in the files of its two
ports, DIR/PORT. Says "ready", and ends with its standard input."""

import os
import select
import socket
import struct
import sys

ETH_IP = 0x0800
packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))  # ETH_P_ALL
packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)
packets.bind(("lo", 0))
print("ready", flush=True)
while True:
    readable, _, _ = select.select([packets, sys.stdin], [], [])
    if sys.stdin in readable and packets not in readable:
        break
    if packets not in readable:
        continue
    frame, (_, _, kind, *_) = packets.recvfrom(1 << 18)
    if kind != 0 or struct.unpack("!H", frame[12:14])[0] != ETH_IP or frame[23] != socket.IPPROTO_TCP:
        continue
    ip = frame[14:]
    tcp = ip[(ip[0] & 15) * 4:struct.unpack("!H", ip[2:4])[0]]
    payload = tcp[(tcp[12] >> 4) * 4:]
    for port in struct.unpack("!HH", tcp[:4]) if payload else ():
        with open(os.path.join(sys.argv[1], str(port)), "ab") as file:
            file.write(payload)
