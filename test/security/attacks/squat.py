"""Binds a port of somebody else's and never listens: `squat.py PORT`, until its input ends.

The option that it needs to bind the port is cleared afterwards: nobody else can bind it then.
"""

import socket
import sys

squatter = socket.socket()
squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
squatter.bind(("127.0.0.1", int(sys.argv[1])))
squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
print("bound", flush=True)
sys.stdin.read()
