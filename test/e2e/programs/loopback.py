"""Listens on the loopback interface alone, at a port that its successor takes, too. A connection begins with a line:

who            its process id
sum            the SHA-256 of what comes up to the end
send N         N bytes
hold           nothing, until the end
cut            a few bytes, and a reset
"""

import hashlib
import os
import signal
import socket
import socketserver
import struct
import sys

HOST = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1"
FILE = "loopback.port"
PIECE = bytes(range(256)) * 256


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        verb, *rest = self.rfile.readline().decode().split() or [""]
        getattr(self, f"do_{verb}")(*rest)

    def do_who(self):
        self.wfile.write(f"{os.getpid()}\n".encode())

    def do_sum(self):
        digest = hashlib.sha256()
        while piece := self.rfile.read(65536):
            digest.update(piece)
        self.wfile.write(digest.hexdigest().encode())

    def do_send(self, count):
        left = int(count)
        while left > 0:
            piece = PIECE[:left]
            self.wfile.write(piece)
            left -= len(piece)

    def do_hold(self):
        self.rfile.read()

    def do_cut(self):
        self.wfile.write(b"some")
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128
    address_family = socket.AF_INET6 if ":" in HOST else socket.AF_INET


def main():
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    port = 0
    if os.path.exists(FILE):
        with open(FILE, encoding="ascii") as file:
            port = int(file.read())
    with Server((HOST, port), Handler) as server:
        with open(FILE, "w", encoding="ascii") as file:
            file.write(str(server.server_address[1]))
        print(f"listens at {server.server_address[1]}", flush=True)
        server.serve_forever()


main()
