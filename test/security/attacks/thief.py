"""thief.py FOLDER: listens on every port that is bound and that nobody listens on, over and over. FOLDER/scans has the number of
whole rounds, FOLDER/stolen the ports. `thief.py FOLDER arguments` listens on every port that an argument list names, bound or not."""

import glob
import os
import re
import resource
import socket
import sys
import time

folder, reads_arguments = sys.argv[1], sys.argv[2:] == ["arguments"]
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
    free = None if reads_arguments else bind(port, False)
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


def named_ports():
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        yield from {int(word) for word in words if re.fullmatch(rb"[0-9]{4,5}", word)} & set(range(LOW, HIGH + 1))


def tell(name, text):
    path = f"{folder}/{name}"
    with open(f"{path}.new", "w", encoding="ascii") as file:
        file.write(text)
    os.rename(f"{path}.new", path)


scans = 0
while True:
    for port in named_ports() if reads_arguments else range(LOW, HIGH + 1):
        if port not in stolen:
            steal(port)
    scans += 1
    tell("stolen", "\n".join(map(str, stolen)))
    tell("scans", str(scans))
    if scans == 1:
        print("began", flush=True)
    time.sleep(0.05)  # patience: a thief that never rests would be all that the machine does
