"""A small web interface on TB_PORT: GET tells what was asked, POST sends the body back, /away leads to /there,
/ws is a WebSocket that sends every message back. Listens once the file FILE is there."""

import base64
import hashlib
import http.server
import json
import os
import struct
import sys
import time

MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.headers.get("Upgrade") == "websocket":
            self.echo_messages()
        elif self.path == "/away":
            self.answer(302, Location=f"http://{self.headers['Host']}/there")
        else:
            seen = {"path": self.path, "headers": dict(self.headers.items())}
            self.answer(200, json.dumps(seen).encode(), **{"Set-Cookie": "mine=1; Path=/"})

    def do_POST(self):
        self.answer(200, self.rfile.read(int(self.headers["Content-Length"])))

    def echo_messages(self):
        key = hashlib.sha1((self.headers["Sec-WebSocket-Key"] + MAGIC).encode()).digest()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(key).decode())
        self.end_headers()
        self.close_connection = True
        while self.echo_message():
            pass

    def echo_message(self):
        """One frame, which clients mask."""
        head = self.rfile.read(2)
        if len(head) < 2 or head[0] & 15 == 8:
            return False
        length = head[1] & 127
        if length > 125:
            length = struct.unpack("!H" if length == 126 else "!Q", self.rfile.read(2 if length == 126 else 8))[0]
        mask = self.rfile.read(4)
        body = bytes(byte ^ mask[i % 4] for i, byte in enumerate(self.rfile.read(length)))
        self.wfile.write(frame(head[0], body))
        return True


def frame(first, body, mask=0):
    """As servers send it, or with mask=128 and zeros for a mask as clients may."""
    size = len(body)
    head = (bytes([first, mask | size]) if size < 126 else
            bytes([first, mask | 126]) + struct.pack("!H", size) if size < 65536 else
            bytes([first, mask | 127]) + struct.pack("!Q", size))
    return head + (bytes(4) if mask else b"") + body


def main():
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.05)
    address = (os.environ["TONY_HOST"], int(os.environ["TB_PORT"]))
    http.server.ThreadingHTTPServer(address, Handler).serve_forever()


if __name__ == "__main__":
    main()
