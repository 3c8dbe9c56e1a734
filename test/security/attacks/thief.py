"""thief.py FOLDER: listens on every port that is bound and that nobody listens on, over and over. FOLDER/scans has the number of
whole rounds, FOLDER/stolen the ports."""

import os
import resource
import socket
import sys
import time

folder = sys.argv[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
    LOW, HIGH = map(int, file.read().split())
stolen = {}


def bind(port, shares):
    listener = socket.socket()
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(shares))
        listener.bind(("127.0.0.1", port))
        return listener
    except OSError:
        listener.close()
        return None


def steal(port):
    free = bind(port, False)
    if free:
        free.close()
        return
    listener = bind(port, True)
    try:
        if listener:
            listener.listen()
            stolen[port] = listener
    except OSError:
        listener.close()


def tell(name, text):
    path = f"{folder}/{name}"
    with open(f"{path}.new", "w", encoding="ascii") as file:
        file.write(text)
    os.rename(f"{path}.new", path)


scans = 0
while True:
    for port in range(LOW, HIGH + 1):
        if port not in stolen:
            steal(port)
    scans += 1
    tell("stolen", "\n".join(map(str, stolen)))
    tell("scans", str(scans))
    if scans == 1:
        print("began", flush=True)
    time.sleep(0.05)  # patience: a thief that never rests would be all that the machine does
