"""Opens connections, and keeps them open: `crowd.py HOST:PORT COUNT START BYTES`.

On each it sends START, in which \\r\\n are four letters, and BYTES more bytes, as far as the other side lets it. It prints
"there" when no connection has more to send.
"""

import resource
import select
import signal
import socket
import sys

host, port = sys.argv[1].rsplit(":", 1)
start = sys.argv[3].encode().decode("unicode_escape").encode() + b"x" * int(sys.argv[4])
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
poll, left, kept = select.poll(), {}, []
for _ in range(int(sys.argv[2])):
    peer = socket.create_connection((host, int(port)))
    peer.setblocking(False)
    kept.append(peer)
    left[peer.fileno()] = (peer, memoryview(start))
    poll.register(peer, select.POLLOUT)
while left:
    for number, _ in poll.poll():
        peer, rest = left[number]
        try:
            rest = rest[peer.send(rest):]
        except OSError:
            rest = b""
        left[number] = (peer, rest)
        if not rest:
            poll.unregister(number)
            del left[number]
print("there", flush=True)
signal.pause()
