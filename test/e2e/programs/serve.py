"""Binds the port that tony holds for this task: `reuse` as servers do, `plain` with neither option
(a stubborn program). Prints "bound", and exits when FILE exists."""
import os
import socket
import sys
import time

server = socket.socket()
if sys.argv[1] == "reuse":
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(("", int(os.environ["TONY_PORT"])))
server.listen()
print("bound", flush=True)
while not os.path.exists(sys.argv[2]):
    time.sleep(0.05)
